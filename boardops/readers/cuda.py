"""Read the lines of probes/cuda.py: whether the CUDA driver library starts.

>>> reading = read(b'''{"probe": "cuda"}
... {"host": {"software.cuda_start": "started"}}
... {"end": "cuda"}''')
>>> reading.host, reading.complete
({'software.cuda_start': 'started'}, True)
"""

from __future__ import annotations

from boardops.readers.probe_lines import problems_of, read_lines
from boardops.readers.reading import Reading

KIND = "cuda-probe"
TITLE = "CUDA start"
PROBE = "cuda"

FILLS: tuple[str, ...] = ("software.cuda_start",)
"""Facts of the host that the probe gives, without their first word."""


def recognise(data: bytes) -> bool:
    """Whether a text is that of this probe."""
    return b'{"probe": "cuda"' in data[:65536]


def read(data: bytes) -> Reading:
    """The facts in the probe's output."""
    lines = read_lines(data)
    return Reading(KIND, TITLE, lines.host, (), tuple(problems_of(lines, PROBE)), lines.read_at, lines.ended)
