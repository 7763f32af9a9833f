"""rules.py: rules are read strictly and in layers; what is wrong is one sentence with file, line and a near word."""

from __future__ import annotations

import datetime
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from boardops.compare import AllOf, AnyOf, Comparison, Ref
from boardops.compare import Test as FactTest
from boardops.facts import Missing
from boardops.locate import shipped
from boardops.rules import ACTIONS, IF_MISSING, NEEDED_KEYS, SEVERITIES, VENDORS, RuleSet, Scoring, YamlError, load
from tests.composed import HOST_RULE, load_rule, load_rules, rule_text, rules_text

FULL = rule_text(
    title="{en: The chip is cool, zh: 芯片温度正常}",
    when="[{board.vendor: {equals: nvidia}}, {host.cooling: {one_of: [air, liquid]}}]",
    expect="{below: {fact: board.temperature.slowdown_celsius, times: 0.9, plus: -1}}",
    warn="{above: 80 C}",
    required="false",
    if_missing="fail",
    cap="20",
    say="{en: '{found} on {board}', zh: '{found}'}",
    remedy="{action: check-cooling, text: Look., steps: [One., {en: Two., zh: 二。}]}",
    cases="[{given: {board.temperature.core_celsius: 50, board.clock.throttle_reasons: [a, b], board.vendor: "
    "{missing: lost}}, peers: [{board.temperature.core_celsius: 40}], baseline: {board.temperature.core_celsius: 45}, "
    "verdict: pass, note: false}]",
)


def refused(text: str) -> YamlError:
    """The error of a rules file that must not be read."""
    with pytest.raises(YamlError) as caught:
        load([("test.yaml", text)])
    assert str(caught.value).startswith(f"test.yaml:{caught.value.line}: ")
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 500
    return caught.value


def test_a_rule_is_read_whole() -> None:
    rule = load_rules(FULL).rules[0]
    assert (rule.id, rule.subject, rule.fact) == ("temperature.core", "board", "board.temperature.core_celsius")
    assert rule.title == {"en": "The chip is cool", "zh": "芯片温度正常"}
    assert rule.when == AnyOf(
        (
            AllOf((FactTest("board.vendor", (Comparison("equals", "nvidia"),)),)),
            AllOf((FactTest("host.cooling", (Comparison("one_of", ("air", "liquid")),)),)),
        )
    )
    assert rule.expect == (Comparison("below", Ref("board.temperature.slowdown_celsius", 0.9, -1)),)
    assert rule.warn == (Comparison("above", 80),)
    assert (rule.severity, rule.weight, rule.required, rule.if_missing, rule.cap) == ("fail", 10, False, "fail", 20)
    assert rule.say == {"en": "{found} on {board}", "zh": "{found}"}
    assert rule.remedy.steps == ({"en": "One."}, {"en": "Two.", "zh": "二。"})
    case = rule.cases[0]
    assert case.given["board.clock.throttle_reasons"] == ("a", "b")
    assert case.given["board.vendor"] == Missing("lost", "as the case says")
    assert (case.file, case.line, case.verdict, case.note) == ("test.yaml", 12, "pass", False)
    assert case.peers == ({"board.temperature.core_celsius": 40},)
    assert case.baseline == {"board.temperature.core_celsius": 45}
    assert rule.places["expect"] == "test.yaml:7" and rule.off is None


@pytest.mark.parametrize(("severity", "required"), [("fail", True), ("warn", False), ("note", False)])
def test_only_a_failure_is_required_by_default(severity: str, required: bool) -> None:
    assert load_rule(severity=severity).required is required


def test_defaults() -> None:
    rules = load_rules(rule_text())
    rule = rules.rules[0]
    assert (rule.if_missing, rule.cap, rule.caused_by, rule.say, rule.when, rule.warn) == (
        "unknown",
        None,
        (),
        None,
        None,
        (),
    )
    assert rules.scoring == Scoring(0.8, 40, 90) and rules.waivers == ()


