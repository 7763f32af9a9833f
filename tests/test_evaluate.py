"""evaluate.py: what a rule says of present and missing facts, what explains a finding, and what is waived."""

from __future__ import annotations

import datetime
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boardops.evaluate import Judged, evaluate, judge, label
from boardops.facts import MISSING_KINDS, NOT_COLLECTED, Facts, Missing, Value, known
from boardops.rules import Rule
from boardops.score import score_of
from tests.composed import DAY, HOST_RULE, board, by_rule, facts, judge_all, load_rule, load_rules, rule_text

CORE = "board.temperature.core_celsius"
SLOWDOWN = "board.temperature.slowdown_celsius"
UNSUPPORTED = Missing("not-supported", "no such sensor")


def gone(kind: str) -> Missing:
    return Missing(kind, "as the test says")  # type: ignore[arg-type]


def said(rule: Rule, given: Mapping[str, Value], **more: object) -> Judged:
    """What a rule says of these facts; all others were not collected."""
    return judge(rule, lambda name: given.get(name, NOT_COLLECTED), **more)  # type: ignore[arg-type]


# Verdicts ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("severity", "found", "verdict", "noted"),
    [
        ("fail", 89.9, "pass", False),
        ("fail", 90, "fail", False),
        ("warn", 90, "warn", False),
        ("note", 90, "pass", True),
        ("note", 89, "pass", False),
    ],
)
def test_severity(severity: str, found: float, verdict: str, noted: bool) -> None:
    judged = said(load_rule(severity=severity), {CORE: found})
    assert (judged.verdict, judged.noted) == (verdict, noted)
    assert bool(judged.reason) == (verdict != "pass" or noted)


@pytest.mark.parametrize(
    ("found", "verdict"), [(80, "pass"), (80.1, "warn"), (89.9, "warn"), (90, "fail"), (200, "fail")]
)
def test_a_warning_comes_before_the_failure(found: float, verdict: str) -> None:
    judged = said(load_rule(warn="{above: 80}"), {CORE: found})
    assert judged.verdict == verdict
    assert judged.expected == ("at most 80 °C" if verdict == "warn" else "below 90 °C")


def test_all_comparisons_must_hold() -> None:
    rule = load_rule(expect="{above: 10, below: 90}")
    assert [said(rule, {CORE: found}).verdict for found in (10, 11, 89, 90)] == ["fail", "pass", "pass", "fail"]
    assert said(rule, {CORE: 10}).reason == "temperature core is 10 °C, expected above 10 °C and below 90 °C"


def test_a_rule_that_is_off_is_skipped() -> None:
    judged = said(load_rule(off="no sensor here"), {CORE: 200})
    assert (judged.verdict, judged.reason) == ("skipped", "switched off: no sensor here")


# Missing facts ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", MISSING_KINDS)
@pytest.mark.parametrize("if_missing", ["unknown", "skipped", "warn", "fail"])
def test_a_missing_fact(kind: str, if_missing: str) -> None:
    judged = said(load_rule(if_missing=if_missing), {CORE: gone(kind)})
    if kind == "not-supported":
        expected = "skipped"
    elif kind == "not-collected":
        expected = "skipped" if if_missing == "skipped" else "unknown"
    else:
        expected = if_missing
    assert judged.verdict == expected
    assert judged.missing == gone(kind) and "as the test says" in judged.reason


@pytest.mark.parametrize("kind", MISSING_KINDS)
def test_a_missing_limit_counts_as_the_rules_own(kind: str) -> None:
    rule = load_rule(expect=f"{{below: {{fact: {SLOWDOWN}}}}}")
    judged = said(rule, {CORE: 50, SLOWDOWN: gone(kind)})
    assert judged.verdict == ("skipped" if kind == "not-supported" else "unknown")
    assert judged.found == "50 °C" and judged.expected == "below an unknown limit (as the test says)"


@pytest.mark.parametrize("kind", MISSING_KINDS)
def test_a_missing_limit_of_the_warning_never_hides_a_failure(kind: str) -> None:
    rule = load_rule(warn=f"{{above: {{fact: {SLOWDOWN}}}}}")
    assert said(rule, {CORE: 95, SLOWDOWN: gone(kind)}).verdict == "fail"
    expected = "skipped" if kind == "not-supported" else "unknown"
    assert said(rule, {CORE: 50, SLOWDOWN: gone(kind)}).verdict == expected


