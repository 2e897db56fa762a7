"""Which layers are focal: chosen by how much of the others' visual attention they recover.

How well a layer localises is not monotone in its depth, so this is measured (`probe.py`), never
guessed. Knows the measured masses and nothing of models, steps or caches. Layers are named by
their index among the N layers that were measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from fastocr_cli.fixation.settings import FixationSettings


@dataclass(frozen=True)
class FocalChoice:
    """Layers that choose the fixation, and with which of their heads.

    layers: ascending decoder layer numbers.
    heads: per layer the query heads whose weights count; empty means all of them.
    recovered: share of the visual attention mass that the choice recovers, nan if not measured.
    source: "given", "training", "calibration" or "first page".
    stride: steps from one choice to the next, unless the settings say.
    """

    layers: tuple[int, ...]
    heads: tuple[tuple[int, ...], ...] = ()
    recovered: float = float("nan")
    source: str = "given"
    stride: int = 1


@dataclass(frozen=True)
class TaughtGaze:
    """The layer that a model was trained to look with before it writes, and which of its heads.

    stride: steps after which it has moved on far enough to be asked again.
    """

    layer: int
    heads: tuple[int, ...]
    stride: int = 1

    def choice(self, settings: FixationSettings) -> FocalChoice | None:
        """It, unless these settings want layers measured."""
        if settings.heads != "taught":
            return None
        return FocalChoice((self.layer,), (self.heads,), source="training", stride=self.stride)


@dataclass(frozen=True)
class Masses:
    """Attention masses on patch tokens, means over decode steps, per query head of a layer.

    within: [N, N]; [i, j] is layer j's mass on the top k patches of layer i in the same step.
    across: [N, N]; the same, but the top k are those of layer i in the step before.
    total: [N]; layer j's mass on all patches.
    by_head: [N, Hq, N]; as `within`, the top k being those of one head of layer i.
    """

    within: Tensor
    across: Tensor
    total: Tensor
    by_head: Tensor

    def recovered(self, focal: Sequence[int], *, reuse: bool) -> float:
        """Share of all visual mass that lies on the fixations when `focal` are the focal layers.

        A focal layer counts with its own top k: that it attends to the rest too is no merit of
        its choice, and would favour layers that look everywhere. A later layer is covered by the
        nearest focal layer before it, a layer before the first one by the previous step's last
        fixation if that is reused; if not it must be dense, saves nothing and counts for nothing.
        """
        mass = 0.0
        for layer in range(len(self.total)):
            mass += self._attended(layer, sorted(focal), reuse)
        return mass / max(float(self.total.sum()), 1e-12)

    def _attended(self, layer: int, focal: Sequence[int], reuse: bool) -> float:
        before = [one for one in focal if one <= layer]
        if before:
            return float(self.within[before[-1], layer])
        return float(self.across[focal[-1], layer]) if reuse else 0.0

    def alone(self, *, reuse: bool) -> list[float]:
        """What each layer would recover as the only focal one."""
        return [self.recovered([layer], reuse=reuse) for layer in range(len(self.total))]


def focal_count(fraction: float, layers: int) -> int:
    """How many layers a share of the layers means: rounded, at least one."""
    return max(1, round(fraction * layers))


def choose_layers(masses: Masses, count: int, *, reuse: bool) -> list[int]:
    """`count` focal layers, ascending, taken greedily by the mass they recover together."""
    chosen: list[int] = []
    for _ in range(count):
        rest = [layer for layer in range(len(masses.total)) if layer not in chosen]
        gains = {layer: masses.recovered([*chosen, layer], reuse=reuse) for layer in rest}
        chosen.append(max(rest, key=lambda layer: (gains[layer], -layer)))
    return sorted(chosen)


def choose_heads(masses: Masses, focal: Sequence[int]) -> list[tuple[int, ...]]:
    """Per focal layer the quarter of its heads whose own top k recover most of what it covers."""
    ends = [*focal[1:], len(masses.total)]
    chosen = []
    for layer, end in zip(focal, ends, strict=True):
        gains = masses.by_head[layer, :, layer:end].sum(dim=1)
        quarter = max(1, len(gains) // 4)
        chosen.append(tuple(sorted(gains.topk(quarter).indices.tolist())))
    return chosen


def choose(
    masses: Masses, layers: Sequence[int], settings: FixationSettings, source: str
) -> FocalChoice:
    """The whole choice in decoder layer numbers. layers: the number of each measured layer."""
    count = focal_count(settings.focal_fraction, len(layers))
    focal = choose_layers(masses, count, reuse=settings.reuse)
    return FocalChoice(
        layers=tuple(layers[index] for index in focal),
        heads=tuple(choose_heads(masses, focal)) if settings.heads == "chosen" else (),
        recovered=masses.recovered(focal, reuse=settings.reuse),
        source=source,
    )
