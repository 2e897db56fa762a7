"""What a pruning method learned of its model from a run's first page, as plain values.

It is kept in the journal: a resumed run would learn from another page than the run it goes on
with, and could read the rest differently. Knows that a policy may have a finder with a choice; no
tensors.
"""

from __future__ import annotations

from typing import Any

FIRST_PAGE = "first page"
"""How a choice of focal layers names its source when a run's own page showed them."""


def learned_by(reader: Any) -> dict[str, Any] | None:
    """The focal layers found so far, or None: nothing found, given by hand, or calibrated."""
    finder = _finder(reader)
    choice = finder.choice if finder is not None else None
    if choice is None or choice.source != FIRST_PAGE:
        return None
    heads = [list(heads) for heads in choice.heads]
    return {"layers": list(choice.layers), "heads": heads, "recovered": choice.recovered}


def teach(reader: Any, values: dict[str, Any]) -> None:
    """Give a reader what an earlier run learned, unless it knows better."""
    finder = _finder(reader)
    if finder is None or finder.choice is not None:
        return
    from fastocr_cli.fixation.focal import FocalChoice

    finder.choice = FocalChoice(
        layers=tuple(values["layers"]),
        heads=tuple(tuple(heads) for heads in values["heads"]),
        recovered=values["recovered"] if values["recovered"] is not None else float("nan"),
        source=FIRST_PAGE,
    )


def _finder(reader: Any) -> Any:
    policy = getattr(reader, "policy", None)
    return getattr(policy(reader.keep), "finder", None) if policy is not None else None
