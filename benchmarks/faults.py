"""How long a report takes for each fault that hangs, with eight boards and the default deadline: seconds, not ratios.

`python -m benchmarks.faults`. Each run is made twice, live and from its record; the seconds are those of both.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from tests.faults.rows import ROWS
from tests.live import standin

BOARDS = 8


def main() -> None:
    """Print a line for each fault."""
    for row in ROWS:
        if not row.hangs:
            continue
        with tempfile.TemporaryDirectory() as folder:
            machine = standin(Path(folder), BOARDS)
            row.change(machine, BOARDS)
            begun = time.monotonic()
            code, report, _ = machine.check()
            seconds = time.monotonic() - begun
        print(f"{seconds:5.1f} s  exit {code}  report {report['seconds']:5.1f} s  {row.name}", flush=True)


if __name__ == "__main__":
    main()