def test_the_shipped_rules_are_read() -> None:
    path = Path(shipped("rules.yaml"))
    rules = load([(str(path), path.read_text(encoding="utf-8"))])
    assert len(rules.rules) > 20 and not [rule.id for rule in rules.rules if rule.off is not None]


# A rule that is wrong in one key: the key, what stands there, the line of the key in the file, and what is said.
WRONG_KEYS = [
    ("title", "{zh: 温}", 4, "title lacks the key 'en'"),
    ("title", "{en: a, de: b}", 4, "title has the unknown key 'de'"),
    ("title", "[a]", 4, "title must be text"),
    ("title", "'{found}'", 4, "title uses {found}; allowed: none"),
    ("for_", "bord", 5, "for must be one of host, board, not 'bord'; did you mean 'board'?"),
    ("fact", "board.temprature.core_celsius", 6, "did you mean 'board.temperature.core_celsius'?"),
    (
        "fact",
        "host.thermal.inlet_celsius",
        6,
        "is for a board but judges host.thermal.inlet_celsius; make it 'for: host'",
    ),
    ("expect", "{belwo: 90}", 7, "expect has the unknown key 'belwo'; did you mean 'below'?"),
    ("expect", "{below: 16 GiB}", 7, "expect.below: '16 GiB' has no unit of celsius; known: C, °C"),
    (
        "expect",
        "{below: {fact: board.memory.used_bytes}}",
        7,
        "compares board.temperature.core_celsius, a number of cel",
    ),
    (
        "expect",
        "{version: '>=1'}",
        7,
        "cannot be asked of board.temperature.core_celsius, which is a number of celsius",
    ),
    ("expect", "28", 7, "expect must be a map"),
    ("severity", "fial", 8, "severity must be one of fail, warn, note, not 'fial'; did you mean 'fail'?"),
    ("weight", "0", 9, "weight must be above 0 and at most 1000"),
    ("weight", "-1", 9, "weight must be above 0"),
    ("weight", "1001", 9, "at most 1000"),
    ("weight", "'8'", 9, "weight must be a number, not '8'"),
    ("weight", "1e999", 9, "weight must be a number, not '1e999'"),
    ("weight", ".nan", 9, "weight must be a number, not '.nan'"),
    ("remedy", "{action: check-coling, text: a}", 10, "not 'check-coling'; did you mean 'check-cooling'?"),
    ("remedy", "{action: none}", 10, "remedy lacks the key 'text'"),
    ("remedy", "{action: none, text: a, steps: b}", 10, "remedy.steps must be a list"),
    ("source", "{text: a, confidence: hihg}", 11, "did you mean 'high'?"),
    ("source", "somewhere", 11, "source must be a map"),
    ("cases", "[]", 12, "rule 'temperature.core' has no cases"),
    ("cases", "[{verdict: pass}]", 12, "a case lacks the key 'given'"),
    ("cases", "[{given: {}, verdict: waived}]", 12, "verdict must be one of pass, warn, fail, unknown, skipped, not"),
    ("cases", "[{given: {board.serail: x}, verdict: pass}]", 12, "did you mean 'board.serial'?"),
    ("cases", "[{given: {board.lost: 1}, verdict: pass}]", 12, "given.board.lost must be true or false"),
    ("cases", "[{given: {board.lost: {missing: timeout}}, verdict: pass}]", 12, "did you mean 'timed-out'?"),
    ("cases", "[{given: {board.link.active_count: 1.5}, verdict: pass}]", 12, "must be a whole number, not '1.5'"),
    ("cases", "[{given: {board.faults: [xid]}, verdict: pass}]", 12, "must be a fault such as xid:79, not 'xid'"),
    ("cases", "[{given: {}, verdict: pass, note: 1}]", 12, "note must be true or false"),
    ("vendor", "nvidia", 13, "vendor goes with rules for the host; a board's rule asks for it in 'when'"),
    ("vendor", "nvida", 13, "did you mean 'nvidia'?"),
    (
        "when",
        "{board.vendr: {equals: a}}",
        13,
        "when names the unknown fact 'board.vendr'; did you mean 'board.vendor'?",
    ),
    ("when", "[]", 13, "when is empty"),
    ("required", "maybe", 13, "required must be true or false, not 'maybe'"),
    ("if_missing", "skip", 13, "if_missing must be one of unknown, skipped, warn, fail, not 'skip'"),
    ("cap", "101", 13, "cap must lie between 0 and 100"),
    ("cap", "-1", 13, "cap must lie between 0 and 100"),
    (
        "say",
        "'{fuond}'",
        13,
        "say uses {fuond}; allowed: {found}, {expected}, {fact}, {board}, {model}, {why} and facts; did you mean",
    ),
    ("say", "'{found.__class__}'", 13, "say uses {found.__class__}; allowed: {found}"),
    ("say", "'{found!r}'", 13, "say uses {found!r}"),
    ("say", "'{}'", 13, "say uses {}"),
    ("caused_by", "[board.answres]", 13, "caused_by of temperature.core names the unknown rule 'board.answres'"),
    ("caused_by", "[temperature.core]", 13, "caused_by of temperature.core names the rule itself"),
    ("caused_by", "temperature.core", 13, "caused_by must be a list"),
    ("off", "true", 13, "off must say why the rule is switched off"),
    ("off", "''", 13, "off must say why"),
    ("off", "~", 13, "off must be text"),
    ("sevrity", "fail", 13, "a rule has the unknown key 'sevrity'; did you mean 'severity'?"),
]


