"""How many single changes of the shipped rules their cases, or the table of tests/golden.py, would notice.

`python -m benchmarks.mutation` prints the score and every change that nobody would notice.
"""

from __future__ import annotations

from boardops.cases import survivors
from boardops.cli.run import rule_layers
from boardops.mutate import mutate
from boardops.rules import load


def main() -> None:
    """Print what survives."""
    changes, alive = 0, 0
    rules = load(rule_layers([])[:1]).rules
    for rule in rules:
        changes += sum(1 for _ in mutate(rule))
        for change in survivors(rule):
            alive += 1
            print(f"{rule.id}: {change}")
    # Required, weight and cap of each rule stand in the table, which a test compares.
    by_table = 3 * len(rules)
    noticed = changes - alive + by_table
    print(
        f"{noticed} of {changes + by_table} changes are noticed ({noticed / (changes + by_table):.1%}), {alive} survive"
    )


if __name__ == "__main__":
    main()