def test_the_missing_fact_is_told_before_the_missing_limit() -> None:
    rule = load_rule(expect=f"{{below: {{fact: {SLOWDOWN}}}}}")
    assert said(rule, {CORE: gone("lost"), SLOWDOWN: UNSUPPORTED}).verdict == "unknown"


@pytest.mark.parametrize(
    ("limit", "found", "verdict"),
    [
        ("times: 0.9", 89, "pass"),
        ("times: 0.9", 90, "fail"),
        ("plus: -5", 94, "pass"),
        ("plus: -5", 95, "fail"),
        ("times: 0.5, plus: 10", 59, "pass"),
        ("times: 0.5, plus: 10", 60, "fail"),
    ],
)
def test_a_limit_from_another_fact(limit: str, found: float, verdict: str) -> None:
    rule = load_rule(expect=f"{{below: {{fact: {SLOWDOWN}, {limit}}}}}")
    assert said(rule, {CORE: found, SLOWDOWN: 100}).verdict == verdict


@given(st.floats(-50, 200), st.sampled_from(MISSING_KINDS), st.sampled_from(["unknown", "skipped", "warn", "fail"]))
def test_a_missing_fact_never_passes(limit: float, kind: str, if_missing: str) -> None:
    rule = load_rule(expect=f"{{below: {limit:.3f}}}", if_missing=if_missing)
    assert said(rule, {CORE: gone(kind)}).verdict != "pass"


# When -------------------------------------------------------------------------------------------------

ALL = "{board.vendor: {equals: nvidia}, board.performance_state: {one_of: [P0, P1]}}"
ANY = "[{board.vendor: {equals: nvidia}}, {board.performance_state: {one_of: [P0, P1]}}]"


@pytest.mark.parametrize(
    ("when", "vendor", "state", "verdict"),
    [
        (ALL, "nvidia", "P0", "fail"),
        (ALL, "nvidia", "P8", "skipped"),
        (ALL, "ascend", "P0", "skipped"),
        (ALL, gone("error"), "P0", "unknown"),
        (ALL, "nvidia", gone("timed-out"), "unknown"),
        (ALL, UNSUPPORTED, "P0", "skipped"),
        # One that is known not to hold decides, whatever the other would say.
        (ALL, "ascend", gone("error"), "skipped"),
        (ALL, gone("error"), "P8", "skipped"),
        # What could not be read weighs more than what does not exist.
        (ALL, UNSUPPORTED, gone("error"), "unknown"),
        (ALL, gone("error"), UNSUPPORTED, "unknown"),
        (ANY, "nvidia", "P8", "fail"),
        (ANY, "ascend", "P0", "fail"),
        (ANY, "ascend", "P8", "skipped"),
        (ANY, gone("error"), "P0", "fail"),
        (ANY, "nvidia", gone("lost"), "fail"),
        (ANY, gone("error"), "P8", "unknown"),
        (ANY, UNSUPPORTED, "P8", "skipped"),
        (ANY, UNSUPPORTED, "P0", "fail"),
        (ANY, UNSUPPORTED, gone("error"), "unknown"),
        (ANY, UNSUPPORTED, UNSUPPORTED, "skipped"),
    ],
)
def test_when(when: str, vendor: Value, state: Value, verdict: str) -> None:
    judged = said(load_rule(when=when), {CORE: 95, "board.vendor": vendor, "board.performance_state": state})
    assert judged.verdict == verdict
    assert judged.reason


@pytest.mark.parametrize("kind", MISSING_KINDS)
@pytest.mark.parametrize("when", ["{board.lost: {equals: false}}", "[{board.lost: {equals: false}}]"])
def test_a_missing_condition_is_never_skipped_in_silence(kind: str, when: str) -> None:
    judged = said(load_rule(when=when), {CORE: 50, "board.lost": gone(kind)})
    assert judged.verdict == ("skipped" if kind == "not-supported" else "unknown")
    assert "as the test says" in judged.reason


