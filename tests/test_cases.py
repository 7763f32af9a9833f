"""cases.py and mutate.py: cases are run as they say, what they do not prove is named, and no change goes unnoticed."""

from __future__ import annotations

from pathlib import Path

import pytest

from boardops.cases import check_all, check_cases, mutate, proofs, survivors
from boardops.locate import shipped
from boardops.mutate import step_of
from boardops.rules import Rule, load
from tests.composed import HOST_RULE, load_rule, load_rules, rule_text

CORE = "board.temperature.core_celsius"
MISSING = f"{{given: {{{CORE}: {{missing: error}}}}, verdict: unknown}}"


def heat(value: object, verdict: str, more: str = "") -> str:
    return f"{{given: {{{CORE}: {value}{more}}}, verdict: {verdict}}}"


def cased(*cases: str, **keys: str) -> Rule:
    return load_rule(cases=f"[{', '.join(cases)}]", **keys)


def facts_cased(fact: str, pairs: list[tuple[str, str]], **keys: str) -> Rule:
    """A rule on `fact` with a case per pair of value and verdict, and one in which the fact is missing."""
    cases = [f"{{given: {{{fact}: {value}}}, verdict: {verdict}}}" for value, verdict in pairs]
    cases.append(f"{{given: {{{fact}: {{missing: error}}}}, verdict: unknown}}")
    return load_rule(fact=fact, cases=f"[{', '.join(cases)}]", **keys)


# Running cases ----------------------------------------------------------------------------------------


def test_cases_hold_or_not() -> None:
    rule = cased(heat(89, "pass"), heat(90, "pass"), heat(50, "pass, note: true"), MISSING)
    results = check_cases(rule)
    assert [result.holds for result in results] == [True, False, False, True]
    broken = results[1]
    assert (broken.rule, broken.place, broken.expected, broken.got) == (
        "temperature.core",
        "test.yaml:12",
        "pass",
        "fail",
    )
    assert broken.reason == "temperature core is 90 °C, expected below 90 °C"
    assert (results[2].expected, results[2].got) == ("pass with a note", "pass without a note")


@pytest.mark.parametrize(("note", "holds"), [("", True), (", note: true", True), (", note: false", False)])
def test_a_case_says_whether_it_wants_a_note(note: str, holds: bool) -> None:
    assert check_cases(cased(heat(95, f"pass{note}"), severity="note"))[0].holds is holds


def test_the_cases_of_a_rule_that_is_off_are_run() -> None:
    assert check_cases(cased(heat(95, "fail"), off="why"))[0].holds


def test_a_case_has_only_the_facts_that_it_gives() -> None:
    rule = cased(heat(50, "unknown"), heat(50, "pass", ", board.lost: false"), when="{board.lost: {equals: false}}")
    assert all(result.holds for result in check_cases(rule))


@pytest.mark.parametrize(
    ("peers", "verdict"),
    [([50, 50], "skipped"), ([50, 50, 50], "fail"), ([90, 90, 90], "pass"), ([50, 90, 90, 90], "pass")],
)
def test_peers_of_a_case(peers: list[int], verdict: str) -> None:
    listed = ", ".join(f"{{{CORE}: {peer}}}" for peer in peers)
    case = f"{{given: {{{CORE}: 90}}, peers: [{listed}, {{board.lost: true}}], verdict: {verdict}}}"
    assert check_cases(cased(case, expect="{near_peers: {within: 5}}"))[0].holds


@pytest.mark.parametrize(
    ("baseline", "verdict"), [(f"{{{CORE}: 50}}", "fail"), (f"{{{CORE}: 88}}", "pass"), ("{}", "skipped")]
)
def test_baseline_of_a_case(baseline: str, verdict: str) -> None:
    case = f"{{given: {{{CORE}: 90}}, baseline: {baseline}, verdict: {verdict}}}"
    assert check_cases(cased(case, expect="{near_baseline: {within: 5}}"))[0].holds


def test_all_rules_are_run() -> None:
    rules = load_rules(rule_text(), rule_text(HOST_RULE))
    assert [(result.rule, result.place) for result in check_all(rules)] == [
        ("temperature.core", "test.yaml:12"),
        ("thermal.inlet", "test.yaml:22"),
    ]


def test_the_cases_of_the_shipped_rules_hold() -> None:
    path = Path(shipped("rules.yaml"))
    rules = load([(str(path), path.read_text(encoding="utf-8"))])
    assert [result for result in check_all(rules) if not result.holds] == []


# What is not proven -----------------------------------------------------------------------------------

