"""Runs the probes of a live machine.

Each source is a program of its own; all run side by side under one deadline. Called by the command line. It knows which
probes there are; what their answers add up to is assemble.py's business.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from boardops.assemble import Answer, Collected, Source, assemble, gave_no_answer, not_installed, unfinished
from boardops.budget import LEAST_SECONDS, Budget
from boardops.facts import MissingKind, Values
from boardops.launch import FIRST, command_lines, launch, program
from boardops.outcome import Outcome
from boardops.readers import cuda, host, kernel_probe, nvml, pci, stuck
from boardops.readers.reading import Reading
from boardops.worker import Running, run_all

TOOL_PATHS = ("/usr/bin/nvidia-smi", "/usr/local/bin/nvidia-smi", "/usr/lib/wsl/lib/nvidia-smi", "/opt/bin/nvidia-smi")
SMI = "nvidia-smi"
# Source: nvidia-smi's manual page, return value, and nvml.h for 18. It ends with NVML's code where NVML does not start.
SMI_CAUSES: Mapping[int, tuple[MissingKind, str]] = {
    4: ("not-permitted", "this user may not read it"),
    8: ("error", "power cables of a board are not attached"),
    9: ("error", "the NVIDIA kernel module is not loaded"),
    10: ("error", "the kernel found a fault in the interrupts of a board"),
    12: ("not-installed", "libnvidia-ml.so.1 cannot be loaded"),
    14: ("error", "the InfoROM of a board is corrupted"),
    15: ("error", "a board fell off the bus or cannot be reached otherwise"),
    18: ("error", "library and kernel module of the driver are of different versions"),
}
ANY_TIME = Budget()


def sources(*, cpu: bool, budget: Budget = ANY_TIME, root: str = "/") -> tuple[Source, ...]:
    """The probes of this machine, all that run side by side. Where two give a fact, the first that has it counts."""
    argv = command_lines(cpu=cpu, budget=budget, root=root)
    stand_in: Values = {"vendor": "cpu", "index": 0}
    hanging = Source("stuck", argv["stuck"], stuck.read, stuck.FILLS)
    return (
        Source("host", argv["host"], host.read, host.FILLS, (stand_in,) if cpu else (), host.BOARD_FILLS),
        Source(
            "nvml",
            argv["nvml"],
            nvml.read,
            nvml.FILLS,
            (),
            nvml.BOARD_FILLS,
            vendor="nvidia",
            instead=lambda: _nvidia_smi(hanging),
            when_silent=hanging,
            single=("--board",),
        ),
        Source("cuda", argv["cuda"], cuda.read, cuda.FILLS, when_silent=hanging),
        Source("pci", argv["pci"], pci.read, pci.FILLS, (), pci.BOARD_FILLS),
        Source("kernel_log", argv["kernel_log"], kernel_probe.read, kernel_probe.FILLS),
    )


def _nvidia_smi(when_silent: Source) -> Source | None:
    """The vendor's tool, looked for where schedulers do not look: they start us without a PATH."""
    import shutil

    found = shutil.which(SMI) or next((path for path in TOOL_PATHS if os.path.isfile(path)), None)
    return replace(_smi_source(found), when_silent=when_silent) if found else None


def _smi_source(tool: str) -> Source:
    from boardops.readers import nvidia_smi_xml

    facts = tuple(name.partition(".")[2] for name in nvidia_smi_xml.FILLS if name.startswith("board."))
    return Source(SMI, [tool, "-q", "-x"], _read_smi, nvml.FILLS, (), facts, vendor="nvidia", causes=SMI_CAUSES)


def _read_smi(data: bytes) -> Reading:
    from boardops.readers import nvidia_smi_xml
    from boardops.readers.markup import MarkupError
    from boardops.readers.nvidia_smi_boards import unreachable

    def nothing(problem: str, boards: tuple[Values, ...] = ()) -> Reading:
        return Reading(nvidia_smi_xml.KIND, nvidia_smi_xml.TITLE, {}, boards, (problem,), complete=False)

    if nvidia_smi_xml.recognise(data):
        try:
            return nvidia_smi_xml.read(data)
        except MarkupError as error:
            return nothing(f"nvidia-smi printed XML that {error}")
    text = data.decode("utf-8", "replace").strip()
    said = text.splitlines()
    if not said:
        return nothing("nvidia-smi printed nothing")
    return nothing(f"nvidia-smi printed no XML but {said[0][:200]!r}", unreachable(text))


