"""A stand-in for libcuda: whether CUDA starts, its version, how many boards it sees.

Tests of probes use it as they use `nvml`. What else CUDA does is not here.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from tests.standin import library
from tests.standin.behaviour import NO_BOARD, Behaviour


@dataclass(frozen=True)
class Cuda(Behaviour):
    """The library on a host with `count` boards; `version` is 1000 times the major plus 10 times the minor version."""

    name: ClassVar[str] = "STANDIN_CUDA"

    count: int = 8
    version: int = 13000

    def init_fails(self, code: int) -> Cuda:
        """`cuInit` ends with a code: 3, 100 (no device), 802 (not ready), 803 (mismatch), 804, 999, ..."""
        return self.error("cuInit", code)

    def environment(self, base: Mapping[str, str] = os.environ) -> dict[str, str]:
        """The variables by which a process finds this library. Writes the behaviour, and compiles where needed."""
        built = library.compiled("cuda.c", "libcuda.so.1")
        return self._written(built, [f"count {self.count}", f"value {NO_BOARD} version {self.version}"], base)
