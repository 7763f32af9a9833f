"""The table of results: rows, and the two ways in which they are printed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchmarks.measure import Ratio, middle

HEADER = ("what", "reference", "ratio CPU", "ratio wall", "figure", "target", "met")


@dataclass(frozen=True)
class Row:
    """One result. `figure` is what is no ratio; without a target, `met` is None."""

    what: str
    reference: str
    cpu: float | None = None
    wall: float | None = None
    figure: str = ""
    target: str = ""
    met: bool | None = None

    def cells(self) -> tuple[str, ...]:
        """The row as texts, in the order of HEADER."""
        met = {True: "met", False: "not met", None: ""}[self.met]
        return (self.what, self.reference, _ratio(self.cpu), _ratio(self.wall), self.figure, self.target, met)


def ratio_row(what: str, reference: str, ratio: Ratio, cpu: float | None = None, wall: float | None = None) -> Row:
    """Medians of a comparison, with the most that its CPU and its wall ratio may be."""
    found_cpu, found_wall = middle(ratio.cpu), middle(ratio.wall)
    limits = [(name, most) for name, most in (("CPU", cpu), ("wall", wall)) if most is not None]
    if cpu == wall:
        limits = [("CPU and wall", cpu)] if cpu is not None else []
    target = ", ".join(f"{name} at most {most:g}" for name, most in limits)
    within = [found <= most for found, most in ((found_cpu, cpu), (found_wall, wall)) if most is not None]
    return Row(what, reference, found_cpu, found_wall, target=target, met=all(within) if within else None)


def text(rows: Sequence[Row]) -> str:
    """The table for a terminal."""
    cells = [HEADER, *(row.cells() for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "".join(_line(line, widths) for line in cells)


def markdown(rows: Sequence[Row]) -> str:
    """The table for a document."""
    lines: Iterable[tuple[str, ...]] = (HEADER, ("---",) * len(HEADER), *(row.cells() for row in rows))
    return "".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |\n" for line in lines)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = [cell.ljust(width) for cell, width in zip(cells, widths, strict=True)]
    return "  ".join(padded).rstrip() + "\n"


def _ratio(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
