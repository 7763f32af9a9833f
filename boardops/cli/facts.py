"""`boardops facts`: the known facts with unit, kind and the sources that fill them."""

from __future__ import annotations

import click

from boardops.cli.output import print_text
from boardops.evidence import READERS
from boardops.facts import known
from boardops.readers import host as host_reader


@click.command("facts", short_help="List the facts that rules can use.")
def command() -> None:
    """List all facts: name, unit or kind, the sources that fill it, what it is."""
    sources: dict[str, tuple[str, ...]] = {reader.TITLE: reader.FILLS for reader in READERS}
    sources[host_reader.TITLE] = (
        *(f"host.{name}" for name in host_reader.FILLS),
        *(f"board.{name}" for name in host_reader.BOARD_FILLS),
    )
    width = max(map(len, known()))
    for fact in known().values():
        filled = [title for title, fills in sources.items() if fact.name in fills]
        print_text(
            f"{fact.name:<{width}}  {fact.unit or fact.kind:<10}  {fact.description}"
            f"{'  [' + ', '.join(filled) + ']' if filled else ''}\n"
        )