def test_the_condition_is_the_reason() -> None:
    judged = said(load_rule(when="{host.cooling: {equals: air}}"), {CORE: 50, "host.cooling": "liquid"})
    assert judged.reason == "applies where cooling is air; it is liquid"
    judged = said(load_rule(when=ANY), {CORE: 50, "board.vendor": "amd", "board.performance_state": "P8"})
    assert judged.reason == (
        "applies where vendor is nvidia; it is amd; applies where performance state is one of P0, P1; it is P8"
    )


@pytest.mark.parametrize(("kind", "verdict"), [("not-supported", "skipped"), ("error", "unknown")])
def test_a_missing_limit_of_a_condition(kind: str, verdict: str) -> None:
    rule = load_rule(when=f"{{board.temperature.memory_celsius: {{below: {{fact: {SLOWDOWN}}}}}}}")
    judged = said(rule, {CORE: 95, "board.temperature.memory_celsius": 5, SLOWDOWN: gone(kind)})
    assert judged.verdict == verdict


# Peers and baseline -----------------------------------------------------------------------------------

NEAR_PEERS = load_rules(rule_text(expect="{near_peers: {within: 5}}", severity="warn"))


@pytest.mark.parametrize(
    ("heats", "verdicts"),
    [
        ([50, 50, 90], ["skipped"] * 3),
        ([50, 51, 52, 90], ["pass", "pass", "pass", "warn"]),
        ([50, 90, 90, 90, 90], ["warn", "pass", "pass", "pass", "pass"]),
    ],
)
def test_peers(heats: list[float], verdicts: list[str]) -> None:
    boards = [board({"temperature.core_celsius": heat}, i) for i, heat in enumerate(heats)]
    findings = judge_all(facts(*boards), NEAR_PEERS)
    assert [own[0].verdict for own in findings.boards] == verdicts


@pytest.mark.parametrize(
    "odd",
    [{"model": "Another"}, {"model": gone("error")}, {"temperature.core_celsius": gone("lost")}],
    ids=["another model", "model unknown", "value missing"],
)
def test_only_boards_alike_with_a_value_are_peers(odd: dict[str, Value]) -> None:
    boards = [board({"temperature.core_celsius": 50}, i) for i in range(3)]
    boards.append(board({"temperature.core_celsius": 90, **odd}, 3))
    findings = judge_all(facts(*boards), NEAR_PEERS)
    assert findings.boards[0][0].verdict == "skipped"
    assert "fewer than 3 other boards" in findings.boards[0][0].reason


def test_boards_of_unknown_models_are_not_alike() -> None:
    boards = [board({"temperature.core_celsius": 50.0 + i, "model": gone("error")}, i) for i in range(6)]
    assert {own[0].verdict for own in judge_all(facts(*boards), NEAR_PEERS).boards} == {"skipped"}


@pytest.mark.parametrize(
    ("baseline", "verdict"),
    [
        ({CORE: 50.0}, "pass"),
        ({CORE: 40.0}, "warn"),
        ({CORE: gone("lost")}, "skipped"),
        ({}, "skipped"),
        (None, "skipped"),
    ],
)
def test_baseline(baseline: dict[str, Value] | None, verdict: str) -> None:
    rules = load_rules(rule_text(expect="{near_baseline: {within_ratio: 0.1}}", severity="warn"))
    one = board({"temperature.core_celsius": 52})
    baselines = {"0000:00:00.0": baseline} if baseline is not None else None
    findings = evaluate(facts(one), rules, DAY, baselines=baselines)
    assert findings.boards[0][0].verdict == verdict


def test_the_host_has_a_baseline_too() -> None:
    rules = load_rules(rule_text(HOST_RULE, expect="{near_baseline: {within: 3}}"))
    known_facts = facts(host={"thermal.inlet_celsius": 25})
    findings = evaluate(known_facts, rules, DAY, baselines={"host": {"host.thermal.inlet_celsius": 20}})
    assert findings.host[0].verdict == "fail"


