"""`boardops explain`: what a rule expects, and why."""

from __future__ import annotations

from collections.abc import Sequence

import click

from boardops.cli.output import print_text
from boardops.cli.rule_text import explain_rule
from boardops.cli.run import rule_layers
from boardops.errors import BoardopsError
from boardops.rules import load
from boardops.yamlfile import nearest


@click.command("explain", short_help="Tell what a rule expects and why.")
@click.argument("subject")
@click.option("--rules", "files", multiple=True, metavar="FILE", help="A further rules file, laid over the others.")
def command(subject: str, files: Sequence[str]) -> None:
    """Tell what a rule expects, why, and what to do. SUBJECT is a rule's id."""
    rules = {rule.id: rule for rule in load(rule_layers(files)).rules}
    if subject not in rules:
        raise BoardopsError(
            f"nothing is known of {subject!r}{nearest(subject, rules)}; boardops rules list shows all rules"
        )
    print_text(explain_rule(rules[subject]))
