"""What the sources of one machine answered, put together: facts by board, and evidence of each source.

A pure function of the answers, so that a run and the replay of its record give the same. Called by collect.py and by
the command line for a record. It knows which facts a source owes, and neither how they were read nor what they mean.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Literal

from msgspec import Struct

from boardops.conflicts import conflicts_of
from boardops.facts import Evidence, Missing, MissingKind, Value, Values, key_of
from boardops.outcome import Outcome
from boardops.readers.reading import Reading

EvidenceOutcome = Literal["ok", "partial", "failed", "timed-out", "hung", "crashed", "not-installed", "not-permitted"]

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


class Source(Struct, frozen=True):
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
    vendor: str | None = None
    """The vendor whose boards it is the driver's word on. It owes facts of those that only the PCI bus shows, too."""
    instead: Callable[[], Source | None] | None = None
    """Finds who is asked where this one is not installed."""
    when_silent: Source | None = None
    """Who is asked where this one did not answer in time."""
    causes: Mapping[int, tuple[MissingKind, str]] = {}
    """What the exit codes of its program mean: what the facts that it owes are then, and a sentence."""
    single: Sequence[str] = ()
    """Further words of its command line, before a PCI address, that make it ask one board only."""


class Answer(Struct, frozen=True):
    """What one source gave."""

    source: Source
    origin: str
    """The program, for people."""
    outcome: Outcome
    reading: Reading


class Collected(Struct, frozen=True):
    """What the probes read; boards in the order of their keys."""

    host: Values
    boards: tuple[Values, ...]
    evidence: tuple[Evidence, ...]
    read_from: Mapping[str, Mapping[str, str]]
    """For `host` and each board's key: which evidence gave which fact."""
    answers: tuple[Answer, ...] = ()
    """What it was put together from, for a record."""


def assemble(answers: Sequence[Answer], read_at: str) -> Collected:
    """The facts of a machine. Where two sources give the same fact, the first that has a value counts."""
    known: dict[str, dict[str, Value]] = {"host": {}}
    read_from: dict[str, dict[str, str]] = {"host": {}}
    evidence: list[Evidence] = []
    told_of: dict[str, list[tuple[str, Values]]] = {}
    for number, answer in enumerate(answers, 1):
        told = _evidence(f"{answer.source.name}-{number}", answer, read_at)
        evidence.append(told)
        subjects = {key_of(board): board for board in _boards(answer)}
        subjects["host"] = _owed(answer.source, answer.source.fills, answer.reading.host, answer.outcome)
        for key, values in subjects.items():
            _add(known.setdefault(key, {}), read_from.setdefault(key, {}), values, told.id)
            told_of.setdefault(key, []).append((told.id, values))
    host_values = known.pop("host")
    host_values["conflicts"] = tuple(
        conflict for key in sorted(told_of) for conflict in conflicts_of(key, told_of[key])
    )
    vendors = {answer.source.vendor for answer in answers if answer.source.vendor}
    for vendor in sorted(vendors):
        _place_refused(vendor, known, read_from)
        _settle_vendor([answer for answer in answers if answer.source.vendor == vendor], known, host_values)
    _settle_foreign(vendors, known)
    _settle_bus(answers, known, host_values)
    host_values["hung_sources"] = tuple(_hung(answer) for answer in answers if answer.outcome.kind == "hung")
    # Threads of a probe print in any order; the same machine must always give the same report.
    return Collected(
        host_values, tuple(known[key] for key in sorted(known)), tuple(evidence), read_from, tuple(answers)
    )


def gave_no_answer(answer: Answer) -> bool:
    """Whether a source that asks a driver did not end in time."""
    return answer.outcome.kind in {"hung", "timed-out"}


def _hung(answer: Answer) -> str:
    """A program that could not be ended, and where the kernel says that it hangs."""
    outcome = answer.outcome
    where = [
        f"state {outcome.state}" if outcome.state else "",
        f"in {outcome.wait_channel}" if outcome.wait_channel else "",
    ]
    told = ", ".join(filter(None, where))
    return f"the {answer.source.name} probe ({told})" if told else f"the {answer.source.name} probe"


def not_installed(answer: Answer) -> bool:
    """Whether a source said of all that it owes that it is not installed."""
    values = [answer.reading.host.get(name) for name in answer.source.fills]
    return bool(values) and all(isinstance(value, Missing) and value.kind == "not-installed" for value in values)