WHOLE = (heat(89, "pass"), heat(90, "fail"), MISSING)


@pytest.mark.parametrize(
    ("cases", "keys", "said"),
    [
        (WHOLE, {}, []),
        (WHOLE[:2], {}, ["no case shows what happens where temperature core is missing"]),
        (
            (*WHOLE[:2], heat("{missing: not-supported}", "skipped")),
            {},
            ["no case shows what happens where temperature core is missing"],
        ),
        ((*WHOLE[:2], heat("{missing: not-collected}", "unknown")), {}, []),
        (
            (*WHOLE[:2], heat("{missing: not-collected}", "unknown")),
            {"if_missing": "fail"},
            ["no case shows what happens where temperature core is missing"],
        ),
        # A failure because the fact is missing does not show the limit.
        (
            (WHOLE[0], heat("{missing: error}", "fail")),
            {"if_missing": "fail"},
            ["no case shows a fail", "no two cases on both sides of the limit 90 °C of expect.below"],
        ),
        (WHOLE[1:], {}, ["no case shows a pass without a note", "no two cases on both sides"]),
        ((heat(10, "pass"), heat(90, "fail"), MISSING), {}, []),
        ((heat(89, "pass"), heat(200, "fail"), MISSING), {}, []),
        ((heat(10, "pass"), heat(200, "fail"), MISSING), {}, ["no two cases on both sides of the limit 90 °C"]),
        (
            WHOLE,
            {"warn": "{above: 80}"},
            ["no case shows a pass without a note", "no two cases on both sides of the limit 80"],
        ),
        ((heat(80, "pass"), heat(81, "warn"), *WHOLE[1:]), {"warn": "{above: 80}"}, []),
        (
            (heat(80, "pass"), heat(90, "fail"), MISSING),
            {"warn": "{above: 80}"},
            ["no case shows a warn"],
        ),
        ((heat(89, "pass"), heat(90, "pass, note: true"), MISSING), {"severity": "note"}, []),
        (
            (heat(89, "pass"), MISSING),
            {"severity": "note"},
            ["no case shows a pass with a note", "no two cases on both sides"],
        ),
        ((heat(89, "pass"), heat(90, "warn"), MISSING), {"severity": "warn"}, []),
        # The two sides of `between` are two limits.
        (
            (heat(9, "fail"), heat(50, "pass"), MISSING),
            {"expect": "{between: [10, 90]}"},
            ["the limit 90 °C of expect.between"],
        ),
        ((heat(9, "fail"), heat(10, "pass"), heat(91, "fail"), MISSING), {"expect": "{between: [10, 90]}"}, []),
    ],
)
def test_what_is_not_proven_is_said(cases: tuple[str, ...], keys: dict[str, str], said: list[str]) -> None:
    sentences = proofs(cased(*cases, **keys))
    assert len(sentences) == len(said), sentences
    assert all(part in sentence for part, sentence in zip(said, sentences, strict=True)), sentences


def test_a_limit_from_another_fact_has_two_sides_as_well() -> None:
    expect = "{below: {fact: board.temperature.slowdown_celsius, times: 0.9}}"
    at = ", board.temperature.slowdown_celsius: 100"
    whole = cased(heat(89, "pass", at), heat(90, "fail", at), heat("{missing: error}", "unknown", at), expect=expect)
    assert proofs(whole) == ()
    far = cased(heat(10, "pass", at), heat(150, "fail", at), heat("{missing: error}", "unknown", at), expect=expect)
    assert len(proofs(far)) == 1 and "temperature slowdown" in proofs(far)[0]


@pytest.mark.parametrize(
    ("pairs", "proven"),
    [
        ([("'450.80.02'", "pass"), ("'450.51.06'", "fail")], True),
        ([("'450.80.02'", "pass"), ("'450.80.01'", "fail")], True),
        ([("'450.81'", "pass"), ("'450.80.01'", "fail")], False),
    ],
)
def test_a_version_has_two_sides(pairs: list[tuple[str, str]], proven: bool) -> None:
    assert (proofs(facts_cased("board.driver_version", pairs, expect="{version: '>=450.80.02'}")) == ()) is proven
    assert (proofs(facts_cased("board.driver_version", pairs, expect="{at_least: '450.80.02'}")) == ()) is proven


# Changes ----------------------------------------------------------------------------------------------


