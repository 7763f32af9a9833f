"""What the operating system's word on a device node means; a table, since no test may take a container's right away."""

from __future__ import annotations

import errno
import json
import subprocess
import sys

import pytest

from tests.cli.program import ROOT

GONE = {"missing": "error", "why": "the driver answered with an unknown error"}


@pytest.mark.parametrize(
    ("number", "loaded", "kind", "words"),
    [
        (errno.EPERM, True, "not-permitted", "systemd reload; start the container again"),
        (errno.EACCES, True, "not-permitted", "may not be opened by this user"),
        (errno.ENOENT, False, "error", "unknown error, and there is no /dev/nvidiactl here"),
        (errno.ENOENT, True, "not-permitted", "as after a systemd reload; on a host run nvidia-modprobe"),
        (errno.ENXIO, True, "error", "the driver answered with an unknown error"),
    ],
)
def test_why_a_node_cannot_be_opened(number: int, loaded: bool, kind: str, words: str) -> None:
    # Nothing imports a probe, so the function is called in a Python of its own.
    asked = f"why_closed({number}, {GONE}, {loaded})"
    code = f"import json; from boardops.probes.nvml import why_closed; print(json.dumps({asked}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, cwd=ROOT, check=True)
    found = json.loads(done.stdout)
    assert found["missing"] == kind and found["why"].endswith(words)