@pytest.mark.parametrize(("key", "value", "line", "said"), WRONG_KEYS)
def test_a_wrong_key_is_named(key: str, value: str, line: int, said: str) -> None:
    error = refused(rules_text(rule_text(**{key: value})))
    assert said in error.message
    assert error.line == line


@pytest.mark.parametrize("key", NEEDED_KEYS)
def test_a_missing_key_is_named(key: str) -> None:
    error = refused(rules_text(rule_text(**{f"{key}_": None})))
    assert error.message.startswith(f"rule 'temperature.core' lacks the key {key!r}") and error.line == 3


def test_a_warning_beside_a_warning_is_refused() -> None:
    error = refused(rules_text(rule_text(severity="warn", warn="{above: 80}")))
    assert error.message == "warn goes with 'severity: fail' only" and error.line == 13


def test_a_bad_pattern_or_version_is_named() -> None:
    error = refused(rules_text(rule_text(fact="board.model", expect="{matches: '('}")))
    assert "expect.matches is not a regular expression" in error.message and error.line == 7
    error = refused(rules_text(rule_text(fact="board.driver_version", expect="{version: '>=latest'}")))
    assert "expect.version: '>=latest' is not an operator" in error.message and error.line == 7


def test_a_rule_for_the_host_sees_no_board() -> None:
    error = refused(rules_text(rule_text(HOST_RULE, fact="board.lost")))
    assert error.message == "fact names board.lost, but a rule for the host sees no board"
    error = refused(rules_text(rule_text(HOST_RULE, cases="[{given: {board.lost: true}, verdict: pass}]")))
    assert "given names board.lost" in error.message


