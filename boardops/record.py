"""The evidence of one run in one file, to be judged again later: what each source printed and how it ended.

A JSON file. Replayed, it gives the same facts as the live run, since everything behind the first station is a pure
function. Called by the command line for `--record` and for a record given to `--from`.
"""

from __future__ import annotations

import base64
import datetime
import re
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from boardops import __version__
from boardops.assemble import Answer, Source
from boardops.errors import BoardopsError
from boardops.outcome import Kind, Outcome

SCHEMA = "boardops.record/1"
_MARK = re.compile(rb'\s*\{\s*"schema"\s*:\s*"boardops\.record/(\d{1,4})"')
INTENTS = ("predeploy", "in-service")
SOURCES = ("host", "nvml", "cuda", "pci", "kernel_log")
"""Whom a live run asks in any case; a record without one of them has lost a part."""


class RecordedAnswer(Struct, frozen=True):
    """What one source printed, and how it ended."""

    source: str
    origin: str
    kind: Kind
    seconds: float
    returncode: int | None = None
    signal: int | None = None
    state: str | None = None
    wait_channel: str | None = None
    why: str = ""
    text: str | None = None
    """Standard output, where it is UTF-8 text."""
    base64: str | None = None
    """Standard output, where it is not."""


class Record(Struct, frozen=True):
    """The evidence of one live run."""

    schema: str
    tool_version: str
    read_at: str
    cpu: bool
    intent: str
    needs: tuple[str, ...]
    answers: tuple[RecordedAnswer, ...]


def is_record(data: bytes) -> bool:
    """Whether a text is a record."""
    return _MARK.match(data) is not None


def dump(answers: Sequence[Answer], *, read_at: str, cpu: bool, intent: str, needs: Sequence[str]) -> str:
    """The record of a run's answers."""
    record = Record(SCHEMA, __version__, read_at, cpu, intent, tuple(needs), tuple(map(_recorded, answers)))
    return msgspec.json.encode(record).decode() + "\n"


def _recorded(answer: Answer) -> RecordedAnswer:
    outcome = answer.outcome
    printed: dict[str, Any]
    try:
        printed = {"text": outcome.stdout.decode("utf-8")}
    except UnicodeDecodeError:
        printed = {"base64": base64.b64encode(outcome.stdout).decode("ascii")}
    return RecordedAnswer(
        source=answer.source.name,
        origin=answer.origin,
        kind=outcome.kind,
        seconds=outcome.seconds,
        returncode=outcome.returncode,
        signal=outcome.signal,
        state=outcome.state,
        wait_channel=outcome.wait_channel,
        why=outcome.why,
        **printed,
    )


def load(data: bytes, name: str) -> Record:
    """A record from its text. Raises BoardopsError with one sentence that names the file and the place."""
    mark = _MARK.match(data)
    if mark is not None and mark[1] != b"1":
        raise BoardopsError(
            f"{name} is a record of a newer boardops (schema {mark[1].decode()}); this one reads schema 1"
        )
    try:
        record = msgspec.json.decode(data, type=Record, strict=True)
    except RecursionError:
        raise BoardopsError(f"{name} is a record that cannot be read: it is nested too deeply") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BoardopsError(f"{name} is a record that cannot be read: {error}") from None
    if not _is_time(record.read_at):
        raise BoardopsError(f"{name} is a record that cannot be read: its read_at is not a time in UTC")
    if record.intent not in INTENTS:
        raise BoardopsError(f"{name} is a record that cannot be read: its intent is neither {' nor '.join(INTENTS)}")
    return record


def _is_time(text: str) -> bool:
    try:
        datetime.datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ")
    except ValueError:
        return False
    return True


def lacking(record: Record) -> tuple[str, ...]:
    """Sources that every live run asks and that the record does not hold."""
    told = {entry.source for entry in record.answers}
    return tuple(name for name in SOURCES if name not in told)


def answers_of(record: Record, find: Callable[[str], Source | None], name: str) -> tuple[Answer, ...]:
    """The answers of a record, read as on the live machine. Raises BoardopsError for a source that nobody knows."""
    answers = []
    for entry in record.answers:
        source = find(entry.source)
        if source is None:
            raise BoardopsError(f"{name} holds the unknown source {entry.source[:60]!r}; a newer boardops made it")
        outcome = Outcome(
            kind=entry.kind,
            stdout=_printed(entry, name),
            returncode=entry.returncode,
            signal=entry.signal,
            seconds=entry.seconds,
            state=entry.state,
            wait_channel=entry.wait_channel,
            why=entry.why,
        )
        answers.append(Answer(source, entry.origin, outcome, source.read(outcome.stdout)))
    return tuple(answers)


def _printed(entry: RecordedAnswer, name: str) -> bytes:
    if entry.text is not None:
        return entry.text.encode("utf-8")
    try:
        return base64.b64decode(entry.base64 or "", validate=True)
    except ValueError:
        raise BoardopsError(f"{name}: what {entry.source} printed is not base64") from None
