"""Text for a terminal: never wider than it, readable without colour, the worst first."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boardops.report.columns import cut, width_of, wrap
from boardops.report.plain import plain
from boardops.report.text import render
from boardops.score import Result
from tests.report import samples

ESCAPE = re.compile("\x1b\\[[0-9;]*m")


@pytest.mark.parametrize("sample", samples.ALL, ids=lambda sample: sample.__name__)
@pytest.mark.parametrize("width", [40, 57, 80, 100, 200])
def test_no_line_is_wider_than_the_terminal(sample: Callable[[], Result], width: int) -> None:
    for colour in (False, True):
        for line in render(sample(), width=width, colour=colour).splitlines():
            assert width_of(ESCAPE.sub("", line)) <= width, line


@pytest.mark.parametrize("sample", samples.ALL, ids=lambda sample: sample.__name__)
def test_colour_only_when_asked_and_ascii_when_asked(sample: Callable[[], Result]) -> None:
    assert "\x1b" not in render(sample())
    assert render(sample(), ascii=True).isascii()
    assert ESCAPE.sub("", render(sample(), colour=True)) == render(sample())


@pytest.mark.parametrize("sample", samples.ALL, ids=lambda sample: sample.__name__)
def test_the_verdict_is_a_word_and_no_score_stands_without_its_coverage(sample: Callable[[], Result]) -> None:
    result = sample()
    first = render(result).splitlines()[0]
    assert result.readiness.upper() in first
    assert "% coverage" in first


def test_the_worst_board_comes_first_and_healthy_ones_have_a_row() -> None:
    text = render(samples.faulty())
    rows = [line for line in text.splitlines() if "NVIDIA H100" in line]
    assert len(rows) == 8
    assert "ba:00.0" in rows[0] and "not-ready" in rows[0]
    assert rows[-1].startswith("✓ ready")
    assert text.index("board.answers") < text.index("pcie.width")


def test_unknown_is_as_visible_as_a_failure() -> None:
    text = render(samples.unseen())
    assert "UNKNOWN temperature.core" in text.replace("  ", " ")
    assert "cannot tell (error: the driver answered with an error)" in " ".join(text.split())


def test_a_healthy_board_is_short() -> None:
    assert len(render(samples.healthy()).splitlines()) <= 15


def test_a_run_that_saw_nothing_names_its_cause() -> None:
    assert "cause: cannot read smi.xml: No such file or directory" in render(samples.nothing())


def test_a_waived_finding_keeps_its_verdict_and_its_waiver() -> None:
    text = " ".join(render(samples.waived()).split())
    assert "warn mode.persistence (18:00.0)" in text
    assert "until 2027-01-31 by ops team, OPS-1: loaded at boot" in text
    assert text.startswith("✓ READY")


def test_what_a_machine_printed_commands_nothing() -> None:
    text = render(samples.hostile())
    assert "\u202e" not in text and "\\u202e" in text


@given(st.text())
def test_plain_leaves_nothing_invisible(text: str) -> None:
    shown = plain(text)
    assert "\x1b" not in shown and "\n" not in shown and "\u202e" not in shown
    shown.encode("utf-8")


@given(st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), max_size=200), st.integers(8, 60))
def test_wrapping_and_cutting_keep_to_the_width(text: str, width: int) -> None:
    assert width_of(cut(text, width)) <= width
    for line in wrap(text, width):
        assert width_of(line) <= width
