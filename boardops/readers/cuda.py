"""Read the lines of probes/cuda.py: whether the CUDA driver library starts.

>>> reading = read(b'''{"probe": "cuda"}
... {"host": {"software.cuda_start": "started"}}
... {"end": "cuda"}''')
>>> reading.host, reading.complete
({'software.cuda_start': 'started'}, True)
"""

from __future__ import annotations

from boardops.readers.probe_lines import reading_of
from boardops.readers.reading import Reading

KIND = "cuda-probe"
TITLE = "CUDA start"
PROBE = "cuda"

FILLS: tuple[str, ...] = ("software.cuda_start",)
"""Facts of the host that the probe gives, without their first word."""


def read(data: bytes) -> Reading:
    """The facts in the probe's output."""
    return reading_of(data, kind=KIND, title=TITLE, probe=PROBE)
