"""Run the real program as a user does, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def boardops(
    *arguments: str,
    stdin: bytes = b"",
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    before: Sequence[str] = (),
) -> subprocess.CompletedProcess[str]:
    """The outcome of one command; output decoded as UTF-8 with escapes for what is not."""
    done = subprocess.run(
        [*before, sys.executable, "-m", "boardops", *arguments],
        input=stdin,
        capture_output=True,
        env={**clean_environment(), **(env or {})} if env is None or "PATH" not in env else dict(env),
        cwd=cwd or ROOT,
        timeout=120,
        check=False,
    )
    return subprocess.CompletedProcess(
        done.args,
        done.returncode,
        done.stdout.decode("utf-8", "backslashreplace"),
        done.stderr.decode("utf-8", "backslashreplace"),
    )


def clean_environment() -> dict[str, str]:
    """This environment without what changes output."""
    drop = {"LD_LIBRARY_PATH", "NO_COLOR", "TERM", "COLUMNS", "PYTHONUTF8", "PYTHONIOENCODING"}
    return {key: value for key, value in os.environ.items() if key not in drop}


def one_line(text: str) -> str:
    """A message that must be one line on standard error, without a traceback."""
    lines = text.splitlines()
    assert len(lines) == 1, text
    assert "Traceback" not in text
    return lines[0]
