"""YAML read strictly, each value with its place.

The safe loader with what invites mistakes or attacks left out: duplicate keys, anchors and aliases, tags, and any
text over the size limit are errors that name file and line. Plain scalars are read as in YAML 1.2 (`no` and `on` are
text) and keep their raw text, so that a version `12.10` does not become the number 12.1.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import yaml

from boardops.errors import BoardopsError

MAX_BYTES = 2 * 2**20
_INT = re.compile(r"^[-+]?(0|[1-9][0-9_]*)$")
_FLOAT = re.compile(r"^[-+]?(\d[\d_]*)?\.?\d+([eE][-+]?\d+)?$")
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class YamlError(BoardopsError):
    """A file that is not what it should be: `file`, `line` (from 1) and one sentence."""

    def __init__(self, file: str, line: int, message: str) -> None:
        super().__init__(f"{file}:{line}: {message}")
        self.file = file
        self.line = line
        self.message = message


@dataclass(frozen=True, slots=True)
class Item:
    """One value of a YAML file with its place."""

    file: str
    line: int
    value: Any
    """A dict of Items, a list of Items, or a str, int, float, bool or None."""
    raw: str = ""
    """The text of a scalar as it stands in the file."""

    def error(self, message: str) -> YamlError:
        """An error at this place, to be raised."""
        return YamlError(self.file, self.line, message)

    def map(self, what: str, known: Iterable[str] | None = None, required: Iterable[str] = ()) -> dict[str, Item]:
        """This value as a map whose keys are all `known`, with all that are `required`."""
        if not isinstance(self.value, dict):
            raise self.error(f"{what} must be a map of keys and values")
        if known is not None:
            names = list(known)
            for key, item in self.value.items():
                if key not in names:
                    raise item.error(f"{what} has the unknown key {key!r}{nearest(key, names)}")
        for key in required:
            if key not in self.value:
                raise self.error(f"{what} lacks the key {key!r}")
        return self.value

    def list(self, what: str) -> list[Item]:
        """This value as a list."""
        if not isinstance(self.value, list):
            raise self.error(f"{what} must be a list")
        return self.value

    def text(self, what: str) -> str:
        """This value as text; a number that stands there counts as the text it is written as."""
        if isinstance(self.value, (dict, list)) or self.value is None:
            raise self.error(f"{what} must be text")
        return self.raw

    def number(self, what: str) -> float | int:
        """This value as a number."""
        if isinstance(self.value, bool) or not isinstance(self.value, (int, float)):
            raise self.error(f"{what} must be a number, not {self.shown()}")
        return self.value

    def flag(self, what: str) -> bool:
        """This value as true or false."""
        if not isinstance(self.value, bool):
            raise self.error(f"{what} must be true or false, not {self.shown()}")
        return self.value

    def one_of(self, what: str, words: Iterable[str]) -> str:
        """This value as one of `words`."""
        names = list(words)
        text = self.text(what)
        if text not in names:
            raise self.error(f"{what} must be one of {', '.join(names)}, not {text!r}{nearest(text, names)}")
        return text

    def shown(self) -> str:
        """What stands here, short enough for a sentence."""
        if isinstance(self.value, dict):
            return "a map"
        if isinstance(self.value, list):
            return "a list"
        return repr(self.raw if len(self.raw) <= 60 else self.raw[:57] + "...")


def nearest(word: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?` where one of the known words is near, else an empty text."""
    near = get_close_matches(word, list(known), 1, 0.6)
    return f"; did you mean {near[0]!r}?" if near else ""


def read_yaml(text: str, file: str) -> Item:
    """The value of a YAML text, with places. Raises YamlError."""
    if len(text) > MAX_BYTES:
        raise YamlError(file, 1, f"is larger than {MAX_BYTES // 2**20} MiB")
    try:
        node = yaml.compose(text, Loader=_LOADER)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise YamlError(file, line, _problem(text, line, error)) from None
    except (yaml.YAMLError, ValueError) as error:
        raise YamlError(file, 1, f"is not YAML: {str(error).splitlines()[0]}") from None
    except RecursionError:
        raise YamlError(file, 1, "is nested too deeply") from None
    if node is None:
        raise YamlError(file, 1, "is empty")
    return _item(node, file, set())


def _problem(text: str, line: int, error: yaml.MarkedYAMLError) -> str:
    lines = text.splitlines()
    if line <= len(lines) and "\t" in lines[line - 1][: len(lines[line - 1]) - len(lines[line - 1].lstrip())]:
        return "has a tab in its indentation; YAML allows spaces only"
    if error.problem and "alias" in error.problem:
        return "uses an alias; write the value out instead"
    return f"is not YAML: {error.problem or error}"


def _item(node: Any, file: str, seen: set[int]) -> Item:
    line = node.start_mark.line + 1
    if id(node) in seen:
        raise YamlError(file, line, "uses an anchor and an alias; write the value out instead")
    seen.add(id(node))
    if isinstance(node, yaml.MappingNode):
        values: dict[str, Item] = {}
        for key_node, value_node in node.value:
            key_line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                raise YamlError(file, key_line, "has a key that is not text")
            if key_node.value in values:
                raise YamlError(file, key_line, f"has the key {key_node.value!r} twice")
            item = _item(value_node, file, seen)
            # The key's line is where a reader of an error looks first.
            values[key_node.value] = Item(file, key_line, item.value, item.raw)
        return Item(file, line, values)
    if isinstance(node, yaml.SequenceNode):
        return Item(file, line, [_item(child, file, seen) for child in node.value])
    return Item(file, line, _scalar(node, file, line), node.value)


def _scalar(node: Any, file: str, line: int) -> str | int | float | bool | None:
    text: str = node.value
    if not node.tag.startswith("tag:yaml.org,2002:") or node.tag.endswith((":binary", ":set", ":omap")):
        raise YamlError(file, line, f"uses the tag {node.tag!r}; plain values only")
    if node.style in {"'", '"', "|", ">"}:
        return text
    if text in {"true", "True", "false", "False"}:
        return text.lower() == "true"
    if text in {"", "~", "null"}:
        return None
    if _INT.match(text):
        return int(text.replace("_", "")) if len(text) < 40 else text
    if _FLOAT.match(text):
        return float(text.replace("_", ""))
    return text
