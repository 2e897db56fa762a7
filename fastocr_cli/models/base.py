"""What every model family must provide: a prompt, tensors for one page, and text from token ids.

Knows torch, Pillow and transformers' loading; knows nothing about decoding, pruning or files of
the user's. One subclass a family, one file each; `loading.py` chooses between them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, Self

import numpy as np
import numpy.typing as npt
import torch
from PIL import Image
from torch import Tensor

from fastocr_cli.errors import UsageError
from fastocr_cli.results import Box, PageStatus


@dataclass(frozen=True)
class VisualLayout:
    """Where the visual tokens of one page stand in its prompt, and where on the page they look.

    positions: int64 [V], sorted; every visual token's position in the prompt, structural included.
    structural: bool [V]; row ends, separators, begin and end vectors: always kept and attended.
    grid: int64 [V, 3]; (view, row, column), -1 where structural.
    boxes: float32 [V, 4]; x0, y0, x1, y1 on the page as shares of its size, origin top left; NaN
        where structural or where the token has no place of its own.
    """

    positions: Tensor
    structural: Tensor
    grid: Tensor
    boxes: Tensor

    def __post_init__(self) -> None:
        count = self.positions.shape[0]
        assert self.structural.shape == (count,), (self.structural.shape, count)
        assert self.grid.shape == (count, 3), (self.grid.shape, count)
        assert self.boxes.shape == (count, 4), (self.boxes.shape, count)

    @property
    def num_tokens(self) -> int:
        return int(self.positions.shape[0])

    @property
    def num_patches(self) -> int:
        """Visual tokens that may be pruned."""
        return self.num_tokens - int(self.structural.sum())

    def to(self, device: torch.device | str) -> VisualLayout:
        return VisualLayout(
            self.positions.to(device),
            self.structural.to(device),
            self.grid.to(device),
            self.boxes.to(device),
        )

    @classmethod
    def empty(cls) -> VisualLayout:
        """The layout of a prompt without an image."""
        return cls(
            torch.zeros(0, dtype=torch.long),
            torch.zeros(0, dtype=torch.bool),
            torch.zeros(0, 3, dtype=torch.long),
            torch.zeros(0, 4),
        )

    @classmethod
    def raster(
        cls, positions: Tensor, rows: int, columns: int, *, view: int = 0, box: Box = (0, 0, 1, 1)
    ) -> VisualLayout:
        """A plain rows x columns grid of patches in reading order that covers `box` of the page.

        positions: int64 [rows * columns].
        """
        row, column = torch.meshgrid(torch.arange(rows), torch.arange(columns), indexing="ij")
        row, column = row.flatten(), column.flatten()
        grid = torch.stack([torch.full_like(row, view), row, column], dim=1)
        x0, y0, x1, y1 = box
        # Edges as shares of the whole, so that the last one is the box's own edge exactly.
        across = [x0 + (x1 - x0) * (column + step) / columns for step in (0, 1)]
        down = [y0 + (y1 - y0) * (row + step) / rows for step in (0, 1)]
        boxes = torch.stack([across[0], down[0], across[1], down[1]], dim=1).float()
        return cls(positions, torch.zeros(len(positions), dtype=torch.bool), grid, boxes)


@dataclass(frozen=True)
class PromptInputs:
    """One page as a model takes it in.

    input_ids: int64 [1, T], image placeholders already expanded.
    features: what else the model's forward needs at prefill (pixel_values, image_grid_thw, ...).
    token_cap: the most tokens this page may generate.
    """

    input_ids: Tensor
    features: Mapping[str, Any]
    layout: VisualLayout
    token_cap: int

    @property
    def length(self) -> int:
        return int(self.input_ids.shape[1])


@dataclass(frozen=True)
class LoadRequest:
    """Which checkpoint to load and how; `source` is a local folder or a hub id."""

    source: str
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    dtype: torch.dtype = torch.float32
    revision: str | None = None
    local_only: bool = False
    trust_remote_code: bool = False

    @property
    def hub_arguments(self) -> dict[str, Any]:
        """Arguments that every `from_pretrained` call of this request shares."""
        return {
            "revision": self.revision,
            "local_files_only": self.local_only,
            "trust_remote_code": self.trust_remote_code,
        }


class TokenBias(Protocol):
    """Follows one page's tokens and says what the page itself tells of the next one."""

    def add(self, token: int) -> None: ...

    def draft(self, most: int) -> list[int]:
        """The next tokens as the page alone foretells them, as many as are likely right; without
        a stop token."""

    def bias(self) -> npt.NDArray[np.float32]:
        """To be added to the logits, [vocabulary]; -inf for what cannot come next."""

    @property
    def empty_status(self) -> PageStatus:
        """How a page ended of which nothing was written."""