@pytest.mark.parametrize(
    ("entry", "line", "said"),
    [
        ("  - title: x\n", 3, "a rule lacks the key 'id'"),
        ("  - x\n", 3, "a rule must be a map"),
        ("  - id: Temperature.core\n", 3, "must be lower-case words joined by dots"),
        ("  - id: temperature\n", 3, "must be lower-case words joined by dots"),
        ('  - id: "a.b\\n"\n', 3, "must be lower-case words joined by dots"),
        ("  - id: a.b\n    id: a.c\n", 4, "has the key 'id' twice"),
        ("  - id: a.b\n\ttitle: x\n", 4, "has a tab in its indentation"),
        ("  - id: a.b\n    weight: 5\n", 3, "rule 'a.b' lacks the key 'fact', and no earlier file has it"),
        ("  - id: a.b\n    off: why\n", 3, "rule 'a.b' is switched off but not known"),
        ("  - &x {id: a.b}\n  - *x\n", 3, "uses an anchor or an alias"),
        ("  - !!python/object:x.Y {id: a.b}\n", 3, "uses the tag"),
        ("  - id: a.b\n    ? [x]\n    : y\n", 4, "has a key that is not text"),
        ("  - id: a.b\n    1: y\n", 4, "a rule has the unknown key '1'"),
    ],
)
def test_a_wrong_entry_is_named(entry: str, line: int, said: str) -> None:
    error = refused(rules_text(entry))
    assert said in error.message and error.line == line


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("", 1, "is empty"),
        ("- a\n", 1, "a rules file must be a map"),
        ("rules: []\n", 1, "a rules file lacks the key 'schema'"),
        ("schema: boardops.rules/2\n", 1, "schema must be 'boardops.rules/1', not 'boardops.rules/2'"),
        ("schema: []\n", 1, "schema must be text"),
        ("schema: boardops.rules/1\nrule: []\n", 2, "has the unknown key 'rule'; did you mean 'rules'?"),
        ("schema: boardops.rules/1\nrules:\n", 2, "rules must be a list"),
        ("schema: boardops.rules/1\nsettings: {a: 1}\n", 2, "settings has the unknown key 'a'"),
        ("schema: boardops.rules/1\nscoring: {coverage_floor: 1.1}\n", 2, "must lie between 0 and 1"),
        ("schema: boardops.rules/1\nscoring: {caps: {fail: 101}}\n", 2, "must lie between 0 and 100"),
        ("schema: boardops.rules/1\nscoring: {caps: {fail: 95}}\n", 2, "fail must not be above scoring.caps.warn"),
        ("schema: boardops.rules/1\nscoring: {caps: {warn: 30}}\n", 2, "fail must not be above scoring.caps.warn"),
        ("schema: boardops.rules/1\nscoring: {cap: {}}\n", 2, "did you mean 'caps'?"),
        ("schema: boardops.rules/1\nwaivers: {}\n", 2, "waivers must be a list"),
        ("a: &a [x]\nb: &b [*a, *a]\nc: &c [*b, *b]\n", 1, "uses an anchor or an alias"),
        ("schema: &a [*a]\n", 1, "uses an anchor or an alias"),
        ("schema: boardops.rules/1\nrules: " + "[" * 3000, 2, "nest"),
        ("schema: boardops.rules/1\nrules: " + "[" * 60 + "]" * 60, 2, "is nested too deeply"),
        ("schema: boardops.rules/1\n# " + "x" * 3 * 2**20, 1, "is larger than 2 MiB"),
        ("\x7fELF\x02\x01\x01\0\0\0", 1, "is not YAML"),
        ("schema: \udcff", 1, "is not YAML"),
    ],
)
def test_a_wrong_file_is_named(text: str, line: int, said: str) -> None:
    error = refused(text)
    assert said in error.message and error.line == line


def test_a_rule_stands_in_a_file_once() -> None:
    error = refused(rules_text(rule_text(), rule_text()))
    assert error.message == "rule 'temperature.core' stands in this file twice, first in line 3" and error.line == 13


def test_causes_may_not_go_in_a_circle() -> None:
    error = refused(
        rules_text(
            rule_text(id="a.one", caused_by="[a.two]"),
            rule_text(id="a.two", caused_by="[a.three]"),
            rule_text(id="a.three", caused_by="[a.one]"),
        )
    )
    assert error.message == "caused_by of a.one leads back to the rule itself" and error.line == 13


def test_many_braces_cost_no_time() -> None:
    started = time.process_time()
    load_rules(rule_text(title="'" + "{" * 500_000 + "'"))
    assert time.process_time() - started < 5


