"""The reader of nvidia-smi's CSV."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boardops.facts import Missing, Value
from boardops.readers.nvidia_smi_csv import read, recognise
from tests.cli.program import boardops, one_line
from tests.smi_xml import H100, compose

UUID = "GPU-00000000-1111-2222-3333-000000000001"


def boards(text: str) -> tuple[Mapping[str, Value], ...]:
    assert recognise(text.encode())
    return read(text.encode()).boards


@pytest.mark.parametrize(
    "text",
    [
        "pci.bus_id, memory.used [MiB], power.draw [W]\n00000000:18:00.0, 754 MiB, 71.20 W\n",
        "pci.bus_id, memory.used [MiB], power.draw [W]\n00000000:18:00.0, 754, 71.20\n",
        "pci.bus_id,memory.used,power.draw\n00000000:18:00.0,754,71.20\n",
        "gpu_bus_id, memory.used [MiB], power.draw [W]\r\n00000000:18:00.0, 754 MiB, 71.20 W\r\n",
        "WARNING: infoROM is corrupted\npci.bus_id, memory.used [MiB], power.draw [W]\n00000000:18:00.0, 754, 71.2\n",
    ],
    ids=["units", "nounits", "bare", "windows", "warning"],
)
def test_units_stand_in_values_in_the_header_or_nowhere(text: str) -> None:
    (board,) = boards(text)
    assert (board["pci_address"], board["memory.used_bytes"]) == ("0000:18:00.0", 754 * 2**20)
    assert board["power.draw_watts"] == pytest.approx(71.2)


def test_what_was_not_asked_for_is_never_fine() -> None:
    text = "count, driver_version, pci.bus_id, temperature.gpu\n1, 580.95.05, 00000000:18:00.0, 34\n"
    reading = read(text.encode())
    value = reading.boards[0]["rows.failed"]
    assert isinstance(value, Missing) and value.kind == "unreadable"
    assert (reading.host["boards_listed_count"], reading.complete) == (1, True)


def test_boards_that_were_not_listed_are_missed() -> None:
    value = read(b"count, uuid\n8, " + UUID.encode() + b"\n").host["boards_listed_count"]
    assert isinstance(value, Missing)


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"clocks_event_reasons.active": "0x0000000000000041"}, ("gpu_idle", "hw_thermal_slowdown")),
        ({"clocks_throttle_reasons.active": "0x0000000000000000"}, ()),
        ({"clocks_throttle_reasons.hw_slowdown": "Active"}, ("hw_slowdown",)),
        ({"clocks_event_reasons.active": "0x0000000000010000"}, ("bit_0x10000",)),
    ],
)
def test_reasons(columns: dict[str, str], expected: tuple[str, ...]) -> None:
    text = f"uuid, {', '.join(columns)}\n{UUID}, {', '.join(columns.values())}\n"
    assert boards(text)[0]["clock.throttle_reasons"] == expected


@pytest.mark.parametrize(
    ("columns", "count"),
    [
        ({"total": "7"}, 7),
        ({"dram": "3", "sram.parity": "1", "sram.secded": "2", "total": "6"}, 6),
        ({"dram": "3", "sram.parity": "[N/A]", "sram.secded": "[N/A]", "total": "3"}, 3),
        ({"total": "[N/A]"}, "not-supported"),
        ({"dram": "[Unknown Error]", "sram.parity": "0", "sram.secded": "0"}, "error"),
    ],
)
def test_errors_are_counted_once(columns: dict[str, str], count: int | str) -> None:
    names = [f"ecc.errors.uncorrected.volatile.{part}" for part in columns]
    value = boards(f"uuid, {', '.join(names)}\n{UUID}, {', '.join(columns.values())}\n")[0][
        "ecc.uncorrected_volatile_count"
    ]
    assert (value.kind if isinstance(value, Missing) else value) == count


def test_processes_whose_names_hold_commas() -> None:
    text = (
        "gpu_uuid, pid, process_name, used_gpu_memory [MiB]\n"
        f"{UUID}, 11, [worker: a, b, c], 100 MiB\n{UUID}, 12, python, [N/A]\n"
    )
    (board,) = boards(text)
    processes = board["processes"]
    assert isinstance(processes, tuple) and [process.pid for process in processes] == [11, 12]  # type: ignore[union-attr]
    assert processes[0].used_bytes == 100 * 2**20  # type: ignore[union-attr]


def test_a_row_that_does_not_fit_costs_only_itself() -> None:
    text = f"uuid, temperature.gpu\n{UUID}, 34, surprise\nGPU-00000000-1111-2222-3333-000000000002, 35\n"
    reading = read(text.encode())
    assert [board["temperature.core_celsius"] for board in reading.boards] == [35.0]
    assert reading.problems[0].startswith("line 2 has 3 values for 2 columns") and not reading.complete


@given(st.lists(st.text(max_size=30), max_size=8), st.text(max_size=60))
def test_whatever_the_values_are_it_is_read(cells: list[str], noise: str) -> None:
    text = f"uuid, temperature.gpu, memory.total [MiB], pstate\n{','.join(cells)}\n{noise}\n"
    if recognise(text.encode()):
        for board in read(text.encode()).boards:
            assert board["vendor"] == "nvidia"


def test_a_board_without_an_address_is_joined_by_its_uuid(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(f"uuid, inforom.img, temperature.gpu\n{UUID}, G520, 34\n", encoding="utf-8")
    (tmp_path / "b.xml").write_text(compose([H100]), encoding="utf-8")
    done = boardops("check", "--from", str(tmp_path / "a.csv"), "--from", str(tmp_path / "b.xml"), "--format", "json")
    report = json.loads(done.stdout)
    (board,) = report["boards"]
    assert (board["pci_address"], board["facts"]["inforom_version"]) == ("0000:18:00.0", "G520")
    assert report["partial"] == "nvidia-smi CSV and nvidia-smi XML only"


def test_boards_with_nothing_but_a_uuid_are_apart() -> None:
    text = f"uuid, temperature.gpu\n{UUID}, 34\nGPU-00000000-1111-2222-3333-000000000002, 35\n"
    done = boardops("check", "--from", "-", "--format", "json", stdin=text.encode())
    assert len(json.loads(done.stdout)["boards"]) == 2
    assert done.returncode == 3


def test_without_a_header_nobody_can_tell() -> None:
    done = boardops("check", "--from", "-", stdin=f"0, {UUID}, 34, 754 MiB\n".encode())
    assert done.returncode == 3 and "without its header" in one_line(done.stderr)
    assert not recognise(b"a, b, c\n1, 2, 3\n") and not recognise(b"index, name\n")
