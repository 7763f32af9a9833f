"""The table of complaints is whole, its tests exist, and what had no test has one here."""

from __future__ import annotations

import json
import re

import pytest

from tests.cli.program import ROOT, boardops
from tests.complaints.covered import COMPLAINTS
from tests.live import findings
from tests.smi_xml import H100, compose, with_tags


def test_every_complaint_is_proven_or_put_off_with_a_reason() -> None:
    assert set(COMPLAINTS) == {*map(str, range(1, 102)), "64b", "64c", "89b"}
    tests = {
        name
        for path in (ROOT / "tests").rglob("test_*.py")
        for name in re.findall(r"^def (test_\w+)\(", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    for number, complaint in COMPLAINTS.items():
        assert bool(complaint.proven) != bool(complaint.later), number
        assert set(complaint.proven) <= tests, (number, set(complaint.proven) - tests)


@pytest.mark.parametrize("value", ["[N/A]", "Not Supported", "N/A"])
def test_unified_memory_is_no_missing_memory(value: str) -> None:
    memory = {f"fb_memory_usage/{part}": value for part in ("total", "used", "free", "reserved")}
    board = with_tags(H100, {"product_name": "NVIDIA GB10", "pci/pci_device_id": "2E1210DE", **memory})
    done = boardops("check", "--from", "-", "--format", "json", stdin=compose([board]).encode())
    found = findings(json.loads(done.stdout), 0)
    assert done.returncode == 0
    assert {found[rule]["verdict"] for rule in ("memory.seen", "memory.size", "memory.in_use")} == {"skipped"}


@pytest.mark.parametrize("action", ["Reset", "Reboot", "Drain P2P", "Drain and Reset", "Something New"])
def test_a_recovery_action_is_never_fine(action: str) -> None:
    board = with_tags(H100, {"gpu_recovery_action": action})
    done = boardops("check", "--from", "-", "--format", "json", stdin=compose([board]).encode())
    found = findings(json.loads(done.stdout), 0)["board.recovery"]
    assert done.returncode == 2 and found["verdict"] == "fail"
