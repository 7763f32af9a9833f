"""What a command costs that reads no board."""

from __future__ import annotations

from benchmarks import machines
from benchmarks.bench import OURS, Bench
from benchmarks.measure import Command, compare
from benchmarks.table import Row, ratio_row


def start(bench: Bench) -> list[Row]:
    """`--help` and `--version` against another program's `--version`."""
    env = machines.clean()
    theirs = Command([bench.program("gpustat"), "--version"], env)
    reference = f"gpustat --version ({bench.version('gpustat')})"
    rows = []
    for option in ("--help", "--version"):
        ratio = compare(Command([bench.program(OURS), option], env), theirs, bench.pairs)
        rows.append(ratio_row(f"{OURS} {option}", reference, ratio, cpu=0.5, wall=0.5))
    return rows


PARTS = (start,)
