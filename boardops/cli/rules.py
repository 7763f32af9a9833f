"""`boardops rules`: list, show and test the rules, and print their schema."""

from __future__ import annotations

import json
from collections.abc import Sequence

import click

from boardops.cases import check_all, proofs
from boardops.cli.output import print_text
from boardops.cli.rule_text import show_rule
from boardops.cli.run import rule_layers
from boardops.errors import BoardopsError
from boardops.rules import RuleSet, load
from boardops.ruleschema import schema as rule_schema
from boardops.yamlfile import nearest

FAILED = 2
_files = click.option(
    "--rules", "files", multiple=True, metavar="FILE", help="A further rules file, laid over the others."
)


@click.group("rules", short_help="List, show and test the rules.")
def command() -> None:
    """List, show and test the rules that are in force here."""


def load_rules(files: Sequence[str]) -> RuleSet:
    """The rules of all layers. Raises BoardopsError."""
    return load(rule_layers(files))


@command.command("list")
@_files
def list_(files: Sequence[str]) -> None:
    """List all rules: id, severity, weight, what it judges."""
    rules = load_rules(files).rules
    width = max((len(rule.id) for rule in rules), default=0)
    for rule in rules:
        word = "off" if rule.off is not None else rule.severity
        print_text(f"{rule.id:<{width}}  {word:<4}  {rule.weight:>3g}  {rule.subject:<5}  {rule.title['en']}\n")


@command.command("show")
@click.argument("rule_id", metavar="ID")
@_files
def show(rule_id: str, files: Sequence[str]) -> None:
    """Show one rule, and which file set what."""
    rules = {rule.id: rule for rule in load_rules(files).rules}
    if rule_id not in rules:
        raise BoardopsError(f"no rule is called {rule_id!r}{nearest(rule_id, rules)}; boardops rules list shows all")
    print_text(show_rule(rules[rule_id]))


@command.command("test")
@_files
def test(files: Sequence[str]) -> int:
    """Run the cases of all rules; exit code 2 where one does not hold."""
    rules = load_rules(files)
    results = check_all(rules)
    broken = [result for result in results if not result.holds]
    for result in broken:
        print_text(f"{result.place}: {result.rule}: expected {result.expected}, got {result.got} ({result.reason})\n")
    unproven = [(rule.id, sentence) for rule in rules.rules if rule.off is None for sentence in proofs(rule)]
    for rule_id, sentence in unproven:
        print_text(f"{rule_id}: {sentence}\n")
    print_text(
        f"{len(rules.rules)} rules, {len(results)} cases: {len(broken)} do not hold, {len(unproven)} proofs missing\n"
    )
    return FAILED if broken or unproven else 0


@command.command("schema")
def schema() -> None:
    """Print the JSON Schema of a rules file, for editors."""
    print_text(json.dumps(rule_schema(), indent=2, ensure_ascii=False) + "\n")
