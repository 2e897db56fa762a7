"""A tiny random checkpoint of the embedded reader's own architecture, on disk."""

from __future__ import annotations

from pathlib import Path

from transformers import Qwen2Config

from fastocr_cli.reader import vocabulary
from fastocr_cli.reader.configuration import ReaderConfig
from fastocr_cli.reader.modeling import ReaderForPageReading
from tests.models.tiny import randomise


def tiny_reader(folder: Path, *, layers: int = 3) -> Path:
    text = Qwen2Config(
        vocab_size=vocabulary.VOCABULARY_SIZE,
        hidden_size=64,
        intermediate_size=96,
        num_hidden_layers=layers,
        num_attention_heads=4,
        num_key_value_heads=2,
        bos_token_id=vocabulary.BOS,
        eos_token_id=vocabulary.EOS,
        pad_token_id=vocabulary.PAD,
    )
    config = ReaderConfig(
        tower_channels=(8, 16, 24), tower_blocks=(1, 1, 1), gaze_layers=(0, 1), text_config=text
    )
    randomise(ReaderForPageReading(config)).save_pretrained(folder)
    return folder
