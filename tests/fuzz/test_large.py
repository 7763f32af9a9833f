"""Every reader on texts of ten megabytes, of one odd thing each, in a process with limits on memory and time."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.cli.program import ROOT, clean_environment
from tests.fuzz.test_readers import READERS

SIZE = 10 * 2**20
MOST_BYTES = 200 * 10**6
"""What a text may cost beyond what the process had when it started, the text itself left out."""
MOST_SECONDS = 1
SLACK_SECONDS = 5
CODE = """
import resource, sys, time
from boardops.errors import BoardopsError
from tests.fuzz.test_large import MOST_BYTES, SHAPES
from tests.fuzz.test_readers import READERS
read, valid = READERS[sys.argv[1]]
texts = {name: make(valid) for name, make in SHAPES.items()}
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + MOST_BYTES,) * 2)
for name, text in texts.items():
    begun, said = time.process_time(), ""
    try:
        read(text)
    except BoardopsError as error:
        said = str(error)
    except Exception as error:
        said = f"FAULT {type(error).__name__} {str(error)[:200]}"
    shown = said[:300].encode("ascii", "backslashreplace").decode()
    print(name, f"{time.process_time() - begun:.2f}", len(said), shown)
"""


def _middle(valid: bytes, piece: bytes) -> bytes:
    """A valid text with something large inside, at a border of lines."""
    at = valid.find(b"\n", len(valid) // 2) + 1
    return valid[:at] + piece + valid[at:]


SHAPES: dict[str, Callable[[bytes], bytes]] = {
    "one-token": lambda valid: b"a" * SIZE,
    "token-inside": lambda valid: _middle(valid, b"a" * SIZE),
    "digits-inside": lambda valid: _middle(valid, b"9" * SIZE),
    "digits-as-value": lambda valid: valid.replace(b"0", b"9" * SIZE, 1),
    "many-times": lambda valid: valid * (SIZE // len(valid)),
    "lines": lambda valid: _middle(valid, b"\n" * SIZE),
    "blanks-inside": lambda valid: _middle(valid, b" " * SIZE),
    "nul": lambda valid: bytes(SIZE),
    "nul-inside": lambda valid: _middle(valid, bytes(SIZE)),
    "brackets": lambda valid: _middle(valid, b"[" * SIZE),
    "braces": lambda valid: _middle(valid, b'{"a":' * (SIZE // 5)),
    "elements": lambda valid: _middle(valid, b"<a>" * (SIZE // 3)),
    "quotes": lambda valid: _middle(valid, b'"' * SIZE),
    "colons": lambda valid: _middle(valid, b"a: " * (SIZE // 3)),
    "keys": lambda valid: _middle(valid, b"".join(b"k%d: 1\n" % number for number in range(SIZE // 12))),
    "dashes": lambda valid: _middle(valid, b"- " * (SIZE // 2)),
    "commas": lambda valid: _middle(valid, b"," * SIZE),
    "backslashes": lambda valid: _middle(valid, b"\\" * SIZE),
    "high-bytes": lambda valid: _middle(valid, b"\xff" * SIZE),
    "utf-16": lambda valid: valid.decode().encode("utf-16"),
    "utf-32": lambda valid: valid.decode().encode("utf-32"),
    "utf-16-large": lambda valid: b"\xff\xfe" + b"a\x00" * (SIZE // 2),
    "utf-7": lambda valid: valid.decode().encode("utf-7"),
    "latin-1": lambda valid: _middle(valid, "käse: ö\n".encode("latin-1")),
    "mark": lambda valid: b"\xef\xbb\xbf" + valid,
    "windows-lines": lambda valid: valid.replace(b"\n", b"\r\n"),
    "old-mac-lines": lambda valid: valid.replace(b"\n", b"\r"),
}


@pytest.mark.parametrize("name", READERS)
def test_ten_megabytes_of_one_thing_cost_little_and_one_sentence(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CODE, name],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**clean_environment(), "PYTHONPATH": str(ROOT)},
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-800:]
    lines = done.stdout.splitlines()
    assert len(lines) == len(SHAPES), "one line for each text: a sentence has no line end"
    for line in lines:
        shape, seconds, length, said = (*line.split(" ", 3), "")[:4]
        assert not said.startswith("FAULT"), f"{shape}: {said}"
        assert int(length) < 2000, f"{shape}: {said}"
        assert float(seconds) < MOST_SECONDS + SLACK_SECONDS, line


def test_the_limit_on_memory_is_one() -> None:
    """Were the limit not kept by the kernel, the tests above would prove nothing."""
    code = f"import resource; resource.setrlimit(resource.RLIMIT_AS, ({MOST_BYTES},) * 2); bytes({2 * MOST_BYTES})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == 1 and b"MemoryError" in done.stderr
    assert resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY
