"""What must hold for any facts: on the whole road from facts to a score, with the shipped rules."""

from __future__ import annotations

import datetime
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from boardops.cli.run import rule_layers
from boardops.evaluate import evaluate
from boardops.facts import (
    MISSING_KINDS,
    Board,
    Fact,
    Facts,
    Missing,
    Value,
    build_board,
    build_host,
    known,
)
from boardops.rules import RuleSet, load
from boardops.score import ORDER, BoardResult, score_boards

RULES = load(rule_layers([])[:1])
AT = datetime.datetime(2026, 12, 1, tzinfo=datetime.timezone.utc)
WORDS = ["none", "success", "completed", "healthy", "default", "P0", "reset", "odd"]
RATHER_SLOW = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def value_of_kind(fact: Fact) -> st.SearchStrategy[Value]:
    missing = st.sampled_from(MISSING_KINDS).map(lambda kind: Missing(kind, "why"))  # type: ignore[arg-type]
    whole = fact.unit in {"bytes", "lanes", "count", "generation"}
    plain: dict[str, st.SearchStrategy[Any]] = {
        "number": st.integers(0, 600) if whole else st.floats(-20, 600, allow_nan=False),
        "text": st.sampled_from(WORDS),
        "version": st.sampled_from(["580.95.05", "418.1", "12.8"]),
        "flag": st.booleans(),
        "texts": st.lists(st.sampled_from(["gpu_idle", "hw_slowdown"]), max_size=2).map(tuple),
        "processes": st.just(()),
        "faults": st.just(()),
    }
    return st.one_of(plain[fact.kind], missing)


def values_of(subject: str) -> st.SearchStrategy[dict[str, Value]]:
    facts = {name.partition(".")[2]: fact for name, fact in known().items() if name.startswith(f"{subject}.")}
    return st.fixed_dictionaries({}, optional={name: value_of_kind(fact) for name, fact in facts.items()})


def with_places(boards: list[dict[str, Value]]) -> tuple[Board, ...]:
    return tuple(
        build_board({**values, "vendor": "nvidia", "pci_address": f"0000:{number + 1:02x}:00.0"})
        for number, values in enumerate(boards)
    )


machines = st.tuples(values_of("host"), st.lists(values_of("board"), min_size=1, max_size=5).map(with_places))


def judged(host: dict[str, Value], boards: tuple[Board, ...], rules: RuleSet = RULES) -> dict[str, BoardResult]:
    facts = Facts(build_host(host), boards)
    results = score_boards(facts, evaluate(facts, rules, AT), rules.scoring, [True] * len(boards))
    return {result.key: result for result in results}


def core(result: BoardResult) -> object:
    """What a board's judgement comes to, whatever the order of its findings."""
    verdicts = {finding.rule: (finding.verdict, finding.reason, finding.caused_by) for finding in result.findings}
    return verdicts, result.readiness, result.score, result.coverage


@given(machines, st.randoms(use_true_random=False))
@RATHER_SLOW
def test_the_order_of_boards_and_rules_changes_nothing(
    machine: tuple[dict[str, Value], tuple[Board, ...]], chance: Any
) -> None:
    host, boards = machine
    mixed, rules = list(boards), list(RULES.rules)
    chance.shuffle(mixed)
    chance.shuffle(rules)
    one = judged(host, boards)
    other = judged(host, tuple(mixed), replace(RULES, rules=tuple(rules)))
    assert {key: core(result) for key, result in one.items()} == {key: core(result) for key, result in other.items()}


@given(machines)
@RATHER_SLOW
def test_points_add_up_and_nothing_is_ready_that_was_not_seen(
    machine: tuple[dict[str, Value], tuple[Board, ...]],
) -> None:
    host, boards = machine
    for result in judged(host, boards).values():
        assert 0 <= result.coverage <= 1
        lost = round(sum(row.points for row in result.waterfall), 6)
        assert result.score is None or round(100 - lost, 6) == result.score
        if result.readiness == "ready":
            assert not any(f.verdict in {"fail", "warn"} for f in result.findings)
            assert not any(f.verdict == "unknown" and f.required for f in result.findings)


@given(machines, st.data())
@RATHER_SLOW
def test_a_value_that_goes_missing_never_makes_a_board_better(
    machine: tuple[dict[str, Value], tuple[Board, ...]], data: st.DataObject
) -> None:
    """Of one fact that a single rule judges, so that nothing else moves: a pass becomes unknown, a failure unknown."""
    host, boards = machine
    before = judged(host, boards)
    key, result = next(iter(before.items()))
    alone = [f for f in result.findings if f.verdict in {"pass", "fail"} and f.fact in SINGLE]
    if not alone:
        return
    finding = data.draw(st.sampled_from(alone))
    name = finding.fact.partition(".")[2]
    changed = _without(boards[0], name)
    after = judged(host, (changed, *boards[1:]))[key]
    if finding.verdict == "pass":
        assert ORDER.index(after.readiness) >= ORDER.index(result.readiness)
    elif finding.required:
        assert after.readiness != "ready"


SINGLE = {
    rule.fact
    for rule in RULES.rules
    if rule.subject == "board" and rule.when is None and sum(str(rule.fact) in str(other) for other in RULES.rules) == 1
}


def _without(board: Board, name: str) -> Board:
    group, _, word = name.rpartition(".")
    missing = Missing("error", "gone")
    if not group:
        return replace(board, **{word: missing})
    return replace(board, **{group: replace(getattr(board, group), **{word: missing})})
