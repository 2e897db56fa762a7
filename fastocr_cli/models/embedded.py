"""The embedded reader behind the common interface: scaling, prompt, places, Markdown."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from fastocr_cli.models.base import LoadRequest, ModelAdapter, PromptInputs, VisualLayout
from fastocr_cli.models.hub import ATTENTION
from fastocr_cli.reader import vocabulary as v
from fastocr_cli.reader.evidence import Evidence
from fastocr_cli.reader.eye import Eye
from fastocr_cli.reader.ink import Bools, Ink
from fastocr_cli.reader.modeling import PageReading, ReaderForPageReading, halved
from fastocr_cli.reader.order import ReadingOrder
from fastocr_cli.reader.other_sizes import Sheet
from fastocr_cli.reader.partings import inked_columns
from fastocr_cli.reader.rules import rules_erased, upright_rules
from fastocr_cli.reader.scale import SizedPage, tallest, upright
from fastocr_cli.reader.sheets import enlarged, has_large_type, small_type
from fastocr_cli.reader.unwrap import unwrap
from fastocr_cli.results import Box

FEWEST_TOKENS = 1024
_MOVED = 2
"""Boxes that are so many times as high as a cell's are those of whole lines that were moved."""
TOKENS_PER_INKED_CELL = 3
"""A cell holds two to three characters, and each line inks more than one row of cells."""