@pytest.mark.parametrize(
    ("waiver", "said"),
    [
        ("{rule: temperature.cor, reason: r, owner: o, until: 2027-01-31}", "did you mean 'temperature.core'?"),
        (
            "{rule: temperature.core, reason: r, owner: o, until: 31.1.2027}",
            "a date such as 2027-01-31, not '31.1.2027'",
        ),
        ("{rule: temperature.core, reason: r, owner: o, until: 2027-02-30}", "must be a date such as 2027-01-31"),
        ("{rule: temperature.core, reason: r, owner: o, until: [a]}", "waiver.until must be text"),
        ("{rule: temperature.core, reason: r, owner: o}", "a waiver lacks the key 'until'"),
        ("{rule: temperature.core, reason: r, until: 2027-01-31}", "a waiver lacks the key 'owner'"),
        ("{rule: temperature.core, reason: r, owner: o, until: 2027-01-31, bord: x}", "did you mean 'board'?"),
    ],
)
def test_a_wrong_waiver_is_named(waiver: str, said: str) -> None:
    error = refused(rules_text(rule_text(), top=f"waivers:\n  - {waiver}\n"))
    assert said in error.message and error.line == 3


def test_a_waiver_is_read() -> None:
    waiver = load_rules(
        rule_text(),
        top="waivers:\n  - {rule: temperature.core, board: '0000:3b:*', host: gpu-*, reason: fan ordered, owner: ops, "
        "ticket: T-1, until: 2027-01-31}\n",
    ).waivers[0]
    assert (waiver.rule, waiver.board, waiver.host) == ("temperature.core", "0000:3b:*", "gpu-*")
    assert (waiver.until, waiver.place) == (datetime.date(2027, 1, 31), "test.yaml:3")


# Layers ------------------------------------------------------------


def layered(*later: str) -> RuleSet:
    return load([("base.yaml", rules_text(rule_text())), *((f"site{i}.yaml", text) for i, text in enumerate(later))])


def test_a_later_file_changes_one_key() -> None:
    rules = layered(rules_text("  - id: temperature.core\n    expect: {below: 80}\n"))
    rule = rules.rules[0]
    assert rule.expect == (Comparison("below", 80),) and rule.weight == 10
    assert rule.places["expect"] == "site0.yaml:4" and rule.places["weight"] == "base.yaml:9"
    assert rules.files == ("base.yaml", "site0.yaml")


def test_the_last_file_wins() -> None:
    texts = [rules_text(f"  - id: temperature.core\n    weight: {weight}\n") for weight in (3, 4)]
    assert layered(*texts).rules[0].weight == 4


def test_a_later_file_adds_a_rule() -> None:
    rules = layered(rules_text(rule_text(HOST_RULE)))
    assert [rule.id for rule in rules.rules] == ["temperature.core", "thermal.inlet"]
    assert rules.rules[1].places["fact"] == "site0.yaml:6"


def test_a_later_file_switches_a_rule_off_and_on() -> None:
    off = rules_text("  - id: temperature.core\n    off: no sensor here\n")
    assert layered(off).rules[0].off == "no sensor here"
    assert layered(off).rules[0].places["off"] == "site0.yaml:4"
    assert layered(off, rules_text("  - id: temperature.core\n    off: false\n")).rules[0].off is None


@pytest.mark.parametrize(
    ("later", "line", "said"),
    [
        (
            rules_text("  - id: temperature.cor\n    weight: 5\n"),
            3,
            "no earlier file has it; did you mean 'temperature.core'?",
        ),
        (
            rules_text("  - id: temperature.cor\n    off: x\n"),
            3,
            "is switched off but not known; did you mean 'temperature.",
        ),
        (rules_text("  - id: temperature.core\n    weight: 0\n"), 4, "weight must be above 0"),
        (rules_text("  - id: temperature.core\n    for: host\n"), 6, "but a rule for the host sees no board"),
        (rules_text("  - id: temperature.core\n    cases: []\n"), 4, "has no cases"),
        ("schema: boardops.rules/1\nscoring: {caps: {fail: 91}}\n", 2, "must not be above scoring.caps.warn"),
    ],
)
def test_a_wrong_later_file_is_named(later: str, line: int, said: str) -> None:
    with pytest.raises(YamlError) as caught:
        layered(later)
    assert said in caught.value.message and caught.value.line == line
    assert caught.value.file == ("base.yaml" if "sees no board" in said else "site0.yaml")


