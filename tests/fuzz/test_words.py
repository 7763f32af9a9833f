"""What a user writes in one word (--need, --board, --at), numbers with units, and versions: any text at all."""

from __future__ import annotations

import datetime
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from boardops.catalog.nvidia_driver_table import read_drivers
from boardops.catalog.nvidia_drivers import newest_cuda_for, oldest_driver_for, support_end
from boardops.cli.check import Time
from boardops.cli.selection import NEEDS, left_out_by, read_needs, select_boards
from boardops.errors import BoardopsError
from boardops.facts import UNITS
from boardops.quantities import parse, show
from boardops.versions import looks_like_version, parse_spec, satisfies, version_key
from tests.cli.program import ROOT
from tests.composed import board, load_rule, load_rules, rule_text
from tests.fuzz.mutations import EXAMPLES, almost

SLACK_SECONDS = 5.0
PIECES = (
    "-",
    "+",
    ".",
    ",",
    "e",
    "9" * 400,
    "1e999",
    "nan",
    "inf",
    " ",
    "\x00",
    "\n",
    "٣",
    "²",
    "GiB",
    "%",
    "rc",
    "[",
    "*",
)
words = st.one_of(
    st.text(max_size=20),
    st.lists(st.sampled_from((*PIECES, "1", "12", "0", ">=", "2026", "T", ":", "Z")), max_size=8).map("".join),
    st.sampled_from(("0000:18:00.0", "GPU-1", "70GiB", "12.8", "580.95.05", "2026-12-01T08:00:00Z")).flatmap(
        lambda text: st.tuples(st.just(text), st.sampled_from(PIECES), st.integers(0, len(text))).map(
            lambda parts: parts[0][: parts[2]] + parts[1] + parts[0][parts[2] :]
        )
    ),
)
often = settings(max_examples=EXAMPLES, deadline=None)
HUGE = {
    "digits": "9" * 10**6,
    "letters": "a" * 10**6,
    "dots": "1." * 10**6,
    "stars": "*a" * 10**4,
    "brackets": "[" * 10**5,
    "half pair": "\udcff",
    "commas": ">=1," * 10**5,
    "blanks": " " * 10**6 + "x",
}


@contextmanager
def soon() -> Iterator[None]:
    begun = time.process_time()
    yield
    assert time.process_time() - begun < 1 + SLACK_SECONDS


def sentence(error: Exception) -> None:
    assert 0 < len(str(error)) < 2000 and "\n" not in str(error).strip(), str(error)


def quantity(text: str) -> None:
    for unit in UNITS:
        try:
            value = parse(text, unit)
        except ValueError as error:
            sentence(error)
        else:
            assert math.isfinite(value) and show(value, unit)


def version(text: str) -> None:
    looks_like_version(text)
    assert version_key(text) == version_key(text.strip())
    for find in (oldest_driver_for, newest_cuda_for, support_end):
        find(text)
    try:
        parse_spec(text)
    except ValueError as error:
        sentence(error)
    else:
        satisfies("1.2.3", text)


def need(text: str) -> None:
    for key in NEEDS:
        for entry in (text, f"{key}={text}"):
            try:
                read_needs([entry])
            except BoardopsError as error:
                sentence(error)


BOARDS = (board({"uuid": "GPU-1", "serial": "7", "index": 0}), board({"index": 1}, 1))
RULES = load_rules(rule_text(), rule_text(id="temperature.other"))


def selector(text: str) -> None:
    try:
        select_boards(BOARDS, [text])
    except BoardopsError as error:
        sentence(error)


def pattern(text: str) -> None:
    try:
        left_out_by(RULES, [text], [])
    except BoardopsError as error:
        sentence(error)


def moment(text: str) -> None:
    try:
        found = Time().convert(text, None, None)
    except click.UsageError as error:
        sentence(error)
    else:
        assert isinstance(found, datetime.datetime) and found.tzinfo is not None
        found.astimezone(datetime.timezone.utc)


READERS: dict[str, Callable[[str], None]] = {
    "quantity": quantity,
    "version": version,
    "need": need,
    "board": selector,
    "only": pattern,
    "at": moment,
}


@pytest.mark.parametrize("name", READERS)
@given(text=words)
@often
def test_a_word_is_understood_or_refused_with_one_sentence(name: str, text: str) -> None:
    with soon():
        READERS[name](text)


@pytest.mark.parametrize("huge", HUGE)
@pytest.mark.parametrize("name", READERS)
def test_a_huge_word(name: str, huge: str) -> None:
    with soon():
        READERS[name](HUGE[huge])


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "2026-12-01T08:00"])
def test_the_ends_of_the_calendar(text: str) -> None:
    moment(text)


@given(words)
@often
def test_a_version_in_a_rule(text: str) -> None:
    quoted = "'" + text.replace("'", "''").replace("\n", " ") + "'"
    try:
        load_rule(fact="board.driver_version", expect=f"{{version: {quoted}}}", cases="[]")
    except BoardopsError as error:
        sentence(error)


DRIVERS = (ROOT / "boardops" / "catalog" / "nvidia_drivers.yaml").read_bytes()


@given(almost(DRIVERS[:5000]))
@often
def test_a_damaged_catalog_of_drivers(data: bytes) -> None:
    with soon():
        try:
            read_drivers(data.decode("utf-8", "replace"), "sent")
        except BoardopsError as error:
            sentence(error)
