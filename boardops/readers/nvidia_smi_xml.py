"""Read `nvidia-smi -q -x`, drivers 352 and later.

A field table says which tag (newest name first) gives which fact. Tags that a driver does not print, and every
spelling of "no value", become Missing; a text that is not understood is kept as `unreadable`. A truncated file gives
all that stands before the cut. What the values mean is not decided here.

>>> reading = read(b'''<nvidia_smi_log><driver_version>550.54.14</driver_version><attached_gpus>1</attached_gpus>
... <gpu id="00000000:3B:00.0"><product_name>NVIDIA X</product_name>
... <fb_memory_usage><total>80 MiB</total><used>N/A</used></fb_memory_usage></gpu></nvidia_smi_log>''')
>>> board = reading.boards[0]
>>> board["pci_address"], board["memory.total_bytes"], board["memory.used_bytes"].kind
('0000:3b:00.0', 83886080, 'not-supported')
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from boardops.facts import Missing, Process, Value
from boardops.quantities import parse
from boardops.readers.markup import Element, MarkupError, read_markup
from boardops.readers.novalue import is_sentinel, missing_of
from boardops.readers.reading import Reading

KIND = "nvidia-smi-xml"
TITLE = "nvidia-smi XML"
ROOT = "nvidia_smi_log"
_SKIPPED = frozenset({"supported_clocks", "accounted_processes", "mig_devices", "retired_pagelist"})
_ADDRESS = re.compile(r"^([0-9a-fA-F]{1,8}):([0-9a-fA-F]{1,2}):([0-9a-fA-F]{1,2})\.([0-7])$")
_PCI = r"([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])"
_UNREACHABLE = re.compile(r"(?:Unable to determine the device handle for|is lost|fallen off).*?\b" + _PCI)
_COMPUTE_MODES = ("default", "exclusive-process", "exclusive-thread", "prohibited")
_FABRIC_STATES = ("not-started", "in-progress", "completed", "not-supported")
_MAX_PROCESSES = 4096

Texts = Mapping[str, str]


def recognise(data: bytes) -> bool:
    """Whether a text is this format, whatever stands before it."""
    return b"<" + ROOT.encode() in data


# Conversions of one text. They raise ValueError for what they do not understand.


def _text(text: str) -> Value:
    return text


def _quantity(unit: str) -> Callable[[str], Value]:
    def convert(text: str) -> Value:
        number = parse(text, unit)
        if is_sentinel(number):
            return Missing("error", f"printed as {text!r}, which stands for no value")
        if unit in {"bytes", "lanes", "count", "generation"}:
            if number != int(number) or number < 0:
                raise ValueError(f"{text!r} is not a whole number")
            return int(number)
        return float(number)

    return convert


def _flag(text: str) -> Value:
    word = text.lower()
    if word in {"enabled", "yes", "active", "true", "pending"}:
        return True
    if word in {"disabled", "no", "not active", "false", "none"}:
        return False
    raise ValueError(f"{text!r} is neither on nor off")


def _word(text: str) -> Value:
    """A vendor's word in lower case with dashes: `Drain and Reset` becomes `drain-and-reset`."""
    return re.sub(r"[\s_]+", "-", text.strip().lower()).replace("gpu-", "")


def _one_of(words: tuple[str, ...]) -> Callable[[str], Value]:
    def convert(text: str) -> Value:
        word = _word(text)
        if word not in words:
            raise ValueError(f"{text!r} is not one of {', '.join(words)}")
        return word

    return convert


def _celsius(text: str) -> Value:
    """A temperature that can be: outside -60 to 200 degrees a sensor or its wiring is broken."""
    number = _quantity("celsius")(text)
    if isinstance(number, float) and not -60 <= number <= 200:
        raise ValueError(f"{text!r} is no temperature of a board")
    return number


def _device_id(text: str) -> Value:
    if not re.fullmatch(r"(0x)?[0-9a-fA-F]{8}", text):
        raise ValueError(f"{text!r} is not a PCI device id")
    word = text[-8:].lower()
    return f"{word[4:]}:{word[:4]}"


