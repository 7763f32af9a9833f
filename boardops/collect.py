"""Runs the probes of a live machine and puts together what they read.

Each source is a program of its own; all run side by side under one deadline. A probe that did not end well costs only
what it had not printed yet: those facts say how it ended. Called by the command line. It knows which probes there are,
and neither what they read nor what it means.
"""

from __future__ import annotations

import datetime
import shutil
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from boardops.facts import Evidence, Missing, MissingKind, Value, Values, board_key, build_board
from boardops.readers import cuda, host, nvidia_smi_xml, nvml, pci
from boardops.readers.markup import MarkupError
from boardops.readers.reading import Reading
from boardops.worker import Outcome, Program, python_program, run_all

Now = Callable[[], datetime.datetime]
EvidenceOutcome = Literal["ok", "partial", "failed", "timed-out", "hung", "crashed", "not-installed", "not-permitted"]

TOOL_PATHS = ("/usr/bin/nvidia-smi", "/usr/local/bin/nvidia-smi", "/usr/lib/wsl/lib/nvidia-smi", "/opt/bin/nvidia-smi")
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
    vendor: str | None = None
    """The vendor whose boards it is the driver's word on. It owes facts of those that only the PCI bus shows, too."""
    instead: Source | None = None
    """Who is asked where this one is not installed."""


@dataclass(frozen=True, slots=True)
class Collected:
    """What the probes read; boards in the order of their keys."""

    host: Values
    boards: tuple[Values, ...]
    evidence: tuple[Evidence, ...]
    read_from: Mapping[str, Mapping[str, str]]
    """For `host` and each board's key: which evidence gave which fact."""


def sources(*, cpu: bool, root: str = "/") -> tuple[Source, ...]:
    """The probes of this machine, all that run side by side. Where two give a fact, the first that has it counts."""
    below = [] if root == "/" else ["--root", root]
    stand_in: Values = {"vendor": "cpu", "index": 0}
    return (
        Source(
            "host",
            [*python_program(PROBES / "host.py"), *below, *(["--cpu"] if cpu else [])],
            host.read,
            host.FILLS,
            (stand_in,) if cpu else (),
            host.BOARD_FILLS,
        ),
        Source(
            "nvml",
            python_program(PROBES / "nvml.py"),
            nvml.read,
            nvml.FILLS,
            (),
            nvml.BOARD_FILLS,
            vendor="nvidia",
            instead=_nvidia_smi(),
        ),
        Source("cuda", python_program(PROBES / "cuda.py"), cuda.read, cuda.FILLS),
        Source("pci", [*python_program(PROBES / "pci.py"), *below], pci.read, pci.FILLS, (), pci.BOARD_FILLS),
    )


def _nvidia_smi() -> Source | None:
    """The vendor's tool, looked for where schedulers do not look: they start us without a PATH."""
    found = shutil.which("nvidia-smi") or next((path for path in TOOL_PATHS if Path(path).is_file()), None)
    if found is None:
        return None
    facts = tuple(name.partition(".")[2] for name in nvidia_smi_xml.FILLS if name.startswith("board."))
    return Source("nvidia-smi", [found, "-q", "-x"], _read_smi, nvml.FILLS, (), facts, vendor="nvidia")


def _read_smi(data: bytes) -> Reading:
    if nvidia_smi_xml.recognise(data):
        try:
            return nvidia_smi_xml.read(data)
        except MarkupError as error:
            return _nothing(f"nvidia-smi printed XML that {error}")
    said = data.decode("utf-8", "replace").strip().splitlines()
    return _nothing(f"nvidia-smi printed no XML but {said[0][:200]!r}" if said else "nvidia-smi printed nothing")


def _nothing(problem: str) -> Reading:
    return Reading(nvidia_smi_xml.KIND, nvidia_smi_xml.TITLE, {}, (), (problem,), complete=False)


def collect(*, cpu: bool, deadline_seconds: float, now: Now, root: str = "/") -> Collected:
    """Read this machine. With `cpu` the processor is added as a stand-in board; `root` is for tests."""
    return collect_from(sources(cpu=cpu, root=root), deadline_seconds=deadline_seconds, now=now)


