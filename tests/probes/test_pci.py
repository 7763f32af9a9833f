"""The PCI probe on stand-in roots: what is a board, its links, and the ports above it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from boardops.facts import Missing, Values
from boardops.readers import pci
from boardops.readers.reading import Reading
from tests.probes.program import started
from tests.standin.sysfs import Machine, display_only, integrated, machine, network


def probe(root: Path) -> Reading:
    done = subprocess.run(started("pci", "--root", str(root)), capture_output=True, cwd="/", timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return pci.read(done.stdout)


def boards(machine_: Machine, root: Path) -> tuple[Values, ...]:
    reading = probe(machine_.write(root))
    assert reading.complete and reading.problems == ()
    return reading.boards


@pytest.mark.parametrize(
    ("vendor", "count"), [("nvidia", 8), ("nvidia", 16), ("ascend", 8), ("cambricon", 4), ("amd", 8)]
)
def test_boards_of_every_vendor_are_found_without_a_driver(tmp_path: Path, vendor: str, count: int) -> None:
    reading = probe(machine(vendor, count).write(tmp_path))
    assert len(reading.boards) == count
    assert {board["vendor"] for board in reading.boards} == {vendor}
    assert reading.host["boards_on_bus_count"] == count
    for board in reading.boards:
        assert board["on_bus"] is True
        assert set(pci.BOARD_FILLS) <= set(board)


def test_what_is_no_board_is_left_out(tmp_path: Path) -> None:
    others = (display_only(), network(), integrated())
    assert len(boards(machine("ascend", 2).with_device(*others), tmp_path)) == 2


def test_links_and_the_narrowest_port(tmp_path: Path) -> None:
    first, second, *_ = boards(machine("nvidia", 8).narrower_port(1, width=4, generation=3), tmp_path)
    assert (first["pcie.link_width_lanes"], first["pcie.link_generation"]) == (16, 5)
    assert first["pcie.port_width_max_lanes"] == 16
    assert (second["pcie.port_width_max_lanes"], second["pcie.port_generation_max"]) == (4, 3)
    assert second["pcie.port_address"] != first["pcie.port_address"]


def test_slot_numa_node_and_driver(tmp_path: Path) -> None:
    first, *_ = boards(machine("nvidia", 2), tmp_path)
    assert first["slot"] and first["kernel_driver"] == "nvidia" and first["numa_node"] == 0
    assert isinstance(boards(machine("nvidia", 1).board(0, numa_node=-1), tmp_path / "b")[0]["numa_node"], Missing)


def test_a_dead_board_and_error_counters(tmp_path: Path) -> None:
    dead, noisy = boards(machine("nvidia", 2).dead(0).errors(1, BadTLP=3), tmp_path)
    assert dead["pcie.config_readable"] is False and noisy["pcie.config_readable"] is True
    assert noisy["pcie.aer_corrected_count"] == 3 and noisy["pcie.aer_fatal_count"] == 0


def test_boards_for_virtual_machines_are_not_counted(tmp_path: Path) -> None:
    reading = probe(machine("nvidia", 4).vfio(3).write(tmp_path))
    assert len(reading.boards) == 4 and reading.host["boards_on_bus_count"] == 3
    assert reading.boards[3]["kernel_driver"] == "vfio-pci"


def test_virtual_functions_are_told_as_such(tmp_path: Path) -> None:
    found = boards(machine("nvidia", 1).virtual_functions(0, 2), tmp_path)
    assert [board.get("virtualization") for board in found] == [None, "vgpu", "vgpu"]


def test_kernel_modules(tmp_path: Path) -> None:
    reading = probe(machine("nvidia", 1).driver("580.95.05").write(tmp_path / "a"))
    assert reading.host["software.nvidia_module_version"] == "580.95.05"
    assert reading.host["software.nouveau_loaded"] is False
    open_ = probe(machine("nvidia", 1).driver("580.95.05", open_module=True).write(tmp_path / "b"))
    assert open_.host["software.nvidia_module_version"] == "580.95.05"
    none = probe(machine("nvidia", 1).driver(None).write(tmp_path / "c"))
    value = none.host["software.nvidia_module_version"]
    assert isinstance(value, Missing) and value.kind == "not-installed"


def test_no_bus_is_an_error_and_not_zero_boards(tmp_path: Path) -> None:
    value = probe(tmp_path).host["boards_on_bus_count"]
    assert isinstance(value, Missing) and value.kind == "not-permitted"