@dataclass(frozen=True, slots=True)
class Field:
    """Tags that give one fact, the first that holds a value wins."""

    fact: str
    tags: tuple[str, ...]
    convert: Callable[[str], Value]
    since: int | None = None
    """Driver branch from which on the tool surely prints it for every board; None where that is not known."""


_FIRST = 352
"""The oldest driver branch that is read; what it prints, all later ones print."""
_POWER = ("gpu_power_readings", "power_readings")
_LINK = "pci/pci_gpu_link_info"

FIELDS: tuple[Field, ...] = (
    Field("model", ("product_name",), _text, _FIRST),
    Field("architecture", ("product_architecture",), _text),
    Field("part_number", ("board_part_number",), _text),
    Field("uuid", ("uuid",), _text, _FIRST),
    Field("serial", ("serial",), _text, _FIRST),
    Field("pci_device_id", ("pci/pci_device_id",), _device_id, _FIRST),
    Field("firmware_version", ("gsp_firmware_version",), _text),
    Field("vbios_version", ("vbios_version",), _text, _FIRST),
    Field("performance_state", ("performance_state",), _text, _FIRST),
    Field("recovery_action", ("gpu_recovery_action",), _word, 570),
    Field("virtualization", ("gpu_virtualization_mode/virtualization_mode",), _word, _FIRST),
    Field("mig_enabled", ("mig_mode/current_mig",), _flag, 470),
    Field("mig_pending", ("mig_mode/pending_mig",), _flag, 470),
    Field("persistence_mode", ("persistence_mode",), _flag, _FIRST),
    Field("compute_mode", ("compute_mode",), _one_of(_COMPUTE_MODES), _FIRST),
    Field("fabric_state", ("fabric/state",), _one_of(_FABRIC_STATES), 570),
    Field("fabric_status", ("fabric/status",), _word, 570),
    Field("fabric_health", ("fabric/health/summary",), _word),
    Field("fan_ratio", ("fan_speed",), _quantity("ratio"), _FIRST),
    Field("memory.total_bytes", ("fb_memory_usage/total",), _quantity("bytes"), _FIRST),
    Field("memory.used_bytes", ("fb_memory_usage/used",), _quantity("bytes"), _FIRST),
    Field("memory.reserved_bytes", ("fb_memory_usage/reserved",), _quantity("bytes"), 570),
    Field("memory.free_bytes", ("fb_memory_usage/free",), _quantity("bytes"), _FIRST),
    Field("utilization.compute_ratio", ("utilization/gpu_util",), _quantity("ratio"), _FIRST),
    Field("utilization.memory_ratio", ("utilization/memory_util",), _quantity("ratio"), _FIRST),
    Field("temperature.core_celsius", ("temperature/gpu_temp",), _celsius, _FIRST),
    Field("temperature.memory_celsius", ("temperature/memory_temp",), _celsius, 470),
    Field("temperature.slowdown_celsius", ("temperature/gpu_temp_slow_threshold",), _celsius),
    Field("temperature.shutdown_celsius", ("temperature/gpu_temp_max_threshold",), _celsius),
    Field("temperature.memory_max_celsius", ("temperature/gpu_temp_max_mem_threshold",), _celsius),
    Field("temperature.margin_celsius", ("temperature/gpu_temp_tlimit",), _celsius, 570),
    Field(
        "power.draw_watts",
        tuple(
            f"{group}/{tag}" for tag in ("instant_power_draw", "power_draw", "average_power_draw") for group in _POWER
        ),
        _quantity("watts"),
        _FIRST,
    ),
    Field(
        "power.limit_watts",
        tuple(f"{group}/{tag}" for tag in ("current_power_limit", "power_limit") for group in _POWER),
        _quantity("watts"),
        _FIRST,
    ),
    Field(
        "power.default_limit_watts",
        tuple(f"{group}/default_power_limit" for group in _POWER),
        _quantity("watts"),
        _FIRST,
    ),
    Field("power.max_limit_watts", tuple(f"{group}/max_power_limit" for group in _POWER), _quantity("watts")),
    Field("pcie.link_width_lanes", (f"{_LINK}/link_widths/current_link_width",), _quantity("lanes"), _FIRST),
    Field("pcie.link_width_max_lanes", (f"{_LINK}/link_widths/max_link_width",), _quantity("lanes"), _FIRST),
    Field("pcie.link_generation", (f"{_LINK}/pcie_gen/current_link_gen",), _quantity("generation"), _FIRST),
    Field("pcie.link_generation_max", (f"{_LINK}/pcie_gen/max_link_gen",), _quantity("generation"), _FIRST),
    Field("pcie.device_generation_max", (f"{_LINK}/pcie_gen/max_device_link_gen",), _quantity("generation")),
    Field("pcie.host_generation_max", (f"{_LINK}/pcie_gen/max_host_link_gen",), _quantity("generation")),
    Field("pcie.replay_count", ("pci/replay_counter",), _quantity("count"), _FIRST),
    Field("ecc.enabled", ("ecc_mode/current_ecc",), _flag, _FIRST),
    Field("ecc.pending", ("ecc_mode/pending_ecc",), _flag, _FIRST),
    Field("ecc.sram_threshold_exceeded", ("ecc_errors/aggregate/sram_threshold_exceeded",), _flag),
    Field("rows.remapped_corrected_count", ("remapped_rows/remapped_row_corr",), _quantity("count"), 470),
    Field("rows.remapped_uncorrected_count", ("remapped_rows/remapped_row_unc",), _quantity("count"), 470),
    Field("rows.pending", ("remapped_rows/remapped_row_pending",), _flag, 470),
    Field("rows.failed", ("remapped_rows/remapped_row_failure",), _flag, 470),
    Field(
        "pages.retired_single_count",
        ("retired_pages/multiple_single_bit_retirement/retired_count",),
        _quantity("count"),
        _FIRST,
    ),
    Field(
        "pages.retired_double_count", ("retired_pages/double_bit_retirement/retired_count",), _quantity("count"), _FIRST
    ),
    Field("clock.core_hertz", ("clocks/sm_clock", "clocks/graphics_clock"), _quantity("hertz"), _FIRST),
    Field("clock.core_max_hertz", ("max_clocks/sm_clock", "max_clocks/graphics_clock"), _quantity("hertz")),
    Field("clock.memory_hertz", ("clocks/mem_clock",), _quantity("hertz"), _FIRST),
)

