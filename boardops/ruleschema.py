"""The JSON Schema of a rules file, so that editors complete words and mark mistakes while a rule is written.

Made from the tables that rules.py and compare.py read with, so that it cannot fall behind them. Called by
`boardops rules schema`. It is a help, not the judge: whether a unit fits a fact, whether an id is known, or whether a
new rule has all its keys is decided by rules.py, which sees all layers.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from boardops.catalog.sourced import CONFIDENCES
from boardops.compare import MAX_PATTERN, OPERATORS, Operator
from boardops.facts import MISSING_KINDS, known
from boardops.rules import (
    ACTIONS,
    CASE_VERDICTS,
    IF_MISSING,
    LANGUAGES,
    NEEDED_KEYS,
    RULE_KEYS,
    SCHEMA,
    SEVERITIES,
    TOP_KEYS,
    VENDORS,
    WAIVER_KEYS,
)

Node = dict[str, Any]

TEXT: Node = {"type": ["string", "number"]}
"""A number counts as the text it is written as; a version such as 12.10 needs no quotes."""
SCALAR: Node = {"type": ["string", "number", "boolean"]}


def schema() -> Node:
    """The JSON Schema, draft 2020-12."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "boardops rules",
        "description": "What boardops expects of a board and its host. `boardops facts` lists the facts.",
        **_map(_top(), TOP_KEYS, ("schema",)),
        "$defs": {
            "words": _words(),
            "fact": {"enum": list(known())},
            "value": {"anyOf": [SCALAR, _reference()]},
            "comparisons": _comparisons(),
            "tests": _by_fact({"$ref": "#/$defs/comparisons"}),
            "given": _by_fact({"anyOf": [SCALAR, _list(TEXT), _missing()]}),
            "rule": _rule(),
            "waiver": _waiver(),
        },
    }


def _map(properties: Node, keys: Iterable[str], required: Iterable[str] = ()) -> Node:
    """A map that has no other keys than `keys`; raises KeyError where one of them is not described."""
    return {
        "type": "object",
        "properties": {key: properties[key] for key in keys},
        "required": list(required),
        "additionalProperties": False,
    }


def _list(entry: Node, least: int = 0) -> Node:
    return {"type": "array", "items": entry, "minItems": least}


def _by_fact(value: Node) -> Node:
    return {"type": "object", "propertyNames": {"$ref": "#/$defs/fact"}, "additionalProperties": value}


def _words() -> Node:
    texts = dict.fromkeys(LANGUAGES, TEXT)
    return {"anyOf": [TEXT, _map(texts, LANGUAGES, ("en",))]}


def _top() -> Node:
    share = {"type": "number", "minimum": 0, "maximum": 1}
    points = {"type": "number", "minimum": 0, "maximum": 100}
    caps = _map({"fail": points, "warn": points}, ("fail", "warn"))
    return {
        "schema": {"const": SCHEMA},
        "settings": _map({}, ()),
        "scoring": _map({"coverage_floor": share, "caps": caps}, ("coverage_floor", "caps")),
        "waivers": _list({"$ref": "#/$defs/waiver"}),
        "rules": _list({"$ref": "#/$defs/rule"}),
    }


def _reference() -> Node:
    parts = {
        "fact": {"$ref": "#/$defs/fact"},
        "times": {"type": "number"},
        "plus": {"type": ["number", "string"]},
    }
    return _map(parts, parts, ("fact",))


def _comparisons() -> Node:
    limits = {
        name: {"description": _described(name, operator), **_limit(operator)} for name, operator in OPERATORS.items()
    }
    return {**_map(limits, OPERATORS), "minProperties": 1}


def _described(name: str, operator: Operator) -> str:
    return f"{name}: goes with {', '.join(operator.kinds)}"


def _limit(operator: Operator) -> Node:
    value: Node = {"$ref": "#/$defs/value"}
    near = {"within": {"type": ["number", "string"]}, "within_ratio": {"type": ["number", "string"]}}
    limits: dict[str, Node] = {
        "value": value,
        "values": _list(value, 1),
        "pair": {**_list(value, 2), "maxItems": 2},
        "pattern": {**TEXT, "maxLength": MAX_PATTERN},
        "spec": {"type": "string"},
        "flag": {"type": "boolean"},
        "near": {**_map(near, near), "minProperties": 1, "maxProperties": 1},
    }
    return limits[operator.takes]


def _missing() -> Node:
    parts = {"missing": {"enum": list(MISSING_KINDS)}, "why": TEXT}
    return _map(parts, parts, ("missing",))


def _case() -> Node:
    given: Node = {"$ref": "#/$defs/given"}
    parts = {
        "given": given,
        "peers": _list(given),
        "baseline": given,
        "verdict": {"enum": list(CASE_VERDICTS)},
        "note": {"type": "boolean"},
    }
    return _map(parts, parts, ("given", "verdict"))


def _remedy() -> Node:
    words: Node = {"$ref": "#/$defs/words"}
    parts = {
        "action": {"enum": list(ACTIONS)},
        "action_from": {"$ref": "#/$defs/fact"},
        "text": words,
        "steps": _list(words),
    }
    return _map(parts, parts, ("action", "text"))


def _source() -> Node:
    parts = {"text": TEXT, "confidence": {"enum": list(CONFIDENCES)}}
    return _map(parts, parts, ("text", "confidence"))


def _rule() -> Node:
    """A rule; only `id` is required, since a later layer changes single keys."""
    comparisons: Node = {"$ref": "#/$defs/comparisons"}
    tests: Node = {"$ref": "#/$defs/tests"}
    parts: Node = {
        "id": {"type": "string", "pattern": r"^[a-z0-9_-]+(\.[a-z0-9_-]+)+$"},
        "title": {"$ref": "#/$defs/words"},
        "for": {"enum": ["host", "board"]},
        "vendor": {"enum": list(VENDORS)},
        "when": {"anyOf": [{**tests, "minProperties": 1}, _list({**tests, "minProperties": 1}, 1)]},
        "fact": {"$ref": "#/$defs/fact"},
        "expect": comparisons,
        "warn": comparisons,
        "severity": {"enum": list(SEVERITIES)},
        "weight": {"type": "number", "exclusiveMinimum": 0, "maximum": 1000},
        "required": {"type": "boolean"},
        "if_missing": {"enum": list(IF_MISSING)},
        "cap": {"type": "number", "minimum": 0, "maximum": 100},
        "caused_by": _list({"type": "string"}),
        "say": {"$ref": "#/$defs/words"},
        "remedy": _remedy(),
        "source": _source(),
        "cases": _list(_case(), 1),
        "off": {"anyOf": [{"type": "string", "minLength": 1}, {"const": False}]},
    }
    needed = ", ".join(NEEDED_KEYS)
    return {
        **_map(parts, RULE_KEYS, ("id",)),
        "description": f"A new rule needs {needed}; a later layer changes single keys.",
    }


def _waiver() -> Node:
    until = {"type": "string", "format": "date", "description": "the last day on which the waiver counts"}
    parts = {**dict.fromkeys(WAIVER_KEYS, TEXT), "until": until}
    return _map(parts, WAIVER_KEYS, ("rule", "reason", "owner", "until"))
