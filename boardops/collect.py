"""Runs the probes of a live machine and puts together what they read.

Each source is a program of its own; all run side by side under one deadline. A probe that did not end well costs only
what it had not printed yet: those facts say how it ended. Called by the command line. It knows which probes there are,
and neither what they read nor what it means.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from boardops.facts import Evidence, Missing, MissingKind, Value, Values, board_key, build_board
from boardops.readers import host
from boardops.readers.reading import Reading
from boardops.worker import Outcome, Program, python_program, run_all

Now = Callable[[], datetime.datetime]
EvidenceOutcome = Literal["ok", "partial", "failed", "timed-out", "hung", "crashed", "not-installed", "not-permitted"]

PROBES = Path(__file__).resolve().parent / "probes"

# Worker's word for how a program ended: what the facts that it owes are then.
_MISSING: Mapping[str, MissingKind] = {
    "ok": "error",
    "failed": "error",
    "crashed": "error",
    "too-much-output": "error",
    "timed-out": "timed-out",
    "hung": "timed-out",
    "not-installed": "not-installed",
    "not-permitted": "not-permitted",
}


@dataclass(frozen=True, slots=True)
class Source:
    """A probe, and who understands it."""

    name: str
    argv: Sequence[str]
    read: Callable[[bytes], Reading]
    fills: Sequence[str]
    """Facts of the host that it owes."""
    boards: Sequence[Values] = ()
    """Boards that it must tell of in any case, with what is known of them beforehand."""
    board_fills: Sequence[str] = ()
    """Facts that it owes of each board."""


@dataclass(frozen=True, slots=True)
class Collected:
    """What the probes read; boards by their order of appearance."""

    host: Values
    boards: tuple[Values, ...]
    evidence: tuple[Evidence, ...]
    read_from: Mapping[str, Mapping[str, str]]
    """For `host` and each board's key: which evidence gave which fact."""


def sources(*, cpu: bool) -> tuple[Source, ...]:
    """The probes of this machine, all that run side by side."""
    program = python_program(PROBES / "host.py")
    stand_in: Values = {"vendor": "cpu", "index": 0}
    return (
        Source(
            "host",
            [*program, "--cpu"] if cpu else program,
            host.read,
            host.FILLS,
            (stand_in,) if cpu else (),
            host.BOARD_FILLS,
        ),
    )


def collect(*, cpu: bool, deadline_seconds: float, now: Now) -> Collected:
    """Read this machine. With `cpu` the processor is added as a stand-in board."""
    return collect_from(sources(cpu=cpu), deadline_seconds=deadline_seconds, now=now)


def collect_from(chosen: Sequence[Source], *, deadline_seconds: float, now: Now) -> Collected:
    """Read these sources. Where two give the same fact, the first that has a value counts."""
    read_at = now().astimezone(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    outcomes = run_all([Program(source.argv, deadline_seconds, name=f"the {source.name} probe") for source in chosen])
    known: dict[str, dict[str, Value]] = {"host": {}}
    read_from: dict[str, dict[str, str]] = {"host": {}}
    evidence: list[Evidence] = []
    for number, (source, outcome) in enumerate(zip(chosen, outcomes, strict=True), 1):
        reading = source.read(outcome.stdout)
        told = _evidence(f"{source.name}-{number}", source, outcome, reading, read_at)
        evidence.append(told)
        subjects = {board_key(build_board(board)): board for board in _boards(source, reading, outcome)}
        subjects["host"] = _owed(source.name, source.fills, reading.host, outcome)
        for key, values in subjects.items():
            _add(known.setdefault(key, {}), read_from.setdefault(key, {}), values, told.id)
    host_values = known.pop("host")
    return Collected(host_values, tuple(known.values()), tuple(evidence), read_from)


def _add(into: dict[str, Value], read_from: dict[str, str], values: Values, evidence: str) -> None:
    for name, value in values.items():
        if name not in into or (isinstance(into[name], Missing) and not isinstance(value, Missing)):
            into[name], read_from[name] = value, evidence


def _boards(source: Source, reading: Reading, outcome: Outcome) -> list[Values]:
    """The boards that the probe told of, and those that it should have told of."""
    told = list(reading.boards)
    for board in source.boards:
        if not any(board.items() <= other.items() for other in told):
            told.append(board)
    return [_owed(source.name, source.board_fills, board, outcome) for board in told]


def _owed(name: str, fills: Sequence[str], values: Values, outcome: Outcome) -> dict[str, Value]:
    """The values, and for each fact that the probe owes and did not give, why."""
    why = outcome.why or f"the {name} probe ended well without it"
    missing = Missing(_MISSING[outcome.kind], why)
    return {**dict.fromkeys(fills, missing), **values}


def _evidence(id: str, source: Source, outcome: Outcome, reading: Reading, read_at: str) -> Evidence:
    why = "; ".join(sentence for sentence in (outcome.why, *reading.problems) if sentence)
    return Evidence(
        id=id,
        source=source.name,
        kind="probe",
        origin=" ".join(Path(word).name if word.startswith("/") else word for word in source.argv),
        read_at=read_at,
        seconds=round(outcome.seconds, 3),
        outcome=_evidence_outcome(outcome, reading),
        why=why,
    )


def _evidence_outcome(outcome: Outcome, reading: Reading) -> EvidenceOutcome:
    if outcome.kind == "too-much-output":
        return "failed"
    if outcome.kind == "ok":
        return "ok" if reading.complete and not reading.problems else "partial"
    return outcome.kind
