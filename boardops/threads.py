"""The threads of a process group that the kernel still has. worker.py asks after it killed one."""

from __future__ import annotations

import os

from msgspec import Struct


class Thread(Struct, frozen=True):
    """A thread that the kernel still has."""

    folder: str
    state: str

    def wait_channel(self) -> str | None:
        try:
            name = _text(f"{self.folder}/wchan").strip()
        except OSError:
            return None
        return name if name not in {"", "0"} else None


def threads_of(group: int) -> list[Thread]:
    """The threads of a process group that have not ended, one that nothing can wake first.

    The state of a process is that of its first thread, which ends at once while another hangs in a driver; so all are
    looked at, also those of the programs that it started.
    """
    threads = []
    for process in _folders("/proc"):
        if _stat(process)[1] != str(group):
            continue
        for folder in _folders(f"{process}/task"):
            state = _stat(folder)[0]
            if state not in {"", "Z", "X"}:
                threads.append(Thread(folder, state))
    return sorted(threads, key=lambda thread: thread.state != "D")


def _folders(parent: str) -> list[str]:
    try:
        return [f"{parent}/{name}" for name in os.listdir(parent) if name.isdigit()]
    except OSError:
        return []


def _stat(folder: str) -> tuple[str, str]:
    """State letter and process group; both empty for what is gone."""
    try:
        # The program's name stands in brackets and may hold anything.
        words = _text(f"{folder}/stat").rpartition(")")[2].split()
    except OSError:
        return "", ""
    return words[0], words[2]


def _text(path: str) -> str:
    with open(path, errors="replace") as file:
        return file.read()