# What is said -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "hostile", ["{expected}", "{found.__class__}", "{0}", "{", "}}", "{{found}}", "%s", "\\g<1>", "<b>", "a\nb", ""]
)
def test_what_a_machine_prints_is_never_a_template(hostile: str) -> None:
    rule = load_rule(
        fact="board.health_state", expect="{equals: OK}", say="'{found}|{expected}|{board}|{model}|{fact}'"
    )
    given = {"board.health_state": hostile, "board.model": hostile, "board.pci_address": "0000:3b:00.0"}
    assert said(rule, given).reason == f"{hostile}|OK|0000:3b:00.0|{hostile}|health state"


def test_a_language_falls_back_to_english() -> None:
    rule = load_rule(say="{en: hot, zh: 热}", title="Heat")
    assert [said(rule, {CORE: 95}, language=language).reason for language in ("en", "zh", "xx")] == ["hot", "热", "hot"]
    rules = load_rules(rule_text(title="{en: Heat, zh: 热}"))
    assert evaluate(facts(board()), rules, DAY, language="zh").boards[0][0].title == "热"


@pytest.mark.parametrize("name", known())
def test_every_fact_has_a_label(name: str) -> None:
    assert label(name) and "_" not in label(name) and "." not in label(name)


# Causes -----------------------------------------------------------------------------------------------

CAUSES = load_rules(
    rule_text(id="board.answers", fact="board.lost", expect="{equals: false}"),
    rule_text(id="temperature.core", caused_by="[thermal.inlet, power.limit]"),
    rule_text(id="power.limit", fact="board.power.limit_watts", expect="{at_least: 300}", severity="warn"),
    rule_text(id="link.errors", fact="board.link.error_count", expect="{equals: 0}"),
    rule_text(HOST_RULE),
)
GOOD: dict[str, Value] = {
    "lost": False,
    "temperature.core_celsius": 50,
    "power.limit_watts": 300,
    "link.error_count": 0,
}
COOL: dict[str, Value] = {"thermal.inlet_celsius": 20}


def causes(own: dict[str, Value], host: dict[str, Value]) -> dict[str, str | None]:
    findings = judge_all(facts(board({**GOOD, **own}), host={**COOL, **host}), CAUSES)
    return {name: found.caused_by for name, found in by_rule(findings.boards[0]).items() if found.verdict != "pass"}


@pytest.mark.parametrize(
    ("own", "host", "expected"),
    [
        ({"temperature.core_celsius": 95}, {}, {"temperature.core": None}),
        ({"temperature.core_celsius": 95}, {"thermal.inlet_celsius": 40}, {"temperature.core": "thermal.inlet"}),
        (
            {"temperature.core_celsius": 95, "power.limit_watts": 200},
            {},
            {"temperature.core": "power.limit", "power.limit": None},
        ),
        (
            {"temperature.core_celsius": 95, "power.limit_watts": 200},
            {"thermal.inlet_celsius": 40},
            {"temperature.core": "thermal.inlet", "power.limit": None},
        ),
        # A possible cause that nobody could see explains no failure, only that this could not be seen either.
        ({"temperature.core_celsius": 95}, {"thermal.inlet_celsius": gone("error")}, {"temperature.core": None}),
        (
            {"temperature.core_celsius": gone("error")},
            {"thermal.inlet_celsius": gone("error")},
            {"temperature.core": "thermal.inlet"},
        ),
        ({"temperature.core_celsius": 95}, {"thermal.inlet_celsius": NOT_COLLECTED}, {"temperature.core": None}),
        ({"temperature.core_celsius": 95}, {"thermal.inlet_celsius": UNSUPPORTED}, {"temperature.core": None}),
        ({"temperature.core_celsius": NOT_COLLECTED}, {"thermal.inlet_celsius": 40}, {"temperature.core": None}),
        ({"temperature.core_celsius": UNSUPPORTED}, {"thermal.inlet_celsius": 40}, {"temperature.core": None}),
        # What a lost board does not tell is explained by its loss, as far as the rule on board.lost failed.
        (
            {"lost": True, "link.error_count": gone("lost"), "temperature.core_celsius": gone("lost")},
            {},
            {"board.answers": None, "link.errors": "board.answers", "temperature.core": "board.answers"},
        ),
        ({"lost": True, "link.error_count": 5}, {}, {"board.answers": None, "link.errors": None}),
        ({"lost": True, "link.error_count": gone("error")}, {}, {"board.answers": None, "link.errors": None}),
        ({"lost": False, "link.error_count": gone("lost")}, {}, {"link.errors": None}),
        ({"lost": gone("lost"), "link.error_count": gone("lost")}, {}, {"board.answers": None, "link.errors": None}),
    ],
)
def test_causes(own: dict[str, Value], host: dict[str, Value], expected: dict[str, str | None]) -> None:
    assert causes(own, host) == expected


