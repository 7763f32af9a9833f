"""What `nvidia-smi -q` says of boards, from flat texts by the tags of its XML; its readers share it.

A field table says which tag (newest name first) gives which fact. Tags that a driver does not print, and every
spelling of "no value", become Missing; a text that is not understood is kept as `unreadable`. What the values mean is
not decided here.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from boardops.facts import Missing, Process, Value, key_of
from boardops.readers.addresses import pci_address
from boardops.readers.markup import Element
from boardops.readers.novalue import missing_of
from boardops.readers.nvidia_smi_fields import (
    ANY,
    FIELDS,
    FIRST,
    KIND_OF_PROCESS,
    REASON_GROUPS,
    REASONS,
    SUMS,
    Field,
    celsius,
    flag,
    quantity,
    text_of,
)
from boardops.readers.reading import Reading

_PCI = r"([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])"
_UNREACHABLE = re.compile(r"(?:Unable to determine the device handle for|is lost|fallen off).*?\b" + _PCI)
_MAX_PROCESSES = 4096
_MAX_LINES = 1000
_UNKNOWN_BRANCH = 999
_DRIVER = ("driver_version", "kmd_version")

Texts = Mapping[str, str]

FILLS: tuple[str, ...] = (
    *(f"board.{entry.fact}" for entry in FIELDS),
    *(f"board.{fact}" for fact, _ in (*SUMS, *ANY)),
    "board.vendor",
    "board.pci_address",
    "board.index",
    "board.lost",
    "board.in_driver",
    "board.driver_version",
    "board.temperature.slowdown_margin_celsius",
    "board.clock.throttle_reasons",
    "board.processes",
    "host.boards_in_driver_count",
    "host.boards_listed_count",
    "host.software.nvidia_driver_version",
    "host.software.cuda_driver_version",
)
"""The facts that this format gives."""


def reading_of(
    texts: Texts,
    records: Sequence[Element],
    *,
    kind: str,
    title: str,
    error: str,
    noise: Sequence[str],
) -> Reading:
    """The reading of one output: `texts` of the host, a record for each board, why the text stops early, and sentences
    on what the tool printed beside it.
    """
    problems = [*noise]
    complete = not error
    if error:
        problems.append(f"the file {error}; {_cut_off(records)}")
    boards: dict[str, dict[str, Value]] = {}
    for number, record in enumerate(records):
        try:
            board = _board(record, number, texts, error)
        except ValueError as wrong:
            problems.append(f"GPU {number} is left out: {wrong}")
            complete = False
            continue
        address = key_of(board)
        if address in boards:
            problems.append(f"GPU {number} has the address of an earlier one, {address}, and is left out")
            complete = False
        boards.setdefault(address, board)
    for address in _dead(noise):
        boards.setdefault(address, _dead_board(address))
    return Reading(
        kind=kind,
        title=title,
        host=_host(texts, len(boards), complete),
        boards=tuple(boards.values()),
        problems=tuple(problems),
        read_at=_time(texts.get("timestamp", "")),
        complete=complete,
    )


def partial_reading_of(
    texts: Texts,
    records: Sequence[Element],
    *,
    kind: str,
    title: str,
    why: str,
    noise: Sequence[str],
    whole: bool = True,
) -> Reading:
    """The reading of an output that was asked for a part only: what it lacks is `unreadable`, because the file `why`.

    `whole` says that nothing of that part is missing. That a part is fine makes no board ready.
    """
    reading = reading_of(texts, records, kind=kind, title=title, error=why, noise=noise)
    count = reading.host["boards_in_driver_count"]
    every = isinstance(count, int) and count <= len(reading.boards)
    listed: Value = len(reading.boards) if every else Missing("unreadable", "the file does not tell of all boards")
    host = {**reading.host, "boards_listed_count": listed if whole else Missing("unreadable", "the file is not whole")}
    left_out = [sentence for sentence in reading.problems if sentence.startswith("GPU ")]
    return replace(reading, host=host, problems=(*noise, *left_out), complete=whole and not left_out)


def noise_of(text: str, beside: str) -> list[str]:
    """Sentences on what the tool printed beside its report: warnings, and boards that it cannot reach."""
    lines = [line.strip() for line in text.splitlines() if line.strip("\ufeff \t")]
    noise = [f"the tool printed beside its {beside}: {line[:200]}" for line in lines[:5]]
    if len(lines) > len(noise):
        noise.append(f"and {len(lines) - len(noise)} more lines")
    return noise


def unreachable(text: str) -> tuple[dict[str, Value], ...]:
    """The boards that the tool says it cannot reach, where it says nothing else."""
    return tuple(_dead_board(address) for address in dict.fromkeys(_dead(text.splitlines()[:_MAX_LINES])))


def _dead(noise: Iterable[str]) -> list[str]:
    """Addresses of boards that the tool says it cannot reach, beside its XML."""
    found = []
    for line in noise:
        match = _UNREACHABLE.search(line)
        if match:
            found.append(pci_address(match[1]))
    return found


def _dead_board(address: str) -> dict[str, Value]:
    """A board of which nothing is known but that its driver cannot reach it."""
    lost = Missing("lost", "the driver cannot reach the board")
    values: dict[str, Value] = {name.partition(".")[2]: lost for name in FILLS if name.startswith("board.")}
    return {**values, "vendor": "nvidia", "pci_address": address, "lost": True, "in_driver": True}


def _cut_off(records: Sequence[Element]) -> str:
    cut = [number for number, record in enumerate(records) if not record.complete]
    return (
        f"what follows in GPU {cut[0]} and after it is missing" if cut else "boards after the last one may be missing"
    )


def _host(texts: Texts, listed: int, complete: bool) -> dict[str, Value]:
    values: dict[str, Value] = {}
    for fact, tags, convert, since in (
        ("software.nvidia_driver_version", _DRIVER, text_of, FIRST),
        ("software.cuda_driver_version", ("cuda_version", "cuda_umd_version"), text_of, 450),
        ("boards_in_driver_count", ("attached_gpus",), quantity("count"), FIRST),
    ):
        value = _value(texts, Field(fact, tags, convert, since), "", _branch(texts))
        # Every host with a driver has these; a bare N/A is no answer.
        values[fact] = (
            Missing("error", value.why) if isinstance(value, Missing) and value.bare and tags[0] in texts else value
        )
    attached = values["boards_in_driver_count"]
    if not complete:
        values["boards_listed_count"] = Missing("unreadable", "the file is not whole")
    elif isinstance(attached, int) and attached < listed:
        why = f"the file counts {attached} attached boards and holds entries of {listed}"
        values["boards_listed_count"] = Missing("unreadable", why)
    elif isinstance(attached, int) and attached > listed:
        why = f"{attached - listed} of {attached} attached boards have no entry, so nobody looked at them"
        values["boards_listed_count"] = Missing("unreadable", why)
    else:
        values["boards_listed_count"] = listed
    return values


def _value(texts: Texts, entry: Field, cut: str, branch: int | None = None) -> Value:
    """The value of the first tag that has one, else the most telling Missing."""
    missing: Missing | None = None
    for tag in entry.tags:
        text = texts.get(tag)
        if text is None:
            # The text of an enclosing element stands for all that should be in it: <remapped_rows>GPU is lost</...>.
            text = _enclosing(texts, tag)
        if text is None:
            continue
        if texts.get(f"{tag}#2", text) != text:
            twice = f"{tag} is given twice, as {text[:50]!r} and as {texts[f'{tag}#2'][:50]!r}"
            missing = Missing("unreadable", twice)
            break
        found = missing_of(text) if text else Missing("unreadable", "printed as nothing")
        if found is None:
            try:
                return entry.convert(text)
            except (ValueError, OverflowError):
                found = Missing("unreadable", f"printed as {text[:100]!r}")
        if missing is None or missing.bare:
            missing = found
    if missing is not None:
        return missing
    if cut:
        return Missing("unreadable", f"the file {cut}")
    if entry.since is not None and branch is not None and branch >= entry.since:
        drivers = "drivers" if branch == _UNKNOWN_BRANCH else f"drivers of branch {branch}"
        return Missing("unreadable", f"the file lacks it, and {drivers} print it")
    return Missing("not-supported", "this driver does not print it", True)


def _enclosing(texts: Texts, tag: str) -> str | None:
    parent = tag
    while "/" in parent:
        parent = parent.rpartition("/")[0]
        if parent in texts:
            return texts[parent]
    return None


def _board(record: Element, number: int, top: Texts, error: str) -> dict[str, Value]:
    texts = record.texts
    cut = "" if record.complete else error
    values: dict[str, Value] = {
        "vendor": "nvidia",
        "index": number,
        "in_driver": True,
    }
    place = texts.get("pci/pci_bus_id") or record.attributes.get("id", "")
    if (place or not texts.get("uuid")) and not _is_lost(place):
        values["pci_address"] = pci_address(place)
    values["driver_version"] = _value(top, Field("", _DRIVER, text_of), "")
    branch = _branch(top)
    for entry in FIELDS:
        values[entry.fact] = _value(texts, entry, cut, branch)
    for fact, tags in SUMS:
        values[fact] = _total(texts, tags, cut)
    for fact, tags in ANY:
        values[fact] = _any(_value(texts, Field(fact, (tag,), flag), cut) for tag in tags)
    if not any(tag.startswith("ecc_errors") for tag in texts) and not cut:
        values.update({fact: Missing("unreadable", "the file lacks the error counters") for fact, _ in SUMS})
    values["clock.throttle_reasons"] = _reasons(texts, cut)
    values["temperature.slowdown_margin_celsius"] = _slowdown_margin(texts, cut)
    values["processes"] = _processes(texts, cut)
    values["lost"] = any(isinstance(value, Missing) and value.kind == "lost" for value in values.values())
    return values


def _is_lost(place: str) -> bool:
    """Whether in place of a board's address stands that it does not answer."""
    found = missing_of(place)
    return found is not None and found.kind in {"lost", "error"}