def unfinished(answers: Sequence[Answer], vendor: str) -> tuple[str, ...]:
    """The PCI addresses of a vendor's boards that somebody told of and that the vendor's source did not finish."""
    seen: dict[str, bool] = {}
    for answer in answers:
        for board in answer.reading.boards:
            address = board.get("pci_address")
            if isinstance(address, str) and board.get("vendor") == vendor:
                done = answer.source.vendor == vendor and isinstance(board.get("lost"), bool)
                seen[address] = seen.get(address, False) or done
    return tuple(sorted(address for address, done in seen.items() if not done))


def _place_refused(vendor: str, known: dict[str, dict[str, Value]], read_from: dict[str, dict[str, str]]) -> None:
    """Join the boards that a driver counts by number, and gives no address of, with those that only the bus shows.

    Drivers number boards in the order of their addresses. Where there are more of one kind than of the other nobody
    can tell which is which, and they stay apart.
    """
    mine = {key: board for key, board in known.items() if board.get("vendor") == vendor}
    without = [key for key in mine if isinstance(mine[key].get("index"), int) and not _has_address(mine[key])]
    alone = sorted(key for key in mine if "index" not in mine[key] and mine[key].get("device_node") is not False)
    alone = [key for key in alone if not str(mine[key].get("kernel_driver")).startswith("vfio")]
    if len(without) != len(alone):
        return
    for old, new in zip(sorted(without, key=lambda key: str(mine[key]["index"]).zfill(9)), alone, strict=True):
        known[new] = {**known.pop(old), **known[new], "in_driver": True}
        read_from[new] = {**read_from.pop(old), **read_from[new]}


def _has_address(board: Values) -> bool:
    return isinstance(board.get("pci_address"), str)


def _settle_vendor(answers: Sequence[Answer], known: Mapping[str, dict[str, Value]], host_values: Values) -> None:
    """Say of each board of a vendor whether its driver has it, and what its facts are where not."""
    told = {key_of(board) for answer in answers for board in answer.reading.boards}
    # Of a board that nobody told of, the first source that was there at all says why.
    first = next((answer for answer in answers if not not_installed(answer)), answers[0])
    for key, board in known.items():
        if board.get("vendor") != first.source.vendor:
            continue
        if key in told or board.get("in_driver") is True:
            board["in_driver"] = True
            continue
        missing = _why_absent(first, board, host_values)
        absent = missing.kind == "lost"
        board["in_driver"] = False if absent else missing
        for name in first.source.board_fills:
            board.setdefault(name, missing)
        if absent:
            board["lost"] = True


def _settle_foreign(vendors: Collection[str], known: Mapping[str, dict[str, Value]]) -> None:
    """Say of boards whose vendor nobody here can ask that nothing is known of them: the bus alone is no good sign."""
    for board in known.values():
        vendor = board.get("vendor")
        if isinstance(vendor, str) and vendor not in {*vendors, "cpu"} and board.get("on_bus") is True:
            board["in_driver"] = Missing("not-installed", f"this version of boardops has no probe for {vendor} boards")


def _settle_bus(answers: Sequence[Answer], known: Mapping[str, dict[str, Value]], host_values: Values) -> None:
    """Say of each board that a driver has whether the PCI bus shows it, and what its facts from there are where not."""
    bus = next((answer for answer in answers if "on_bus" in answer.source.board_fills), None)
    if bus is None:
        return
    told = {key_of(board) for board in bus.reading.boards}
    missing = _why_not_on_bus(bus, host_values)
    for key, board in known.items():
        if key not in told and board.get("vendor") != "cpu":
            board.setdefault("on_bus", False if missing.kind == "lost" else missing)
            for name in bus.source.board_fills:
                board.setdefault(name, missing)


def _why_not_on_bus(bus: Answer, host_values: Values) -> Missing:
    """What is to be said of a board that its driver has and the PCI bus does not show."""
    if bus.outcome.kind != "ok":
        return Missing(_MISSING[bus.outcome.kind], bus.outcome.why)
    count = bus.reading.host.get("boards_on_bus_count")
    if isinstance(count, Missing):
        return count
    if "microsoft" in str(host_values.get("kernel")).lower():
        return Missing("not-supported", "under WSL the PCI bus does not show the boards of the host")
    if not bus.reading.boards:
        return Missing("not-permitted", "the PCI bus shows no board at all; a part of /sys may be hidden from here")
    return Missing("lost", "the driver has the board, the PCI bus no longer shows it")