def test_a_cause_on_one_board_explains_nothing_on_another() -> None:
    lost = board({**GOOD, "lost": True, "link.error_count": gone("lost")})
    other = board({**GOOD, "link.error_count": gone("lost")}, 1)
    findings = judge_all(facts(lost, other, host=COOL), CAUSES)
    assert [by_rule(own)["link.errors"].caused_by for own in findings.boards] == ["board.answers", None]


def test_a_cause_of_another_vendor_explains_nothing() -> None:
    rules = load_rules(rule_text(HOST_RULE, vendor="ascend"), rule_text(caused_by="[thermal.inlet]"))
    boards = [board({"temperature.core_celsius": 95, "vendor": vendor}) for vendor in ("nvidia", "ascend")]
    findings = judge_all(facts(*boards, host={"thermal.inlet_celsius": 40}), rules)
    assert [own[0].caused_by for own in findings.boards] == [None, "thermal.inlet"]


def test_folding_changes_no_verdict() -> None:
    with_cause = judge_all(facts(board({"temperature.core_celsius": 95}), host={"thermal.inlet_celsius": 40}), CAUSES)
    without = load_rules(rule_text(), rule_text(HOST_RULE))
    bare = judge_all(facts(board({"temperature.core_celsius": 95}), host={"thermal.inlet_celsius": 40}), without)
    assert by_rule(with_cause.boards[0])["temperature.core"].verdict == bare.boards[0][0].verdict == "fail"


# Left out ---------------------------------------------------------------------------------------------


def test_a_rule_that_was_left_out_is_unknown_but_not_required() -> None:
    rules = load_rules(rule_text(), rule_text(HOST_RULE))
    left_out = {"temperature.core": "--only thermal.*"}
    one = board({"temperature.core_celsius": 95})
    findings = evaluate(facts(one, host={"thermal.inlet_celsius": 40}), rules, DAY, left_out)
    found = findings.boards[0][0]
    assert (found.verdict, found.required, found.missing) == ("unknown", False, "not-collected")
    assert found.reason == "left out: --only thermal.*"
    assert findings.host[0].verdict == "fail"


@pytest.mark.parametrize(("kind", "required"), [(kind, kind != "not-collected") for kind in MISSING_KINDS])
def test_what_was_not_collected_is_not_required(kind: str, required: bool) -> None:
    findings = judge_all(facts(board({"temperature.core_celsius": gone(kind)})), load_rules(rule_text()))
    assert findings.boards[0][0].required is required


def test_evidence_names_what_the_rule_looked_at() -> None:
    rules = load_rules(
        rule_text(expect=f"{{below: {{fact: {SLOWDOWN}}}}}", when="{host.cooling: {equals: air}}"),
        rule_text(HOST_RULE),
    )
    key = "0000:00:00.0"
    read_from = {
        "host": {"cooling": "e3", "thermal.inlet_celsius": "e4"},
        key: {"temperature.core_celsius": "e1", "temperature.slowdown_celsius": "e2", "uuid": "e9"},
    }
    base = facts(board(), host={"cooling": "air"})
    findings = judge_all(Facts(base.host, base.boards, (), read_from), rules)
    assert findings.boards[0][0].evidence == ("e1", "e2", "e3") and findings.host[0].evidence == ("e4",)


# Waivers ----------------------------------------------------------------------------------------------


