"""What a user asks `boardops check` for, and the programs that are started for it.

Called by check.py. Imports little, so that the programs are under way while the rest is imported.
"""

from __future__ import annotations

import datetime
import os

from msgspec import Struct

from boardops.budget import Budget
from boardops.errors import BoardopsError
from boardops.launch import launch
from boardops.worker import Running

SITE_RULES = "/etc/boardops/rules.d"


class Request(Struct, frozen=True):
    """What a user asked for."""

    intent: str | None = None
    """None: as recorded, else predeploy."""
    profile: str = "quick"
    needs: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    boards: tuple[str, ...] = ()
    cpu: bool = False
    at: datetime.datetime | None = None
    budget: Budget = Budget()
    language: str = "en"
    site_rules: str | os.PathLike[str] = SITE_RULES
    keep: bool = False
    """Whether the evidence is wanted as a record."""
    baseline: str | None = None
    """A record of an earlier run of this host, which growth is judged against."""
    root: str = "/"
    """For tests: the folder that stands for the root of this machine's files."""


def intent_of(request: Request) -> str:
    """What the machine is meant to do now; predeploy unless somebody says otherwise."""
    return request.intent or "predeploy"


def now() -> datetime.datetime:
    """The clock of this machine, in UTC."""
    return datetime.datetime.now(datetime.timezone.utc)


def budget_of(deadline_seconds: float | None) -> Budget:
    """The time of a run with this `--deadline`. Raises BoardopsError."""
    if deadline_seconds != deadline_seconds:  # Not a number; no comparison catches it.
        raise BoardopsError("--deadline nan is no number of seconds")
    return Budget(deadline_seconds)


def begin(request: Request) -> Running:
    """The programs that read this machine, as a context manager; none where files are judged."""
    if request.files:
        return Running(())
    return launch(cpu=request.cpu, budget=request.budget, root=request.root)
