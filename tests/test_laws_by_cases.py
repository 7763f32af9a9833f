"""What must hold for the shipped rules and any facts, with the values that the rules' own cases give.

test_laws.py draws values that nobody chose; here every fact may take what a case gives it, so that limits are met
exactly, and each rule is walked from its passing cases to all others. Waivers, rules that are switched off, and
records are tried on the same facts.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import to_builtins
from msgspec.structs import replace

from boardops.assemble import Answer, assemble
from boardops.collect import all_sources, source_named
from boardops.derive import derive
from boardops.evaluate import Finding, Findings, evaluate
from boardops.facts import (
    MISSING_KINDS,
    Board,
    Facts,
    Missing,
    Process,
    Value,
    build_board,
    build_host,
    flatten,
    known,
)
from boardops.outcome import Kind, Outcome
from boardops.record import answers_of, dump, load
from boardops.rule import Given
from boardops.rules import Case, Rule, RuleSet, Waiver
from boardops.score import (
    ORDER,
    BoardResult,
    Readiness,
    concerning,
    coverage_of,
    host_readiness,
    readiness_of,
    score_boards,
    score_of,
)
from tests.composed import DAY
from tests.test_shipped_rules import RULES

EXAMPLES = int(os.environ.get("BOARDOPS_FUZZ_EXAMPLES", "40"))
WHOLE_UNITS = {"bytes", "lanes", "count", "generation"}
SEEN_AMISS = tuple(
    Missing(kind, "it is so")  # type: ignore[arg-type]
    for kind in MISSING_KINDS
    if kind not in {"not-supported", "not-collected"}
)
"""What became of a fact that should be there, and that somebody looked for."""

missing_values = st.builds(Missing, st.sampled_from(MISSING_KINDS), st.sampled_from(("", "why", "a\nb")), st.booleans())
processes = st.builds(
    Process, st.integers(0, 9), st.text(max_size=3), st.sampled_from(("compute", "graphics", "both", "unknown"))
)


def values_in(given_: Mapping[str, Given]) -> dict[str, Value]:
    """The facts of a case."""
    return cast("dict[str, Value]", dict(given_))


def _by_fact() -> dict[str, list[Value]]:
    """For each fact the values that cases give it."""
    pools: dict[str, list[Value]] = {name: [] for name in known()}
    for rule in RULES.rules:
        for case in rule.cases:
            for part in (case.given, case.baseline, *case.peers):
                for name, value in values_in(part).items():
                    if value not in pools[name]:
                        pools[name].append(value)
    return pools


POOLS = _by_fact()


def _of_kind(name: str) -> st.SearchStrategy[Any]:
    fact = known()[name]
    if fact.kind == "number":
        return st.integers(0, 2**63 - 1) if fact.unit in WHOLE_UNITS else st.floats(-1e9, 1e12)
    by_kind: dict[str, st.SearchStrategy[Any]] = {
        "text": st.text(max_size=5),
        "version": st.one_of(st.text(max_size=5), st.from_regex(r"\A[0-9]{1,3}(\.[0-9]{1,3}){1,2}\Z")),
        "flag": st.booleans(),
        "texts": st.lists(st.text(max_size=4), max_size=3).map(tuple),
        "processes": st.lists(processes, max_size=3).map(tuple),
        "faults": st.just(()),
    }
    return by_kind[fact.kind]


def values_of(name: str) -> st.SearchStrategy[Value]:
    given_ = [st.sampled_from(POOLS[name])] if POOLS[name] else []
    return st.one_of(*given_, missing_values, _of_kind(name))


# What tells boards apart is set by the tests.
KEYS = {"board.pci_address", "board.uuid", "board.vendor"}
VALUES = {name: values_of(name) for name in known() if name not in KEYS}


def changed_facts(subject: str) -> st.SearchStrategy[dict[str, Value]]:
    """Some facts of a board or of the host, named in full."""
    names = sorted(name for name in VALUES if name.startswith(f"{subject}."))
    pairs = st.sampled_from(names).flatmap(lambda name: st.tuples(st.just(name), VALUES[name]))
    return st.lists(pairs, max_size=8).map(dict)


def _healthy() -> dict[str, Value]:
    """Facts by which as many rules as possible pass: those of the first passing case of each."""
    values: dict[str, Value] = {}
    for rule in RULES.rules:
        case = next(case for case in rule.cases if case.verdict == "pass" and not case.note)
        for name, value in values_in(case.given).items():
            values.setdefault(name, value)
    return values


HEALTHY = _healthy()


def of_subject(values: Mapping[str, Value], subject: str) -> dict[str, Value]:
    """The facts of a board or of the host without their first word; what tells boards apart is left out."""
    return {
        name.partition(".")[2]: value
        for name, value in values.items()
        if name.startswith(f"{subject}.") and name not in KEYS
    }


def board_of(number: int, changes: Mapping[str, Value]) -> Board:
    values = of_subject({"board.model": "X", **HEALTHY, **changes}, "board")
    address = f"0000:{number:02x}:00.0"
    return build_board({**values, "vendor": "nvidia", "pci_address": address, "uuid": f"GPU-{number}"})


def facts_of(host: Mapping[str, Value], boards: list[dict[str, Value]]) -> Facts:
    values = of_subject({**HEALTHY, **host}, "host")
    return Facts(build_host(values), tuple(board_of(number, changes) for number, changes in enumerate(boards)))


some_facts = st.builds(facts_of, changed_facts("host"), st.lists(changed_facts("board"), min_size=1, max_size=4))


def score_all(facts: Facts, findings: Findings, rules: RuleSet = RULES) -> tuple[BoardResult, ...]:
    return score_boards(facts, findings, rules.scoring, (True,) * len(facts.boards))


def by_rule(findings: tuple[Finding, ...]) -> dict[str, Finding]:
    return {finding.rule: finding for finding in findings}


# Order.


@settings(max_examples=EXAMPLES, deadline=None)
@given(some_facts, st.randoms(use_true_random=False))
def test_the_order_of_boards_changes_no_word(facts: Facts, random: Any) -> None:
    turned = list(facts.boards)
    random.shuffle(turned)
    other = replace(facts, boards=tuple(turned))
    before, after = evaluate(facts, RULES, DAY), evaluate(other, RULES, DAY)
    assert before.host == after.host
    results = {result.key: result for result in score_all(other, after)}
    assert results == {result.key: result for result in score_all(facts, before)}


@settings(max_examples=EXAMPLES, deadline=None)
@given(some_facts, st.randoms(use_true_random=False))
def test_the_order_of_rules_changes_no_word(facts: Facts, random: Any) -> None:
    turned = list(RULES.rules)
    random.shuffle(turned)
    rules = replace(RULES, rules=tuple(turned))
    before, after = evaluate(facts, RULES, DAY), evaluate(facts, rules, DAY)
    assert by_rule(before.host) == by_rule(after.host)
    assert [by_rule(own) for own in before.boards] == [by_rule(own) for own in after.boards]
    for one, two in zip(score_all(facts, before), score_all(facts, after, rules), strict=True):
        assert (one.score, one.coverage, one.readiness) == (two.score, two.coverage, two.readiness)
        assert sorted(row.points for row in one.waterfall) == sorted(row.points for row in two.waterfall)


# Waived and skipped.


def verdict_on(findings: tuple[Finding, ...]) -> tuple[float | None, float, Readiness]:
    scoring = RULES.scoring
    return score_of(findings, scoring), coverage_of(findings), readiness_of(findings, scoring)


some_ids = st.sets(st.sampled_from([rule.id for rule in RULES.rules]), min_size=1, max_size=6)


@settings(max_examples=EXAMPLES, deadline=None)
@given(some_facts, some_ids)
def test_a_waiver_takes_out_its_finding_and_moves_nothing_else(facts: Facts, ids: set[str]) -> None:
    waivers = tuple(Waiver(id, "*", "*", "known", "me", "", DAY.date(), "x:1") for id in sorted(ids))
    before = evaluate(facts, RULES, DAY)
    after = evaluate(facts, replace(RULES, waivers=waivers), DAY)
    for own, waived in zip(before.boards, after.boards, strict=True):
        everything = (*own, *before.host)
        rest = tuple(one for one in everything if one.rule not in ids or one.verdict in {"pass", "skipped"})
        assert verdict_on((*waived, *after.host)) == verdict_on(rest)
        for one, two in zip(everything, (*waived, *after.host), strict=True):
            kept = two.waived.verdict if two.waived else two.verdict
            assert one == replace(two, verdict=kept, waived=None), "the finding itself stays as it was"


@settings(max_examples=EXAMPLES, deadline=None)
@given(some_facts, some_ids)
def test_a_rule_that_is_switched_off_is_as_if_it_were_absent(facts: Facts, ids: set[str]) -> None:
    off = tuple(replace(rule, off="not here") if rule.id in ids else rule for rule in RULES.rules)
    gone = tuple(rule for rule in RULES.rules if rule.id not in ids)
    switched, absent = (evaluate(facts, replace(RULES, rules=rules), DAY) for rules in (off, gone))
    for own, other in zip(switched.boards, absent.boards, strict=True):
        assert verdict_on((*own, *switched.host)) == verdict_on((*other, *absent.host))
        assert {one.verdict for one in (*own, *switched.host) if one.rule in ids} == {"skipped"}


# One fact changes.

WORSE = {("pass", "warn"), ("pass", "fail"), ("warn", "fail"), ("pass", "unknown")}


def no_better(score: float | None, before: float | None) -> bool:
    return score is None or (before is not None and score <= before)


def rank(readiness: Readiness) -> int:
    return ORDER.index(readiness)


def compare(before: Facts, after: Facts) -> set[tuple[str, str]]:
    """Check the laws on two sets of facts, and give how the findings of the boards changed."""
    findings = [evaluate(facts, RULES, DAY) for facts in (before, after)]
    results = [score_all(facts, found) for facts, found in zip((before, after), findings, strict=True)]
    every: set[tuple[str, str]] = set()
    for one, two in zip(*results, strict=True):
        was = by_rule((*one.findings, *concerning(findings[0].host, "nvidia")))
        now = (*two.findings, *concerning(findings[1].host, "nvidia"))
        changes = {(was[new.rule].verdict, new.verdict) for new in now if was[new.rule].verdict != new.verdict}
        every |= changes
        if changes <= WORSE:
            assert no_better(two.score, one.score), changes
            assert rank(two.readiness) >= rank(one.readiness), changes
        if any(new.verdict == "unknown" and new.required and was[new.rule].verdict == "fail" for new in now):
            assert two.readiness in {"unknown", "not-ready"}
    if every <= WORSE:
        states = [
            host_readiness(result, readiness_of(found.host, RULES.scoring, floor=False))
            for result, found in zip(results, findings, strict=True)
        ]
        assert rank(states[1]) >= rank(states[0])
    return every


def with_given(facts: Facts, given_: Mapping[str, Given]) -> Facts:
    """The facts with those of a case, on the host and on the first board."""
    values = values_in(given_)
    first = build_board({**flatten(facts.boards[0]), **of_subject(values, "board")})
    host = build_host({**flatten(facts.host), **of_subject(values, "host")})
    return replace(facts, host=host, boards=(first, *facts.boards[1:]))


def with_peers(facts: Facts, case: Case) -> Facts:
    """The facts with those of a case's other boards on the boards after the first."""
    others = [
        build_board({**flatten(board), **of_subject(values_in(peer), "board")})
        for board, peer in zip(facts.boards[1:], case.peers, strict=False)
    ]
    return replace(facts, boards=(facts.boards[0], *others, *facts.boards[1 + len(others) :]))


