"""The numbers as pictures. matplotlib is only imported here, and only when there is something to draw."""

# matplotlib leaves its keyword arguments untyped.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ._curves import Line as CurveLine
from ._report import Line, Report
from .peers._tables import HEADINGS, Comparison, Heading, ranked, title_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.typing import RcKeyType

_INK: Final = "#7a7a7a"
"""For text and axes: grey enough to be read on white and on black."""

_INSIDE: Final = "#3b82c4"
_BEYOND: Final = "#d9792b"
"""Two colours that stay apart for those who see few."""

_SETTINGS: Final[dict[RcKeyType, object]] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "armory_trio",
    "font.size": 10,
    "text.color": _INK,
    "axes.edgecolor": _INK,
    "axes.labelcolor": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
}


def draw_report(report: Report, directory: Path) -> list[Path]:
    """Draw the ratios against their budgets, and each curve, below *directory*; answer the files."""
    judged = [line for line in report.rows if line.budget is not None]
    drawn = [_draw_budgets(judged, directory / "budgets.svg")] if judged else []
    return [*drawn, *(_draw_curve(line, directory / f"{line.name}.svg") for line in report.curves)]


def draw_comparison(comparison: Comparison, directory: Path) -> list[Path]:
    """Draw everybody's costs, one file for each table that has numbers; answer the files."""
    with_numbers = [heading for heading in HEADINGS if ranked(comparison, heading)]
    return [_draw_peers(comparison, heading, directory / f"peers-{heading.name}.svg") for heading in with_numbers]


def _draw_budgets(lines: Sequence[Line], path: Path) -> Path:
    names = [f"{line.name} ({line.judged_by})" for line in lines]
    shares = [100 * line.judged / line.budget for line in lines if line.budget is not None]
    with _drawing("Ratios against their budgets", path, height=_height(lines)) as axes:
        bars = axes.barh(names, shares, color=[_INSIDE if line.inside else _BEYOND for line in lines], height=0.6)
        axes.bar_label(bars, [f" {line.judged:.2f} of {line.budget:.2f}" for line in lines], color=_INK)
        axes.axvline(100, color=_INK, linewidth=1, linestyle="--")
        axes.set_xlim(0, 1.3 * max(100.0, *shares))
        axes.invert_yaxis()
        axes.set_xlabel("ratio to what it is compared with, in % of its budget")
    return path


def _draw_curve(line: CurveLine, path: Path) -> Path:
    numbers = [point.at for point in line.points]
    lows, highs = [point.ratios.low for point in line.points], [point.ratios.high for point in line.points]
    with _drawing(line.title, path, height=3.2) as axes:
        axes.plot(numbers, [point.ratios.median for point in line.points], color=_INSIDE, marker="o", label="median")
        axes.fill_between(numbers, lows, highs, color=_INSIDE, alpha=0.25, linewidth=0, label="quartiles")
        axes.axhline(1, color=_INK, linewidth=1, linestyle="--")
        axes.set_xscale("log")
        axes.set_ylim(0, max(2.0, 1.2 * max(highs)))
        axes.set_xlabel(line.across)
        axes.set_ylabel(f"cost of a call, with {line.base} = 1")
        axes.legend(frameon=False, labelcolor=_INK)
    return path


def _draw_peers(comparison: Comparison, heading: Heading, path: Path) -> Path:
    """Dots, not bars: on a logarithmic axis a length would say nothing."""
    base = comparison.contenders[0].name
    ranks = [(rank, name, ratio) for rank, (name, ratio, _) in enumerate(ranked(comparison, heading))]
    with _drawing(title_of(comparison, heading), path, height=_height(ranks)) as axes:
        for rank, name, ratio in ranks:
            axes.plot([ratio], [rank], marker="o", markersize=9, color=_BEYOND if name == base else _INSIDE)
            axes.annotate(f"{ratio:.2f}", (ratio, rank), (9, 0), textcoords="offset points", va="center")
        axes.set_yticks([rank for rank, _, _ in ranks], [name for _, name, _ in ranks])
        axes.axvline(1, color=_INK, linewidth=1, linestyle="--", zorder=0)
        axes.set_xscale("log")
        axes.set_xlim(right=2 * max(ratio for _, _, ratio in ranks))
        axes.margins(y=0.05)
        axes.invert_yaxis()
        axes.set_xlabel(f"times what {base} takes, on a logarithmic scale")
    return path


def _height(bars: Sequence[object]) -> float:
    return 0.9 + 0.3 * len(bars)


@contextmanager
def _drawing(title: str, path: Path, *, height: float) -> Generator[Axes]:
    """Axes to draw on; the picture is in *path* when the block is left."""
    import matplotlib as mpl  # noqa: PLC0415  # only needed where something is drawn
    from matplotlib.figure import Figure  # noqa: PLC0415

    with mpl.rc_context(_SETTINGS):
        figure = Figure(figsize=(7.5, height), layout="constrained")
        axes = figure.add_subplot()
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        axes.set_title(title, color=_INK, loc="left")
        yield axes
        figure.savefig(path, format="svg", transparent=True, metadata={"Date": None})
