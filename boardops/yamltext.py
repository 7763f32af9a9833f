"""YAML read strictly, each value with its place.

Built from the parser's events, so that no object is ever made from a tag and nothing is expanded. What invites
mistakes or attacks is an error that names file and line: duplicate keys, anchors and aliases, tags, several documents,
deep nesting, and any text over the size limit. Plain scalars are read as in YAML 1.2 (`no` and `on` are text) and keep
their raw text, so that a version `12.10` does not become the number 12.1.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

import yaml

from boardops.yamlfile import Item, YamlError, short

MAX_BYTES = 2 * 2**20
MAX_DEPTH = 40
MAX_NUMBER = 40
"""Characters that a number may have; longer ones are text."""
_INT = re.compile(r"^[-+]?(0|[1-9][0-9_]*)$")
_FLOAT = re.compile(r"^[-+]?(\d[\d_]*)?\.?\d+([eE][-+]?\d+)?$")
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_yaml(text: str, file: str) -> Item:
    """The value of a YAML text, with places. Raises YamlError."""
    if len(text) > MAX_BYTES:
        raise YamlError(file, 1, f"is larger than {MAX_BYTES // 2**20} MiB")
    try:
        return _document(yaml.parse(text, Loader=_LOADER), file)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise YamlError(file, line, _problem(text, line, error)) from None
    except (yaml.YAMLError, ValueError) as error:
        raise YamlError(file, 1, f"is not YAML: {str(error).splitlines()[0]}") from None


def _problem(text: str, line: int, error: yaml.MarkedYAMLError) -> str:
    lines = text.splitlines()
    if line <= len(lines) and "\t" in lines[line - 1][: len(lines[line - 1]) - len(lines[line - 1].lstrip())]:
        return "has a tab in its indentation; YAML allows spaces only"
    return f"is not YAML: {error.problem or error}"


def _document(events: Iterator[Any], file: str) -> Item:
    """The one document of a stream of the parser's events."""
    next(events)
    if isinstance(next(events), yaml.StreamEndEvent):
        raise YamlError(file, 1, "is empty")
    item = _item(next(events), events, file, 0)
    next(events)
    after = next(events)
    if not isinstance(after, yaml.StreamEndEvent):
        raise YamlError(file, after.start_mark.line + 1, "holds more than one document")
    return item


def _item(event: Any, events: Iterator[Any], file: str, depth: int) -> Item:
    line = event.start_mark.line + 1
    if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
        raise YamlError(file, line, "uses an anchor or an alias; write the value out instead")
    if event.tag is not None:
        raise YamlError(file, line, f"uses the tag {short(event.tag)}; plain values only")
    if depth > MAX_DEPTH:
        raise YamlError(file, line, "is nested too deeply")
    if isinstance(event, yaml.ScalarEvent):
        return Item(file, line, _scalar(event.value) if event.implicit[0] else event.value, event.value)
    if isinstance(event, yaml.MappingStartEvent):
        return Item(file, line, _map(events, file, depth))
    items = []
    while not isinstance(entry := next(events), yaml.SequenceEndEvent):
        items.append(_item(entry, events, file, depth + 1))
    return Item(file, line, items)


def _map(events: Iterator[Any], file: str, depth: int) -> dict[str, Item]:
    values: dict[str, Item] = {}
    while not isinstance(entry := next(events), yaml.MappingEndEvent):
        line = entry.start_mark.line + 1
        if isinstance(entry, yaml.CollectionStartEvent):
            raise YamlError(file, line, "has a key that is not text")
        key = _item(entry, events, file, depth).raw
        if key in values:
            raise YamlError(file, line, f"has the key {short(key)} twice")
        item = _item(next(events), events, file, depth + 1)
        # The key's line is where a reader of an error looks first.
        values[key] = Item(file, line, item.value, item.raw)
    return values


def _scalar(text: str) -> str | int | float | bool | None:
    """A plain scalar as its value."""
    if text in {"true", "True", "false", "False"}:
        return text.lower() == "true"
    if text in {"", "~", "null"}:
        return None
    if len(text) > MAX_NUMBER:
        return text
    if _INT.match(text):
        return int(text.replace("_", ""))
    if _FLOAT.match(text):
        number = float(text.replace("_", ""))
        return number if math.isfinite(number) else text
    return text
