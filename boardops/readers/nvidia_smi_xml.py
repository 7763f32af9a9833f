"""Read `nvidia-smi -q -x`, drivers 352 and later.

A truncated file gives all that stands before the cut. Which tag gives which fact stands in nvidia_smi_fields.py.

>>> reading = read(b'''<nvidia_smi_log><driver_version>550.54.14</driver_version><attached_gpus>1</attached_gpus>
... <gpu id="00000000:3B:00.0"><product_name>NVIDIA X</product_name>
... <fb_memory_usage><total>80 MiB</total><used>N/A</used></fb_memory_usage></gpu></nvidia_smi_log>''')
>>> board = reading.boards[0]
>>> board["pci_address"], board["memory.total_bytes"], board["memory.used_bytes"].kind
('0000:3b:00.0', 83886080, 'not-supported')
"""

from __future__ import annotations

from boardops.readers.markup import MarkupError, read_markup
from boardops.readers.nvidia_smi_boards import FILLS, noise_of, reading_of
from boardops.readers.reading import Reading

KIND = "nvidia-smi-xml"
TITLE = "nvidia-smi XML"
ROOT = "nvidia_smi_log"
_SKIPPED = frozenset({"supported_clocks", "accounted_processes", "mig_devices", "retired_pagelist"})


def recognise(data: bytes) -> bool:
    """Whether a text is this format, whatever stands before it."""
    return b"<" + ROOT.encode() in data


def read(data: bytes) -> Reading:
    """The facts of one `nvidia-smi -q -x`, with a sentence on everything that could not be read.

    Raises readers.markup.MarkupError for a hostile text.
    """
    text, noise = _cut(data)
    markup = read_markup(text, "gpu", _SKIPPED)
    return reading_of(markup.texts, markup.records, kind=KIND, title=TITLE, error=markup.error, noise=noise)


def _cut(data: bytes) -> tuple[bytes, list[str]]:
    """The XML itself, and what the tool printed around it (warnings) as sentences."""
    marks = (data.find(mark) for mark in (b"<?xml", b"<!DOCTYPE", b"<" + ROOT.encode()))
    start = min(at for at in marks if at >= 0)
    end = data.rfind(b"</" + ROOT.encode() + b">")
    stop = end + len(ROOT) + 3 if end >= 0 else len(data)
    around = (data[:start] + b"\n" + data[stop:]).decode("utf-8", "replace")
    return data[start:stop], noise_of(around, "XML")


__all__ = ["FILLS", "KIND", "TITLE", "MarkupError", "read", "recognise"]
