"""Time: calls that stall, limits that are too short, and checks that do more than look."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

import pytest

from tests.cli.program import boardops
from tests.complaints.sent import judged
from tests.live import findings, standin

LOOKING = re.compile(r"nvml(Init\w*|DeviceGet\w+|SystemGet\w+|DeviceValidateInforom)")
SLACK_SECONDS = 20


@pytest.mark.parametrize("intent", ["predeploy", "in-service"])
def test_a_check_only_looks(tmp_path: Path, intent: str) -> None:
    """aws/aws-parallelcluster#6777: a prolog is held up by a check that exercises the boards.
    leptonai/gpud#1164: a probe of what is restricted causes errors in the kernel."""
    machine = standin(tmp_path, 1)
    assert machine.nvml is not None
    machine.check("--intent", intent)
    assert [name for name in machine.nvml.calls() if not LOOKING.fullmatch(name)] == []


def test_a_slow_board_is_waited_for_and_its_errors_are_told(tmp_path: Path) -> None:
    """NVIDIA/NVSentinel#1748: a degrading board stalls the call, and its memory errors are never told.
    NVIDIA/dcgm-exporter#607: nobody sees how long a source took."""
    machine = standin(tmp_path, 2)
    assert machine.nvml is not None
    machine.nvml = machine.nvml.delay("nvmlDeviceGet*", 0.02, board=1).board(1, ecc_uncorrected_volatile_dram=5)
    code, report, _ = machine.check()
    assert code == 2 and findings(report, 1)["ecc.uncorrected"]["verdict"] == "fail"
    assert report["boards"][0]["readiness"] == "ready"
    took = {entry["source"]: entry["seconds"] for entry in report["evidence"]}
    assert took["nvml"] > 0.4 and took["pci"] >= 0


def test_what_is_collected_of_a_driver_that_hangs_comes_in_time(tmp_path: Path) -> None:
    """sosreport/sos#407: the vendor's tool hangs, and so does the collector."""
    machine = standin(tmp_path, 2)
    assert machine.nvml is not None
    machine.files.write(tmp_path / "root")
    environment = {**os.environ, "LD_LIBRARY_PATH": str(tmp_path)}
    environment.update(machine.nvml.hang("nvmlInit*").environment(environment))
    begun = time.monotonic()
    done = boardops("collect", "-o", "-", "--root", str(tmp_path / "root"), "--deadline", "2", env=environment)
    assert time.monotonic() - begun < 2 + SLACK_SECONDS
    assert done.returncode == 0 and "the nvml probe did not end within" in done.stderr
    code, report = judged(done.stdout)
    assert code == 3 and len(report["boards"]) == 2
    assert findings(report, 0)["board.in_driver"]["missing"] == "timed-out"
