"""The cases of a rule: whether they hold, what they do not prove yet, and which changes they would not notice.

`boardops rules test` asks the first two. The project's own tests ask the third of every shipped rule: a limit that can
be changed without any case breaking is a limit that nobody checked. How a rule is changed for that is mutate.py's
business; this module knows no rule and no fact by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import cast

from msgspec.structs import replace

from boardops.compare import Comparison, Limit, resolve
from boardops.evaluate import Judged, judge, label
from boardops.facts import NOT_COLLECTED, Missing, Value, known
from boardops.mutate import mutate, step_of
from boardops.quantities import show
from boardops.rules import Case, Rule, RuleSet
from boardops.versions import parse_spec, version_key

BOUNDED = ("below", "at_most", "above", "at_least", "between")


@dataclass(frozen=True, slots=True)
class CaseResult:
    """How one case of a rule came out."""

    rule: str
    place: str
    """`file:line` of the case."""
    expected: str
    """A verdict, or `pass with a note` and `pass without a note` where the case says which."""
    got: str
    reason: str
    """What the rule says of the case; empty for a plain pass."""

    @property
    def holds(self) -> bool:
        """Whether the rule says what the case expects."""
        return self.expected == self.got


def check_cases(rule: Rule) -> tuple[CaseResult, ...]:
    """The outcome of each case of a rule, whether or not the rule is switched off."""
    rule = replace(rule, off=None)
    return tuple(_outcome(rule, case) for case in rule.cases)


def check_all(rules: RuleSet) -> tuple[CaseResult, ...]:
    """The outcomes of the cases of all rules, in the order of the rules."""
    return tuple(result for rule in rules.rules for result in check_cases(rule))


def _outcome(rule: Rule, case: Case) -> CaseResult:
    judged = _judge(rule, case)
    return CaseResult(
        rule.id,
        f"{case.file}:{case.line}",
        _worded(case.verdict, case.note),
        _worded(judged.verdict, None if case.note is None else judged.noted),
        judged.reason,
    )


def _worded(verdict: str, noted: bool | None) -> str:
    return verdict if noted is None else f"{verdict} {'with' if noted else 'without'} a note"


def _judge(rule: Rule, case: Case) -> Judged:
    return judge(rule, _lookup(case), _peers(rule, case), cast("Value | None", case.baseline.get(rule.fact)))


def _lookup(case: Case) -> Callable[[str], Value]:
    """The facts of a case; whatever it does not give was not collected."""
    return lambda name: cast(Value, case.given.get(name, NOT_COLLECTED))


def _peers(rule: Rule, case: Case) -> tuple[float, ...]:
    values = (peer.get(rule.fact) for peer in case.peers)
    return tuple(value for value in values if isinstance(value, (int, float)) and not isinstance(value, bool))


def survivors(rule: Rule) -> tuple[str, ...]:
    """The changes of a rule that no case of it would notice. Empty where the cases prove every limit.

    A case that does not hold in the first place proves nothing, so it notices nothing either.
    """
    rule = replace(rule, off=None)
    holding = tuple(case for case in rule.cases if _outcome(rule, case).holds)
    return tuple(change for change, other in mutate(rule) if all(_outcome(other, case).holds for case in holding))


def proofs(rule: Rule) -> tuple[str, ...]:
    """What the cases of a rule do not prove yet, one sentence each."""
    rule = replace(rule, off=None)
    judged = tuple((case, _judge(rule, case)) for case in rule.cases)
    return (*_unproven_verdicts(rule, judged), *_unproven_limits(rule, judged))


Cases = tuple[tuple[Case, Judged], ...]


def _unproven_verdicts(rule: Rule, judged: Cases) -> Iterator[str]:
    seen = [result for _, result in judged if result.missing is None]
    if rule.severity == "note":
        if not any(result.noted for result in seen):
            yield "no case shows a pass with a note"
    elif not any(result.verdict == rule.severity for result in seen):
        yield f"no case shows a {rule.severity}"
    if rule.warn and not any(result.verdict == "warn" for result in seen):
        yield "no case shows a warn"
    if not any(result.verdict == "pass" and not result.noted for result in seen):
        yield "no case shows a pass without a note"
    if not any(_proves_missing(rule, case, result) for case, result in judged):
        yield f"no case shows what happens where {label(rule.fact)} is missing"


def _proves_missing(rule: Rule, case: Case, result: Judged) -> bool:
    found = case.given.get(rule.fact)
    if not isinstance(found, Missing) or found.kind == "not-supported" or result.missing != found:
        return False
    # What was left out on purpose is unknown in any case, so it says nothing of the rule's own if_missing.
    return found.kind != "not-collected" or rule.if_missing == "unknown"


def _unproven_limits(rule: Rule, judged: Cases) -> Iterator[str]:
    for what, comparisons in (("expect", rule.expect), ("warn", rule.warn)):
        for comparison in comparisons:
            for limit in _bounds(comparison):
                sides = [side for case, result in judged if (side := _side(rule, case, result, limit)) is not None]
                if not _both_sides(sides):
                    yield (
                        f"no two cases on both sides of the limit {_shown(limit, rule.fact)} of {what}.{comparison.op}"
                        " differ in their verdict, with one of them at the limit or just beyond it"
                    )


def _bounds(comparison: Comparison) -> tuple[Limit, ...]:
    """The limits of a comparison that have two sides."""
    if comparison.op == "version":
        return tuple(version for _, version in parse_spec(str(comparison.limit)))
    if comparison.op not in BOUNDED:
        return ()
    return comparison.limit if isinstance(comparison.limit, tuple) else (comparison.limit,)


@dataclass(frozen=True, slots=True)
class _Side:
    """Where a case lies: how many steps above its limit (0: at it), and what the rule says there."""

    steps: float
    outcome: tuple[str, bool]


def _side(rule: Rule, case: Case, result: Judged, limit: Limit) -> _Side | None:
    """None for a case in which the rule does not apply, or the fact or the limit is missing."""
    found = case.given.get(rule.fact)
    edge = resolve(limit, _lookup(case))
    if result.verdict == "skipped" or found is None or isinstance(found, Missing) or isinstance(edge, Missing):
        return None
    outcome = (result.verdict, result.noted)
    if known()[rule.fact].kind == "version":
        a, b = version_key(str(found)), version_key(str(edge))
        # Between two versions there is no distance; only the limit itself is near enough.
        return _Side(2.0 * ((a > b) - (a < b)), outcome)
    assert isinstance(found, (int, float)) and isinstance(edge, (int, float))
    return _Side((found - edge) / step_of(known()[rule.fact].unit, edge), outcome)


def _both_sides(sides: list[_Side]) -> bool:
    return any(
        a.steps <= 0 <= b.steps and a.steps < b.steps and a.outcome != b.outcome and min(-a.steps, b.steps) <= 1
        for a in sides
        for b in sides
    )


def _shown(limit: Limit, fact: str) -> str:
    if isinstance(limit, (str, int, float)):
        return show(limit, known()[fact].unit)
    return label(getattr(limit, "fact", fact))


__all__ = ["CaseResult", "check_all", "check_cases", "mutate", "proofs", "survivors"]
