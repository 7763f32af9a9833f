"""What it costs to load rules, against the YAML library alone on the same text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import yaml

from benchmarks.bench import Bench
from benchmarks.measure import NotMeasuredError, compare_calls, middle
from benchmarks.table import Row
from boardops.locate import shipped
from boardops.rules import load

LINES = 2000
_FIRST_LINE = re.compile(r"^  - id: (\S+)$")


def compose(text: str, lines: int) -> str:
    """A rules file of at least so many lines: the file's rules, then copies of them with ids of their own."""
    head, _, body = text.partition("\nrules:\n")
    blocks = list(_blocks(body))
    made = [*head.splitlines(), "rules:"]
    copy = 1
    while len(made) < lines:
        for name, block in blocks:
            if copy > 1 and len(made) >= lines:
                break
            made += [f"  - id: {name}" + (f"_{copy}" if copy > 1 else ""), *block]
        copy += 1
    return "\n".join(made) + "\n"


def loading(bench: Bench) -> list[Row]:
    """CPU time of loading, in this process."""
    reader = getattr(yaml, "CSafeLoader", None)
    if reader is None:
        raise NotMeasuredError("this PyYAML has no CSafeLoader")
    text = compose(Path(shipped("rules.yaml")).read_text(encoding="utf-8"), LINES)
    count = len(load([("rules.yaml", text)]).rules)

    def ours() -> object:
        return load([("rules.yaml", text)])

    def theirs() -> object:
        return yaml.load(text, Loader=reader)  # noqa: S506 - it is the safe loader in C

    itself = middle(compare_calls(theirs, theirs, bench.pairs))
    ratio = middle(compare_calls(ours, theirs, bench.pairs))
    alone = "yaml.load with CSafeLoader"
    figure = f"{len(text.splitlines())} lines, {count} rules"
    return [
        Row(alone, "itself (A/A)", itself),
        Row("loading rules", alone, ratio, None, figure, "CPU at most 1.5", ratio <= 1.5),
    ]


def _blocks(body: str) -> Iterator[tuple[str, list[str]]]:
    """Each rule's id, and its lines after the first."""
    name, lines = "", list[str]()
    for line in body.splitlines():
        if found := _FIRST_LINE.match(line):
            if name:
                yield name, lines
            name, lines = found[1], []
        elif name:
            lines.append(line)
    yield name, lines


PARTS = (loading,)