PLAIN = facts_of({}, [{}] * 5)
each_rule = pytest.mark.parametrize("rule", RULES.rules, ids=lambda rule: rule.id)


@each_rule
def test_each_rule_obeys_the_laws_from_case_to_case(rule: Rule) -> None:
    """From each passing case to every other one, on an otherwise healthy host: no law is broken, changes are seen."""
    seen: set[tuple[str, str]] = set()
    for case in rule.cases:
        if case.verdict == "pass" and not case.baseline:
            host = with_peers(PLAIN, case)
            before = with_given(host, case.given)
            for other in rule.cases:
                seen |= compare(before, with_given(host, {**case.given, **other.given}))
            for missing in SEEN_AMISS:
                seen |= compare(before, with_given(host, {**case.given, rule.fact: missing}))
    assert ("pass", "unknown") in seen
    assert rule.severity == "note" or seen & {("pass", "warn"), ("pass", "fail")}


@each_rule
def test_a_failure_that_nobody_can_see_any_more_is_never_ready(rule: Rule) -> None:
    for case in rule.cases:
        if case.verdict == "fail" and rule.required:
            host = with_peers(PLAIN, case)
            before = with_given(host, case.given)
            for missing in SEEN_AMISS:
                after = with_given(host, {**case.given, rule.fact: missing})
                compare(before, after)
                state = score_all(after, evaluate(after, RULES, DAY))[0].readiness
                assert state in {"unknown", "not-ready"}, (case.line, missing)


