"""The dials of the method, in one frozen dataclass, and how people write them.

`--keep` is the one dial most people need; everything else is written `key=value`. Knows nothing
of tensors or models.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from difflib import get_close_matches
from typing import Any, Literal, TypeVar, get_args, get_type_hints

from fastocr_cli.errors import UsageError

HeadMode = Literal["taught", "mean", "max", "chosen"]
FocalOutput = Literal["dense", "sparse"]
Rest = Literal["drop", "mean"]
T = TypeVar("T")


@dataclass(frozen=True)
class FixationSettings:
    """How a decode step chooses the visual tokens it attends to.

    keep: share of a page's patch tokens that sparse layers attend to; 1 is dense, 0 sees nothing.
    minimum: fewest patch tokens attended to, where keep is above 0.
    focal_fraction: share of the layers that are focal, where focal_layers does not name them.
    focal_layers: the focal layers themselves, counted from 0; None leaves it to the fraction.
    dense_layers: layers that attend to everything without choosing anything (an ablation).
    heads: a patch's score is the mean or the max of its post-softmax weights over all query heads,
        or the mean over heads chosen for each focal layer when the layers are found; taught takes
        the layer and head that a model was trained to look with, the mean in models without.
    focal_output: whether a focal layer only scores everything with its queries and then attends to
        what it chose (sparse; reads no dropped value), or attends to everything too (dense).
    focal_stride: focal layers choose in every so many steps; in between they too reuse. None is 1,
        with reuse 2 in a model whose gaze was taught, which moves on little from step to step.
    rest: patches left out are dropped (drop), or answered for by one token, the page's mean (mean).
    reuse: layers before the first focal one use the previous step's fixation; else they are dense.
    dilation: cells of the page grid by which a reused fixation is widened on every side.
    refresh: every so many steps a step is dense; 0 is never.
    min_mass: a row whose fixation holds a smaller share of its focal layer's visual attention
        attends to everything until the next focal layer; 0 is never.
    probe_steps: dense steps on the first page that find the focal layers.
    trace: most attended patches of every step to report; 0 reports the first one only.
    """

    keep: float = 1.0
    minimum: int = 16
    focal_fraction: float = 0.1
    focal_layers: tuple[int, ...] | None = None
    dense_layers: tuple[int, ...] = ()
    heads: HeadMode = "taught"
    focal_output: FocalOutput = "sparse"
    focal_stride: int | None = None
    rest: Rest = "drop"
    reuse: bool = True
    dilation: int = 0
    refresh: int = 0
    min_mass: float = 0.0
    probe_steps: int = 16
    trace: int = 0

    def __post_init__(self) -> None:
        require(0 <= self.keep <= 1, "keep", self.keep, "a share from 0 to 1")
        require(0 < self.focal_fraction <= 1, "focal_fraction", self.focal_fraction, "in (0, 1]")
        require(0 <= self.min_mass <= 1, "min_mass", self.min_mass, "a share from 0 to 1")
        for name, choices in (("heads", HeadMode), ("focal_output", FocalOutput), ("rest", Rest)):
            words = get_args(choices)
            require(getattr(self, name) in words, name, getattr(self, name), " or ".join(words))
        for name in ("minimum", "dilation", "refresh", "trace"):
            require(getattr(self, name) >= 0, name, getattr(self, name), "0 or more")
        require(self.probe_steps >= 1, "probe_steps", self.probe_steps, "1 or more")
        stride = 1 if self.focal_stride is None else self.focal_stride
        require(stride >= 1, "focal_stride", stride, "1 or more")
        require(self.reuse or stride == 1, "focal_stride", stride, "1 without reuse")
        require(self.focal_layers != (), "focal_layers", "nothing", "one layer or more")
        for layer in (*(self.focal_layers or ()), *self.dense_layers):
            require(layer >= 0, "layers", layer, "counted from 0")


def read_settings(kind: type[T], options: Mapping[str, Any]) -> T:
    """A settings dataclass from named values, each read and checked by the type of its field: text
    as it may be written, and values as a file or a caller may give them.

    Raises UsageError for a name the dataclass has not (naming the nearest it has) and for a value
    that cannot be read or cannot be meant.
    """
    hints = get_type_hints(kind)
    names = [one.name for one in fields(kind) if one.init]  # type: ignore[arg-type]
    for name in options:
        check_name(name, names, "setting")
    return kind(**{name: _read(name, value, hints[name]) for name, value in options.items()})


def check_name(name: str, known: Iterable[str], what: str) -> None:
    """Raises UsageError for a name that is not known, with the nearest one that is."""
    names = list(known)
    if name in names:
        return
    near = get_close_matches(name, names, n=1)
    hint = f"did you mean '{near[0]}'?" if near else f"known are {', '.join(names)}"
    raise UsageError(f"unknown {what} '{name}': {hint}")


def require(holds: bool, name: str, value: object, meant: str) -> None:
    """Raises UsageError unless it holds."""
    if not holds:
        raise UsageError(f"{name} is {value}, but must be {meant}")


def _read(name: str, value: Any, hint: Any) -> Any:
    """The value as its field's type; fields of words are checked by their dataclass."""
    kinds = [kind for kind in (hint, *get_args(hint)) if kind in _READERS]
    if not kinds or (value is None and type(None) in get_args(hint)):
        return value
    try:
        return _READERS[kinds[0]](value)
    except ValueError as error:
        raise UsageError(f"cannot read '{value}' as {name}: {error}") from None


def _switch(value: Any) -> bool:
    words = {"on": True, "true": True, "yes": True, "1": True}
    words |= {"off": False, "false": False, "no": False, "0": False}
    if isinstance(value, bool):
        return value
    if not isinstance(value, str) or value.lower() not in words:
        raise ValueError("write on or off")
    return words[value.lower()]


def _whole(value: Any) -> int:
    return int(_numeric(value, int, (int,), "a whole number"))


def _number(value: Any) -> float:
    return float(_numeric(value, float, (int, float), "a number"))


def _numeric(value: Any, kind: type[float], also: tuple[type[float], ...], words: str) -> float:
    """Text as `kind` reads it, or a value of a type that will do."""
    if isinstance(value, str):
        with suppress(ValueError):
            return kind(value)
    elif isinstance(value, also) and not isinstance(value, bool):
        return value
    raise ValueError(f"write {words}")


def _numbers(value: Any) -> tuple[int, ...]:
    """One number, a list of them, or text with commas between them; ascending, each once."""
    parts = [part for part in value.split(",") if part.strip()] if isinstance(value, str) else value
    if not isinstance(parts, (list, tuple)):
        parts = [parts]
    return tuple(sorted({_whole(part) for part in parts}))


_READERS: dict[Any, Callable[[Any], Any]] = {
    bool: _switch,
    int: _whole,
    float: _number,
    tuple[int, ...]: _numbers,
}
