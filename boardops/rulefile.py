"""The entries of a rules file into values: one rule, one waiver, the scoring.

Called by rules.py with the keys of all layers laid over each other. Whatever is wrong with an entry is a YamlError
that names its place; whether entries fit each other is rules.py's business.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping

from boardops.catalog.sourced import CONFIDENCES
from boardops.compare import read_comparisons, read_condition, read_fact_name, read_scalar
from boardops.facts import ACTIONS, FAULT_KINDS, MISSING_KINDS, SEVERITIES, Fact, Fault, Missing, known
from boardops.rule import (
    CASE_VERDICTS,
    IF_MISSING,
    LANGUAGES,
    NEEDED_KEYS,
    PLACEHOLDERS,
    VENDORS,
    WAIVER_KEYS,
    Case,
    Given,
    Remedy,
    Rule,
    Scoring,
    Source,
    Waiver,
    Words,
)
from boardops.yamlfile import Item, nearest, short

MOST_CHARACTERS = 200
"""Of a waiver's pattern; Python takes minutes to read one of a hundred thousand brackets."""


def read_scoring(entries: Mapping[str, Item], caps: Mapping[str, Item]) -> Scoring:
    """`scoring` of all layers: its own keys and those of `caps`. Raises YamlError."""
    default = Scoring()

    def number(item: Item | None, what: str, fallback: float, top: float) -> float:
        if item is None:
            return fallback
        value = item.number(what)
        if not 0 <= value <= top:
            raise item.error(f"{what} must lie between 0 and {top:g}")
        return value

    scoring = Scoring(
        number(entries.get("coverage_floor"), "scoring.coverage_floor", default.coverage_floor, 1),
        number(caps.get("fail"), "scoring.caps.fail", default.cap_fail, 100),
        number(caps.get("warn"), "scoring.caps.warn", default.cap_warn, 100),
    )
    if scoring.cap_fail > scoring.cap_warn:
        raise caps["fail" if "fail" in caps else "warn"].error("scoring.caps.fail must not be above scoring.caps.warn")
    return scoring


def read_waiver(item: Item, rules: Mapping[str, object]) -> Waiver:
    """One entry of `waivers`; `rules` are the known ids. Raises YamlError."""
    keys = item.map("a waiver", WAIVER_KEYS, ("rule", "reason", "owner", "until"))
    rule = keys["rule"].text("waiver.rule")
    if rule not in rules:
        raise keys["rule"].error(f"a waiver names the unknown rule {rule!r}{nearest(rule, rules)}")
    try:
        until = datetime.date.fromisoformat(keys["until"].text("waiver.until"))
    except ValueError:
        shown = keys["until"].shown()
        raise keys["until"].error(f"waiver.until must be a date such as 2027-01-31, not {shown}") from None

    def text(key: str, default: str) -> str:
        return keys[key].text(f"waiver.{key}") if key in keys else default

    for key in ("board", "host"):
        if len(text(key, "*")) > MOST_CHARACTERS:
            raise keys[key].error(f"waiver.{key} is longer than {MOST_CHARACTERS} characters")

    return Waiver(
        rule,
        text("board", "*"),
        text("host", "*"),
        text("reason", ""),
        text("owner", ""),
        text("ticket", ""),
        until,
        f"{item.file}:{item.line}",
    )


def _read_words(item: Item, what: str, placeholders: tuple[str, ...] = ()) -> Words:
    if not isinstance(item.value, dict):
        texts = {"en": item.text(what)}
    else:
        entries = item.map(what, LANGUAGES, ("en",))
        texts = {language: entry.text(f"{what}.{language}") for language, entry in entries.items()}
    for text in texts.values():
        for name in re.findall(r"\{([^{}]*)\}", text):
            if name not in placeholders:
                plain = [word for word in placeholders if "." not in word]
                allowed = ", ".join(f"{{{word}}}" for word in plain) + " and facts" if plain else "none"
                raise item.error(
                    f"{what} uses {{{short(name)[1:-1]}}}; allowed: {allowed}{nearest(name, placeholders)}"
                )
    return texts


def read_rule(name: str, keys: Mapping[str, Item], place: Item) -> Rule:
    """One rule from the keys of all layers; `place` is its last entry, for what is not there. Raises YamlError."""
    for key in NEEDED_KEYS:
        if key not in keys:
            raise place.error(f"rule {name!r} lacks the key {key!r}")
    subject = keys["for"].one_of("for", ("host", "board"))
    fact = read_fact_name(keys["fact"], "fact", subject)
    if subject == "board" and fact.name.startswith("host."):
        raise keys["fact"].error(f"rule {name!r} is for a board but judges {fact.name}; make it 'for: host'")
    severity = keys["severity"].one_of("severity", SEVERITIES)
    vendor = keys["vendor"].one_of("vendor", VENDORS) if "vendor" in keys else None
    if vendor and subject == "board":
        raise keys["vendor"].error("vendor goes with rules for the host; a board's rule asks for it in 'when'")
    warn = read_comparisons(keys["warn"], fact, "warn", subject) if "warn" in keys else ()
    if warn and severity != "fail":
        raise keys["warn"].error("warn goes with 'severity: fail' only")
    return Rule(
        id=name,
        title=_read_words(keys["title"], "title"),
        subject=subject,
        vendor=vendor,
        when=read_condition(keys["when"], "when", subject) if "when" in keys else None,
        fact=fact.name,
        expect=read_comparisons(keys["expect"], fact, "expect", subject),
        warn=warn,
        severity=severity,
        weight=_read_positive(keys["weight"], "weight"),
        required=keys["required"].flag("required") if "required" in keys else severity == "fail",
        if_missing=keys["if_missing"].one_of("if_missing", IF_MISSING) if "if_missing" in keys else "unknown",
        cap=_read_cap(keys["cap"]) if "cap" in keys else None,
        caused_by=tuple(item.text("caused_by") for item in keys["caused_by"].list("caused_by"))
        if "caused_by" in keys
        else (),
        say=_read_words(keys["say"], "say", _placeholders(subject)) if "say" in keys else None,
        remedy=_read_remedy(keys["remedy"], subject),
        source=_read_source(keys["source"]),
        cases=_read_cases(keys["cases"], name, subject),
        off=_read_off(keys["off"]) if "off" in keys else None,
        places={key: f"{item.file}:{item.line}" for key, item in keys.items()},
    )


