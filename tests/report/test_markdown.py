"""Markdown for tickets: tables that hold, and text of a machine that does nothing."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boardops.report.markdown import escape, render
from boardops.score import Result
from tests.report import samples


@pytest.mark.parametrize("sample", samples.ALL, ids=lambda sample: sample.__name__)
def test_one_title_and_whole_tables(sample: Callable[[], Result]) -> None:
    text = render(sample())
    assert len(re.findall(r"^# ", text, re.MULTILINE)) == 1
    columns = 0
    for line in text.splitlines():
        bars = len(re.findall(r"(?<!\\)\|", line))
        if line.startswith("|"):
            columns = columns or bars
            assert bars == columns, line
        else:
            columns = 0
            assert bars == 0, line


@pytest.mark.parametrize("sample", samples.ALL, ids=lambda sample: sample.__name__)
def test_blank_lines_around_blocks(sample: Callable[[], Result]) -> None:
    lines = render(sample()).splitlines()
    for number, line in enumerate(lines):
        if line.startswith("#") and number:
            assert lines[number - 1] == "" and lines[number + 1] == ""
    assert "\n\n\n" not in render(sample())


def test_verdict_and_what_to_do_come_first() -> None:
    text = render(samples.faulty())
    assert re.match(r"# not-ready\n\n- \*\*Score\*\*: score 0 of 100 at \d+% coverage\n", text)
    assert text.index("## What to do") < text.index("## Boards") < text.index("## All findings")


def test_what_a_machine_printed_does_nothing() -> None:
    text = render(samples.hostile())
    assert "<b>" not in text and "\u202e" not in text and "[a](b)" not in text
    assert r"\| \`x\` \<b\>" in text


@given(st.text())
def test_escaped_text_is_one_line_without_markup(text: str) -> None:
    shown = escape(text)
    assert "\n" not in shown
    assert not re.search(r"(?<!\\)(?:\\\\)*[<>|`*_\[\]~]", shown)
    assert not shown.startswith(("#", "+", "-"))
