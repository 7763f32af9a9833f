"""The first station of a live run, and what it gives. What stands in files is read by files.py."""

from __future__ import annotations

import datetime
from collections.abc import Mapping

from msgspec import Struct

from boardops.cli.request import Request, intent_of
from boardops.collect import gather, sources
from boardops.facts import Evidence, Value
from boardops.launch import FIRST
from boardops.worker import Running


class Sources(Struct, frozen=True):
    """What the first station gave."""

    host: Mapping[str, Value]
    boards: tuple[Mapping[str, Value], ...]
    evidence: tuple[Evidence, ...]
    read_from: Mapping[str, Mapping[str, str]]
    partial: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    """Sentences on files that could not be read at all."""
    read_at: str | None = None
    intent: str | None = None
    needs: tuple[str, ...] = ()
    """What a record says that its run was asked for."""
    record: str | None = None
    """The evidence as a record, where it was asked for."""


def live(request: Request, running: Running, read_at: str) -> Sources:
    """What the probes of this machine, which run already, print."""
    chosen = sources(cpu=request.cpu, budget=request.budget, root=request.root)
    found = gather(chosen, running, started=FIRST, budget=request.budget, read_at=read_at)
    record = None
    if request.keep:
        from boardops.record import dump

        intent = intent_of(request)
        record = dump(found.answers, read_at=read_at, cpu=request.cpu, intent=intent, needs=request.needs)
    return Sources(found.host, found.boards, found.evidence, found.read_from, read_at=read_at, record=record)


def stamp(time: datetime.datetime) -> str:
    """A time as RFC 3339 in UTC."""
    return time.astimezone(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