def _branch(top: Texts) -> int:
    """Branch of the driver; a file that does not tell is taken as one of today's, of which most is asked."""
    number = next((top[tag] for tag in _DRIVER if tag in top), "").partition(".")[0]
    return int(number) if number.isdigit() and len(number) < 6 else _UNKNOWN_BRANCH


def _total(texts: Texts, tags: tuple[str, ...], cut: str) -> Value:
    """A sum of counters that the driver splits up.

    A part that reads N/A beside parts with values stays out only where it is on-chip memory, which some boards do not
    count; board memory that nobody counted is no zero.
    """
    parts = {tag: _value(texts, Field("", (tag,), quantity("count")), cut) for tag in tags if _printed(texts, tag)}
    if not parts:
        return _value(texts, Field("", tags, quantity("count")), cut)
    missing = {tag: value for tag, value in parts.items() if isinstance(value, Missing)}
    hard = [value for value in missing.values() if value.kind != "not-supported"]
    if hard:
        return hard[0]
    counted = sum(value for value in parts.values() if isinstance(value, int))
    if len(missing) == len(parts):
        return next(iter(missing.values()))
    if any("/dram_" in tag for tag in missing):
        return Missing("error", "errors of the board's memory read N/A beside counters that are given")
    return counted


def _printed(texts: Texts, tag: str) -> bool:
    return tag in texts or _enclosing(texts, tag) is not None


