"""A rule changed in one place at a time: what its cases must notice.

Called by cases.py. Each change is one that somebody could make by mistake: a limit one step off, an operator that
takes in the limit or not, a severity, what a missing fact means, an entry of a list, a condition.

What is not changed, because no case could tell or nobody would write the case:

* a fact that a limit refers to, without `times` and `plus`: there is no number that could be wrong, and the changed
  operator already asks for a case at the limit;
* a size, count or share of 0 moved below 0: no board reports that;
* lanes by one: links train to 1, 2, 4, 8 or 16 lanes, so that their step doubles or halves;
* the limits `true` and `false`, whose opposite is the changed operator;
* weight, cap, required, causes, words: a case does not show them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from msgspec.structs import replace

from boardops.compare import AllOf, AnyOf, Comparison, Condition, Limit, Near, Ref, Test
from boardops.facts import Fact, known
from boardops.quantities import show
from boardops.rules import IF_MISSING, SEVERITIES, Rule
from boardops.versions import parse_spec

NEIGHBOURS = {
    "below": "at_most",
    "at_most": "below",
    "above": "at_least",
    "at_least": "above",
    "equals": "not_equals",
    "not_equals": "equals",
    "one_of": "none_of",
    "none_of": "one_of",
}
SIGNS = {">=": ">", ">": ">=", "<=": "<", "<": "<=", "==": "!=", "!=": "=="}
NOTHING = "(?!)"
"""A pattern that matches no text."""
STEPS = {"celsius": 1.0, "ratio": 0.01, "watts": 1.0, "hertz": 1e6, "generation": 1.0, "count": 1.0, "lanes": 1.0}
NEVER_NEGATIVE = ("bytes", "ratio", "watts", "hertz", "lanes", "count", "generation")
COARSE = 0.05
"""The step of times, which have no natural one: a share of the limit."""


def step_of(unit: str, limit: float) -> float:
    """How far from a limit a value counts as just beyond it, in the base unit `unit`.

    >>> step_of("celsius", 28), step_of("bytes", 0), step_of("seconds", 86400.0), step_of("bytes", 2**30)
    (1.0, 1.0, 4320.0, 67108864.0)
    """
    if unit == "bytes":
        # A power of two that is 1/10 to 1/20 of the size: beside 1 GiB lie 960 MiB and 1088 MiB.
        return 2.0 ** math.floor(math.log2(abs(limit) / 10)) if abs(limit) >= 10 else 1.0
    return STEPS.get(unit) or max(1.0, abs(limit) * COARSE)


def mutate(rule: Rule) -> Iterator[tuple[str, Rule]]:
    """The rule with one thing changed, for each thing, and what was changed."""
    fact = known()[rule.fact]
    for change, expect in _in_comparisons(rule.expect, fact, "expect"):
        yield change, replace(rule, expect=expect)
    for change, warn in _in_comparisons(rule.warn, fact, "warn"):
        yield change, replace(rule, warn=warn)
    for change, when in _in_condition(rule.when):
        yield change, replace(rule, when=when)
    for severity in SEVERITIES:
        if severity != rule.severity:
            yield f"severity {severity} instead of {rule.severity}", replace(rule, severity=severity)
    for word in IF_MISSING:
        if word != rule.if_missing:
            yield f"if_missing {word} instead of {rule.if_missing}", replace(rule, if_missing=word)


def _in_condition(condition: Condition | None) -> Iterator[tuple[str, Condition | None]]:
    if isinstance(condition, AllOf):
        if len(condition.tests) == 1:
            yield "no when", None
        yield from _in_tests(condition, "when")
    elif isinstance(condition, AnyOf):
        for i, part in enumerate(condition.parts):
            before, after = condition.parts[:i], condition.parts[i + 1 :]
            yield f"when without its part {i + 1}", AnyOf((*before, *after)) if before or after else None
            for change, changed in _in_tests(part, f"part {i + 1} of when"):
                yield change, AnyOf((*before, changed, *after))


def _in_tests(condition: AllOf, what: str) -> Iterator[tuple[str, AllOf]]:
    for i, test in enumerate(condition.tests):
        before, after = condition.tests[:i], condition.tests[i + 1 :]
        if before or after:
            yield f"{what} without {test.fact}", AllOf((*before, *after))
        for change, changed in _in_comparisons(test.comparisons, known()[test.fact], f"{what}.{test.fact}"):
            yield change, AllOf((*before, Test(test.fact, changed), *after))


def _in_comparisons(
    comparisons: tuple[Comparison, ...], fact: Fact, what: str
) -> Iterator[tuple[str, tuple[Comparison, ...]]]:
    for i, comparison in enumerate(comparisons):
        for change, changed in _in_comparison(comparison, fact):
            yield f"{what}.{comparison.op}: {change}", (*comparisons[:i], changed, *comparisons[i + 1 :])


def _in_comparison(comparison: Comparison, fact: Fact) -> Iterator[tuple[str, Comparison]]:
    op, limit = comparison.op, comparison.limit
    if op in NEIGHBOURS:
        yield f"{NEIGHBOURS[op]} instead", Comparison(NEIGHBOURS[op], limit)
    for change, changed in _of_operator(op, limit, fact):
        yield change, Comparison(op, changed)


def _of_operator(op: str, limit: Limit, fact: Fact) -> Iterator[tuple[str, Limit]]:
    if op == "empty":
        yield f"{not limit} instead", not limit
    elif op == "version":
        yield from _in_spec(str(limit))
    elif op == "matches":
        yield "a pattern that matches everything", ""
        yield "a pattern that matches nothing", NOTHING
    elif isinstance(limit, Near):
        yield from _in_near(limit, fact)
    elif isinstance(limit, tuple):
        yield from _in_list(op, limit, fact)
    else:
        yield from _in_value(limit, fact)


def _in_list(op: str, limit: tuple[str | int | float | bool | Ref, ...], fact: Fact) -> Iterator[tuple[str, Limit]]:
    for i, entry in enumerate(limit):
        before, after = limit[:i], limit[i + 1 :]
        if op != "between":
            shown = entry.fact if isinstance(entry, Ref) else show(entry, fact.unit)
            yield f"without {shown}", (*before, *after)
            continue
        for change, changed in _in_value(entry, fact):
            yield change, (*before, changed, *after)


def _in_value(
    limit: str | int | float | bool | Ref | Near, fact: Fact
) -> Iterator[tuple[str, str | int | float | Ref]]:
    if isinstance(limit, Ref):
        yield from _in_reference(limit, fact)
    elif isinstance(limit, (bool, Near)):
        return
    elif isinstance(limit, str):
        for other in _versions_beside(limit) if fact.kind == "version" else (f"not {limit}",):
            yield f"{other} instead of {limit}", other
    else:
        for number in _numbers_beside(limit, fact.unit):
            yield f"{show(number, fact.unit)} instead of {show(limit, fact.unit)}", number


def _in_reference(limit: Ref, fact: Fact) -> Iterator[tuple[str, Ref]]:
    if limit.times != 1:
        for times in (round(limit.times + 0.01, 9), round(limit.times - 0.01, 9)):
            yield f"times {times:g} instead of {limit.times:g}", replace(limit, times=times)
    if limit.plus != 0:
        step = step_of(fact.unit, limit.plus)
        for plus in (limit.plus + step, limit.plus - step):
            yield f"plus {plus:g} instead of {limit.plus:g}", replace(limit, plus=plus)


def _in_near(limit: Near, fact: Fact) -> Iterator[tuple[str, Near]]:
    if limit.within is not None:
        for number in _numbers_beside(limit.within, fact.unit):
            if number >= 0:
                yield f"within {show(number, fact.unit)}", replace(limit, within=number)
    if limit.within_ratio is not None:
        for number in _numbers_beside(limit.within_ratio, "ratio"):
            yield f"within {show(number, 'ratio')}", replace(limit, within_ratio=number)


def _numbers_beside(limit: float, unit: str) -> Iterator[float]:
    """One step up, and one step down where a value can lie there."""
    if unit == "lanes" and limit > 1:  # Links train to 1, 2, 4, 8 or 16 lanes.
        yield from (limit * 2, limit / 2)
        return
    step = step_of(unit, limit)
    # Rounded, so that 0.1 less 0.01 is what a case writes as 0.09.
    yield round(limit + step, 9)
    if limit > 0 or unit not in NEVER_NEGATIVE:
        yield round(limit - step, 9)


def _in_spec(spec: str) -> Iterator[tuple[str, str]]:
    parts = parse_spec(spec)
    for i, (sign, version) in enumerate(parts):
        beside = [(SIGNS[sign], version), *((sign, other) for other in _versions_beside(version))]
        for other_sign, other in beside:
            changed = (*parts[:i], (other_sign, other), *parts[i + 1 :])
            yield (
                f"{other_sign}{other} instead of {sign}{version}",
                ",".join(f"{one}{limit}" for one, limit in changed),
            )


def _versions_beside(version: str) -> Iterator[str]:
    """The last number one up, and the last one that is not 0 one down.

    >>> list(_versions_beside("450.80.02")), list(_versions_beside("12.0"))
    (['450.80.03', '450.80.01'], ['12.1', '11.0'])
    """
    numbers = list(re.finditer(r"\d+", version))
    last = numbers[-1]
    yield _with_number(version, last, int(last[0]) + 1)
    above_zero = [number for number in numbers if int(number[0])]
    if above_zero:
        yield _with_number(version, above_zero[-1], int(above_zero[-1][0]) - 1)


def _with_number(version: str, place: re.Match[str], number: int) -> str:
    return f"{version[: place.start()]}{number:0{len(place[0])}d}{version[place.end() :]}"