# Counters that the driver splits up, and flags that stand in two places: all parts that are given count.
_CORRECTED = ("sram_correctable", "dram_correctable", "single_bit/total")
_SRAM_UNCORRECTED = ("sram_uncorrectable", "sram_uncorrectable_parity", "sram_uncorrectable_secded")
_UNCORRECTED = (*_SRAM_UNCORRECTED, "dram_uncorrectable", "double_bit/total")


def _under(group: str, tags: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{group}/{tag}" for tag in tags)


_SUMS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("ecc.corrected_volatile_count", _under("ecc_errors/volatile", _CORRECTED)),
    ("ecc.uncorrected_volatile_count", _under("ecc_errors/volatile", _UNCORRECTED)),
    ("ecc.corrected_aggregate_count", _under("ecc_errors/aggregate", _CORRECTED)),
    ("ecc.uncorrected_aggregate_count", _under("ecc_errors/aggregate", _UNCORRECTED)),
    ("ecc.sram_uncorrected_aggregate_count", _under("ecc_errors/aggregate", _SRAM_UNCORRECTED)),
)
_ANY: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("pages.pending", ("retired_pages/pending_blacklist", "retired_pages/pending_retirement")),
    ("ecc.repair_pending", ("ecc_errors/channel_repair_pending", "ecc_errors/tpc_repair_pending")),
)
_REASONS = ("clocks_event_reasons/clocks_event_reason_", "clocks_throttle_reasons/clocks_throttle_reason_")
_REASON_GROUPS = ("clocks_event_reasons", "clocks_throttle_reasons")
_KIND_OF_PROCESS = {"C": "compute", "G": "graphics", "C+G": "both"}

