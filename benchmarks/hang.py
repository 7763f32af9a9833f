"""How late a report is when boards hang: seconds over those of a healthy run and the deadline together."""

from __future__ import annotations

from benchmarks.bench import Bench
from benchmarks.measure import middle, pairs
from benchmarks.table import Row
from tests.standin.nvml import Nvml

DEADLINE = 2.0
OVER = 0.3
UNKNOWN = 3
CALL = "nvmlDeviceGetTemperature*"


def hang(bench: Bench) -> list[Row]:
    """With one board that hangs, and with all."""
    return [_row(bench, "one of 8 boards hangs", 5), _row(bench, "all 8 boards hang", None)]


def _row(bench: Bench, what: str, board: int | None) -> Row:
    def change(driver: Nvml) -> Nvml:
        return driver.hang(CALL, board)

    words = ("--deadline", f"{DEADLINE:g}")
    hung = bench.check(bench.machine(f"hang-{board}", change=change), *words, code=UNKNOWN)
    costs = list(pairs(hung, bench.check(bench.eight, *words), bench.pairs))
    over = middle([a.wall - b.wall - DEADLINE for a, b in costs])
    target = f"at most {OVER:g} s over"
    reference = f"the same unhung, and the deadline of {DEADLINE:g} s"
    return Row(what, reference, figure=f"{over:+.2f} s", target=target, met=over <= OVER)


PARTS = (hang,)
