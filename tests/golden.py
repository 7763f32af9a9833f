"""The table of what no case can show: weight, cap, whether a rule is required. `python -m tests.golden` writes it.

A change of one of these in rules.yaml must be made here too, and is seen in a review.
"""

from __future__ import annotations

from boardops.cli.run import rule_layers
from boardops.rules import Rule, load
from tests.cli.program import ROOT

TABLE = ROOT / "tests" / "shipped_rules.txt"
HEAD = "id                         for   sev  required  wgt cap if_missing"


def shipped_rules() -> tuple[Rule, ...]:
    """The rules of the shipped file alone."""
    return load(rule_layers([])[:1]).rules


def line_of(rule: Rule) -> str:
    """The line of one rule."""
    return (
        f"{rule.id:<26} {rule.subject:<5} {rule.severity:<4} {'required' if rule.required else 'optional'}"
        f" {rule.weight:>3g} {'-' if rule.cap is None else f'{rule.cap:g}':>3} {rule.if_missing}"
    )


def table() -> str:
    """A line for each shipped rule."""
    return "\n".join([HEAD, *map(line_of, shipped_rules())]) + "\n"


if __name__ == "__main__":
    TABLE.write_text(table(), encoding="utf-8")
