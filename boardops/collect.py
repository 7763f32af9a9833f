"""Runs the probes of a live machine.

Each source is a program of its own; all run side by side under one deadline. Called by the command line. It knows which
probes there are; what their answers add up to is assemble.py's business.
"""

from __future__ import annotations

import datetime
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from boardops.assemble import Answer, Collected, Source, assemble, not_installed, unfinished
from boardops.facts import Values
from boardops.readers import cuda, host, nvidia_smi_xml, nvml, pci
from boardops.readers.markup import MarkupError
from boardops.readers.reading import Reading
from boardops.worker import Program, python_program, run_all

Now = Callable[[], datetime.datetime]

TOOL_PATHS = ("/usr/bin/nvidia-smi", "/usr/local/bin/nvidia-smi", "/usr/lib/wsl/lib/nvidia-smi", "/opt/bin/nvidia-smi")
START = Path(__file__).resolve().parent / "probes" / "start.py"


def sources(*, cpu: bool, root: str = "/") -> tuple[Source, ...]:
    """The probes of this machine, all that run side by side. Where two give a fact, the first that has it counts."""
    below = [] if root == "/" else ["--root", root]
    stand_in: Values = {"vendor": "cpu", "index": 0}
    return (
        Source(
            "host",
            _probe("host", *below, *_found("--torch", "torch/version.py"), *(["--cpu"] if cpu else [])),
            host.read,
            host.FILLS,
            (stand_in,) if cpu else (),
            host.BOARD_FILLS,
        ),
        Source(
            "nvml",
            _probe("nvml", *_found("--path", "pynvml.py", folder=True)),
            nvml.read,
            nvml.FILLS,
            (),
            nvml.BOARD_FILLS,
            vendor="nvidia",
            instead=_nvidia_smi(),
            single=("--board",),
        ),
        Source("cuda", _probe("cuda"), cuda.read, cuda.FILLS),
        Source("pci", _probe("pci", *below), pci.read, pci.FILLS, (), pci.BOARD_FILLS),
    )


def _probe(name: str, *words: str) -> list[str]:
    return [*python_program(START), name, *words]


def _found(option: str, name: str, *, folder: bool = False) -> list[str]:
    """An option with the path of a file in the module folders of this Python, or with its folder; none without it."""
    for parent in sys.path:
        if parent and Path(parent, name).is_file():
            return [option, parent if folder else f"{parent}/{name}"]
    return []


def _nvidia_smi() -> Source | None:
    """The vendor's tool, looked for where schedulers do not look: they start us without a PATH."""
    found = shutil.which("nvidia-smi") or next((path for path in TOOL_PATHS if Path(path).is_file()), None)
    return _smi_source(found) if found else None


def _smi_source(program: str) -> Source:
    facts = tuple(name.partition(".")[2] for name in nvidia_smi_xml.FILLS if name.startswith("board."))
    return Source("nvidia-smi", [program, "-q", "-x"], _read_smi, nvml.FILLS, (), facts, vendor="nvidia")


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


def known_sources(*, cpu: bool) -> Mapping[str, Source]:
    """All sources by name, for answers that were recorded elsewhere."""
    found = {source.name: source for source in sources(cpu=cpu)}
    smi = _smi_source("nvidia-smi")
    return {**found, smi.name: smi}


def collect(*, cpu: bool, deadline_seconds: float, now: Now, root: str = "/") -> Collected:
    """Read this machine. With `cpu` the processor is added as a stand-in board; `root` is for tests."""
    return collect_from(sources(cpu=cpu, root=root), deadline_seconds=deadline_seconds, now=now)


def collect_from(chosen: Sequence[Source], *, deadline_seconds: float, now: Now) -> Collected:
    """Read these sources. Where two give the same fact, the first that has a value counts."""
    read_at = now().astimezone(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    return assemble(_ask(chosen, deadline_seconds), read_at)


def _ask(chosen: Sequence[Source], deadline_seconds: float) -> list[Answer]:
    """The answers of all sources, asked side by side; for one that is not installed, of the one that stands in."""
    programs = [Program(source.argv, deadline_seconds, name=f"the {source.name} probe") for source in chosen]
    answers = [
        Answer(source, _origin(source), outcome, source.read(outcome.stdout))
        for source, outcome in zip(chosen, run_all(programs), strict=True)
    ]
    others = [answer.source.instead for answer in answers if not_installed(answer) and answer.source.instead]
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
    return " ".join(Path(word).name if word.startswith("/") else word for word in source.argv)
