"""Boards that are gone, drivers that are broken, and rights that are missing."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.faults.rows import tool
from tests.live import Report, Standin, findings, outcomes, standin
from tests.standin.nvml import Nvml

GONE = "Unable to determine the device handle for GPU 0000:2A:00.0: Unknown Error"


def without_the_second(machine: Standin) -> Standin:
    """Neither the PCI bus nor the driver has the second of two boards."""
    machine.files = machine.files.missing(1)
    machine.nvml = Nvml(machine.folder / "driver", count=1)
    return machine


def through_the_tool(tmp_path: Path, script: str) -> tuple[int, Report]:
    machine = standin(tmp_path, 2)
    tool(script)(machine, 2)
    code, report, _ = machine.check()
    return code, report


def test_the_board_that_the_tool_fails_on_is_named_as_lost(tmp_path: Path) -> None:
    """NordicHPC/sonar#72: the tool bails out on one dead board, and the others are not told from it."""
    code, report = through_the_tool(tmp_path, f"echo '{GONE}'; exit 15")
    assert findings(report, 1)["board.answers"]["verdict"] == "fail"
    assert code == 2 and report["boards"][0]["readiness"] == "unknown"


@pytest.mark.parametrize(
    ("code", "words", "cause", "missing"),
    [
        (18, "Driver/library version mismatch", "different versions", "error"),
        (4, "Insufficient Permissions", "may not read", "not-permitted"),
        (9, "Driver Not Loaded", "not loaded", "error"),
    ],
    ids=["mismatch", "permission", "not-loaded"],
)
def test_each_exit_code_of_the_tool_has_its_cause(
    tmp_path: Path, code: int, words: str, cause: str, missing: str
) -> None:
    """mozilla/translations#1167: library and module differ, the tool ends with 18 and nobody knows what that is.
    gpuopenanalytics/pynvml#19: a user without the right, who is told of a broken board."""
    _, report = through_the_tool(tmp_path, f"echo 'Failed to initialize NVML: {words}'; exit {code}")
    found = findings(report, 0)["board.in_driver"]
    assert found["missing"] == missing and cause in found["reason"]


@pytest.mark.parametrize("words", ["Driver/library version mismatch", "Driver and library version do not match (new)"])
def test_whatever_the_tool_said_is_kept(tmp_path: Path, words: str) -> None:
    """CiscoDevNet/intersight-python-utils PR 66: the words of an error changed between two drivers."""
    code, report = through_the_tool(tmp_path, f"echo 'Failed to initialize NVML: {words}'; exit 18")
    assert code == 3 and outcomes(report)["nvidia-smi"] == "failed"
    assert any(words in entry["why"] and "exit code 18" in entry["why"] for entry in report["evidence"])


def test_a_board_that_an_earlier_run_had_is_missed(tmp_path: Path) -> None:
    """NVIDIA/NVSentinel#155: a board fell off the bus without any fault code, and nobody missed it."""
    machine = standin(tmp_path, 2)
    assert machine.check()[0] == 0
    earlier = (tmp_path / "run.record").rename(tmp_path / "earlier.record")
    shutil.rmtree(tmp_path / "root")
    code, report, _ = without_the_second(machine).check("--baseline", str(earlier))
    assert code == 2, report["readiness"]


def test_a_short_count_fails_the_need_and_leaves_evidence(tmp_path: Path) -> None:
    """NVIDIA/aicr#1860: 7 of 8 boards after a boot, and the debug bundle holds nothing of the driver."""
    machine = without_the_second(standin(tmp_path, 2))
    code, report, _ = machine.check("--need", "boards=2")
    found = findings(report)["need.boards"]
    assert code == 2 and found["verdict"] == "fail" and "kernel log" in found["remedy"]["text"]
    kept = (tmp_path / "run.record").read_text(encoding="utf-8")
    assert all(f'"source":"{source}"' in kept for source in ("host", "pci", "nvml", "cuda"))


def test_a_board_that_works_again_is_ready_again(tmp_path: Path) -> None:
    """NVIDIA/gpu-operator#1065, NVIDIA/k8s-device-plugin#189: marked unhealthy once, for ever."""
    machine = standin(tmp_path, 2)
    healthy = machine.nvml
    assert healthy is not None
    machine.nvml = healthy.lost(1)
    assert machine.check()[0] == 2
    machine.nvml = healthy
    code, report, _ = machine.check()
    assert code == 0 and report["usable"] == 2


def test_a_board_that_answers_needs_no_node_to_be_well(tmp_path: Path) -> None:
    """NVIDIA/NVSentinel#1663: a device node is missing, and a good board is unhealthy."""
    machine = standin(tmp_path, 2)
    machine.files = machine.files.no_node(1)
    code, report, _ = machine.check()
    assert code == 0 and findings(report, 1)["board.in_driver"]["verdict"] == "pass"


def test_a_fabric_that_is_never_done_is_seen(tmp_path: Path) -> None:
    """NVIDIA/NVSentinel PR 891: the fabric manager was broken for 20 days and nobody saw it."""
    machine = standin(tmp_path, 2)
    assert machine.nvml is not None
    machine.nvml = machine.nvml.board(0, fabric_state=2)
    code, report, _ = machine.check()
    found = findings(report, 0)["fabric.state"]
    assert code == 2 and found["verdict"] == "fail" and "in-progress" in found["reason"]
    assert "fabric manager" in found["remedy"]["text"] and report["boards"][1]["readiness"] == "ready"


def with_empty_libraries(tmp_path: Path) -> tuple[int, Report]:
    machine = standin(tmp_path, 1)
    machine.nvml = machine.cuda = None
    for name in ("libnvidia-ml.so.1", "libcuda.so.1"):
        (tmp_path / name).touch()
    code, report, _ = machine.check(env={"PATH": str(tmp_path)})
    return code, report


def test_libraries_of_zero_bytes_are_no_driver(tmp_path: Path) -> None:
    """nebius/soperator PR 2684: libraries of zero bytes pass a test of whether the files exist."""
    code, report = with_empty_libraries(tmp_path)
    assert code == 3 and findings(report, 0)["board.in_driver"]["verdict"] == "unknown"
    found = findings(report)["runtime.cuda"]
    assert found["verdict"] == "unknown" and "file too short" in found["reason"]


def test_a_library_that_cannot_be_loaded_is_not_called_missing(tmp_path: Path) -> None:
    """nebius/soperator PR 2684: the files were there, which is what one looks at first."""
    _, report = with_empty_libraries(tmp_path)
    assert "is not here" not in findings(report, 0)["board.in_driver"]["reason"]
