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
    ("number", "kind", "words"),
    [
        (errno.EPERM, "not-permitted", "systemd reload; start the container again"),
        (errno.EACCES, "not-permitted", "may not be opened by this user"),
        (errno.ENOENT, "error", "unknown error, and there is no /dev/nvidiactl here"),
        (errno.ENXIO, "error", "the driver answered with an unknown error"),
    ],
)
def test_why_a_node_cannot_be_opened(number: int, kind: str, words: str) -> None:
    # Nothing imports a probe, so the function is called in a Python of its own.
    code = f"import json; from boardops.probes.nvml import why_closed; print(json.dumps(why_closed({number}, {GONE})))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, cwd=ROOT, check=True)
    found = json.loads(done.stdout)
    assert found["missing"] == kind and found["why"].endswith(words)