class TokenPlace(Protocol):
    """Follows one page's tokens and says where on the page the text stands."""

    def add(self, token: int) -> None: ...

    def places(self, draft: Sequence[int]) -> Sequence[tuple[int, ...]]:
        """Where the last token stands, and each of the draft's if they follow."""


class ModelAdapter(ABC):
    """One loaded model with the knowledge its family needs.

    model: the transformers model, in eval mode, its decoder on the "fastocr" attention function.
    tokenizer: the checkpoint's tokenizer (anything with `decode`).
    prompt: the exact text given to the model, image placeholder unexpanded.
    stop_token_ids: ids that end a page; never part of the result.
    name, revision: as the user named the checkpoint.
    """

    model_types: ClassVar[tuple[str, ...]] = ()
    """The `config.model_type` values this family answers to."""
    has_plain_head: ClassVar[bool] = False
    """Whether logits are the output embeddings of the decoder's hidden state and nothing more."""
    has_aids: ClassVar[bool] = False
    """Whether the decoder is told more of the page than it sees itself; see `new_bias`."""

    model: Any
    tokenizer: Any
    prompt: str
    stop_token_ids: frozenset[int]
    name: str
    revision: str | None

    @classmethod
    @abstractmethod
    def load(cls, request: LoadRequest, config: Any) -> Self:
        """Load model and processing files of `request`; `config` is the checkpoint's config."""

    def tallest(self, image: Image.Image) -> int | None:
        """How many px of a page's height can be read at once; None for any number."""
        return None

    @abstractmethod
    def prepare(self, image: Image.Image) -> PromptInputs:
        """An RGB page as CPU tensors; the engine moves them to the model's device."""

    def detokenize(self, token_ids: Sequence[int]) -> str:
        """The model's raw text, special tokens removed."""
        return str(self.tokenizer.decode(list(token_ids), skip_special_tokens=True))

    def pieces(self, token_ids: Sequence[int]) -> list[str]:
        """What each token wrote; "" for a token that wrote nothing a reader of the text sees."""
        return [self.detokenize([token]) for token in token_ids]

    def to_markdown(self, text: str) -> str:
        """Markdown from the model's raw text; hub models mostly write Markdown already."""
        return text

    def places(self, token_ids: Sequence[int], layout: VisualLayout) -> Sequence[Box | None] | None:
        """Per token its place on the page as the model wrote it, or None if it does not say."""
        return None

    def new_bias(self, prefilled: Any, *, aided: bool) -> TokenBias | None:
        """What one page tells of the next token beside the decoder, for models that look twice.

        prefilled: what the model returned for the prompt. aided: False where it may say which
        places come next, but not what is written there.
        """
        return None

    def new_place(self) -> TokenPlace | None:
        """For models that take in each token with its place on the page (`embed_text`)."""
        return None

    def embed_text(self, tokens: Tensor, places: Tensor | None) -> Tensor:
        """Generated tokens as the decoder takes them in: int64 [B] -> [B, hidden].

        places: int64 [B, axes], of `new_place`.
        """
        embedded: Tensor = self.decoder.embed_tokens(tokens)
        return embedded

    def use_mode(self, name: str) -> None:
        """Show every page in the family's mode called `name`; UsageError where there is none."""
        raise UsageError(f"{self.name} has no modes, so it cannot be asked for '{name}'")

    @property
    def decoder(self) -> Any:
        """The text model whose layers call the attention registry."""
        return self.model.get_decoder()

    @property
    def decoder_config(self) -> Any:
        return self.model.config.get_text_config(decoder=True)

    @property
    def device(self) -> torch.device:
        return torch.device(self.model.device)

    @property
    def dtype(self) -> torch.dtype:
        dtype: torch.dtype = self.model.dtype
        return dtype
