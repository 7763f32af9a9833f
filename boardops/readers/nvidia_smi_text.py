"""Read `nvidia-smi -q` as plain text, drivers 352 and later: sections by indentation, keys before the first ` : `.

Each line is given the tag that it has in the XML of the same tool; from there on both formats are read alike. What a
section of the text is called has changed over the years, and its tag is told by the table below; where the words are
the same, the tag follows from them.

>>> reading = read(b'''==============NVSMI LOG==============
... Driver Version                            : 535.129.03
... Attached GPUs                             : 1
... GPU 00000000:3B:00.0
...     Product Name                          : NVIDIA X
...     FB Memory Usage
...         Total                             : 80 MiB
...     Processes                             : None
... ''')
>>> board = reading.boards[0]
>>> board["pci_address"], board["model"], board["memory.total_bytes"], board["processes"]
('0000:3b:00.0', 'NVIDIA X', 83886080, ())
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from boardops.readers.markup import Element
from boardops.readers.nvidia_smi_boards import FILLS, noise_of, partial_reading_of, reading_of
from boardops.readers.reading import Reading

KIND = "nvidia-smi-text"
TITLE = "nvidia-smi text"
_MARK = b"NVSMI LOG"
_GPU = re.compile(r"GPU ([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])\s*")
_DEPRECATED = re.compile(r"\s*\[Deprecated[^\]]*\]\s*$")
_CUT_SHORT = "is cut short: the section Processes of a board is missing"
_NOT_ASKED = "holds only some sections (nvidia-smi -q -d)"
_BLACKLIST = "retired_pages/pending_blacklist"
_MAX_BOARDS = 1024
_MAX_DEPTH = 12
_MAX_LINE = 10_000
"""No line of the tool is as long; names of processes are cut at a few hundred letters."""
_SPARE = "remapped_rows/row_remapper_histogram/row_remapper_histogram_none"

# The tag of a line by its path in the text, in lower case. What is not here has the tag that its words make.
_TAGS: Mapping[str, str] = {
    "gpu uuid": "uuid",
    "serial number": "serial",
    "inforom version/image version": "inforom_version/img_version",
    "inforom version/image object": "inforom_version/img_version",
    "mig mode/current": "mig_mode/current_mig",
    "mig mode/pending": "mig_mode/pending_mig",
    "pci/bus id": "pci/pci_bus_id",
    "pci/device id": "pci/pci_device_id",
    "pci/gpu link info/pcie generation/max": "pci/pci_gpu_link_info/pcie_gen/max_link_gen",
    "pci/gpu link info/pcie generation/current": "pci/pci_gpu_link_info/pcie_gen/current_link_gen",
    "pci/gpu link info/pcie generation/device max": "pci/pci_gpu_link_info/pcie_gen/max_device_link_gen",
    "pci/gpu link info/pcie generation/host max": "pci/pci_gpu_link_info/pcie_gen/max_host_link_gen",
    "pci/gpu link info/link width/max": "pci/pci_gpu_link_info/link_widths/max_link_width",
    "pci/gpu link info/link width/current": "pci/pci_gpu_link_info/link_widths/current_link_width",
    "pci/replays since reset": "pci/replay_counter",
    "utilization/gpu": "utilization/gpu_util",
    "utilization/memory": "utilization/memory_util",
    "ecc mode/current": "ecc_mode/current_ecc",
    "ecc mode/pending": "ecc_mode/pending_ecc",
    "retired pages/single bit ecc": "retired_pages/multiple_single_bit_retirement/retired_count",
    "retired pages/double bit ecc": "retired_pages/double_bit_retirement/retired_count",
    "retired pages/pending": "retired_pages/pending_retirement",
    "retired pages/pending page blacklist": _BLACKLIST,
    "remapped rows/correctable error": "remapped_rows/remapped_row_corr",
    "remapped rows/uncorrectable error": "remapped_rows/remapped_row_unc",
    "remapped rows/pending": "remapped_rows/remapped_row_pending",
    "remapped rows/remapping failure occurred": "remapped_rows/remapped_row_failure",
    "remapped rows/bank remap availability histogram/none": _SPARE,
    "temperature/gpu current temp": "temperature/gpu_temp",
    "temperature/gpu t.limit temp": "temperature/gpu_temp_tlimit",
    "temperature/gpu current t.limit temp": "temperature/gpu_temp_tlimit",
    "temperature/gpu shutdown temp": "temperature/gpu_temp_max_threshold",
    "temperature/gpu slowdown temp": "temperature/gpu_temp_slow_threshold",
    "temperature/gpu slowdown t.limit temp": "temperature/gpu_temp_slow_tlimit_threshold",
    "temperature/memory current temp": "temperature/memory_temp",
    "temperature/memory max operating temp": "temperature/gpu_temp_max_mem_threshold",
    "gpu power readings/instantaneous power draw": "gpu_power_readings/instant_power_draw",
    "power readings/instantaneous power draw": "power_readings/instant_power_draw",
    "clocks/sm": "clocks/sm_clock",
    "clocks/graphics": "clocks/graphics_clock",
    "clocks/memory": "clocks/mem_clock",
    "max clocks/sm": "max_clocks/sm_clock",
    "max clocks/graphics": "max_clocks/graphics_clock",
}
# Sections of reasons that hold the clock down, and the two reasons that the XML calls otherwise.
_REASONS: Mapping[str, str] = {
    "clocks event reasons": "clocks_event_reasons/clocks_event_reason_",
    "clocks throttle reasons": "clocks_throttle_reasons/clocks_throttle_reason_",
}
_REASON_NAMES: Mapping[str, str] = {"idle": "gpu_idle", "display clock setting": "display_clocks_setting"}
_PROCESS: Mapping[str, str] = {"type": "type", "name": "process_name", "used gpu memory": "used_memory"}


def recognise(data: bytes) -> bool:
    """Whether a text is this format, whatever stands before it."""
    return _MARK in data


def read(data: bytes) -> Reading:
    """The facts of one `nvidia-smi -q`, with a sentence on everything that could not be read."""
    start = data.find(_MARK)
    head = data[:start].rpartition(b"\n")[0]
    lines = _Lines()
    text = data[start:].decode("utf-8", "replace")
    for line in text.splitlines()[1:]:
        lines.take(line)
    if not text.endswith("\n"):
        lines.forget_last()
    noise = noise_of(head.decode("utf-8", "replace") + "\n" + "\n".join(lines.odd), "report")
    if lines.are_sections():
        return partial_reading_of(lines.texts, lines.records, kind=KIND, title=TITLE, why=_NOT_ASKED, noise=noise)
    short = any(not record.complete for record in lines.records)
    return reading_of(
        lines.texts, lines.records, kind=KIND, title=TITLE, error=_CUT_SHORT if short else "", noise=noise
    )


@dataclass(slots=True)
class _Lines:
    """What was read so far."""

    texts: dict[str, str] = field(default_factory=dict)
    records: list[Element] = field(default_factory=list)
    odd: list[str] = field(default_factory=list)
    """Lines that are no part of a report."""
    path: list[str] = field(default_factory=list)
    processes: int = 0
    last: str = ""
    """The tag of the last value."""

    def take(self, line: str) -> None:
        if len(line) > _MAX_LINE:
            self.odd.append(line[:_MAX_LINE].strip())
            return
        body = line.strip()
        indent = len(line) - len(line.lstrip(" "))
        if not body:
            return
        header = _GPU.fullmatch(line)
        if header:
            self.path.clear()
            self.processes = 0
            if len(self.records) < _MAX_BOARDS:
                self.records.append(Element("gpu", {"id": header[1]}))
            return
        key, value = _split(body)
        if indent == 0:
            if value is None:
                self.odd.append(body)
            else:
                self.texts[_tag([key.lower()])] = value
            return
        if not self.records:
            self.odd.append(body)
            return
        self.path[max(0, min(indent // 4, _MAX_DEPTH) - 1) :] = [key.lower()]
        self.put(value)

    def put(self, value: str | None) -> None:
        record = self.records[-1]
        if self.path[0] == "processes":
            record.complete = True
            tag = self.process_tag()
        else:
            tag = _tag(self.path)
        if value is not None and tag:
            # Of sections that come several times, such as those of instances, the first counts.
            record.texts.setdefault(tag, value)
            self.last = tag
            if tag == _BLACKLIST:
                # The text has one line for what are two tags.
                record.texts.setdefault("retired_pages/pending_retirement", value)

    def forget_last(self) -> None:
        """The last line has no end, so its value may be cut; that of the last section is a word or nothing."""
        if self.records and not self.last.startswith("processes"):
            self.records[-1].texts.pop(self.last, None)
            self.records[-1].complete = False

    def are_sections(self) -> bool:
        """Whether only some sections were asked for: no board has a name, and all that are attached have the same."""
        tags = {frozenset(record.texts) for record in self.records}
        named = any("product_name" in record.texts for record in self.records)
        return (
            len(tags) == 1
            and tags != {frozenset()}
            and not named
            and self.texts.get("attached_gpus") == str(len(self.records))
        )

    def process_tag(self) -> str:
        if len(self.path) == 1:
            return "processes"
        if self.path[1:] == ["process id"]:
            self.processes += 1
            return f"processes/process_info#{self.processes}/pid"
        word = _PROCESS.get(self.path[-1], "")
        return f"processes/process_info#{self.processes}/{word}" if word and self.processes else ""


def _split(body: str) -> tuple[str, str | None]:
    """Key and value of a line; no value for the title of a section."""
    key, colon, value = body.partition(" : ")
    if not colon and body.endswith(" :"):
        key, colon = body[:-2], ":"
    return key.strip(), _DEPRECATED.sub("", value.strip()) if colon else None


def _tag(path: list[str]) -> str:
    whole = "/".join(path)
    if whole in _TAGS:
        return _TAGS[whole]
    if path[0] in _REASONS and len(path) > 1:
        name = _REASON_NAMES.get(path[-1], path[-1].replace(" ", "_"))
        return f"{_REASONS[path[0]]}{name}"
    return re.sub(r"[ .-]+", "_", whole.replace("sec-ded", "secded"))


__all__ = ["FILLS", "KIND", "TITLE", "read", "recognise"]