def changes(**keys: str) -> list[str]:
    return [change for change, _ in mutate(load_rule(**keys)) if not change.startswith(("severity", "if_missing"))]


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({}, ["expect.below: at_most instead", "91 °C instead of 90 °C", "89 °C instead of 90 °C"]),
        ({"fact": "board.lost", "expect": "{equals: true}"}, ["expect.equals: not_equals instead"]),
        (
            {"fact": "board.link.error_count", "expect": "{at_most: 0}"},
            ["expect.at_most: below instead", "1 instead of 0"],
        ),
        (
            {"fact": "board.pcie.link_width_lanes", "expect": "{at_least: 16}"},
            ["expect.at_least: above instead", "x32 instead of x16", "x8 instead of x16"],
        ),
        (
            {"fact": "board.memory.free_bytes", "expect": "{above: 1 GiB}"},
            ["expect.above: at_least instead", "1.1 GiB instead of 1 GiB", "960 MiB instead of 1 GiB"],
        ),
        (
            {"fact": "board.utilization.compute_ratio", "expect": "{below: 0.1}"},
            ["expect.below: at_most instead", "11 % instead of 10 %", "9 % instead of 10 %"],
        ),
        (
            {"fact": "board.compute_mode", "expect": "{one_of: [default, prohibited]}"},
            ["expect.one_of: none_of instead", "without default", "without prohibited"],
        ),
        (
            {"fact": "board.clock.throttle_reasons", "expect": "{contains_none: [a]}"},
            ["expect.contains_none: without a"],
        ),
        ({"fact": "board.clock.throttle_reasons", "expect": "{empty: true}"}, ["expect.empty: False instead"]),
        ({"fact": "board.model", "expect": "{matches: A100}"}, ["matches everything", "matches nothing"]),
        ({"fact": "board.model", "expect": "{equals: A}"}, ["expect.equals: not_equals instead", "not A instead of A"]),
        (
            {"fact": "board.driver_version", "expect": "{version: '>=450.80.02,<600.0'}"},
            [
                ">450.80.02 instead of >=450.80.02",
                ">=450.80.03 instead",
                ">=450.80.01 instead",
                "<=600.0 instead of <600.0",
                "<600.1 instead of <600.0",
                "<599.0 instead of <600.0",
            ],
        ),
        ({"expect": "{between: [10, 90]}"}, ["11 °C", "9 °C", "91 °C", "89 °C"]),
        ({"expect": "{near_peers: {within: 5}}"}, ["within 6 °C", "within 4 °C"]),
        ({"expect": "{near_baseline: {within_ratio: 0.1}}"}, ["within 11 %", "within 9 %"]),
        ({"expect": "{below: {fact: board.temperature.slowdown_celsius}}"}, ["expect.below: at_most instead"]),
        (
            {"expect": "{below: {fact: board.temperature.slowdown_celsius, times: 0.98, plus: -2}}"},
            ["at_most", "times 0.99 instead of 0.98", "times 0.97 instead", "plus -1 instead of -2", "plus -3 instead"],
        ),
        (
            {"expect": "{equals: 1}", "when": "{board.lost: {equals: true}}"},
            ["not_equals", "2 °C", "0 °C", "no when", "when.board.lost.equals: not_equals instead"],
        ),
        (
            {
                "expect": "{near_peers: {within: 0}}",
                "when": "[{board.lost: {equals: true}, board.model: {matches: a}}, "
                "{board.mig_enabled: {equals: true}}]",
            },
            [
                "within 1 °C",
                "when without its part 1",
                "part 1 of when without board.lost",
                "part 1 of when.board.lost.equals: not_equals instead",
                "part 1 of when without board.model",
                "part 1 of when.board.model.matches: a pattern that matches everything",
                "part 1 of when.board.model.matches: a pattern that matches nothing",
                "when without its part 2",
                "part 2 of when.board.mig_enabled.equals: not_equals instead",
            ],
        ),
    ],
)
def test_one_thing_is_changed_at_a_time(keys: dict[str, str], expected: list[str]) -> None:
    found = changes(**keys)
    assert len(found) == len(expected), found
    assert all(part in change for part, change in zip(expected, found, strict=True)), found


def test_what_a_missing_fact_means_is_changed_and_noticed() -> None:
    rule = cased(heat(89, "pass"), heat(90, "fail"))
    left = [change for change in survivors(rule) if change.startswith("if_missing")]
    assert left == [f"if_missing {word} instead of unknown" for word in ("skipped", "warn", "fail")]
    assert survivors(cased(*WHOLE, heat("{missing: error}", "unknown"))) == ()


def test_severities_and_warnings_are_changed() -> None:
    changed = dict(mutate(load_rule(warn="{above: 80}")))
    assert {"severity warn instead of fail", "severity note instead of fail"} <= set(changed)
    assert "warn.above: 81 °C instead of 80 °C" in changed
    assert changed["severity note instead of fail"].severity == "note"


