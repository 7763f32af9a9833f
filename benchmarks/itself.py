"""The check against itself: how far from 1 a ratio may be on this machine and mean nothing."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence

from benchmarks.bench import Bench
from benchmarks.measure import NotMeasuredError, compare, output
from benchmarks.table import Row, ratio_row


def against_itself(bench: Bench) -> list[Row]:
    """An A/A comparison with the middle half of its ratios. Raises NotMeasuredError where the boards are not ready."""
    check = bench.check(bench.eight)
    report = json.loads(output(check))
    if report["readiness"] != "ready" or report["usable"] != 8:
        raise NotMeasuredError(f"eight healthy boards are called {report['readiness']}")
    ratio = compare(check, check, bench.pairs)
    row = ratio_row("boardops check, 8 boards", "itself (A/A)", ratio)
    figure = f"half of the pairs: CPU {_half(ratio.cpu)}, wall {_half(ratio.wall)}"
    return [Row(row.what, row.reference, row.cpu, row.wall, figure)]


def _half(values: Sequence[float]) -> str:
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return f"{low:.2f} to {high:.2f}"


PARTS = (against_itself,)
