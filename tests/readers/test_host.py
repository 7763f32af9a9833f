"""The reader of the host probe."""

from __future__ import annotations

import json

from boardops.facts import Missing, build_board, known
from boardops.readers.host import BOARD_FILLS, FILLS, read

TEXT = b"""{"probe": "host", "read_at": "2026-01-31T12:00:00Z"}
{"host": {"kernel": "6.8.0", "memory.total_bytes": 1024, "os": {"missing": "error", "why": "/etc/os-release: gone"}}}
{"board": {"vendor": "cpu", "index": 0, "model": "X", "memory.total_bytes": 1024}}
{"end": "host"}
"""


def test_a_whole_text() -> None:
    reading = read(TEXT)
    assert (reading.kind, reading.title, reading.read_at) == ("host-probe", "host probe", "2026-01-31T12:00:00Z")
    assert (reading.problems, reading.complete) == ((), True)
    assert reading.host == {
        "kernel": "6.8.0",
        "memory.total_bytes": 1024,
        "os": Missing("error", "/etc/os-release: gone"),
    }


def test_what_a_processor_has_not_is_not_supported() -> None:
    (board,) = read(TEXT).boards
    assert (board["vendor"], board["model"], board["memory.total_bytes"]) == ("cpu", "X", 1024)
    missing = {name: value.kind for name, value in board.items() if isinstance(value, Missing)}
    assert set(missing.values()) == {"not-supported"}
    assert {"ecc.enabled", "pcie.link_width_lanes", "lost", "faults"} <= set(missing)
    # What the probe owes, and what is worked out later, is left open.
    assert not {"temperature.core_celsius", "memory.used_ratio", "spec.known"} & set(board)
    build_board(board)


def test_a_text_that_was_cut_says_so() -> None:
    reading = read(TEXT[:120])
    assert (reading.host, reading.boards, reading.complete) == ({}, (), False)
    assert len(reading.problems) == 1


def test_another_probe_is_not_taken_for_this_one() -> None:
    assert read(TEXT.replace(b'"probe": "host"', b'"probe": "pci"')).problems == (
        "the lines are those of the probe 'pci', not of host",
    )

    assert json.dumps({"probe": "host"}).encode()[:-1] in TEXT


def test_all_that_is_owed_is_a_fact() -> None:
    assert {f"host.{name}" for name in FILLS} <= set(known())
    assert {f"board.{name}" for name in BOARD_FILLS} <= set(known())
