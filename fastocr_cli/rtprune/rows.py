"""Row ends that lost their row: two in a row say nothing that one does not.

Knows where visual tokens stand in the prompt; knows no features.
"""

from __future__ import annotations

import torch


def drop_empty_rows(
    positions: torch.Tensor, structural: torch.Tensor, is_kept: torch.Tensor
) -> torch.Tensor:
    """Takes out of is_kept each row end whose row is gone and which so would follow a row end.

    positions: int64 [V], in the prompt. structural, is_kept: bool [V]; structural tokens are kept.
    A row end is a structural token right behind a patch; the page's last structural token is not
    one, as it closes the page. Where a view begins with an empty row, its row end follows whatever
    stood in front of the view, as published. Returns bool [V].
    """
    index = torch.arange(len(positions), device=positions.device)
    follows = positions.diff(prepend=positions[:1] - 2) == 1
    is_row_end = structural & follows & ~structural.roll(1)
    is_row_end &= index < (structural * index).max()
    last_kept = torch.where(is_kept, index, -1).cummax(0).values.roll(1).clamp(min=0)
    text_between = positions - positions[last_kept] - (index - last_kept)
    is_idle = is_row_end & is_row_end[last_kept] & (text_between == 0)
    is_idle[:1] = False
    return is_kept & ~is_idle
