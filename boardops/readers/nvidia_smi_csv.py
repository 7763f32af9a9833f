"""Read `nvidia-smi --query-gpu=... --format=csv` and `--query-compute-apps=...`, with its header.

Each column is given the tag that it has in the XML of the same tool; from there on both formats are read alike. What
the query did not ask for is `unreadable`: a few columns make no board ready.

>>> reading = read(b'''name, pci.bus_id, memory.total [MiB], temperature.gpu
... NVIDIA X, 00000000:3B:00.0, 80 MiB, 34
... ''')
>>> board = reading.boards[0]
>>> board["pci_address"], board["memory.total_bytes"], board["temperature.core_celsius"]
('0000:3b:00.0', 83886080, 34.0)
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from boardops.facts import Missing, Value, Values
from boardops.readers.markup import Element
from boardops.readers.nvidia_smi_boards import noise_of, partial_reading_of
from boardops.readers.nvidia_smi_fields import FIELDS, SUMS
from boardops.readers.reading import Reading

KIND = "nvidia-smi-csv"
TITLE = "nvidia-smi CSV"
_NOT_ASKED = "holds no column for it"
_MAX_ROWS = 10_000
_MAX_LINE = 2**16
"""Characters; each comma of a longer line would cost memory for a value of its own."""
_UNIT = re.compile(r"^(?P<name>\S+?)\s*(?:\[(?P<unit>[^\]]*)\])?$")
# Units of columns for a query with `nounits`, which leaves them out of the values, and of the header as well.
_UNITS: Mapping[str, str] = {
    "memory.": "MiB",
    "used_gpu_memory": "MiB",
    "used_memory": "MiB",
    "power.": "W",
    "enforced.power.": "W",
    "clocks.": "MHz",
    "utilization.": "%",
    "fan.speed": "%",
}
_HOST = {
    "timestamp": "timestamp",
    "driver_version": "driver_version",
    "kmd_version": "kmd_version",
    "count": "attached_gpus",
}
_LINK = "pci/pci_gpu_link_info"
_COLUMNS: Mapping[str, str] = {
    "name": "product_name",
    "gpu_name": "product_name",
    "uuid": "uuid",
    "gpu_uuid": "uuid",
    "serial": "serial",
    "gpu_serial": "serial",
    "pci.bus_id": "pci/pci_bus_id",
    "gpu_bus_id": "pci/pci_bus_id",
    "pci.device_id": "pci/pci_device_id",
    "vbios_version": "vbios_version",
    "inforom.img": "inforom_version/img_version",
    "inforom.image": "inforom_version/img_version",
    "gpu_recovery_action": "gpu_recovery_action",
    "pstate": "performance_state",
    "persistence_mode": "persistence_mode",
    "compute_mode": "compute_mode",
    "fan.speed": "fan_speed",
    "mig.mode.current": "mig_mode/current_mig",
    "mig.mode.pending": "mig_mode/pending_mig",
    "pcie.link.gen.current": f"{_LINK}/pcie_gen/current_link_gen",
    "pcie.link.gen.gpucurrent": f"{_LINK}/pcie_gen/current_link_gen",
    "pcie.link.gen.max": f"{_LINK}/pcie_gen/max_link_gen",
    "pcie.link.gen.gpumax": f"{_LINK}/pcie_gen/max_device_link_gen",
    "pcie.link.gen.hostmax": f"{_LINK}/pcie_gen/max_host_link_gen",
    "pcie.link.width.current": f"{_LINK}/link_widths/current_link_width",
    "pcie.link.width.max": f"{_LINK}/link_widths/max_link_width",
    "memory.total": "fb_memory_usage/total",
    "memory.reserved": "fb_memory_usage/reserved",
    "memory.used": "fb_memory_usage/used",
    "memory.free": "fb_memory_usage/free",
    "utilization.gpu": "utilization/gpu_util",
    "utilization.memory": "utilization/memory_util",
    "ecc.mode.current": "ecc_mode/current_ecc",
    "ecc.mode.pending": "ecc_mode/pending_ecc",
    "retired_pages.single_bit_ecc.count": "retired_pages/multiple_single_bit_retirement/retired_count",
    "retired_pages.sbe": "retired_pages/multiple_single_bit_retirement/retired_count",
    "retired_pages.double_bit.count": "retired_pages/double_bit_retirement/retired_count",
    "retired_pages.dbe": "retired_pages/double_bit_retirement/retired_count",
    "retired_pages.pending": "retired_pages/pending_retirement",
    "remapped_rows.correctable": "remapped_rows/remapped_row_corr",
    "remapped_rows.uncorrectable": "remapped_rows/remapped_row_unc",
    "remapped_rows.pending": "remapped_rows/remapped_row_pending",
    "remapped_rows.failure": "remapped_rows/remapped_row_failure",
    "remapped_rows.histogram.none": "remapped_rows/row_remapper_histogram/row_remapper_histogram_none",
    "temperature.gpu": "temperature/gpu_temp",
    "temperature.gpu.tlimit": "temperature/gpu_temp_tlimit",
    "temperature.memory": "temperature/memory_temp",
    "power.draw": "power_readings/power_draw",
    "power.draw.instant": "power_readings/instant_power_draw",
    "power.draw.average": "power_readings/average_power_draw",
    "power.limit": "power_readings/current_power_limit",
    "power.default_limit": "power_readings/default_power_limit",
    "power.max_limit": "power_readings/max_power_limit",
    "clocks.current.sm": "clocks/sm_clock",
    "clocks.sm": "clocks/sm_clock",
    "clocks.current.graphics": "clocks/graphics_clock",
    "clocks.gr": "clocks/graphics_clock",
    "clocks.current.memory": "clocks/mem_clock",
    "clocks.mem": "clocks/mem_clock",
    "clocks.max.sm": "max_clocks/sm_clock",
    "clocks.max.graphics": "max_clocks/graphics_clock",
    "clocks.max.gr": "max_clocks/graphics_clock",
    "fabric.state": "fabric/state",
    "fabric.status": "fabric/status",
    "fabric.health.summary": "fabric/health/summary",
}
_ECC = re.compile(r"ecc\.errors\.(corrected|uncorrected)\.(volatile|aggregate)\.(.+)")
_ECC_PARTS: Mapping[tuple[str, str], str] = {
    ("corrected", "sram"): "sram_correctable",
    ("corrected", "dram"): "dram_correctable",
    ("uncorrected", "sram.parity"): "sram_uncorrectable_parity",
    ("uncorrected", "sram.secded"): "sram_uncorrectable_secded",
    ("uncorrected", "dram"): "dram_uncorrectable",
    ("uncorrected", "sram.thresholdexceeded"): "sram_threshold_exceeded",
}
_ECC_TOTALS: Mapping[str, str] = {"corrected": "single_bit/total", "uncorrected": "double_bit/total"}
_REASON = re.compile(r"clocks_(event|throttle)_reasons\.([a-z_]+)")
# The bits of `clocks_event_reasons.active`, lowest first. Source: nvml.h, nvmlClocksEventReasons.
_BITS = (
    *("gpu_idle", "applications_clocks_setting", "sw_power_cap", "hw_slowdown", "sync_boost", "sw_thermal_slowdown"),
    *("hw_thermal_slowdown", "hw_power_brake_slowdown", "display_clocks_setting"),
)
_PROCESS: Mapping[str, str] = {
    "pid": "pid",
    "process_name": "process_name",
    "name": "process_name",
    "used_gpu_memory": "used_memory",
    "used_memory": "used_memory",
}


FILLS: tuple[str, ...] = (
    *(f"board.{field.fact}" for field in FIELDS if {*field.tags} & {*_COLUMNS.values()}),
    *(f"board.{fact}" for fact, _ in SUMS),
    "board.vendor",
    "board.pci_address",
    "board.index",
    "board.lost",
    "board.in_driver",
    "board.driver_version",
    "board.pages.pending",
    "board.ecc.sram_threshold_exceeded",
    "board.clock.throttle_reasons",
    "board.processes",
    "host.boards_in_driver_count",
    "host.boards_listed_count",
    "host.software.nvidia_driver_version",
)
"""The facts that queries can give."""


def recognise(data: bytes) -> bool:
    """Whether a text is this format: a line of columns, at least one of which only this tool has."""
    return _header(data.decode("utf-8", "replace").splitlines()[:50]) is not None


def read(data: bytes) -> Reading:
    """The facts of one query, with a sentence on everything that could not be read."""
    lines = data.decode("utf-8", "replace").splitlines()
    at = _header(lines)
    assert at is not None, "recognised before it is read"
    names, units = _split_header(lines[at])
    of_processes = "pid" in names
    texts: dict[str, str] = {}
    records: dict[str, Element] = {}
    odd: list[str] = []
    for number, line in enumerate(lines[at + 1 : at + 1 + _MAX_ROWS], at + 2):
        if not line.strip():
            continue
        if len(line) > _MAX_LINE:
            odd.append(f"line {number} is longer than {_MAX_LINE} characters")
            continue
        try:
            cells = _cells(line, names)
        except csv.Error as error:
            odd.append(f"line {number} cannot be read: {error}")
            continue
        if len(cells) != len(names):
            odd.append(f"line {number} has {len(cells)} values for {len(names)} columns: {line.strip()[:160]}")
            continue
        row = {name: _with_unit(name, cell, unit) for name, cell, unit in zip(names, cells, units, strict=True)}
        texts.update({tag: row[name] for name, tag in _HOST.items() if name in row})
        tags = _tags(row, of_processes)
        key = tags.get("pci/pci_bus_id") or tags.get("uuid") or f"row {number}"
        record = records.setdefault(key, Element("gpu", {}))
        record.texts.update({tag: text for tag, text in tags.items() if tag not in record.texts})
        if of_processes:
            _add_process(record, row)
    noise = [
        *noise_of("\n".join(lines[:at]), "table"),
        *odd[:5],
        *([f"and {len(odd) - 5} more"] if len(odd) > 5 else []),
    ]
    reading = partial_reading_of(
        texts, list(records.values()), kind=KIND, title=TITLE, why=_NOT_ASKED, noise=noise, whole=not odd
    )
    return replace(reading, boards=tuple(map(_without_columns, reading.boards)))


def _without_columns(board: Values) -> dict[str, Value]:
    """The board without what no query can ask for: that is as if its source had not been read."""
    return {name: value for name, value in board.items() if not isinstance(value, Missing) or f"board.{name}" in FILLS}


def _header(lines: Sequence[str]) -> int | None:
    """The number of the line that names the columns."""
    for number, line in enumerate(lines):
        if "," in line and len(line) <= _MAX_LINE:
            names, _ = _split_header(line)
            known = [
                name for name in names if name in _COLUMNS or name in _PROCESS or name in _HOST or _ECC.match(name)
            ]
            if any("." in name or "_" in name or name == "uuid" for name in known) and 2 * len(known) >= min(
                len(names), 8
            ):
                return number
    return None


def _split_header(line: str) -> tuple[list[str], list[str]]:
    names, units = [], []
    for cell in line.split(","):
        match = _UNIT.match(cell.strip().lstrip("\ufeff"))
        names.append((match["name"] if match else cell.strip()).lower())
        units.append((match["unit"] if match else None) or "")
    return names, units


def _cells(line: str, names: Sequence[str]) -> list[str]:
    """The values of a line. The tool does not quote: a program's name may hold commas."""
    cells = [cell.strip() for cell in next(csv.reader([line], skipinitialspace=True), [])]
    more = len(cells) - len(names)
    if more > 0 and "process_name" in names:
        at = names.index("process_name")
        cells[at : at + more + 1] = [", ".join(cells[at : at + more + 1])]
    return cells


