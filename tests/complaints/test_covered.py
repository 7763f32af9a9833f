"""The table of complaints is whole, its tests exist, and what had no test has one here."""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Iterator
from types import ModuleType

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
        named = {*complaint.proven, *complaint.open}
        assert bool(named) != bool(complaint.later), number
        assert named <= tests, (number, named - tests)


def test_what_is_open_fails_and_what_is_proven_does_not() -> None:
    """A fault that was mended moves its tests from `open` to `proven`, and no proof is an expected failure."""
    failing = {
        name
        for path in (ROOT / "tests" / "complaints").glob("test_*.py")
        for name in expected_failures(importlib.import_module(f"tests.complaints.{path.stem}"))
    }
    assert {name for complaint in COMPLAINTS.values() for name in complaint.open} == failing
    proven = {name for complaint in COMPLAINTS.values() for name in complaint.proven}
    assert not proven & failing


def expected_failures(module: ModuleType) -> Iterator[str]:
    """Tests that are expected to fail, with all their parameters or with some."""
    for name, function in vars(module).items():
        marks = getattr(function, "pytestmark", []) if name.startswith("test_") else []
        sets = [entry for mark in marks if mark.name == "parametrize" for entry in mark.args[1]]
        if any(mark.name == "xfail" for mark in (*marks, *(m for entry in sets for m in getattr(entry, "marks", ())))):
            yield name


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
