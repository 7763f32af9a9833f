"""Measure and print one table: `python -m benchmarks [peers|scale|hang|rules|start] [--pairs N] [--keep DIR]`.

Medians of interleaved pairs, as ratios to a reference of the same run; CPU time comes first, since on a busy machine
only it holds. A target that is missed is no failure: the exit code is 1 only where something could not be measured.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks import hang, itself, peers, rules, scale, start
from benchmarks.bench import Bench
from benchmarks.measure import NotMeasuredError
from benchmarks.table import Row, markdown, text

Measure = Callable[[Bench], list[Row]]
PARTS: dict[str, tuple[Measure, ...]] = {
    "peers": peers.PARTS,
    "start": start.PARTS,
    "scale": scale.PARTS,
    "hang": hang.PARTS,
    "rules": rules.PARTS,
}
WITHOUT_PROGRAMS = {"rules"}
LEAST_PAIRS = 9


def main() -> int:
    """Measure what was asked for, print it, and give the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", nargs="?", choices=sorted(PARTS), help="measure only this")
    parser.add_argument("--pairs", type=int, default=LEAST_PAIRS, help=f"pairs of runs, {LEAST_PAIRS} or more")
    parser.add_argument("--keep", metavar="DIR", help="keep the virtual environments here, for the next run")
    parser.add_argument("--markdown", action="store_true", help="print the table for a document")
    options = parser.parse_args()
    if options.pairs < LEAST_PAIRS:
        parser.error(f"fewer than {LEAST_PAIRS} pairs tell nothing")
    parts = [options.part] if options.part else list(PARTS)
    chosen: list[Measure] = [] if set(parts) <= WITHOUT_PROGRAMS else list(itself.PARTS)
    chosen += [measure for part in parts for measure in PARTS[part]]
    with tempfile.TemporaryDirectory() as folder:
        homes = Path(options.keep).resolve() if options.keep else Path(folder) / "homes"
        rows, missing = collect(chosen, Bench(homes, Path(folder), options.pairs))
    print((markdown if options.markdown else text)(rows), end="")
    for line in missing:
        print(f"not measured: {line}", file=sys.stderr)
    return 1 if missing else 0


def collect(chosen: Sequence[Measure], bench: Bench) -> tuple[list[Row], list[str]]:
    """The rows of all measures, and what could not be measured with its reason. One never costs another."""
    rows: list[Row] = []
    missing: list[str] = []
    for measure in chosen:
        name = f"{measure.__module__.rpartition('.')[2]}.{measure.__name__}"
        print(f"measuring {name}", file=sys.stderr, flush=True)
        try:
            rows += measure(bench)
        except NotMeasuredError as error:
            missing.append(f"{name}: {error}")
    return rows, missing


if __name__ == "__main__":
    sys.exit(main())