def _with_unit(name: str, cell: str, unit: str) -> str:
    if re.fullmatch(r"[-+]?[0-9.]+", cell):
        unit = unit or next((word for start, word in _UNITS.items() if name.startswith(start)), "")
        return f"{cell} {unit}".strip()
    return cell


def _tags(row: Mapping[str, str], of_processes: bool) -> dict[str, str]:
    """The values of one row by the tags of the XML."""
    tags: dict[str, str] = {}
    for name, text in row.items():
        if name in _COLUMNS and not (of_processes and name == "name"):
            tags.setdefault(_COLUMNS[name], text)
    if "retired_pages.pending" in row:
        # The XML says it twice.
        tags["retired_pages/pending_blacklist"] = row["retired_pages.pending"]
    tags.update(_ecc_tags(row))
    tags.update(_reason_tags(row))
    return tags


def _ecc_tags(row: Mapping[str, str]) -> dict[str, str]:
    tags = {}
    for name, text in row.items():
        match = _ECC.match(name)
        if not match:
            continue
        kind, span, part = match.groups()
        if (kind, part) in _ECC_PARTS:
            tags[f"ecc_errors/{span}/{_ECC_PARTS[kind, part]}"] = text
        elif part == "total" and f"ecc.errors.{kind}.{span}.dram" not in row:
            # A total stands for all parts, so it counts where they are not given.
            tags[f"ecc_errors/{span}/{_ECC_TOTALS[kind]}"] = text
    return tags


def _reason_tags(row: Mapping[str, str]) -> dict[str, str]:
    prefix = "clocks_event_reasons/clocks_event_reason_"
    tags = {}
    for name, text in row.items():
        match = _REASON.fullmatch(name)
        if match and match[2] not in {"supported", "active"}:
            tags[f"{prefix}{match[2]}"] = text
        elif match and match[2] == "active" and re.fullmatch(r"0x[0-9a-fA-F]+", text):
            mask = int(text, 16)
            for bit, word in enumerate(_BITS):
                tags.setdefault(f"{prefix}{word}", "Active" if mask >> bit & 1 else "Not Active")
            rest = mask >> len(_BITS) << len(_BITS)
            if rest:
                tags[f"{prefix}bit_{rest:#x}"] = "Active"
    return tags


def _add_process(record: Element, row: Mapping[str, str]) -> None:
    number = sum(tag.endswith("/pid") for tag in record.texts) + 1
    for name, word in _PROCESS.items():
        if name in row:
            record.texts.setdefault(f"processes/process_info#{number}/{word}", row[name])
    # Only processes that compute are listed by this query.
    record.texts[f"processes/process_info#{number}/type"] = "C"


__all__ = ["FILLS", "KIND", "TITLE", "read", "recognise"]
