"""The rules in force for `check`: those of all layers, or the shipped ones alone as they were read once.

Called by the command line. What is kept of the shipped rules is what judging needs: without their cases and without
the places in the file. What shows or tests rules loads them through rules.py.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from boardops.kept import kept
from boardops.rule import RuleSet


def rules_in_force(layers: Sequence[tuple[str, str]]) -> RuleSet:
    """The rules of these layers, as (name, text), the shipped one first. Raises YamlError."""

    def read() -> RuleSet:
        from boardops.rules import load

        return load(layers)

    if len(layers) > 1:
        return read()
    return kept("rules", layers[0][1].encode(), RuleSet, lambda: for_judging(read()))


def for_judging(rules: RuleSet) -> RuleSet:
    """The same rules without what only people and tests want of them."""
    return replace(rules, rules=tuple(replace(rule, cases=(), places={}) for rule in rules.rules))
