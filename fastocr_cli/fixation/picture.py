"""A picture of a calibration: how much every layer recovers, and which layers were chosen.

Knows matplotlib, which is an extra, and the measured masses.
"""

from __future__ import annotations

from pathlib import Path

from fastocr_cli.figure import new_figure, save
from fastocr_cli.fixation.calibration import Calibration
from fastocr_cli.fixation.settings import FixationSettings


def draw_calibration(calibration: Calibration, settings: FixationSettings, path: Path) -> Path:
    """Writes the picture in the format of the path's suffix and returns the path.

    Left: the share of all visual attention that each layer would recover as the only focal one;
    chosen layers stand out. Right: how much of each layer's visual attention lies in the top
    patches of each other layer. Raises MissingModelError without matplotlib,
    OutputError for a path that cannot be written or drawn to.
    """
    figure = new_figure(11, 4.5)
    masses, choice = calibration.masses, calibration.choice(settings)
    left, right = figure.subplots(1, 2, width_ratios=(3, 2))
    alone = masses.alone(reuse=settings.reuse)
    colours = ["C1" if layer in choice.layers else "C0" for layer in calibration.layers]
    places = range(len(calibration.layers))
    left.bar(places, alone, color=colours)
    left.axhline(choice.recovered, color="C1", linestyle="--", linewidth=1)
    left.set(
        title=f"focal layers {', '.join(map(str, choice.layers))}: {choice.recovered:.1%} together",
        xlabel="decoder layer",
        ylabel="share of visual attention recovered",
        ylim=(0, 1),
    )
    shares = masses.within / masses.total.clamp(min=1e-12)
    drawn = right.imshow(shares.numpy(), vmin=0, vmax=1, origin="lower")
    right.set(title="share recovered", xlabel="of this layer", ylabel="by this layer's top patches")
    figure.colorbar(drawn, ax=right)
    for axis in (left, right):
        axis.set_xticks(places, calibration.layers, fontsize=7)
    right.set_yticks(places, calibration.layers, fontsize=7)
    figure.suptitle(
        f"{calibration.model}, top {calibration.keep:.0%} of patches, "
        f"{calibration.steps} steps on {calibration.pages} pages"
    )
    return save(figure, path)
