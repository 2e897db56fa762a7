"""What a sparse step leaves out, stood in for by one token: the mean of the page.

A layer that looks at nothing in particular spreads its attention over the whole page; dropping
all but the fixation then shifts what it reads far more than the lost detail would. So all patches
left out are answered for by the mean key and the mean value of the page's patches, counted as
often as there are patches left out: exp(q . mean key) is their mass if they are alike. Costs one
more row a layer. Knows caches and positions, not how the fixation was chosen.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from fastocr_kernels import AttendedSet


@dataclass(frozen=True)
class PageMean:
    """key, value: [B, Hkv, D], means over each row's patches in one layer; 0 without patches."""

    key: Tensor
    value: Tensor

    @classmethod
    def of(cls, keys: Tensor, values: Tensor, patches: Tensor) -> PageMean:
        """keys, values: [B, L_max, Hkv, D]; patches: LongTensor [B, P], padded with -1."""
        return cls(_mean_rows(keys, patches), _mean_rows(values, patches))

    def rows(self, rows: Tensor) -> PageMean:
        return PageMean(self.key[rows], self.value[rows])


def sparse_with_rest(
    query: Tensor,
    keys: Tensor,
    values: Tensor,
    attended: AttendedSet,
    scale: float,
    mean: PageMean,
    left_out: Tensor,
) -> Tensor:
    """Attention to the set and, for the `left_out` patches of each row (int64 [B]), to the mean.

    query: [B, Hq, D]; keys, values: contiguous [B, L_max, Hkv, D]. Returns [B, Hq, D].
    """
    batch, heads, width = query.shape
    capacity, kv_heads = keys.shape[1:3]
    where, padding = attended.derived(("rest", capacity), lambda: _places(attended, capacity))
    rows = (batch, -1, kv_heads, width)
    near = keys.view(batch * capacity, -1).index_select(0, where).view(rows)
    seen = values.view(batch * capacity, -1).index_select(0, where).view(rows)
    grouped = (query * scale).view(batch, kv_heads, -1, width)
    # Keys times queries: the other way round took twice as long on a CPU (442 against 206 us).
    logits = (near.transpose(1, 2) @ grouped.transpose(2, 3)).transpose(2, 3)  # [B, Hkv, G, T]
    if padding is not None:
        logits = logits.masked_fill(padding, -torch.inf)
        seen = seen.masked_fill(padding.view(batch, -1, 1, 1), 0)  # 0 times NaN is NaN
    far = (grouped * mean.key[:, :, None]).sum(dim=-1, keepdim=True)
    far = far + left_out.log().view(batch, 1, 1, 1)
    weights = torch.cat([logits, far], dim=-1).softmax(dim=-1, dtype=torch.float32)
    weights = weights.to(values.dtype)
    read = weights[..., :-1] @ seen.transpose(1, 2) + weights[..., -1:] * mean.value[:, :, None]
    return read.view(batch, heads, width)


def _places(attended: AttendedSet, capacity: int) -> tuple[Tensor, Tensor | None]:
    """Rows of the flattened cache, int64 [B * T], and which are padding, [B, 1, 1, T] or None."""
    device = attended.indices.device
    texts = attended.lengths - attended.text_start
    text = torch.arange(int(texts.max()), device=device)
    span = attended.text_start[:, None] + text
    places = torch.cat([attended.indices.long(), span], dim=1)
    is_padding = torch.cat([attended.indices < 0, text >= texts[:, None]], dim=1)
    first = torch.arange(len(places), device=device)[:, None] * capacity
    where = (places.masked_fill(is_padding, 0) + first).view(-1)
    return where, is_padding[:, None, None] if bool(is_padding.any()) else None


def _mean_rows(cache: Tensor, patches: Tensor) -> Tensor:
    """Sums in fp32, one row of the batch after the other, so that no copy of a page adds up."""
    means = []
    for own, places in zip(cache, patches, strict=True):
        chosen = places[places >= 0]
        total = own.index_select(0, chosen).sum(dim=0, dtype=torch.float32)
        means.append((total / max(len(chosen), 1)).to(cache.dtype))
    return torch.stack(means)