class EmbeddedAdapter(ModelAdapter):
    """One visual token per 16 px cell, then BOS; the text names the cell of every word."""

    model_types: ClassVar[tuple[str, ...]] = ("fastocr_reader",)
    has_plain_head: ClassVar[bool] = True
    has_aids: ClassVar[bool] = True

    def __init__(self, request: LoadRequest, model: ReaderForPageReading) -> None:
        self.name, self.revision = request.source, request.revision
        self.model, self.tokenizer = model, None
        self.prompt = "<image><bos>"
        self.stop_token_ids = frozenset({v.EOS})

    @classmethod
    def load(cls, request: LoadRequest, config: Any) -> Self:
        model = ReaderForPageReading.from_pretrained(
            request.source,
            dtype=request.dtype,
            attn_implementation=dict(ATTENTION),
            use_safetensors=True,
            **request.hub_arguments,
        )
        return cls(request, model.to(request.device).eval())

    @property
    def decoder(self) -> Any:
        return self.model.decoder

    def tallest(self, image: Image.Image) -> int | None:
        return tallest(image)

    def prepare(self, image: Image.Image) -> PromptInputs:
        page = upright(image)
        grey = rules_erased(np.asarray(page.grey), page.ink)
        rows, columns = (side // v.CELL_PX for side in grey.shape)
        input_ids = torch.full((1, rows * columns + 1), v.IMAGE)
        input_ids[0, -1] = v.BOS
        layout = VisualLayout.raster(torch.arange(rows * columns), rows, columns, box=page.box)
        boxes = _moved_back(layout.boxes, page)
        layout = replace(layout, boxes=turned(boxes, page.degrees, page.size))
        rules, inked = (torch.from_numpy(f(page.ink))[None] for f in (upright_rules, inked_columns))
        features = {"pixel_values": as_pixels(grey), "rules": rules, "inked": inked}
        if has_large_type(page.ink):
            features["far_values"] = halved(features["pixel_values"])
        if strips := small_type(page.ink):
            sheet, rows_of_sheet = enlarged(page, strips)
            features["fine_values"] = as_pixels(sheet)
            features["fine_rows"] = torch.from_numpy(rows_of_sheet)[None]
        return PromptInputs(input_ids, features, layout, token_cap(page.ink))

    def detokenize(self, token_ids: Sequence[int]) -> str:
        return v.detokenize(token_ids)

    def pieces(self, token_ids: Sequence[int]) -> list[str]:
        return [v.piece_of(token) for token in token_ids]

    def to_markdown(self, text: str) -> str:
        return unwrap(text)

    def new_bias(self, prefilled: PageReading, *, aided: bool) -> ReadingOrder:
        inked, rules = (
            None if one is None else one[0].numpy(force=True)
            for one in (prefilled.inked, prefilled.rules)
        )
        page = _evidence((prefilled.starts, prefilled.columns, prefilled.edges), inked)
        sheets = []
        if prefilled.far:
            sheets.append(Sheet.halved(_evidence(prefilled.far)))
        if prefilled.fine and prefilled.fine_rows is not None:
            sheets.append(
                Sheet(_evidence(prefilled.fine), *prefilled.fine_rows[0].numpy(force=True).T)
            )
        return ReadingOrder(page, sheets, rules, aided=aided)

    def new_place(self) -> Eye:
        return Eye()

    def embed_text(self, tokens: Tensor, places: Tensor | None) -> Tensor:
        return self.model.embed_text(tokens, places)

    def places(self, token_ids: Sequence[int], layout: VisualLayout) -> list[Box | None]:
        """Each token's word: from its column to the next word's, one and a half rows tall."""
        rows, columns = (int(layout.grid[:, i].max()) + 1 for i in (1, 2))
        cells = layout.boxes.view(rows, columns, 4)
        size = (layout.boxes[:, 2:] - layout.boxes[:, :2]).median(0).values.tolist()
        boxes = word_boxes(token_ids, rows, columns)
        return [box and _on_page(box, cells, size) for box in boxes]


def _evidence(seen: Sequence[Tensor | None], inked: Bools | None = None) -> Evidence:
    """Of the first page. seen, inked: see `modeling.PageReading`."""
    starts, columns, edges = (one[0].float().numpy(force=True) for one in seen if one is not None)
    return Evidence(starts, columns, edges, inked)


def as_pixels(grey: np.ndarray) -> Tensor:
    """uint8 [H, W] to float32 [1, 1, H, W] in -1..1."""
    return torch.from_numpy(grey.astype(np.float32)).div_(127.5).sub_(1)[None, None]


def token_cap(ink: Ink) -> int:
    """What the inked cells of the page can hold; its sides are multiples of a cell."""
    rows, columns = (side // v.CELL_PX for side in ink.mask.shape)
    cells = ink.mask.reshape(rows, v.CELL_PX, columns, v.CELL_PX).any(axis=(1, 3))
    return FEWEST_TOKENS + TOKENS_PER_INKED_CELL * int(cells.sum())


def turned(boxes: Tensor, degrees: float, size: tuple[int, int]) -> Tensor:
    """Boxes [N, 4] in shares of an upright page of `size` px where they stand on the page as it
    lay, lines climbing by `degrees`; moved whole, for they stay upright themselves."""
    scale = torch.tensor(size, dtype=boxes.dtype)
    x, y = (((boxes[:, :2] + boxes[:, 2:]) / 2 - 0.5) * scale).unbind(1)
    cosine, sine = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    there = torch.stack([cosine * x + sine * y, cosine * y - sine * x], dim=1)
    moved = (there - torch.stack([x, y], dim=1)) / scale
    return (boxes + moved.repeat(1, 2)).clamp(0, 1)


def _moved_back(boxes: Tensor, page: SizedPage) -> Tensor:
    """Boxes of cells [N, 4] in shares of the page, those of a line that was moved all where it
    stood."""
    size = torch.tensor(page.size * 2, dtype=boxes.dtype)
    x, y = ((boxes[:, :2] + boxes[:, 2:]) / 2 * size[:2]).unbind(1)
    for one in page.moved:
        left, top, right, bottom = one.there
        is_there = (left <= x) & (x < right) & (top <= y) & (y < bottom)
        boxes = torch.where(is_there[:, None], torch.tensor(one.here) / size, boxes)
    return boxes


def _on_page(box: Box, cells: Tensor, size: Sequence[float]) -> Box:
    """Where on the page a word's box lies that is told in shares of the cells, as the cell in its
    middle does; for a line that was moved, where that stood. cells: [rows, columns, 4], and size,
    width and height of one: shares of the page.
    """
    rows, columns = cells.shape[:2]
    row = min(int((box[1] + box[3]) / 2 * rows), rows - 1)
    column = min(int((box[0] + box[2]) / 2 * columns), columns - 1)
    left, top, right, bottom = cells[row, column].tolist()
    width, height = size
    if bottom - top > _MOVED * height:
        return left, top, right, bottom
    x0, x1 = ((left + right) / 2 + width * (x * columns - column - 0.5) for x in box[::2])
    y0, y1 = ((top + bottom) / 2 + height * (y * rows - row - 0.5) for y in box[1::2])
    return max(0.0, x0), max(0.0, y0), min(1.0, x1), min(1.0, y1)


def word_boxes(token_ids: Sequence[int], rows: int, columns: int) -> list[Box | None]:
    """The box of the word each token belongs to, in shares of all cells; None before any line."""
    boxes: list[Box | None] = []
    word: list[int] = []  # indices of the tokens of the word being read
    row = column = None

    def close(end: float | None) -> None:
        if row is None or column is None:
            return
        letters = sum(v.character_of(token_ids[i]) is not None for i in word)
        right = end if end is not None and end > column else column + max(1.0, 0.55 * letters)
        box = (
            column / columns,
            max(0.0, (row - 0.25) / rows),
            min(1.0, right / columns),
            min(1.0, (row + 1.25) / rows),
        )
        for i in word:
            boxes[i] = box

    for i, token in enumerate(token_ids):
        boxes.append(None)
        if v.kind_of(token) is not None:
            close(None)
            word, row, column = [], None, None
        elif (new_row := v.row_of(token)) is not None:
            row = min(new_row, rows - 1)
        elif (new_column := v.column_of(token)) is not None:
            if column is not None:
                close(float(new_column))
                word = []
            column = min(new_column, columns - 1)
        word.append(i)
    close(None)
    return boxes