def _why_absent(answer: Answer, board: Values, host_values: Values) -> Missing:
    """What is to be said of a board that the PCI bus shows and its driver does not."""
    kernel_driver = board.get("kernel_driver")
    if isinstance(kernel_driver, str) and kernel_driver.startswith("vfio"):
        return Missing("not-supported", f"the board is kept for a virtual machine ({kernel_driver})")
    if board.get("virtualization") == "vgpu":
        return Missing("not-supported", "the board is a virtual function")
    if answer.outcome.kind != "ok":
        return _unanswered(answer.source, answer.outcome, answer.outcome.why)
    count = answer.reading.host.get("boards_in_driver_count")
    if isinstance(count, Missing):
        return Missing(count.kind, count.why)
    if not answer.reading.complete:
        # Who says so little may have left it out.
        return Missing("error", next(iter(answer.reading.problems), f"the {answer.source.name} probe did not end"))
    container = host_values.get("container")
    if isinstance(container, str) and container != "none":
        return _why_absent_in_container(board, host_values, container, count)
    return Missing("lost", "the PCI bus shows the board, its driver does not")


def _why_absent_in_container(board: Values, host_values: Values, container: str, count: Value | None) -> Missing:
    """A container sees the bus of the whole host, and gets the device nodes of its own boards only."""
    node = board.get("device_node")
    if node is True:
        return Missing("lost", f"this container ({container}) was given the board, its driver does not have it")
    if node is False:
        return Missing(
            "not-supported", f"this container ({container}) was not given the board: its device node is not here"
        )
    nodes = host_values.get("nvidia_node_count")
    if isinstance(nodes, int) and isinstance(count, int) and nodes > count:
        why = f"this container ({container}) was given {nodes} boards and the driver has {count}"
        return Missing("error", f"{why}, so this may be one that is lost")
    return Missing("not-supported", f"this container ({container}) was not given the board")


def _add(into: dict[str, Value], read_from: dict[str, str], values: Values, evidence: str) -> None:
    for name, value in values.items():
        if name not in into or _is_better(into[name], read_from[name], value, evidence):
            into[name], read_from[name] = value, evidence


def _is_better(old: Value, old_evidence: str, new: Value, new_evidence: str) -> bool:
    """Whether a value takes the place of one that was there: any value of a Missing, and a plain "no such thing".

    The latter only of the same source, asked a second time after it crashed.
    """
    if not isinstance(old, Missing):
        return False
    if not isinstance(new, Missing):
        return True
    same_source = old_evidence.rpartition("-")[0] == new_evidence.rpartition("-")[0]
    return same_source and new.kind == "not-supported"


def _boards(answer: Answer) -> list[Values]:
    """The boards that the probe told of, and those that it should have told of."""
    told = list(answer.reading.boards)
    for board in answer.source.boards:
        if not any(board.items() <= other.items() for other in told):
            told.append(board)
    return [_owed(answer.source, answer.source.board_fills, board, answer.outcome) for board in told]


def _owed(source: Source, fills: Sequence[str], values: Values, outcome: Outcome) -> dict[str, Value]:
    """The values, and for each fact that the probe owes and did not give, why."""
    missing = _unanswered(source, outcome, outcome.why or f"the {source.name} probe ended well without it")
    return {**dict.fromkeys(fills, missing), **values}


def _unanswered(source: Source, outcome: Outcome, why: str) -> Missing:
    """What a fact is that a program owes and did not give, by how it ended."""
    cause = source.causes.get(outcome.returncode or 0) if outcome.kind == "failed" else None
    return Missing(cause[0], f"{cause[1]} ({why})") if cause else Missing(_MISSING[outcome.kind], why)


def _evidence(id: str, answer: Answer, read_at: str) -> Evidence:
    source, outcome = answer.source, answer.outcome
    # What a program that did not end well lacks at its end needs no sentence of its own.
    cut = outcome.kind == "ok" and not answer.reading.complete and not answer.reading.problems
    missing = f"the last line of the {source.name} probe is missing" if cut else ""
    why = "; ".join(sentence for sentence in (outcome.why, *answer.reading.problems, missing) if sentence)
    return Evidence(
        id=id,
        source=source.name,
        kind="probe",
        origin=answer.origin,
        read_at=read_at,
        seconds=round(outcome.seconds, 3),
        outcome=_evidence_outcome(answer),
        why=why,
    )


def _evidence_outcome(answer: Answer) -> EvidenceOutcome:
    outcome, reading = answer.outcome, answer.reading
    if outcome.kind == "too-much-output":
        return "failed"
    if outcome.kind == "ok":
        if not_installed(answer):
            return "not-installed"
        return "ok" if reading.complete and not reading.problems else "partial"
    return outcome.kind
