"""`boardops facts`: the known facts with unit, kind and the sources that fill them."""

from __future__ import annotations

import click

from boardops.cli.output import print_text
from boardops.collect import all_sources
from boardops.evidence import READERS
from boardops.facts import known


@click.command("facts", short_help="List the facts that rules can use.")
def command() -> None:
    """List all facts: name, unit or kind, the sources that fill it, what it is."""
    sources: dict[str, set[str]] = {reader.TITLE: set(reader.FILLS) for reader in READERS}
    for source in all_sources(cpu=True):
        of_host, of_boards = source.fills, source.board_fills
        sources[f"live {source.name}"] = {
            *(f"host.{name}" for name in of_host),
            *(f"board.{name}" for name in of_boards),
        }
    width = max(map(len, known()))
    for fact in known().values():
        filled = [title for title, fills in sources.items() if fact.name in fills]
        print_text(
            f"{fact.name:<{width}}  {fact.unit or fact.kind:<10}  {fact.description}"
            f"{'  [' + ', '.join(filled) + ']' if filled else ''}\n"
        )
