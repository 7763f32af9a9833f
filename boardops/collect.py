"""Runs the probes of a live machine.

Each source is a program of its own; all run side by side under one deadline. Called by the command line. It knows which
probes there are; what their answers add up to is assemble.py's business.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from msgspec.structs import replace

from boardops.assemble import Answer, Collected, Source, assemble, not_installed, unfinished
from boardops.facts import Values
from boardops.launch import command_lines, launch, program
from boardops.outcome import Outcome
from boardops.readers import cuda, host, nvml, pci
from boardops.readers.reading import Reading
from boardops.worker import Running, run_all

TOOL_PATHS = ("/usr/bin/nvidia-smi", "/usr/local/bin/nvidia-smi", "/usr/lib/wsl/lib/nvidia-smi", "/opt/bin/nvidia-smi")
SMI = "nvidia-smi"


def sources(*, cpu: bool, root: str = "/") -> tuple[Source, ...]:
    """The probes of this machine, all that run side by side. Where two give a fact, the first that has it counts."""
    argv = command_lines(cpu=cpu, root=root)
    stand_in: Values = {"vendor": "cpu", "index": 0}
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
            instead=_nvidia_smi,
            single=("--board",),
        ),
        Source("cuda", argv["cuda"], cuda.read, cuda.FILLS),
        Source("pci", argv["pci"], pci.read, pci.FILLS, (), pci.BOARD_FILLS),
    )


def _nvidia_smi() -> Source | None:
    """The vendor's tool, looked for where schedulers do not look: they start us without a PATH."""
    import shutil

    found = shutil.which(SMI) or next((path for path in TOOL_PATHS if os.path.isfile(path)), None)
    return _smi_source(found) if found else None


def _smi_source(tool: str) -> Source:
    from boardops.readers import nvidia_smi_xml

    facts = tuple(name.partition(".")[2] for name in nvidia_smi_xml.FILLS if name.startswith("board."))
    return Source(SMI, [tool, "-q", "-x"], _read_smi, nvml.FILLS, (), facts, vendor="nvidia")


def _read_smi(data: bytes) -> Reading:
    from boardops.readers import nvidia_smi_xml
    from boardops.readers.markup import MarkupError

    def nothing(problem: str) -> Reading:
        return Reading(nvidia_smi_xml.KIND, nvidia_smi_xml.TITLE, {}, (), (problem,), complete=False)

    if nvidia_smi_xml.recognise(data):
        try:
            return nvidia_smi_xml.read(data)
        except MarkupError as error:
            return nothing(f"nvidia-smi printed XML that {error}")
    said = data.decode("utf-8", "replace").strip().splitlines()
    return nothing(f"nvidia-smi printed no XML but {said[0][:200]!r}" if said else "nvidia-smi printed nothing")


def source_named(name: str, *, cpu: bool) -> Source | None:
    """The source of an answer that was recorded elsewhere; None where nobody knows it."""
    if name == SMI:
        return _smi_source(SMI)
    return next((source for source in sources(cpu=cpu) if source.name == name), None)


def collect(*, cpu: bool, deadline_seconds: float, read_at: str, root: str = "/") -> Collected:
    """Read this machine. With `cpu` the processor is added as a stand-in board; `root` is for tests."""
    with launch(cpu=cpu, deadline_seconds=deadline_seconds, root=root) as running:
        return gather(running, cpu=cpu, root=root, deadline_seconds=deadline_seconds, read_at=read_at)


def collect_from(chosen: Sequence[Source], *, deadline_seconds: float, read_at: str) -> Collected:
    """Read these sources. Where two give the same fact, the first that has a value counts."""
    return assemble(_ask(chosen, deadline_seconds), read_at)


def gather(running: Running, *, cpu: bool, deadline_seconds: float, read_at: str, root: str = "/") -> Collected:
    """What the probes of this machine say, which were started by `launch` with the same words."""
    chosen = sources(cpu=cpu, root=root)
    outcomes = dict(zip(command_lines(cpu=cpu, root=root), running.wait(), strict=True))
    return assemble(_answers(chosen, [outcomes[source.name] for source in chosen], deadline_seconds), read_at)


def _ask(chosen: Sequence[Source], deadline_seconds: float) -> list[Answer]:
    programs = [program(source.name, source.argv, deadline_seconds) for source in chosen]
    return _answers(chosen, run_all(programs), deadline_seconds)


def _answers(chosen: Sequence[Source], outcomes: Sequence[Outcome], deadline_seconds: float) -> list[Answer]:
    """The answers of these sources; for one that is not installed, also of the one that stands in."""
    answers = [
        Answer(source, _origin(source), outcome, source.read(outcome.stdout))
        for source, outcome in zip(chosen, outcomes, strict=True)
    ]
    absent = [answer.source for answer in answers if not_installed(answer)]
    others = [other for source in absent if source.instead and (other := source.instead())]
    # After a crash each board that was not finished is asked once more, alone; after a hang nobody is asked again.
    for answer in answers:
        if answer.outcome.kind == "crashed" and answer.source.vendor and answer.source.single:
            others += [
                replace(answer.source, argv=[*answer.source.argv, *answer.source.single, address], single=())
                for address in unfinished(answers, answer.source.vendor)
            ]
    return answers + (_ask(others, deadline_seconds) if others else [])


def _origin(source: Source) -> str:
    """The program without its folders: a report tells nothing of where things lie."""
    return " ".join(word.rpartition("/")[2] if word.startswith("/") else word for word in source.argv)