def _cases() -> list[tuple[str, Case]]:
    return [(rule.fact, case) for rule in RULES.rules for case in rule.cases if rule.fact in VALUES]


@settings(max_examples=3 * EXAMPLES, deadline=None)
@given(some_facts, st.sampled_from(_cases()), st.data())
def test_one_fact_that_changes_obeys_the_laws(facts: Facts, chosen: tuple[str, Case], data: st.DataObject) -> None:
    name, case = chosen
    before = with_given(facts, case.given)
    changed = cast("dict[str, Given]", {name: data.draw(VALUES[name])})
    compare(before, with_given(before, changed))


# A record.

KINDS: tuple[Kind, ...] = ("ok", "failed", "crashed", "timed-out", "hung", "too-much-output")
SOURCES = all_sources(cpu=True)
WORDS = (
    b"",
    b"noise",
    b'{"probe": "nvml"}',
    b'{"probe": "pci"}',
    b'{"end": "nvml"}',
    b'{"problem": "x"}',
    b'{"host": {',
)


def line_of(subject: str, values: dict[str, Value]) -> bytes:
    plain = {name.partition(".")[2]: to_builtins(value) for name, value in values.items()}
    return json.dumps({subject: plain}).encode()


def board_line(pair: tuple[int, dict[str, Value]]) -> bytes:
    number, values = pair
    named: dict[str, Value] = {**values, "board.vendor": "nvidia", "board.pci_address": f"0000:{number:02x}:00.0"}
    return line_of("board", named)


