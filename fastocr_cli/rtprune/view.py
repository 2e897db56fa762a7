"""Where a prompt keeps the page as the model sees it whole; the dynamic ratio looks at it.

Knows the shapes in which processors give pixels; knows no tokens' features.
"""

from __future__ import annotations

import torch

from fastocr_cli.models.base import ModelAdapter, PromptInputs, VisualLayout
from fastocr_cli.rtprune.density import edge_density

PATCH_SIDE = 64
"""Pixels a token of DeepSeek-OCR stands for, along each side; taken where tokens have no place."""


def page_density(
    adapter: ModelAdapter, prompt: PromptInputs, device: torch.device
) -> torch.Tensor | None:
    """Edge density of the prompt's global view, [1]; None where no view is in one piece.

    Tiled families give the whole page as their last view. Qwen-like ones flatten the page to
    patches before the model sees it.
    """
    pixels = prompt.features.get("pixel_values")
    if not isinstance(pixels, torch.Tensor) or pixels.ndim < 4:
        return None
    view = pixels.flatten(0, -4)[-1:].to(device)
    grid = _view_grid(prompt.layout, view.shape[-2], view.shape[-1])
    return None if grid is None else edge_density(_symmetric(adapter, view), grid)


def has_places(layout: VisualLayout) -> bool:
    """Whether the layout's tokens are patches of the page; those of learned queries are not."""
    return not bool(layout.boxes[~layout.structural].isnan().all())


def _view_grid(layout: VisualLayout, height: int, width: int) -> tuple[int, int] | None:
    """Rows and columns of patches in the last view, or None where they do not fill it."""
    if has_places(layout):
        last_view = layout.grid[layout.grid[:, 0] == layout.grid[:, 0].max()]
        rows, columns = (int(most) + 1 for most in last_view[:, 1:].amax(0))
    else:
        rows, columns = height // PATCH_SIDE, width // PATCH_SIDE
    is_filled = rows and columns and height % rows == 0 and width % columns == 0
    return (rows, columns) if is_filled else None


def _symmetric(adapter: ModelAdapter, view: torch.Tensor) -> torch.Tensor:
    """[1, C, H, W] from the processor's own normalisation to -1..1, black to white."""
    processor = getattr(adapter, "image_processor", None)
    mean, std = getattr(processor, "image_mean", None), getattr(processor, "image_std", None)
    if mean is None or std is None:
        return view
    scale, shift = (2 * view.new_tensor(values)[:, None, None] for values in (std, mean))
    return view * scale + (shift - 1)