@pytest.mark.parametrize("path", [Path(shipped("rules.yaml"))])
def test_every_change_makes_another_rule(path: object) -> None:
    rules = load([("rules.yaml", Path(shipped("rules.yaml")).read_text(encoding="utf-8"))])
    for rule in rules.rules:
        changed = list(mutate(rule))
        assert all(other != rule for _, other in changed)
        assert len({change for change, _ in changed}) == len(changed), rule.id


@pytest.mark.parametrize(
    ("unit", "limit", "step"),
    [("celsius", 90, 1), ("ratio", 0.5, 0.01), ("bytes", 0, 1), ("bytes", 5, 1), ("bytes", 2**30, 2**26)],
)
def test_steps(unit: str, limit: float, step: float) -> None:
    assert step_of(unit, limit) == step


@pytest.mark.parametrize(
    ("cases", "keys", "left"),
    [
        (WHOLE, {}, []),
        (WHOLE[:1], {}, ["at_most instead", "91 °C", "severity warn", "severity note"]),
        ((heat(10, "pass"), heat(90, "fail")), {}, ["89 °C"]),
        ((heat(89, "pass"), heat(200, "fail")), {}, ["at_most instead", "91 °C"]),
        ((heat(89, "pass"), heat(90, "pass")), {"severity": "note"}, ["at_most", "91 °C", "89 °C"]),
        ((heat(89, "pass, note: false"), heat(90, "pass, note: true")), {"severity": "note"}, []),
        # A case that does not hold proves nothing.
        ((heat(89, "fail"), heat(90, "fail")), {}, ["89 °C instead of 90 °C"]),
        (
            (heat(89, "pass", ", board.lost: false"), heat(90, "fail", ", board.lost: false")),
            {"when": "{board.lost: {equals: false}}"},
            ["no when"],
        ),
    ],
)
def test_what_no_case_would_notice(cases: tuple[str, ...], keys: dict[str, str], left: list[str]) -> None:
    found = [change for change in survivors(cased(*cases, **keys)) if not change.startswith("if_missing")]
    assert len(found) == len(left), found
    assert all(part in change for part, change in zip(left, found, strict=True)), found


@pytest.mark.parametrize(
    ("fact", "expect", "pairs"),
    [
        ("board.link.error_count", "{equals: 0}", [("0", "pass"), ("1", "fail")]),
        ("board.link.error_count", "{at_most: 0}", [("0", "pass"), ("1", "fail")]),
        ("board.link.error_count", "{at_least: 4}", [("4", "pass"), ("3", "fail")]),
        ("board.pcie.link_width_lanes", "{at_least: 16}", [("16", "pass"), ("8", "fail")]),
        ("board.memory.free_bytes", "{at_least: 1 GiB}", [("1 GiB", "pass"), ("1023 MiB", "fail")]),
        ("board.utilization.compute_ratio", "{below: 0.95}", [("0.94", "pass"), ("95 %", "fail")]),
        ("board.temperature.margin_celsius", "{above: 0}", [("1", "pass"), ("0", "fail")]),
        ("board.driver_version", "{version: '>=450.80.02'}", [("'450.80.02'", "pass"), ("'450.80.01'", "fail")]),
        ("board.driver_version", "{at_least: '12.0'}", [("'12.0'", "pass"), ("'11.8'", "fail")]),
        ("board.lost", "{equals: false}", [("false", "pass"), ("true", "fail")]),
        ("board.health_state", "{equals: OK}", [("OK", "pass"), ("Alarm", "fail")]),
        ("board.health_state", "{one_of: [OK, Fine]}", [("OK", "pass"), ("Fine", "pass"), ("Alarm", "fail")]),
        ("board.health_state", "{matches: ^OK}", [("'OK, warm'", "pass"), ("Alarm", "fail")]),
        (
            "board.clock.throttle_reasons",
            "{contains_none: [a, b]}",
            [("[a]", "fail"), ("[b]", "fail"), ("[c]", "pass")],
        ),
        ("board.clock.throttle_reasons", "{empty: true}", [("[]", "pass"), ("[a]", "fail")]),
    ],
)
def test_cases_that_anyone_would_write_are_enough(fact: str, expect: str, pairs: list[tuple[str, str]]) -> None:
    rule = facts_cased(fact, pairs, expect=expect)
    assert all(result.holds for result in check_cases(rule))
    assert proofs(rule) == () and survivors(rule) == ()