def waived(
    waiver: str, heat: float = 95, hostname: Value = "gpu-01", day: datetime.datetime = DAY
) -> tuple[str, list[str]]:
    """The verdict of the board's finding under a waiver, and the rules of the host's findings."""
    top = f"waivers:\n  - {{rule: temperature.core, reason: fan ordered, owner: ops, ticket: T-1, {waiver}}}\n"
    rules = load_rules(rule_text(), top=top)
    one = board({"temperature.core_celsius": heat, "pci_address": "0000:3b:00.0"})
    findings = evaluate(facts(one, host={"hostname": hostname}), rules, day)
    return findings.boards[0][0].verdict, [found.rule for found in findings.host]


@pytest.mark.parametrize(
    ("waiver", "verdict"),
    [
        ("until: 2027-01-15", "waived"),
        ("until: 2027-01-14", "fail"),
        ("until: 2027-12-31, host: gpu-01", "waived"),
        ("until: 2027-12-31, host: gpu-*", "waived"),
        ("until: 2027-12-31, host: GPU-*", "fail"),
        ("until: 2027-12-31, host: other", "fail"),
        ("until: 2027-12-31, board: '0000:3b:00.0'", "waived"),
        ("until: 2027-12-31, board: '*3b*'", "waived"),
        ("until: 2027-12-31, board: '0000:af:*'", "fail"),
        ("until: 2027-12-31, board: '*', host: '*'", "waived"),
    ],
)
def test_a_waiver_counts_where_and_as_long_as_it_says(waiver: str, verdict: str) -> None:
    assert waived(waiver)[0] == verdict


def test_a_waiver_counts_through_its_last_day() -> None:
    last = datetime.datetime(2027, 1, 15, 23, 59, 59, tzinfo=datetime.timezone.utc)
    assert waived("until: 2027-01-15", day=last)[0] == "waived"
    assert waived("until: 2027-01-15", day=last + datetime.timedelta(seconds=1))[0] == "fail"


def test_a_host_without_a_name_is_met_by_every_host_only() -> None:
    assert waived("until: 2027-12-31", hostname=gone("error"))[0] == "waived"
    assert waived("until: 2027-12-31, host: gpu-*", hostname=gone("error"))[0] == "fail"


@pytest.mark.parametrize(
    ("waiver", "expected"),
    [
        ("until: 2027-01-15", []),
        ("until: 2027-01-14", ["waiver.expired"]),
        ("until: 2027-01-14, host: other", []),
    ],
)
def test_an_expired_waiver_is_a_warning(waiver: str, expected: list[str]) -> None:
    assert waived(waiver)[1] == expected


@pytest.mark.parametrize(
    ("heat", "verdict", "original"),
    [(50, "pass", None), (95, "waived", "fail"), (gone("error"), "waived", "unknown"), (UNSUPPORTED, "skipped", None)],
)
def test_a_waived_finding_keeps_what_it_was(heat: Value, verdict: str, original: str | None) -> None:
    top = "waivers:\n  - {rule: temperature.core, reason: fan ordered, owner: ops, ticket: T-1, until: 2027-12-31}\n"
    found = judge_all(facts(board({"temperature.core_celsius": heat})), load_rules(rule_text(), top=top)).boards[0][0]
    assert found.verdict == verdict
    assert (found.waived.verdict if found.waived else None) == original
    if found.waived:
        assert (found.waived.reason, found.waived.owner, found.waived.ticket) == ("fan ordered", "ops", "T-1")
        assert found.waived.until == "2027-12-31"


@given(st.lists(st.floats(0, 120), min_size=1, max_size=4))
def test_a_waived_rule_scores_as_if_it_were_absent(heats: list[float]) -> None:
    top = "waivers:\n  - {rule: temperature.core, reason: r, owner: o, until: 2027-12-31}\n"
    lost = rule_text(id="board.answers", fact="board.lost", expect="{equals: false}")
    boards = [board({"temperature.core_celsius": max(heat, 90), "lost": False}, i) for i, heat in enumerate(heats)]
    waived_rules, fewer_rules = load_rules(rule_text(), lost, top=top), load_rules(lost)
    for with_waiver, without in zip(
        judge_all(facts(*boards), waived_rules).boards, judge_all(facts(*boards), fewer_rules).boards, strict=True
    ):
        assert score_of(with_waiver, waived_rules.scoring) == score_of(without, fewer_rules.scoring)
