"""The embedded reader as a transformers model: conv tower, 2-D positions, Qwen2 decoder.

grey page [B, 1, H, W] -> tower -> one feature per 16 px cell -> + absolute 2-D position
-> prefix of a plainly causal decoder -> tokens of `vocabulary`, each embedded with its own place
on the page (see `eye`; as in LayoutLM, text has a 2-D position).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache as memoised
from inspect import signature
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import GenerationMixin, PreTrainedModel, Qwen2Model
from transformers.modeling_outputs import CausalLMOutputWithPast

from fastocr_cli.reader import vocabulary as v
from fastocr_cli.reader.configuration import ReaderConfig
from fastocr_cli.reader.eye import STEPS_PER_CELL, places_of

CACHE_NAME = "cache" if "cache" in signature(Qwen2Model.forward).parameters else "past_key_values"


class ResidualBlock(nn.Module):
    """x + conv(relu(conv(norm(x)))), 3 x 3; tensors are [B, H, W, C].

    The channels lie innermost so that the norm and the convolutions both read contiguous memory.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(channels)
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.norm(x).permute(0, 3, 1, 2)
        return x + self.conv2(F.relu(self.conv1(hidden))).permute(0, 2, 3, 1)


class SpaceToDepth(nn.Module):
    """Halve height and width: 2 x 2 neighbours side by side, then one linear map.

    [B, H, W, C_in] -> [B, H/2, W/2, C_out]
    """

    def __init__(self, channels_in: int, channels_out: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(4 * channels_in)
        self.linear = nn.Linear(4 * channels_in, channels_out)

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(self.norm(fold_cells(x, 2)))


def fold_cells(x: Tensor, size: int) -> Tensor:
    """[B, H, W, C] -> [B, H/size, W/size, size*size*C]."""
    batch, height, width, channels = x.shape
    x = x.reshape(batch, height // size, size, width // size, size, channels)
    return x.transpose(2, 3).reshape(batch, height // size, width // size, -1)


class VisionTower(nn.Module):
    """Grey pixels in -1..1, [B, 1, H, W], to one feature per cell, [B, H/16, W/16, hidden]."""

    def __init__(self, config: ReaderConfig) -> None:
        super().__init__()
        widths, blocks = config.tower_channels, config.tower_blocks
        self.stem = nn.Linear(16, widths[0])
        self.stages = nn.ModuleList()
        for i, (width, count) in enumerate(zip(widths, blocks, strict=True)):
            stage: list[nn.Module] = [SpaceToDepth(widths[i - 1], width)] if i else []
            stage += [ResidualBlock(width) for _ in range(count)]
            self.stages.append(nn.Sequential(*stage))
        self.norm = nn.LayerNorm(widths[-1])
        self.out = nn.Linear(widths[-1], config.language_model.hidden_size)

    def forward(self, pixels: Tensor) -> Tensor:
        x = self.stem(fold_cells(pixels.permute(0, 2, 3, 1), 4))
        for stage in self.stages:
            x = stage(x)
        return self.out(self.norm(x))


LONGEST_WAVE, SHORTEST_WAVE = 400.0, 3.0
"""Wavelengths of the 2-D positions, in cells: longer than any page, short enough to tell
neighbours apart."""


def sinusoid(positions: Tensor, size: int) -> Tensor:
    """Sine and cosine features of positions [...] -> [..., size]."""
    half = size // 2
    steps = torch.arange(half, device=positions.device) / max(half - 1, 1)
    waves = SHORTEST_WAVE * (LONGEST_WAVE / SHORTEST_WAVE) ** steps
    angles = positions[..., None].float() * (2 * math.pi / waves)
    return torch.cat([angles.sin(), angles.cos()], dim=-1)


def place_features(rows: Tensor, columns: Tensor, size: int) -> Tensor:
    """2-D positions: features of rows [...] beside those of columns [...] -> [..., size]."""
    return torch.cat([sinusoid(rows, size // 2), sinusoid(columns, size // 2)], dim=-1)


TEXT_PLACE_SCALE = 0.1
"""Makes a place about as long a vector as the embedding of the token that stands there."""


class TextPlace(nn.Module):
    """What a text token is told of its place: int64 [..., 3] of `eye.Eye.place` -> [..., hidden].

    Row and column are told in the features visual tokens carry for theirs, so that the two can be
    compared; the column where the line began, in a direction that is learned.
    """

    def __init__(self, config: ReaderConfig) -> None:
        super().__init__()
        self.size = config.language_model.hidden_size
        self.line_start = nn.Linear(self.size // 2, self.size, bias=False)

    def forward(self, places: Tensor) -> Tensor:
        row, column, start = places.unbind(-1)
        half, weight = self.size // 2, self.line_start.weight
        whole = _waves(v.MAX_ROWS, 1, half, weight.device)
        quarters = _waves(v.MAX_COLUMNS * STEPS_PER_CELL, STEPS_PER_CELL, half, weight.device)
        seen = torch.cat([whole[row], quarters[column]], dim=-1).to(weight.dtype)
        return TEXT_PLACE_SCALE * (seen + self.line_start(whole[start].to(weight.dtype)))


@memoised
def _waves(count: int, steps: int, size: int, device: torch.device) -> Tensor:
    """`sinusoid` of 0, 1 / steps, 2 / steps ..., [count, size]: at decode the table is faster."""
    with torch.inference_mode(False):  # training may use them as well
        return sinusoid(torch.arange(count, device=device) / steps, size)


def cell_places(origins: Tensor, rows: int, columns: int) -> tuple[Tensor, Tensor]:
    """Row and column of each cell in raster order, int64 [B, rows * columns] each."""
    row = torch.arange(rows, device=origins.device).repeat_interleave(columns)
    column = torch.arange(columns, device=origins.device).repeat(rows)
    return origins[:, :1] + row, origins[:, 1:] + column


def halved(pixels: Tensor) -> Tensor:
    """[B, 1, H, W] at half its size, sides again multiples of a cell."""
    height, width = pixels.shape[2:]
    spare = (0, -width % (2 * v.CELL_PX), 0, -height % (2 * v.CELL_PX))
    return F.avg_pool2d(F.pad(pixels, spare, mode="replicate"), 2)


@dataclass
class PageReading(CausalLMOutputWithPast):
    """What the tower alone saw goes with the logits; None at decode.

    starts: log-probabilities of what begins in each cell, [B, rows, columns, 16]: nothing, a word
    (`vocabulary.WORD_START`), or a line of each `LineKind`. columns: those of the character each
    2 px column shows, 0 for none, [B, rows, columns, 8, characters]. edges: chance that a character
    begins in a column, if it shows one; [B, rows, columns, 8]. They tell ll from l.
    far, fine: the same three of the page at half its size, where large type is read, and of a sheet
    of enlarged strips, where small type is, if they were given; fine_rows, rules and inked as they
    were.
    """

    starts: Tensor | None = None
    columns: Tensor | None = None
    edges: Tensor | None = None
    far: tuple[Tensor, Tensor, Tensor] | None = None
    fine: tuple[Tensor, Tensor, Tensor] | None = None
    fine_rows: Tensor | None = None
    rules: Tensor | None = None
    inked: Tensor | None = None


class ReaderForPageReading(PreTrainedModel, GenerationMixin):
    """The embedded reader.

    The prompt is one image token per cell in raster order, then BOS.
    """

    config_class = ReaderConfig
    config: ReaderConfig
    base_model_prefix = "model"
    main_input_name = "input_ids"
    _supports_sdpa = True
    _supports_attention_backend = True
    _tied_weights_keys = {"lm_head.weight": "decoder.embed_tokens.weight"}  # noqa: RUF012

    def __init__(self, config: ReaderConfig) -> None:
        super().__init__(config)
        hidden = config.language_model.hidden_size
        self.tower = VisionTower(config)
        self.reading_head = nn.Linear(hidden, config.columns_per_cell * v.FIRST_COLUMN)
        self.edge_head = nn.Linear(hidden, config.columns_per_cell)
        self.start_head = nn.Linear(hidden, v.FIRST_CHARACTER)
        self.text_place = TextPlace(config)
        self.decoder = Qwen2Model._from_config(config.text_config)
        self.lm_head = nn.Linear(hidden, config.language_model.vocab_size, bias=False)
        self.post_init()

    def get_input_embeddings(self) -> nn.Module:
        return self.decoder.embed_tokens

    def set_input_embeddings(self, value: nn.Module) -> None:
        self.decoder.embed_tokens = value

    def get_output_embeddings(self) -> nn.Module:
        return self.lm_head

    def visual_tokens(
        self, pixel_values: Tensor, origins: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Tower features [B, N, hidden] and the same with their 2-D places added.

        origins: int64 [B, 2], row and column of the upper left cell; training moves it about the
        page so that every place is learned.
        """
        features = self.tower(pixel_values)
        _, rows, columns, size = features.shape
        if origins is None:
            origins = torch.zeros(1, 2, dtype=torch.long, device=features.device)
        row, column = cell_places(origins, rows, columns)
        features = features.flatten(1, 2)
        places = place_features(row, column, size).to(features.dtype)
        return features, features + self.config.position_scale * places

    def _seen(self, features: Tensor, pixels: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """What features [B, N, hidden] of pixels show; see `PageReading`."""
        grid = pixels.shape[2] // v.CELL_PX, pixels.shape[3] // v.CELL_PX
        return (
            self.start_head(features).log_softmax(-1).unflatten(1, grid),
            self.column_logits(features).log_softmax(-1).unflatten(1, grid),
            self.edge_head(features).sigmoid().unflatten(1, grid),
        )

    def column_logits(self, features: Tensor) -> Tensor:
        """Dense reading: [B, N, hidden] -> [B, N, columns_per_cell, characters]."""
        return self.reading_head(features).unflatten(-1, (self.config.columns_per_cell, -1))

    def embed_text(self, input_ids: Tensor, places: Tensor | None = None) -> Tensor:
        """Tokens and their places: [B, T] and [B, T, 3] -> [B, T, hidden].

        places: what `eye.Eye` says after each token; None where input_ids are the whole text.
        """
        if places is None:
            told = [places_of(tokens) for tokens in input_ids.tolist()]
            places = torch.tensor(told, device=input_ids.device)
        embedded: Tensor = self.decoder.embed_tokens(input_ids)
        return embedded + self.text_place(places).to(embedded.dtype)

    def forward(
        self,
        input_ids: Tensor | None = None,
        pixel_values: Tensor | None = None,
        far_values: Tensor | None = None,
        fine_values: Tensor | None = None,
        fine_rows: Tensor | None = None,
        rules: Tensor | None = None,
        inked: Tensor | None = None,
        places: Tensor | None = None,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        cache: Any = None,
        past_key_values: Any = None,
        inputs_embeds: Tensor | None = None,
        use_cache: bool | None = None,
        logits_to_keep: int = 0,
        **kwargs: Any,
    ) -> PageReading:
        """Logits [B, T, vocabulary] (of the last `logits_to_keep` positions unless 0).

        pixel_values [B, 1, H, W] in -1..1 are read where input_ids holds image tokens; far_values
        are the same `halved`, for pages with large type; fine_values those of `sheets.enlarged`,
        and fine_rows [B, rows, 2] what it says of its rows; rules those of `rules.upright_rules`
        and inked what `partings.inked_columns` says.
        The key-value cache goes by the name the installed transformers uses for it.
        """
        seen: dict[str, Any] = {}
        if inputs_embeds is None:
            assert input_ids is not None, "give input_ids or inputs_embeds"
            inputs_embeds = self.embed_text(input_ids, places)
            if pixel_values is not None:
                pixels = pixel_values.to(inputs_embeds.dtype)
                features, visual = self.visual_tokens(pixels)
                near = self._seen(features, pixels)
                seen = dict(zip(("starts", "columns", "edges"), near, strict=True))
                for name, values in (("far", far_values), ("fine", fine_values)):
                    if values is not None:
                        sheet = values.to(inputs_embeds.dtype)
                        seen[name] = self._seen(self.tower(sheet).flatten(1, 2), sheet)
                seen |= {"fine_rows": fine_rows, "rules": rules, "inked": inked}
                at_image = torch.eq(input_ids, self.config.image_token_id)[..., None]
                inputs_embeds = inputs_embeds.masked_scatter(at_image, visual)
        outputs = self.decoder(
            inputs_embeds=inputs_embeds,
            attention_mask=attention_mask,
            position_ids=position_ids,
            use_cache=use_cache,
            **{CACHE_NAME: past_key_values if cache is None else cache},
            **kwargs,
        )
        hidden = outputs.last_hidden_state[:, -logits_to_keep:]
        written = {CACHE_NAME: getattr(outputs, CACHE_NAME)}
        return PageReading(logits=self.lm_head(hidden), **seen, **written)

    def prepare_inputs_for_generation(
        self, input_ids: Tensor, pixel_values: Tensor | None = None, **kwargs: Any
    ) -> dict[str, Any]:
        inputs: dict[str, Any] = super().prepare_inputs_for_generation(input_ids, **kwargs)
        is_first = kwargs.get("is_first_iteration", True)
        inputs["pixel_values"] = pixel_values if is_first else None
        told = [places_of(tokens)[-inputs["input_ids"].shape[1] :] for tokens in input_ids.tolist()]
        inputs["places"] = torch.tensor(told, device=input_ids.device)
        return inputs
