"""Print whether the CUDA driver library starts, as JSON lines: `python -P cuda.py`. It makes no context.

It finds the machine on which nvidia-smi is all green and no job starts: the fabric is not ready, library and kernel
module differ, a device node is missing. collect.py starts it, readers/cuda.py reads its lines. It imports the standard
library only, and never torch.
"""

import sys

if __name__ == "__main__" and not getattr(sys.flags, "safe_path", False):
    # Python 3.10 has no -P: files beside this one must not stand in for modules of the standard library.
    del sys.path[0]

import ctypes
import json
import os
import time
from collections.abc import Mapping
from typing import Any

LIBRARY = "libcuda.so.1"
# Results of cuInit and what they mean here. Source: cuda.h, CUresult.
WORDS: Mapping[int, tuple[str, str]] = {
    0: ("started", ""),
    2: ("out-of-memory", "the driver is out of memory"),
    3: ("not-initialized", "the driver refuses to start"),
    35: ("system-driver-mismatch", "the driver is older than this library needs"),
    46: ("device-unavailable", "the boards are in exclusive use or failed"),
    100: ("no-device", "the driver has no board for CUDA, or CUDA_VISIBLE_DEVICES hides them"),
    101: ("invalid-device", "the driver names a board that it does not have"),
    802: ("system-not-ready", "the fabric is not ready: start nvidia-fabricmanager of the driver's own version"),
    803: ("system-driver-mismatch", "library and kernel module are of different versions: reboot after the update"),
    804: (
        "compat-not-supported-on-device",
        "the cuda-compat package does not work on these boards: take it off the path",
    ),
    999: ("unknown", "often nvidia-uvm is not loaded or its device node is missing: nvidia-modprobe -u"),
}


def say(line: Mapping[str, Any]) -> None:
    """Print one line, at once."""
    print(json.dumps(line), flush=True)


def start() -> Any:
    """How cuInit ends, as a word; or what is missing and why."""
    try:
        library = ctypes.CDLL(LIBRARY)
        init = library.cuInit
    except (OSError, AttributeError) as error:
        return {"missing": "not-installed", "why": f"{LIBRARY} cannot be loaded: {error}"}
    init.argtypes, init.restype = [ctypes.c_uint], ctypes.c_int
    code = init(0)
    word, why = WORDS.get(code, (f"error-{code}", "see CUresult in cuda.h"))
    if why:
        say({"problem": f"cuInit ended with {code} ({name_of(library, code)}): {why}"})
    return word


def name_of(library: ctypes.CDLL, code: int) -> str:
    """The library's own name for an error."""
    try:
        name = ctypes.c_char_p()
        library.cuGetErrorName(ctypes.c_int(code), ctypes.byref(name))
        return (name.value or b"no name").decode("utf-8", "replace")
    except AttributeError:
        return "no name"


def main() -> None:
    say({"probe": "cuda", "read_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())})
    say({"host": {"software.cuda_start": start()}})
    say({"end": "cuda"})
    # Without the library's own clean-up, which can hang where everything else went well.
    os._exit(0)


if __name__ == "__main__":
    main()
