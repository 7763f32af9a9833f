"""facts.py: every declared fact is whole, and facts go in and out without a loss."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from boardops.facts import (
    MISSING_KINDS,
    NOT_COLLECTED,
    UNITS,
    Board,
    Fact,
    Facts,
    Fault,
    Host,
    Missing,
    Process,
    Value,
    board_key,
    build_board,
    build_host,
    flatten,
    known,
    value_of,
)

missing_values = st.builds(Missing, kind=st.sampled_from(MISSING_KINDS), why=st.text(max_size=20), bare=st.booleans())
VALUES: dict[str, st.SearchStrategy[Value]] = {
    "number": st.integers(-(2**53), 2**53),
    "text": st.text(max_size=20),
    "version": st.text(max_size=20),
    "flag": st.booleans(),
    "texts": st.lists(st.text(max_size=8), max_size=3).map(tuple),
    "processes": st.lists(st.builds(Process, st.integers(1, 2**22), st.text(max_size=8), st.just("compute"))).map(
        tuple
    ),
    "faults": st.lists(st.builds(Fault, st.just("xid"), st.integers(1, 170).map(str))).map(tuple),
}


def facts_of(subject: str) -> st.SearchStrategy[dict[str, Value]]:
    chosen = {
        fact.name.partition(".")[2]: st.one_of(VALUES[fact.kind], missing_values)
        for fact in known().values()
        if fact.name.startswith(f"{subject}.")
    }
    return st.lists(st.sampled_from(sorted(chosen)), max_size=12, unique=True).flatmap(
        lambda names: st.fixed_dictionaries({name: chosen[name] for name in names})
    )


@given(facts_of("board"))
def test_a_board_keeps_the_facts_that_it_was_built_from(values: dict[str, Value]) -> None:
    board = build_board(values)
    flat = flatten(board)
    assert {name: flat[name] for name in values} == values
    assert all(value == NOT_COLLECTED for name, value in flat.items() if name not in values)
    assert all(value_of(board, name) == value for name, value in values.items())


@given(facts_of("host"))
def test_a_host_keeps_the_facts_that_it_was_built_from(values: dict[str, Value]) -> None:
    flat = flatten(build_host(values))
    assert {name: flat[name] for name in values} == values


@given(facts_of("board"), facts_of("host"))
def test_facts_survive_json(board: dict[str, Value], host: dict[str, Value]) -> None:
    facts = Facts(build_host(host), (build_board(board),))
    assert msgspec.json.decode(msgspec.json.encode(facts), type=Facts) == facts


def test_all_facts_of_board_and_host_are_known() -> None:
    names = {f"board.{name}" for name in flatten(Board())} | {f"host.{name}" for name in flatten(Host())}
    assert set(known()) == names


@pytest.mark.parametrize("fact", known().values(), ids=lambda fact: fact.name)
def test_every_fact_says_what_it_is(fact: Fact) -> None:
    assert fact.description and not fact.description.endswith(".")
    assert fact.unit in UNITS if fact.kind == "number" else fact.unit == ""
    if fact.kind == "number" and fact.unit not in {"count", "generation"}:
        assert fact.name.endswith(f"_{fact.unit}")
    if fact.name.endswith("_version"):
        assert fact.kind == "version"


@pytest.mark.parametrize(
    "values",
    [
        {"no_such_fact": 1},
        {"memory": 1},
        {"uptime_seconds": 5.0},
        {"memory.total_bytes": "1"},
        {"lost": 1},
        {"uuid": 1},
    ],
)
def test_a_board_takes_declared_facts_of_its_own_only(values: dict[str, Value]) -> None:
    with pytest.raises(msgspec.ValidationError):
        build_board(values)


@pytest.mark.parametrize("values", [{"vendor": "nvidia"}, {"thermal.inlet_celsius": True}, {"kernel": None}])
def test_a_host_takes_declared_facts_of_its_own_only(values: dict[str, Value]) -> None:
    with pytest.raises(msgspec.ValidationError):
        build_host(values)


def test_a_missing_fact_reads_as_agreed_in_json() -> None:
    assert msgspec.json.encode(Missing("timed-out", "after 5 s")) == b'{"missing":"timed-out","why":"after 5 s"}'


@pytest.mark.parametrize(
    ("values", "key"),
    [
        ({"pci_address": "0000:3b:00.0", "uuid": "GPU-1"}, "0000:3b:00.0"),
        ({"uuid": "GPU-1", "index": 0}, "GPU-1"),
        ({"vendor": "ascend", "index": 3}, "ascend-3"),
    ],
)
def test_a_board_is_followed_by_its_address_first(values: dict[str, Value], key: str) -> None:
    assert board_key(build_board(values)) == key


def test_evidence_is_found_for_the_host_and_for_each_board() -> None:
    read_from = {"host": {"kernel": "e1"}, "0000:3b:00.0": {"uuid": "e2", "lost": "e3", "model": "e2"}}
    facts = Facts(Host(), (), (), read_from)
    names = ["board.uuid", "host.kernel", "board.model", "board.serial"]
    assert facts.evidence_of("0000:3b:00.0", iter(names)) == ("e2", "e1")
    assert facts.evidence_of("host", iter(["host.kernel"])) == ("e1",)
    assert facts.evidence_of("0000:af:00.0", iter(["board.uuid"])) == ()
