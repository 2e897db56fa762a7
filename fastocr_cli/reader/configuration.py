"""Sizes of the embedded reader."""

from __future__ import annotations

from typing import Any

from transformers import PreTrainedConfig, Qwen2Config

from fastocr_cli.reader import vocabulary


class ReaderConfig(PreTrainedConfig):
    """Configuration of `ReaderForPageReading`.

    tower_channels, tower_blocks: width and residual blocks of the stages at 4, 8 and 16 px.
    columns_per_cell: the dense reading head labels that many columns of each 16 px cell.
    gaze_layers: decoder layers taught to look at the character just written and at the next one;
        gaze_heads heads of each were taught.
    text_config: transformers' own Qwen2 decoder.
    """

    model_type = "fastocr_reader"
    sub_configs = {"text_config": Qwen2Config}  # noqa: RUF012 (the library's own idiom)

    def __init__(
        self,
        tower_channels: tuple[int, int, int] = (32, 96, 192),
        tower_blocks: tuple[int, int, int] = (2, 3, 4),
        columns_per_cell: int = 8,
        position_scale: float = 1.5,
        gaze_layers: tuple[int, int] = (2, 3),
        gaze_heads: int = 2,
        image_token_id: int = vocabulary.IMAGE,
        text_config: Qwen2Config | dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        self.tower_channels = tuple(tower_channels)
        self.tower_blocks = tuple(tower_blocks)
        self.columns_per_cell = columns_per_cell
        self.position_scale = position_scale
        self.gaze_layers = tuple(gaze_layers)
        self.gaze_heads = gaze_heads
        self.image_token_id = image_token_id
        if isinstance(text_config, dict):
            text_config = Qwen2Config(**text_config)
        self.text_config = text_config or decoder_config()
        kwargs.setdefault("tie_word_embeddings", True)
        kwargs.setdefault("pad_token_id", vocabulary.PAD)
        kwargs.setdefault("bos_token_id", vocabulary.BOS)
        kwargs.setdefault("eos_token_id", vocabulary.EOS)
        super().__init__(**kwargs)

    @property
    def language_model(self) -> Qwen2Config:
        """`text_config`, which is a config by now and no longer a dictionary."""
        assert isinstance(self.text_config, Qwen2Config)
        return self.text_config


def decoder_config() -> Qwen2Config:
    """The decoder's default shape: 6 layers of width 256, two query heads per KV head.

    The rotary base is high because a text token looks at visual tokens thousands of positions
    back by content, which needs dimensions that hardly turn over that distance.
    """
    return Qwen2Config(
        vocab_size=vocabulary.VOCABULARY_SIZE,
        hidden_size=256,
        intermediate_size=512,
        num_hidden_layers=6,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=64,
        max_position_embeddings=32768,
        rope_parameters={"rope_type": "default", "rope_theta": 1e8},
        tie_word_embeddings=True,
        pad_token_id=vocabulary.PAD,
        bos_token_id=vocabulary.BOS,
        eos_token_id=vocabulary.EOS,
        use_cache=True,
    )