def collect_from(chosen: Sequence[Source], *, deadline_seconds: float, now: Now) -> Collected:
    """Read these sources. Where two give the same fact, the first that has a value counts."""
    read_at = now().astimezone(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    answers = _ask(chosen, deadline_seconds)
    known: dict[str, dict[str, Value]] = {"host": {}}
    read_from: dict[str, dict[str, str]] = {"host": {}}
    evidence: list[Evidence] = []
    for number, answer in enumerate(answers, 1):
        told = _evidence(f"{answer.source.name}-{number}", answer, read_at)
        evidence.append(told)
        subjects = {board_key(build_board(board)): board for board in _boards(answer)}
        subjects["host"] = _owed(answer.source.name, answer.source.fills, answer.reading.host, answer.outcome)
        for key, values in subjects.items():
            _add(known.setdefault(key, {}), read_from.setdefault(key, {}), values, told.id)
    host_values = known.pop("host")
    for answer in answers:
        _settle_driver(answer, answers, known, host_values)
    _settle_foreign({source.vendor for source in chosen}, known)
    # Threads of a probe print in any order; the same machine must always give the same report.
    return Collected(host_values, tuple(known[key] for key in sorted(known)), tuple(evidence), read_from)


@dataclass(frozen=True, slots=True)
class _Answer:
    """What one source gave."""

    source: Source
    outcome: Outcome
    reading: Reading


def _ask(chosen: Sequence[Source], deadline_seconds: float) -> list[_Answer]:
    """The answers of all sources, asked side by side; for one that is not installed, of the one that stands in."""
    programs = [Program(source.argv, deadline_seconds, name=f"the {source.name} probe") for source in chosen]
    answers = [
        _Answer(source, outcome, source.read(outcome.stdout))
        for source, outcome in zip(chosen, run_all(programs), strict=True)
    ]
    others = [answer.source.instead for answer in answers if _not_installed(answer) and answer.source.instead]
    return answers + (_ask(others, deadline_seconds) if others else [])


def _not_installed(answer: _Answer) -> bool:
    values = [answer.reading.host.get(name) for name in answer.source.fills]
    return bool(values) and all(isinstance(value, Missing) and value.kind == "not-installed" for value in values)


def _settle_driver(
    answer: _Answer, answers: Sequence[_Answer], known: Mapping[str, dict[str, Value]], host_values: Values
) -> None:
    """Say of each board of a vendor whether its driver has it, and what its facts are where not."""
    source = answer.source
    if source.vendor is None or (_not_installed(answer) and any(a.source is source.instead for a in answers)):
        return
    told = {board_key(build_board(board)) for board in answer.reading.boards}
    for key, board in known.items():
        if board.get("vendor") != source.vendor:
            continue
        if key in told:
            board["in_driver"] = True
            continue
        missing = _why_absent(answer, board, host_values)
        absent = missing.kind == "lost"
        board["in_driver"] = False if absent else missing
        for name in source.board_fills:
            board.setdefault(name, missing)
        if absent:
            board["lost"] = True


def _settle_foreign(vendors: Collection[str | None], known: Mapping[str, dict[str, Value]]) -> None:
    """Say of boards whose vendor nobody here can ask that nothing is known of them: the bus alone is no good sign."""
    for board in known.values():
        vendor = board.get("vendor")
        if isinstance(vendor, str) and vendor not in {*vendors, "cpu"} and board.get("on_bus") is True:
            board["in_driver"] = Missing("not-installed", f"this version of boardops has no probe for {vendor} boards")


def _why_absent(answer: _Answer, board: Values, host_values: Values) -> Missing:
    """What is to be said of a board that the PCI bus shows and its driver does not."""
    kernel_driver = board.get("kernel_driver")
    if isinstance(kernel_driver, str) and kernel_driver.startswith("vfio"):
        return Missing("not-supported", f"the board is kept for a virtual machine ({kernel_driver})")
    if board.get("virtualization") == "vgpu":
        return Missing("not-supported", "the board is a virtual function")
    if answer.outcome.kind != "ok":
        return Missing(_MISSING[answer.outcome.kind], answer.outcome.why)
    count = answer.reading.host.get("boards_in_driver_count")
    if isinstance(count, Missing):
        return Missing(count.kind, count.why)
    container = host_values.get("container")
    if isinstance(container, str) and container != "none":
        return Missing("not-supported", f"this container ({container}) was not given the board")
    return Missing("lost", "the PCI bus shows the board, its driver does not")


def _add(into: dict[str, Value], read_from: dict[str, str], values: Values, evidence: str) -> None:
    for name, value in values.items():
        if name not in into or (isinstance(into[name], Missing) and not isinstance(value, Missing)):
            into[name], read_from[name] = value, evidence


def _boards(answer: _Answer) -> list[Values]:
    """The boards that the probe told of, and those that it should have told of."""
    told = list(answer.reading.boards)
    for board in answer.source.boards:
        if not any(board.items() <= other.items() for other in told):
            told.append(board)
    return [_owed(answer.source.name, answer.source.board_fills, board, answer.outcome) for board in told]


def _owed(name: str, fills: Sequence[str], values: Values, outcome: Outcome) -> dict[str, Value]:
    """The values, and for each fact that the probe owes and did not give, why."""
    why = outcome.why or f"the {name} probe ended well without it"
    missing = Missing(_MISSING[outcome.kind], why)
    return {**dict.fromkeys(fills, missing), **values}


def _evidence(id: str, answer: _Answer, read_at: str) -> Evidence:
    source, outcome = answer.source, answer.outcome
    why = "; ".join(sentence for sentence in (outcome.why, *answer.reading.problems) if sentence)
    return Evidence(
        id=id,
        source=source.name,
        kind="probe",
        origin=" ".join(Path(word).name if word.startswith("/") else word for word in source.argv),
        read_at=read_at,
        seconds=round(outcome.seconds, 3),
        outcome=_evidence_outcome(answer),
        why=why,
    )


def _evidence_outcome(answer: _Answer) -> EvidenceOutcome:
    outcome, reading = answer.outcome, answer.reading
    if outcome.kind == "too-much-output":
        return "failed"
    if outcome.kind == "ok":
        if _not_installed(answer):
            return "not-installed"
        return "ok" if reading.complete and not reading.problems else "partial"
    return outcome.kind
