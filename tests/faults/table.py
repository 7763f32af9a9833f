"""Write the page of the documentation that tells what becomes of each fault: `python -m tests.faults.table`.

The rows are those that the tests run, so the page is proven.
"""

from __future__ import annotations

from tests.cli.program import ROOT
from tests.faults.rows import CODES, DRIVER_ROWS, TOOL_ROWS, Fault

PAGE = ROOT / "docs" / "when-the-driver-fails.md"
WORST = ("ready", "degraded", "unknown", "not-ready")
BOARDS = 8
HEAD = """# When the driver fails

Whatever a driver or its tool does, the report comes in time, tells of every board on the bus, and calls nothing fine
that was not seen. These faults are tried in the project's tests with 1, 8 and 16 boards on stand-in drivers; the table
tells of eight. Each run's record, judged again, gives the same report.

{tables}
Beside these, a program that not even SIGKILL ends (state D) is let go, and the finding `driver.hung` tells where it
hangs: the boards are not ready, exit code 2, and only a reboot helps. What is `unknown` or `not-ready` here is so for
the boards that are concerned; the readiness of the host is that of its worst board.
"""


def page() -> str:
    """The whole page."""
    tables = (
        "## Through the driver's library\n\n" + _table(DRIVER_ROWS),
        "## Through `nvidia-smi`, where the library cannot be loaded\n\n" + _table(TOOL_ROWS),
    )
    return HEAD.format(tables="\n".join(tables))


def _table(rows: tuple[Fault, ...]) -> str:
    lines = [
        "| fault | boards | exit code | the report says | action | still in the report |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        states = [row.expected(board, BOARDS) for board in range(BOARDS)]
        worst = max(states, key=WORST.index)
        code = CODES[worst] if row.action or worst in ("ready", "not-ready") else 0
        counts = [f"{states.count(state)} {state}" for state in WORST if state in states]
        said = "; ".join(f"… {words} …" for words in row.words) or "nothing"
        lines.append(f"| {row.name} | {', '.join(counts)} | {code} | {said} | {row.action or '–'} | {row.kept} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
