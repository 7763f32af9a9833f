"""rules.yaml into Rule values, strictly, in layers.

Called by the command line with the texts of the rule files, the shipped one first. A later layer changes single keys
of a rule by its id, adds rules, or switches one off with a reason. Whatever is wrong is a YamlError that names file,
line and, for a misspelt word, the nearest known one. Single entries are read by rulefile.py; what a rule finds is
decided in evaluate.py, and whether its cases hold in cases.py.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping

from boardops.catalog.sourced import CONFIDENCES
from boardops.facts import ACTIONS, SEVERITIES
from boardops.rule import (
    CASE_VERDICTS,
    IF_MISSING,
    LANGUAGES,
    NEEDED_KEYS,
    PLACEHOLDERS,
    RULE_KEYS,
    SCHEMA,
    TOP_KEYS,
    VENDORS,
    VERDICTS,
    WAIVER_KEYS,
    Case,
    Remedy,
    Rule,
    RuleSet,
    Scoring,
    Source,
    Waiver,
    Words,
)
from boardops.rulefile import read_given, read_rule, read_scoring, read_waiver
from boardops.yamlfile import Item, YamlError, nearest, short
from boardops.yamltext import read_yaml

_ID = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)+")


def load(layers: Iterable[tuple[str, str]]) -> RuleSet:
    """The rules of several files, given as (name, text). Raises YamlError."""
    merged: dict[str, dict[str, Item]] = {}
    places: dict[str, Item] = {}
    scoring: dict[str, Item] = {}
    caps: dict[str, Item] = {}
    waivers: list[Item] = []
    digest = hashlib.sha256()
    files = []
    for name, text in layers:
        top = read_yaml(text, name).map("a rules file", TOP_KEYS, ("schema",))
        digest.update(text.encode())
        files.append(name)
        if top["schema"].text("schema") != SCHEMA:
            raise top["schema"].error(f"schema must be {SCHEMA!r}, not {top['schema'].shown()}")
        if "scoring" in top:
            layer = top["scoring"].map("scoring", ("coverage_floor", "caps"))
            scoring.update({key: item for key, item in layer.items() if key != "caps"})
            if "caps" in layer:
                caps.update(layer["caps"].map("scoring.caps", ("fail", "warn")))
        if "settings" in top:
            top["settings"].map("settings", ())
        if "waivers" in top:
            waivers.extend(top["waivers"].list("waivers"))
        if "rules" in top:
            _merge(top["rules"].list("rules"), merged, places)
    rules = tuple(read_rule(name, entries, places[name]) for name, entries in merged.items())
    _check_causes(rules, merged)
    return RuleSet(
        rules,
        read_scoring(scoring, caps),
        tuple(read_waiver(item, merged) for item in waivers),
        tuple(files),
        digest.hexdigest(),
    )


def _merge(entries: list[Item], merged: dict[str, dict[str, Item]], places: dict[str, Item]) -> None:
    seen: dict[str, int] = {}
    for entry in entries:
        keys = entry.map("a rule", RULE_KEYS, ("id",))
        name = keys["id"].text("id")
        if not _ID.fullmatch(name):
            raise keys["id"].error(f"id {short(name)} must be lower-case words joined by dots, subject first")
        if name in seen:
            raise keys["id"].error(f"rule {name!r} stands in this file twice, first in line {seen[name]}")
        seen[name] = keys["id"].line
        if name not in merged and "off" in keys and len(keys) == 2:
            raise keys["id"].error(f"rule {name!r} is switched off but not known{nearest(name, merged)}")
        if name not in merged and "fact" not in keys:
            near = nearest(name, merged)
            raise keys["id"].error(f"rule {name!r} lacks the key 'fact', and no earlier file has it{near}")
        merged.setdefault(name, {}).update(keys)
        places[name] = entry


def _check_causes(rules: tuple[Rule, ...], merged: Mapping[str, Mapping[str, Item]]) -> None:
    for rule in rules:
        for cause in rule.caused_by:
            item = merged[rule.id]["caused_by"]
            if cause not in merged:
                raise item.error(f"caused_by of {rule.id} names the unknown rule {cause!r}{nearest(cause, merged)}")
            if cause == rule.id:
                raise item.error(f"caused_by of {rule.id} names the rule itself")
    _check_circles({rule.id: rule.caused_by for rule in rules}, merged)


def _check_circles(causes: Mapping[str, tuple[str, ...]], merged: Mapping[str, Mapping[str, Item]]) -> None:
    """No rule may explain its own cause: both findings would be folded, and neither shown."""
    for start in causes:
        seen: set[str] = set()
        rest = list(causes[start])
        while rest:
            name = rest.pop()
            if name == start:
                raise merged[start]["caused_by"].error(f"caused_by of {start} leads back to the rule itself")
            if name not in seen:
                seen.add(name)
                rest.extend(causes[name])


__all__ = [
    "ACTIONS",
    "CASE_VERDICTS",
    "CONFIDENCES",
    "IF_MISSING",
    "LANGUAGES",
    "NEEDED_KEYS",
    "PLACEHOLDERS",
    "RULE_KEYS",
    "SCHEMA",
    "SEVERITIES",
    "TOP_KEYS",
    "VENDORS",
    "VERDICTS",
    "WAIVER_KEYS",
    "Case",
    "Remedy",
    "Rule",
    "RuleSet",
    "Scoring",
    "Source",
    "Waiver",
    "Words",
    "YamlError",
    "load",
    "read_given",
]