probe_lines = st.one_of(
    st.sampled_from(WORDS),
    changed_facts("host").map(lambda values: line_of("host", values)),
    st.tuples(st.integers(0, 3), changed_facts("board")).map(board_line),
    st.binary(max_size=12),
)


@st.composite
def some_answer(draw: st.DrawFn) -> Answer:
    source = draw(st.sampled_from(SOURCES))
    outcome = Outcome(
        kind=draw(st.sampled_from(KINDS)),
        stdout=b"\n".join(draw(st.lists(probe_lines, max_size=5))),
        returncode=draw(st.one_of(st.none(), st.integers(-64, 255))),
        signal=draw(st.one_of(st.none(), st.integers(1, 64))),
        seconds=draw(st.floats(0, 1e6)),
        why=draw(st.text(max_size=5)),
    )
    return Answer(source, source.name, outcome, source.read(outcome.stdout))


@settings(max_examples=2 * EXAMPLES, deadline=None)
@given(st.lists(some_answer(), min_size=1, max_size=4))
def test_a_record_is_judged_as_the_live_answers_are(answers: list[Answer]) -> None:
    at = "2026-12-01T08:00:00Z"
    text = dump(answers, read_at=at, cpu=True, intent="predeploy", needs=())
    record = load(text.encode(), "run.record")
    back = answers_of(record, lambda name: source_named(name, cpu=record.cpu), "run.record")
    judged = []
    for found in (assemble(answers, at), assemble(back, record.read_at)):
        host, boards = derive({**found.host, "intent": "predeploy"}, found.boards, DAY)
        facts = Facts(host, boards, found.evidence, found.read_from)
        findings = evaluate(facts, RULES, DAY)
        judged.append((facts, findings, score_all(facts, findings)))
    assert judged[0] == judged[1]