def _placeholders(subject: str) -> tuple[str, ...]:
    """What a sentence may name in braces: what was found and expected, and any fact that the rule can see."""
    return (*PLACEHOLDERS, *(name for name in known() if name.startswith((f"{subject}.", "host."))))


def _read_off(item: Item) -> str | None:
    """Why a rule is switched off. `off: false` in a later layer switches it on again."""
    if item.value is False:
        return None
    if item.text("off").strip().lower() in {"", "true", "yes", "on", "no", "off"}:
        raise item.error("off must say why the rule is switched off")
    return item.text("off")


def _read_positive(item: Item, what: str) -> float:
    value = item.number(what)
    if not 0 < value <= 1000:
        raise item.error(f"{what} must be above 0 and at most 1000")
    return value


def _read_cap(item: Item) -> float:
    value = item.number("cap")
    if not 0 <= value <= 100:
        raise item.error("cap must lie between 0 and 100")
    return value


def _read_remedy(item: Item, subject: str) -> Remedy:
    keys = item.map("remedy", ("action", "action_from", "text", "steps"), ("action", "text"))
    steps = keys["steps"].list("remedy.steps") if "steps" in keys else []
    return Remedy(
        keys["action"].one_of("remedy.action", ACTIONS),
        _read_words(keys["text"], "remedy.text"),
        tuple(_read_words(step, "remedy.steps") for step in steps),
        _read_action_fact(keys["action_from"], subject) if "action_from" in keys else None,
    )


def _read_action_fact(item: Item, subject: str) -> str:
    fact = read_fact_name(item, "remedy.action_from", subject)
    if fact.kind != "text":
        raise item.error(f"remedy.action_from must name a fact that is a text, {fact.name} is not")
    return fact.name


def _read_source(item: Item) -> Source:
    keys = item.map("source", ("text", "confidence"), ("text", "confidence"))
    return Source(keys["text"].text("source.text"), keys["confidence"].one_of("source.confidence", CONFIDENCES))


def _read_cases(item: Item, name: str, subject: str) -> tuple[Case, ...]:
    cases = tuple(_read_case(entry, subject) for entry in item.list("cases"))
    if not cases:
        raise item.error(f"rule {name!r} has no cases; each rule proves what it finds")
    return cases


def _read_case(item: Item, subject: str) -> Case:
    keys = item.map("a case", ("given", "peers", "baseline", "verdict", "note"), ("given", "verdict"))
    peers = keys["peers"].list("peers") if "peers" in keys else []
    return Case(
        item.file,
        item.line,
        read_given(keys["given"], "given", subject),
        tuple(read_given(peer, "peers", subject) for peer in peers),
        read_given(keys["baseline"], "baseline", subject) if "baseline" in keys else {},
        keys["verdict"].one_of("verdict", CASE_VERDICTS),
        keys["note"].flag("note") if "note" in keys else None,
    )


def read_given(item: Item, what: str, subject: str) -> dict[str, Given]:
    """Facts of a case: full dotted name to a value of the fact's kind, or `{missing: kind}`. Raises YamlError."""
    given: dict[str, Given] = {}
    for name, value in item.map(what).items():
        fact = read_fact_name(Item(value.file, value.line, name, name), what, subject)
        given[name] = _read_given_value(value, fact, f"{what}.{name}")
    return given


def _read_given_value(item: Item, fact: Fact, what: str) -> Given:
    if isinstance(item.value, dict):
        keys = item.map(what, ("missing", "why"), ("missing",))
        kind = keys["missing"].one_of(f"{what}.missing", MISSING_KINDS)
        why = keys["why"].text(what) if "why" in keys else "as the case says"
        return Missing(kind, why)  # type: ignore[arg-type]
    if fact.kind == "texts":
        return tuple(part.text(what) for part in item.list(what))
    if fact.kind == "faults":
        return tuple(_read_fault(part, what) for part in item.list(what))
    if fact.kind == "processes":
        raise item.error(f"{what}: a case cannot give processes; use a fact that is derived from them")
    value = read_scalar(item, fact, what)
    if fact.unit in {"bytes", "lanes", "count", "generation"} and not isinstance(value, int):
        raise item.error(f"{what} must be a whole number, not {item.shown()}")
    return value


def _read_fault(item: Item, what: str) -> Fault:
    """A fault by its kind and code, such as `xid:79`."""
    kind, colon, code = item.text(what).partition(":")
    if kind not in FAULT_KINDS or not colon or not code:
        raise item.error(f"{what} must be a fault such as xid:79, not {item.shown()}; kinds: {', '.join(FAULT_KINDS)}")
    return Fault(kind, code)  # type: ignore[arg-type]
