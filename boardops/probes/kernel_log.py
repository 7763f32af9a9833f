"""Print the lines of the kernel log that can tell of a fault, as JSON lines: `start.py kernel_log [--root DIR]`.

The log is read where it may be read: /dev/kmsg, else the journal, else dmesg. Printed are the lines that hold one of a
few words, and the first and the last, which show how far the log reaches; what they mean is not known here. It changes
nothing. collect.py starts it, readers/kernel_probe.py reads its lines. It imports the standard library only.
"""

from __future__ import annotations

import errno
import os

from boardops.probes.lines import begin, end, missing, option, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

FACTS = ("faults", "log.first_at", "log.last_at", "log.covers_boot", "log.from_uptime_seconds")
# The same as readers/kernel_messages.py and kernel_log.py look for; a test holds them equal.
WORDS = (
    b"Xid",
    b"off the bus",
    b"RmInitAdapter failed",
    b"rm_init_adapter failed",
    b"No firmware image found",
    b"API mismatch",
    b"loading NVIDIA UNIX",
    b"PCIe Bus Error",
    b"available PCIe bandwidth",
    b"ut of memory",
    b"Machine check events logged",
    b"[Hardware Error]",
    b"EDAC",
    b"invalid context",
    b"nouveau",
    b"Linux version ",
    b"-- Boot ",
    b"-- Reboot --",
    b'"MESSAGE":[',
)
MAX_BYTES = 64 * 2**20
MAX_LINES = 20_000
MAX_LINE = 4096
FOLDERS = ("/usr/bin", "/bin", "/usr/local/bin")
PROGRAMS = (
    ("journalctl", "-k", "-b", "-q", "--no-pager", "-o", "short-monotonic"),
    ("dmesg",),
)
HOW = "run as root, or give this user the group systemd-journal or adm"


def kmsg(path: str) -> bytes:
    """All that the kernel still holds of its log. Raises OSError."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    parts = []
    size = 0
    try:
        while size < MAX_BYTES:
            try:
                part = os.read(handle, 8192)
            except BlockingIOError:
                break
            except OSError as error:
                # A record was overwritten while we read, or is longer than any that matters.
                if error.errno in (errno.EPIPE, errno.EINVAL) and size:
                    continue
                raise
            if not part:
                break
            parts.append(part)
            size += len(part)
    finally:
        os.close(handle)
    return b"".join(parts)


def printed(root: str) -> bytes:
    """What the journal or dmesg prints of this boot; nothing where neither may or can."""
    for name, *words in PROGRAMS:
        path = next(
            (f"{root}{folder}/{name}" for folder in FOLDERS if os.access(f"{root}{folder}/{name}", os.X_OK)), ""
        )
        if not path:
            continue
        import subprocess

        # Whoever started us ends all of us after the deadline.
        done = subprocess.run(
            [path, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False
        )
        if done.stdout.strip() and not done.stdout.startswith(b"-- No entries"):
            return done.stdout[:MAX_BYTES]
    return b""


def lines_of(log: bytes) -> list[bytes]:
    """The lines that can matter, with the first and the last, in their order."""
    starts = {0}
    for word in WORDS:
        at = log.find(word)
        while at >= 0:
            starts.add(log.rfind(b"\n", 0, at) + 1)
            stop = log.find(b"\n", at)
            at = log.find(word, stop) if stop >= 0 else -1
    starts.add(log.rstrip(b"\n").rfind(b"\n", 0, len(log)) + 1)
    found = []
    for start in sorted(starts):
        stop = log.find(b"\n", start)
        found.append(log[start : min(stop if stop >= 0 else len(log), start + MAX_LINE)])
    return found


def fail(kind: str, why: str) -> None:
    """Nothing could be read: say why, once for each fact."""
    say({"host": dict.fromkeys(FACTS, missing(kind, why))})


def why_not(error: OSError) -> tuple[str, str]:
    """What keeps us from /dev/kmsg, and what to do."""
    if error.errno == errno.ENOENT:
        return "not-permitted", f"there is no /dev/kmsg here, as in a container, and no journal: {HOW}, on the host"
    if error.errno in (errno.EPERM, errno.EACCES):
        return "not-permitted", f"this user may not read the kernel log (kernel.dmesg_restrict): {HOW}"
    return "error", f"/dev/kmsg cannot be read: {error.strerror}"


def main(words: Sequence[str]) -> None:
    """Read what can be read."""
    begin("kernel_log")
    root = (option(words, "--root") or "").rstrip("/")
    gone = ("error", "the kernel log is empty")
    try:
        log = kmsg(f"{root}/dev/kmsg")
    except OSError as error:
        log, gone = b"", why_not(error)
    log = log or printed(root)
    if not log.strip():
        fail(*gone)
    else:
        lines = lines_of(log)
        if len(lines) > MAX_LINES:
            say(
                {"problem": f"the kernel log holds {len(lines)} lines that could matter; the last {MAX_LINES} are read"}
            )
        for line in (lines[0], *lines[1:][-MAX_LINES:]):
            say({"log": line.decode("utf-8", "replace")})
    end("kernel_log")