def _any(parts: Iterable[Value]) -> Value:
    values = list(parts)
    if True in values:
        return True
    missing = [value for value in values if isinstance(value, Missing)]
    unseen = [value for value in missing if value.kind != "not-supported"]
    if unseen:
        return unseen[0]
    return False if False in values else missing[0]


def _reasons(texts: Texts, cut: str) -> Value:
    given: dict[str, Value] = {}
    for prefix in REASONS:
        for tag in texts:
            if tag.startswith(prefix):
                given[tag[len(prefix) :]] = _value(texts, Field("", (tag,), flag), cut)
    unseen = [value for value in given.values() if isinstance(value, Missing) and value.kind != "not-supported"]
    if unseen:
        return unseen[0]
    if not given and not cut and not any(tag.partition("/")[0] in REASON_GROUPS for tag in texts):
        return Missing("unreadable", "the file lacks the reasons that hold the clock down")
    if all(isinstance(value, Missing) for value in given.values()):
        # None at all, or only N/A. The enclosing element may say why.
        return next(iter(given.values()), None) or _value(texts, Field("", tuple(p + "x" for p in REASONS), flag), cut)
    return tuple(name for name, value in given.items() if value is True)


def _slowdown_margin(texts: Texts, cut: str) -> Value:
    """Degrees to the hardware slowdown: the margin (T.Limit) less the margin at which slowdown starts."""
    margin = _value(texts, Field("", ("temperature/gpu_temp_tlimit",), celsius), cut)
    start = _value(texts, Field("", ("temperature/gpu_temp_slow_tlimit_threshold",), celsius), cut)
    for value in (margin, start):
        if isinstance(value, Missing):
            return value
    assert isinstance(margin, float) and isinstance(start, float)
    return margin - start


