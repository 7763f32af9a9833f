"""The reader of the CUDA probe."""

from __future__ import annotations

import pytest

from boardops.facts import Missing, Value, known
from boardops.readers.cuda import FILLS, read

FIRST = b'{"probe": "cuda", "read_at": "2026-01-31T12:00:00Z"}\n'
LAST = b'{"end": "cuda"}\n'
STARTED = b'{"host": {"software.cuda_start": "started"}}\n'
NOT_READY = b'{"host": {"software.cuda_start": "system-not-ready"}}\n{"problem": "start nvidia-fabricmanager"}\n'
ABSENT = b'{"host": {"software.cuda_start": {"missing": "not-installed", "why": "no libcuda.so.1"}}}\n'


@pytest.mark.parametrize(
    ("lines", "value", "problems"),
    [
        (STARTED, "started", ()),
        (NOT_READY, "system-not-ready", ("start nvidia-fabricmanager",)),
        (ABSENT, Missing("not-installed", "no libcuda.so.1"), ()),
        (b'{"host": {"software.cuda_start": "error-719"}}\n', "error-719", ()),
        (b'{"host": {"software.cuda_start": 802}}\n', Missing("unreadable", "802"), ()),
    ],
)
def test_a_whole_text(lines: bytes, value: Value, problems: tuple[str, ...]) -> None:
    reading = read(FIRST + lines + LAST)
    assert (reading.kind, reading.title, reading.read_at) == ("cuda-probe", "CUDA start", "2026-01-31T12:00:00Z")
    assert (reading.host, reading.boards) == ({"software.cuda_start": value}, ())
    assert (reading.problems, reading.complete) == (problems, True)


@pytest.mark.parametrize("text", [b"", b"CUDA 13.0\n", FIRST, FIRST + STARTED, FIRST + STARTED[:20]])
def test_a_text_that_was_cut_is_not_complete(text: bytes) -> None:
    assert not read(text).complete


def test_a_word_that_was_printed_is_kept_when_the_end_is_missing() -> None:
    assert read(FIRST + STARTED).host == {"software.cuda_start": "started"}


def test_another_probe_is_not_taken_for_this_one() -> None:
    assert read(b'{"probe": "nvml"}\n{"end": "nvml"}\n').problems == (
        "the lines are those of the probe 'nvml', not of cuda",
    )


def test_all_that_is_owed_is_a_fact() -> None:
    assert {f"host.{name}" for name in FILLS} <= set(known())
