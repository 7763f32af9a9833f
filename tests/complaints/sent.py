"""Judge a text that somebody sent, by the program in a process of its own."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from tests.cli.program import boardops
from tests.live import Report
from tests.smi_xml import H100, compose, with_tags


def judged(text: str, *options: str) -> tuple[int, Report]:
    """Exit code and JSON report."""
    done = boardops("check", "--from", "-", "--format", "json", *options, stdin=text.encode())
    return done.returncode, json.loads(done.stdout)


def board_judged(changes: Mapping[str, str], *options: str, without: Iterable[str] = ()) -> tuple[int, Report]:
    """The same for one composed H100 with some tags changed."""
    return judged(compose([with_tags(H100, changes, without)]), *options)
