"""Whatever the driver does, the report comes, tells of every board, and says nothing fine that was not seen."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.faults.rows import CODES, DEADLINE_SECONDS, ROWS, Fault
from tests.live import standin

SLACK_SECONDS = 20.0
WORST = ("ready", "degraded", "unknown", "not-ready")


@pytest.mark.parametrize("count", [1, 8, 16])
@pytest.mark.parametrize("fault", ROWS, ids=lambda fault: fault.name.replace(" ", "-"))
def test_the_report_comes_and_tells_the_truth(tmp_path: Path, fault: Fault, count: int) -> None:
    machine = standin(tmp_path, count)
    machine.env["BOARDOPS_TEST_MARK"] = str(tmp_path)
    fault.change(machine, count)
    deadline = DEADLINE_SECONDS if fault.hangs else 60.0
    begun = time.monotonic()
    code, report, _ = machine.check("--deadline", str(deadline))
    assert not fault.hangs or time.monotonic() - begun < deadline + SLACK_SECONDS
    assert list(left_running(tmp_path)) == []

    expected = [fault.expected(board, count) for board in range(count)]
    assert [board["readiness"] for board in report["boards"]] == expected, told(report)
    ours = [board["readiness"] for board in report["boards"] if board["selected"]]
    whole = max(ours, key=WORST.index, default="unknown")
    assert (report["readiness"], code) == (whole, CODES[whole])

    for words in fault.words:
        assert any(words in text for text in told(report)), told(report)
    remedies = {
        finding["remedy"]["action"] for finding in findings(report) if finding["verdict"] in {"fail", "unknown"}
    }
    assert not fault.action or fault.action in remedies
    for board in report["boards"]:
        if "fail" not in {finding["verdict"] for finding in (*board["findings"], *report["host"]["findings"])}:
            assert board["readiness"] != "not-ready"
        elsewhere = fault.name.startswith("the driver has a board that the bus") and board is report["boards"][-1]
        assert elsewhere or board["facts"]["pcie"]["port_width_max_lanes"] == 16, "what needs no driver is there"
    assert report["host"]["facts"]["hostname"] == "gpu-node-01"


def told(report: dict[str, Any]) -> list[str]:
    """All sentences of a report that say what is wrong."""
    return [
        *(finding["reason"] for finding in findings(report) if finding["verdict"] not in {"pass"}),
        *(entry["why"] for entry in report["evidence"]),
    ]


def findings(report: dict[str, Any]) -> list[dict[str, Any]]:
    return [finding for subject in (report["host"], *report["boards"]) for finding in subject["findings"]]


def left_running(mark: Path) -> Iterator[str]:
    """Processes of this run that still run, by their command."""
    wanted = f"BOARDOPS_TEST_MARK={mark}".encode()
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if wanted in (folder / "environ").read_bytes().split(b"\0"):
                yield (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