def _processes(texts: Texts, cut: str) -> Value:
    whole = texts.get("processes")
    if whole is not None and whole:
        missing = missing_of(whole)
        return missing or (() if whole.lower() == "none" else Missing("unreadable", f"printed as {whole[:100]!r}"))
    entries = sorted({tag.split("/")[1] for tag in texts if tag.startswith("processes/process_info")}, key=_number)
    if whole is None and not entries:
        return Missing("unreadable", f"the file {cut}") if cut else Missing("not-supported", "not printed", True)
    return tuple(_process(texts, f"processes/{entry}") for entry in entries[:_MAX_PROCESSES])


def _number(entry: str) -> int:
    return int(entry.partition("#")[2] or 1)


def _process(texts: Texts, at: str) -> Process:
    pid = texts.get(f"{at}/pid", "")
    used = _value(texts, Field("", (f"{at}/used_memory",), quantity("bytes")), "")
    return Process(
        pid=int(pid) if pid.isdigit() and len(pid) < 12 else 0,
        name=program_of(texts.get(f"{at}/process_name", "")),
        kind=KIND_OF_PROCESS.get(texts.get(f"{at}/type", ""), "unknown"),
        used_bytes=used if isinstance(used, (int, Missing)) else Missing("unreadable", str(used)),
    )


def program_of(command: str) -> str:
    """A program and its script without options: command lines hold keys and passwords, and reports go to tickets.

    >>> program_of("python3 train.py --api-key=x"), program_of("/opt/app --token abc")
    ('python3 train.py', '/opt/app')
    """
    windows = re.match(r"(?i)^.*?\.exe\b", command)
    if windows:
        return windows[0][:256]
    words = command.split()
    if len(words) > 1 and re.fullmatch(r"[\w./+-]+", words[1]) and not words[1].startswith("-"):
        return " ".join(words[:2])[:256]
    return words[0][:256] if words else ""


def _time(text: str) -> str | None:
    """`Fri Aug 21 10:21:36 2026` as RFC 3339. The tool prints local time without a zone; it is taken as UTC."""
    for pattern in ("%Y/%m/%d %H:%M:%S.%f", "%a %b %d %H:%M:%S %Y", "%Y/%m/%d %H:%M:%S", "%Y-%m-%d %H:%M:%S"):
        try:
            time = datetime.datetime.strptime(text, pattern)
        except ValueError:
            continue
        return time.strftime("%Y-%m-%dT%H:%M:%SZ")
    return None
