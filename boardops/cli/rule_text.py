"""One rule in words, for `boardops rules show` and `boardops explain`."""

from __future__ import annotations

from collections.abc import Iterator

from boardops.compare import AllOf, AnyOf, Comparison, Condition, Ref, words
from boardops.facts import Missing, known
from boardops.quantities import show
from boardops.rules import Rule


def show_rule(rule: Rule) -> str:
    """All of a rule, with the file and line that set each key."""
    rows = list(_rows(rule))
    width = max(len(key) for key, _ in rows)
    lines = [rule.title["en"], ""]
    for key, text in rows:
        place = rule.places.get(key)
        lines.append(f"  {key:<{width}}  {text}" + (f"   [{place}]" if place else ""))
    lines += ["", f"  {len(rule.cases)} cases prove it."]
    return "\n".join(lines) + "\n"


def explain_rule(rule: Rule) -> str:
    """What a rule expects, why, and what to do, for a person."""
    fact = known()[rule.fact]
    lines = [rule.title["en"], "", f"  Looks at    {rule.fact}: {fact.description}"]
    lines.append(f"  Expects     {_expected(rule.expect, rule.fact)}")
    if rule.warn:
        lines.append(f"  Warns when  {_expected(rule.warn, rule.fact)}")
    if rule.when:
        lines.append(f"  Applies     {_condition(rule.when)}")
    if rule.off is not None:
        lines.append(f"  Off         switched off: {rule.off}")
    outcome = {"fail": "the board is not ready", "warn": "a warning", "note": "a note, no points"}[rule.severity]
    lines.append(f"  Otherwise   {outcome} (weight {rule.weight:g})")
    lines.append(f"  Remedy      {rule.remedy.action}: {rule.remedy.text['en']}")
    if rule.remedy.action_from:
        lines.append(f"              or the action that {rule.remedy.action_from} names")
    lines += [f"              - {step['en']}" for step in rule.remedy.steps]
    lines.append(f"  Source      {rule.source.text} (confidence: {rule.source.confidence})")
    return "\n".join(lines) + "\n"


def _rows(rule: Rule) -> Iterator[tuple[str, str]]:
    yield "id", rule.id
    yield "for", rule.subject
    if rule.vendor:
        yield "vendor", rule.vendor
    if rule.when:
        yield "when", _condition(rule.when)
    yield "fact", rule.fact
    yield "expect", _expected(rule.expect, rule.fact)
    if rule.warn:
        yield "warn", _expected(rule.warn, rule.fact)
    yield "severity", rule.severity
    yield "weight", f"{rule.weight:g}"
    yield "required", show(rule.required)
    yield "if_missing", rule.if_missing
    if rule.cap is not None:
        yield "cap", f"{rule.cap:g}"
    if rule.caused_by:
        yield "caused_by", ", ".join(rule.caused_by)
    yield "remedy", f"{rule.remedy.action}: {rule.remedy.text['en']}"
    yield "source", f"{rule.source.text} (confidence: {rule.source.confidence})"
    if rule.off is not None:
        yield "off", rule.off


def _expected(comparisons: tuple[Comparison, ...], name: str) -> str:
    parts = []
    for comparison in comparisons:
        if isinstance(comparison.limit, Ref):
            # Shown by name: the value is known only when a board is judged.
            wording = words((comparison,), (Missing("not-collected", ""),), known()[name])
            parts.append(wording.replace("an unknown limit ()", _reference(comparison.limit)))
        elif isinstance(comparison.limit, tuple) and any(isinstance(part, Ref) for part in comparison.limit):
            shown = [_reference(part) if isinstance(part, Ref) else str(part) for part in comparison.limit]
            parts.append(f"{comparison.op.replace('_', ' ')} {', '.join(shown)}")
        else:
            parts.append(words((comparison,), (comparison.limit,), known()[name]))
    return " and ".join(parts)


def _reference(ref: Ref) -> str:
    text = ref.fact
    if ref.times != 1:
        text = f"{ref.times:g} x {text}"
    if ref.plus:
        text = f"{text} {'+' if ref.plus > 0 else '-'} {show(abs(ref.plus), known()[ref.fact].unit)}"
    return text


def _condition(condition: Condition) -> str:
    parts = condition.parts if isinstance(condition, AnyOf) else (condition,)
    return " or ".join(_all(part) for part in parts)


def _all(condition: AllOf) -> str:
    return " and ".join(f"{test.fact} is {_expected(test.comparisons, test.fact)}" for test in condition.tests)