FILLS: tuple[str, ...] = (
    *(f"board.{entry.fact}" for entry in FIELDS),
    *(f"board.{fact}" for fact, _ in (*_SUMS, *_ANY)),
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


def read(data: bytes) -> Reading:
    """The facts of one `nvidia-smi -q -x`, with a sentence on everything that could not be read.

    Raises readers.markup.MarkupError for a hostile text.
    """
    text, noise = _cut(data)
    markup = read_markup(text, "gpu", _SKIPPED)
    problems = [*noise]
    complete = not markup.error
    if markup.error:
        problems.append(f"the file {markup.error}; {_cut_off(markup.records)}")
    boards: dict[str, dict[str, Value]] = {}
    for number, record in enumerate(markup.records):
        try:
            board = _board(record, number, markup.texts, markup.error)
        except ValueError as error:
            problems.append(f"GPU {number} is left out: {error}")
            complete = False
            continue
        address = str(board["pci_address"])
        if address in boards:
            problems.append(f"GPU {number} has the address of an earlier one, {address}, and is left out")
            complete = False
        boards.setdefault(address, board)
    for address in _dead(noise):
        boards.setdefault(address, _dead_board(address))
    return Reading(
        kind=KIND,
        title=TITLE,
        host=_host(markup.texts, len(boards), complete),
        boards=tuple(boards.values()),
        problems=tuple(problems),
        read_at=_time(markup.texts.get("timestamp", "")),
        complete=complete,
    )


def _cut(data: bytes) -> tuple[bytes, list[str]]:
    """The XML itself, and what the tool printed around it (warnings) as sentences."""
    marks = (data.find(mark) for mark in (b"<?xml", b"<!DOCTYPE", b"<" + ROOT.encode()))
    start = min(at for at in marks if at >= 0)
    end = data.rfind(b"</" + ROOT.encode() + b">")
    stop = end + len(ROOT) + 3 if end >= 0 else len(data)
    around = (data[:start] + b"\n" + data[stop:]).decode("utf-8", "replace")
    lines = [line.strip() for line in around.splitlines() if line.strip("\ufeff \t")]
    noise = [f"the tool printed beside its XML: {line[:200]}" for line in lines[:5]]
    if len(lines) > len(noise):
        noise.append(f"and {len(lines) - len(noise)} more lines")
    return data[start:stop], noise


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


def _cut_off(records: list[Element]) -> str:
    cut = [number for number, record in enumerate(records) if not record.complete]
    return (
        f"what follows in GPU {cut[0]} and after it is missing" if cut else "boards after the last one may be missing"
    )


def _host(texts: Texts, listed: int, complete: bool) -> dict[str, Value]:
    values: dict[str, Value] = {}
    for fact, tag, convert, since in (
        ("software.nvidia_driver_version", "driver_version", _text, _FIRST),
        ("software.cuda_driver_version", "cuda_version", _text, 450),
        ("boards_in_driver_count", "attached_gpus", _quantity("count"), _FIRST),
    ):
        value = _value(texts, Field(fact, (tag,), convert, since), "", _branch(texts))
        # Every host with a driver has these; a bare N/A is no answer.
        values[fact] = (
            Missing("error", value.why) if isinstance(value, Missing) and value.bare and tag in texts else value
        )
    attached = values["boards_in_driver_count"]
    if not complete:
        values["boards_listed_count"] = Missing("unreadable", "the file is not whole")
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
        return Missing("unreadable", f"the file lacks it, and drivers of branch {branch} print it")
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
        "pci_address": pci_address(texts.get("pci/pci_bus_id") or record.attributes.get("id", "")),
        "index": number,
        "in_driver": True,
    }
    values["driver_version"] = _value(top, Field("", ("driver_version",), _text), "")
    branch = _branch(top)
    for entry in FIELDS:
        values[entry.fact] = _value(texts, entry, cut, branch)
    for fact, tags in _SUMS:
        values[fact] = _total(texts, tags, cut)
    for fact, tags in _ANY:
        values[fact] = _any(_value(texts, Field(fact, (tag,), _flag), cut) for tag in tags)
    if not any(tag.startswith("ecc_errors") for tag in texts) and not cut:
        values.update({fact: Missing("unreadable", "the file lacks the error counters") for fact, _ in _SUMS})
    values["clock.throttle_reasons"] = _reasons(texts, cut)
    values["temperature.slowdown_margin_celsius"] = _slowdown_margin(texts, cut)
    values["processes"] = _processes(texts, cut)
    values["lost"] = any(isinstance(value, Missing) and value.kind == "lost" for value in values.values())
    return values


