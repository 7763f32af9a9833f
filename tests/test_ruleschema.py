"""ruleschema.py: the schema for editors takes what rules.py takes and marks what it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from boardops.compare import OPERATORS
from boardops.facts import known
from boardops.locate import shipped
from boardops.rules import RULE_KEYS, SCHEMA, load
from boardops.ruleschema import schema
from tests.composed import HOST_RULE, rule_text, rules_text

WAIVER = "waivers:\n  - {rule: temperature.core, reason: r, owner: o, until: '2027-01-31'}\n"
SCORING = "settings: {}\nscoring: {coverage_floor: 0.5, caps: {fail: 30}}\n"
VALID = [
    rules_text(rule_text()),
    rules_text(
        rule_text(), rule_text(HOST_RULE, vendor="nvidia", warn="{above: 27 C}", cap="50"), top=SCORING + WAIVER
    ),
    rules_text(
        rule_text(when="[{board.lost: {equals: false}}, {host.cooling: {one_of: [air]}}]", if_missing="skipped")
    ),
    rules_text(rule_text(expect="{between: [10, {fact: board.temperature.slowdown_celsius, times: 0.9}]}")),
    rules_text(rule_text(expect="{near_peers: {within_ratio: 10 %}}", title="{en: a, zh: b}", say="'{found}'")),
    rules_text(rule_text(fact="board.driver_version", expect="{version: '>=580', not_equals: 12.10}")),
    rules_text(
        rule_text(
            cases="[{given: {board.lost: {missing: lost, why: x}, board.temperature.core_celsius: 1},"
            " peers: [{board.lost: true}], baseline: {board.lost: true}, verdict: pass, note: true}]"
        )
    ),
]
LATER = rules_text('  - id: temperature.core\n    weight: 3\n    "off": no sensor\n')


def errors(text: str) -> list[str]:
    validator = jsonschema.Draft202012Validator(schema())
    return [error.json_path for error in validator.iter_errors(yaml.safe_load(text))]


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(schema())


@pytest.mark.parametrize("text", VALID)
def test_what_the_rules_take_the_schema_takes(text: str) -> None:
    load([("test.yaml", text)])
    assert errors(text) == []


def test_a_later_layer_may_change_single_keys() -> None:
    load([("base.yaml", VALID[0]), ("test.yaml", LATER)])
    assert errors(LATER) == []


def test_the_shipped_rules_fit_the_schema() -> None:
    assert errors(Path(shipped("rules.yaml")).read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("rules: []\n", "$"),
        ("schema: boardops.rules/2\n", "$.schema"),
        (f"schema: {SCHEMA}\nrule: []\n", "$"),
        (f"schema: {SCHEMA}\nscoring: {{floor: 1}}\n", "$.scoring"),
        (f"schema: {SCHEMA}\nwaivers: [{{rule: a.b}}]\n", "$.waivers[0]"),
        (rules_text(rule_text(sevrity="fail")), "$.rules[0]"),
        (rules_text(rule_text(id="Core")), "$.rules[0].id"),
        (rules_text(rule_text(severity="fial")), "$.rules[0].severity"),
        (rules_text(rule_text(for_="card")), "$.rules[0].for"),
        (rules_text(rule_text(fact="board.nothing")), "$.rules[0].fact"),
        (rules_text(rule_text(expect="{}")), "$.rules[0].expect"),
        (rules_text(rule_text(expect="{belwo: 1}")), "$.rules[0].expect"),
        (rules_text(rule_text(expect="{below: [1]}")), "$.rules[0].expect.below"),
        (rules_text(rule_text(expect="{between: [1]}")), "$.rules[0].expect.between"),
        (rules_text(rule_text(expect="{near_peers: {within: 1, within_ratio: 1}}")), "$.rules[0].expect.near_peers"),
        (rules_text(rule_text(when="{board.nothing: {equals: 1}}")), "$.rules[0].when"),
        (rules_text(rule_text(weight="0")), "$.rules[0].weight"),
        (rules_text(rule_text(cap="101")), "$.rules[0].cap"),
        (rules_text(rule_text(remedy="{action: pray, text: x}")), "$.rules[0].remedy.action"),
        (rules_text(rule_text(source="{text: x, confidence: sure}")), "$.rules[0].source.confidence"),
        (rules_text(rule_text(cases="[]")), "$.rules[0].cases"),
        (rules_text(rule_text(cases="[{given: {}, verdict: waived}]")), "$.rules[0].cases[0].verdict"),
        (rules_text(rule_text(title="{zh: x}")), "$.rules[0].title"),
    ],
)
def test_what_the_rules_refuse_the_schema_marks(text: str, path: str) -> None:
    with pytest.raises(Exception, match=r"^test\.yaml:\d+: "):
        load([("test.yaml", text)])
    assert path in errors(text)


def test_the_schema_knows_all_words() -> None:
    parts: dict[str, Any] = schema()["$defs"]
    assert set(parts["rule"]["properties"]) == set(RULE_KEYS)
    assert set(parts["comparisons"]["properties"]) == set(OPERATORS)
    assert parts["fact"]["enum"] == list(known())
