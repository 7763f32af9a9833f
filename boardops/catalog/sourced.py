"""What all catalogs have in common: a YAML file with a schema, a day on which it was read, and named sources.

Called by the modules of this package. Whatever is wrong with a file is a YamlError that names file and line. Knows
nothing of boards, drivers or faults.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from msgspec import Struct

from boardops.kept import kept
from boardops.yamlfile import Item, nearest

_Value = TypeVar("_Value")

CONFIDENCES = ("high", "medium", "low", "guess")
"""How far to trust a value, from best to worst."""


class Catalog(Struct, frozen=True):
    """The top of one catalog file."""

    read: datetime.date
    """The day on which its sources were read."""
    sources: Mapping[str, str]
    """What each short name of a source stands for."""
    parts: Mapping[str, Item]
    """The rest, by key."""


def text_of(name: str) -> tuple[str, str]:
    """The text of a catalog file in this folder, and its path for error messages."""
    path = f"{os.path.dirname(__file__)}/{name}"
    with open(path, encoding="utf-8") as file:
        return file.read(), path


def shipped_catalog(name: str, type_: Any, read: Callable[[str, str], _Value]) -> _Value:
    """What `read` makes of a catalog file in this folder, or what it once made of the same text."""
    text, path = text_of(f"{name}.yaml")
    return kept(name, text.encode(), type_, lambda: read(text, path))


def read_catalog(text: str, file: str, schema: str, parts: Iterable[str]) -> Catalog:
    """The top of a catalog: `schema`, `read`, `sources` and all of `parts`, nothing else."""
    from boardops.yamltext import read_yaml

    names = ("schema", "read", "sources", *parts)
    top = read_yaml(text, file).map("the catalog", names, names)
    top["schema"].one_of("schema", (schema,))
    sources = {key: item.text(f"source {key}") for key, item in top["sources"].map("sources").items()}
    return Catalog(read_date(top["read"], "read"), sources, {key: top[key] for key in parts})


def read_sources(item: Item, sources: Mapping[str, str]) -> tuple[str, ...]:
    """At least one short name of a source, each of which `sources` explains."""
    names = tuple(read_source(each, sources) for each in item.list("sources"))
    if not names:
        raise item.error("sources must name at least one source")
    return names


def read_source(item: Item, sources: Mapping[str, str]) -> str:
    """One short name of a source that `sources` explains."""
    name = item.text("a source")
    if name not in sources:
        raise item.error(f"the source {name!r} is not among the sources of this file{nearest(name, sources)}")
    return name


def read_date(item: Item, what: str) -> datetime.date:
    """A day such as `2026-12-01`; a month such as `2028-06` counts to its last day."""
    text = item.text(what)
    try:
        if len(text) == len("2028-06"):
            first = datetime.date.fromisoformat(f"{text}-01")
            return (first + datetime.timedelta(days=31)).replace(day=1) - datetime.timedelta(days=1)
        return datetime.date.fromisoformat(text)
    except ValueError:
        raise item.error(f"{what} must be a day (2026-12-01) or a month (2026-12), not {item.shown()}") from None


def read_whole(item: Item, what: str) -> int:
    """A whole number above 0."""
    value = item.number(what)
    if not isinstance(value, int) or value <= 0:
        raise item.error(f"{what} must be a whole number above 0, not {item.shown()}")
    return value