def test_scoring_is_layered_by_key() -> None:
    tops = ["scoring: {coverage_floor: 0.5, caps: {fail: 30}}\n", "scoring: {caps: {warn: 80}}\n"]
    assert layered(*(f"schema: boardops.rules/1\n{top}" for top in tops)).scoring == Scoring(0.5, 30, 80)


def test_both_caps_may_be_the_same() -> None:
    assert load_rules(rule_text(), top="scoring: {caps: {fail: 90}}\n").scoring.cap_fail == 90


def test_the_digest_tells_texts_apart() -> None:
    assert load_rules(rule_text()).digest == load_rules(rule_text()).digest
    assert load_rules(rule_text()).digest != load_rules(rule_text(weight="11")).digest


def test_no_layer_is_no_rule() -> None:
    assert load([]).rules == ()


@pytest.mark.parametrize(
    ("key", "words"), [("severity", SEVERITIES), ("if_missing", IF_MISSING), ("vendor", VENDORS), ("action", ACTIONS)]
)
def test_all_words_of_the_closed_lists_are_read(key: str, words: tuple[str, ...]) -> None:
    for word in words:
        if key == "action":
            assert load_rule(remedy=f"{{action: {word}, text: x}}").remedy.action == word
        else:
            assert getattr(load_rule(HOST_RULE, **{key: word}), key) == word


# Whatever is done to a text, it is read or refused in one sentence ------------------------------

VALID = rules_text(
    FULL, rule_text(HOST_RULE, vendor="nvidia"), top="scoring: {coverage_floor: 0.8, caps: {fail: 40}}\n"
)
PIECES = [
    "{",
    "}",
    "[",
    "]",
    ":",
    ": ",
    "- ",
    "\n",
    "\t",
    "  ",
    "&a ",
    "*a",
    "!!str ",
    "'",
    '"',
    "#",
    "|",
    "1e999",
    "~",
    "\0",
]
PIECES += ["true", "{found}", "{fact: board.lost}", "16 GiB", "é", "\ud800", "\u2028", "%", ">=1", "(", "\\"]


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """The valid text after a few cuts, repeats and insertions."""
    text = VALID
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 40)))
        piece = draw(st.one_of(st.sampled_from(PIECES), st.sampled_from(VALID.splitlines(True)), st.text(max_size=5)))
        text = text[:start] + piece + text[end:]
    return text


@st.composite
def shuffled_lines(draw: st.DrawFn) -> str:
    """The valid text with lines left out, repeated and moved."""
    lines = VALID.splitlines(True)
    for _ in range(draw(st.integers(1, 6))):
        i, j = (draw(st.integers(0, len(lines) - 1)) for _ in range(2))
        lines[i : i + draw(st.integers(0, 1))] = [lines[j]] * draw(st.integers(0, 2))
        lines = lines or ["\n"]
    return "".join(lines)


@settings(max_examples=400, deadline=None)
@given(st.one_of(damaged(), shuffled_lines()))
def test_a_damaged_file_is_read_or_refused(text: str) -> None:
    try:
        load([("base.yaml", VALID), ("site.yaml", text)])
        load([("test.yaml", text)])
    except YamlError as error:
        assert error.file in {"base.yaml", "site.yaml", "test.yaml"} and error.line >= 1
        assert "\n" not in error.message


def test_the_undamaged_file_is_read() -> None:
    assert len(load([("test.yaml", VALID)]).rules) == 2
