"""`boardops explain`: what a rule expects and why, or what a fault code means."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence

import click

from boardops.cli.output import print_text
from boardops.errors import BoardopsError

UNKNOWN = 3
WIDTH = 100
"""Columns where the output is not a terminal."""


@click.command("explain", short_help="Tell what a rule expects and why, or what a fault code means.")
@click.argument("subject", nargs=-1, required=True)
@click.option("--rules", "files", multiple=True, metavar="FILE", help="A further rules file, laid over the others.")
def command(subject: Sequence[str], files: Sequence[str]) -> int:
    """Tell what a rule expects, why, and what to do, or what a fault code means.

    SUBJECT is a rule's id, or a fault code such as xid:79, sxid:20034, aer:BadTLP or kernel:off-the-bus.
    """
    from boardops.cli.fault_text import explain_fault, parse_subject

    words = " ".join(subject)
    fault = parse_subject(words)
    if fault is None:
        _explain_rule(words, files)
        return 0
    text, known = explain_fault(*fault, width=_width())
    print_text(text)
    return 0 if known else UNKNOWN


def _explain_rule(subject: str, files: Sequence[str]) -> None:
    from boardops.cli.rule_text import explain_rule
    from boardops.cli.run import rule_layers
    from boardops.rules import load
    from boardops.yamlfile import nearest

    rules = {rule.id: rule for rule in load(rule_layers(files)).rules}
    if subject not in rules:
        raise BoardopsError(
            f"nothing is known of {subject!r}{nearest(subject, rules)}; boardops rules list shows all rules, "
            "and a fault code looks like xid:79"
        )
    print_text(explain_rule(rules[subject]))


def _width() -> int:
    if sys.stdout is None or not sys.stdout.isatty():
        return WIDTH
    return shutil.get_terminal_size((WIDTH, 24)).columns