def source_named(name: str, *, cpu: bool) -> Source | None:
    """The source of an answer that was recorded elsewhere; None where nobody knows it."""
    return next((source for source in all_sources(cpu=cpu) if source.name == name), None)


def all_sources(*, cpu: bool) -> tuple[Source, ...]:
    """Every source that a live run may ask."""
    first = sources(cpu=cpu)
    later = {source.when_silent.name: source.when_silent for source in first if source.when_silent}
    return (*first, _smi_source(SMI), *later.values())


def collect(*, cpu: bool, budget: Budget = ANY_TIME, read_at: str, root: str = "/") -> Collected:
    """Read this machine. With `cpu` the processor is added as a stand-in board; `root` is for tests."""
    with launch(cpu=cpu, budget=budget, root=root) as running:
        chosen = sources(cpu=cpu, budget=budget, root=root)
        return gather(chosen, running, started=FIRST, budget=budget, read_at=read_at)


def collect_from(chosen: Sequence[Source], *, budget: Budget, read_at: str) -> Collected:
    """Read these sources. Where two give the same fact, the first that has a value counts."""
    with Running([program(source.name, source.argv, budget.first_seconds) for source in chosen]) as running:
        names = [source.name for source in chosen]
        return gather(chosen, running, started=names, budget=budget, read_at=read_at)


def gather(
    chosen: Sequence[Source], running: Running, *, started: Sequence[str], budget: Budget, read_at: str
) -> Collected:
    """What these sources say, whose programs run already; `started` are their names in the order of their start."""
    more_seconds = 0.0

    def look(number: int, outcome: Outcome) -> None:
        nonlocal more_seconds
        if started[number] == "pci":
            more_seconds = budget.more_for(len(pci.read(outcome.stdout).boards))
            running.extend(more_seconds)

    outcomes = dict(zip(started, running.wait(look), strict=True))
    answers = _read(chosen, [outcomes[source.name] for source in chosen])
    while others := _asked_because_of(answers):
        left = running.started + budget.total_seconds + more_seconds - time.monotonic()
        # Part of what is left stays for those that are asked because of these.
        seconds = max(Budget(max(left, 0.0)).first_seconds, LEAST_SECONDS)
        programs = [program(other.name, other.argv, seconds) for other in others]
        answers += _read(others, run_all(programs))
    return assemble(answers, read_at)


def _read(chosen: Sequence[Source], outcomes: Sequence[Outcome]) -> list[Answer]:
    return [
        Answer(source, _origin(source), outcome, source.read(outcome.stdout))
        for source, outcome in zip(chosen, outcomes, strict=True)
    ]


def _asked_because_of(answers: Sequence[Answer]) -> list[Source]:
    """The sources that are asked because of what others said, unless they were asked already.

    For one that is not installed the one that stands in; for one that was silent the one that looks why. After a crash
    each board that was not finished is asked once more, alone; after a hang nobody is asked again.
    """
    others: dict[tuple[str, ...], Source] = {}
    for answer in answers:
        source = answer.source
        found: list[Source | None] = []
        if source.instead and not_installed(answer):
            found.append(source.instead())
        if gave_no_answer(answer):
            found.append(source.when_silent)
        if answer.outcome.kind == "crashed" and source.vendor and source.single:
            found += [
                replace(source, argv=[*source.argv, *source.single, address], single=())
                for address in unfinished(answers, source.vendor)
            ]
        others.update({tuple(other.argv): other for other in found if other is not None})
    asked = {tuple(answer.source.argv) for answer in answers}
    return [other for argv, other in others.items() if argv not in asked]


def _origin(source: Source) -> str:
    """The program without its folders: a report tells nothing of where things lie."""
    return " ".join(word.rpartition("/")[2] if word.startswith("/") else word for word in source.argv)