def pci_address(text: str) -> str:
    """A PCI address as this project writes it. Raises ValueError.

    >>> pci_address("00000000:3B:00.0"), pci_address("00010000:01:00.0")
    ('0000:3b:00.0', '00010000:01:00.0')
    """
    match = _ADDRESS.match(text.strip())
    if not match:
        raise ValueError(f"{text[:40]!r} is not a PCI address")
    domain, bus, device = (int(part, 16) for part in match.groups()[:3])
    width = 8 if domain > 0xFFFF else 4
    return f"{domain:0{width}x}:{bus:02x}:{device:02x}.{match[4]}"


def _branch(top: Texts) -> int:
    """Branch of the driver; a file that does not tell is taken as one of today's, of which most is asked."""
    number = top.get("driver_version", "").partition(".")[0]
    return int(number) if number.isdigit() and len(number) < 6 else 999


def _total(texts: Texts, tags: tuple[str, ...], cut: str) -> Value:
    """A sum of counters that the driver splits up.

    A part that reads N/A beside parts with values stays out only where it is on-chip memory, which some boards do not
    count; board memory that nobody counted is no zero.
    """
    parts = {tag: _value(texts, Field("", (tag,), _quantity("count")), cut) for tag in tags if _printed(texts, tag)}
    if not parts:
        return _value(texts, Field("", tags, _quantity("count")), cut)
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
    for prefix in _REASONS:
        for tag in texts:
            if tag.startswith(prefix):
                given[tag[len(prefix) :]] = _value(texts, Field("", (tag,), _flag), cut)
    unseen = [value for value in given.values() if isinstance(value, Missing) and value.kind != "not-supported"]
    if unseen:
        return unseen[0]
    if not given and not cut and not any(tag.partition("/")[0] in _REASON_GROUPS for tag in texts):
        return Missing("unreadable", "the file lacks the reasons that hold the clock down")
    if all(isinstance(value, Missing) for value in given.values()):
        # None at all, or only N/A. The enclosing element may say why.
        return next(iter(given.values()), None) or _value(
            texts, Field("", tuple(p + "x" for p in _REASONS), _flag), cut
        )
    return tuple(name for name, value in given.items() if value is True)


def _slowdown_margin(texts: Texts, cut: str) -> Value:
    """Degrees to the hardware slowdown: the margin (T.Limit) less the margin at which slowdown starts."""
    margin = _value(texts, Field("", ("temperature/gpu_temp_tlimit",), _celsius), cut)
    start = _value(texts, Field("", ("temperature/gpu_temp_slow_tlimit_threshold",), _celsius), cut)
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
    used = _value(texts, Field("", (f"{at}/used_memory",), _quantity("bytes")), "")
    return Process(
        pid=int(pid) if pid.isdigit() and len(pid) < 12 else 0,
        name=program_of(texts.get(f"{at}/process_name", "")),
        kind=_KIND_OF_PROCESS.get(texts.get(f"{at}/type", ""), "unknown"),
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
    for pattern in ("%a %b %d %H:%M:%S %Y", "%Y/%m/%d %H:%M:%S", "%Y-%m-%d %H:%M:%S"):
        try:
            time = datetime.datetime.strptime(text, pattern)
        except ValueError:
            continue
        return time.strftime("%Y-%m-%dT%H:%M:%SZ")
    return None


__all__ = ["FIELDS", "FILLS", "KIND", "TITLE", "MarkupError", "pci_address", "read", "recognise"]
