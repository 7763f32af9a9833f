"""How many mistakes in the shipped rules would be noticed: `python -m benchmarks.mutation`.

Every rule is changed in one place at a time. A change is noticed where a case of the rule no longer holds, or where
the reviewed table (tests/shipped_rules.txt) no longer has the rule's line. The exit code is 1 where fewer than LEAST
of all changes are noticed.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from boardops.cases import check_cases
from boardops.mutate import mutate
from boardops.rules import Rule
from tests.golden import TABLE, line_of, shipped_rules

LEAST = 0.95
PARTS = ("expect", "warn", "severity", "if_missing")
CASES, REVIEW, NOBODY = "a case", "the table", "nobody"


def changes(rule: Rule) -> Iterator[tuple[str, str, Rule]]:
    """What is changed, in words, and the changed rule, each after the part of the rule that it lies in."""
    for change, other in mutate(rule):
        yield next((part for part in PARTS if change.startswith(part)), "when"), change, other
    yield "required", f"required {not rule.required}", replace(rule, required=not rule.required)
    for weight in (rule.weight + 1, rule.weight / 2):
        yield "weight", f"weight {weight:g} instead of {rule.weight:g}", replace(rule, weight=weight)
    for cap in (0, 40) if rule.cap is None else (None, rule.cap + 1):
        yield "cap", f"cap {cap} instead of {rule.cap}", replace(rule, cap=cap)


def noticed_by(rule: Rule, other: Rule, reviewed: set[str]) -> str:
    """Who notices that a rule was changed."""
    before, after = check_cases(rule), check_cases(other)
    if any(one.holds and not two.holds for one, two in zip(before, after, strict=True)):
        return CASES
    return NOBODY if line_of(other) in reviewed else REVIEW


def measure(rules: Iterable[Rule], table: str) -> tuple[Counter[tuple[str, str]], list[str]]:
    """How many changes of which part were noticed by whom, and those that were not."""
    reviewed = set(table.splitlines())
    counts: Counter[tuple[str, str]] = Counter()
    survivors = []
    for rule in rules:
        for part, change, other in changes(rule):
            who = noticed_by(rule, other, reviewed)
            counts[part, who] += 1
            if who == NOBODY:
                survivors.append(f"{rule.id}: {change}")
    return counts, survivors


def main() -> int:
    """Print the score by part, and the changes that nobody would notice."""
    counts, survivors = measure(shipped_rules(), TABLE.read_text(encoding="utf-8"))
    names = (CASES, REVIEW, NOBODY)
    print(f"{'changed':12}{'changes':>9}" + "".join(f"{name:>11}" for name in names))
    for part in dict.fromkeys(part for part, _ in counts):
        by = [counts[part, name] for name in names]
        print(f"{part:12}{sum(by):>9}" + "".join(f"{count:>11}" for count in by))
    total = counts.total()
    score = 1 - len(survivors) / total
    print(f"{total - len(survivors)} of {total} changes are noticed: {score:.1%}")
    for survivor in survivors:
        print(f"  not noticed: {survivor}")
    return 0 if score >= LEAST else 1


if __name__ == "__main__":
    sys.exit(main())
