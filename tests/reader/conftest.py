"""A tiny reader, and page sources that need nothing but what pip installs."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
import torch

from fastocr_cli.reader import vocabulary as v
from fastocr_cli.reader.configuration import ReaderConfig, decoder_config
from fastocr_cli.reader.evidence import Evidence
from fastocr_cli.reader.modeling import ReaderForPageReading
from fastocr_cli.reader.training import texts
from fastocr_cli.reader.training.fonts import Face
from fastocr_cli.reader.vocabulary import COLUMNS_PER_CELL

PARAGRAPHS = (
    "The harbour was quiet when the first boats came in, long before the market opened.",
    'He wrote "it cannot be done" in the margin -- and then he did it, twice, in one week.',
    "Every parcel is weighed, labelled and entered in the book; nothing leaves without a number.",
)
WORDS = ("harbour", "market", "margin", "number", "label", "window", "garden", "silver", "station")


@pytest.fixture
def plain_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "paragraphs", lambda held_out: PARAGRAPHS)
    monkeypatch.setattr(texts, "paragraphs_abroad", tuple)
    monkeypatch.setattr(texts, "words", lambda: WORDS)


@pytest.fixture(scope="session")
def faces() -> tuple[Face, ...]:
    folder = Path(mpl.get_data_path()) / "fonts" / "ttf"
    names = {"DejaVuSans": "Book", "DejaVuSerif": "Book", "DejaVuSansMono": "Book"}
    names |= {"DejaVuSans-Oblique": "Oblique", "DejaVuSerif-Bold": "Bold"}
    return tuple(
        Face(str(folder / f"{name}.ttf"), name.replace("Mono", " Mono"), style)
        for name, style in names.items()
    )


def tiny_config() -> ReaderConfig:
    text = decoder_config()
    text.hidden_size, text.intermediate_size, text.num_hidden_layers = 32, 48, 4
    text.head_dim, text.layer_types = 8, text.layer_types[:4]
    return ReaderConfig(tower_channels=(8, 8, 16), tower_blocks=(1, 1, 1), text_config=text)


@pytest.fixture(scope="session")
def tiny_reader(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A saved reader with random weights, large enough that no two logits nearly tie."""
    torch.manual_seed(5)
    model = ReaderForPageReading(tiny_config()).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.normal_(0, 0.4)
        model.decoder.embed_tokens.weight[v.EOS] = 0
    folder = tmp_path_factory.mktemp("reader")
    model.save_pretrained(folder)
    return folder


def evidence_of(
    starts: np.ndarray, columns: np.ndarray, edges: np.ndarray, inked: np.ndarray | None = None
) -> Evidence:
    """What a tower without a doubt would see. starts: [rows, columns]; columns, edges:
    [rows, 8 * columns], as in `Sample`; inked: see `partings.inked_columns`."""
    return Evidence(
        _log_chances(starts, v.FIRST_CHARACTER),
        _log_chances(columns.reshape(*starts.shape, COLUMNS_PER_CELL), v.FIRST_COLUMN),
        (edges == 1).astype(np.float32).reshape(*starts.shape, COLUMNS_PER_CELL),
        inked,
    )


def _log_chances(classes: np.ndarray, count: int) -> np.ndarray:
    chances = np.full((*classes.shape, count), 1e-6, np.float32)
    np.put_along_axis(chances, np.maximum(classes, 0)[..., None], 1.0, axis=-1)
    return np.log(chances)
