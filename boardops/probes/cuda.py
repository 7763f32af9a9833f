"""Print whether the CUDA driver library starts, as JSON lines: `start.py cuda`. It makes no context.

It finds the machine on which nvidia-smi is all green and no job starts: the fabric is not ready, library and kernel
module differ, a device node is missing. The word is printed before the sentence on it, so that nothing which the
library does when it is asked for a name costs the word. CUDA_VISIBLE_DEVICES counts as it does for a job.

collect.py starts it, readers/cuda.py reads its lines. It imports the standard library only, and never torch.
"""

from __future__ import annotations

import ctypes
import os

from boardops.probes.lines import begin, end, missing, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LIBRARY = "libcuda.so.1"
MISMATCH = (
    "system-driver-mismatch",
    "library and kernel module of the driver are of different versions; reboot or load the module again, in a "
    "container update the image or the libraries that are mounted into it",
)
# What cuInit gives: our word, and cause and remedy. Source: cuda.h, CUresult. 35 is not in it: it is the number that
# CUDA's runtime has for a driver that is too old for it.
WORDS: Mapping[int, tuple[str, str]] = {
    0: ("started", ""),
    2: ("out-of-memory", "there is no memory left on the host or the boards; see what holds it"),
    3: ("not-initialized", "the driver did not start; read the kernel log and load its module again"),
    34: ("error-34", "the library is the stub for linking; take the folder stubs of the toolkit off the library path"),
    35: MISMATCH,
    46: ("device-unavailable", "a board is busy or prohibited; look at its compute mode and at who uses it"),
    100: ("no-device", "the driver has no board for CUDA; look whether the boards are on the bus and mounted here"),
    101: ("invalid-device", "the driver names a board that it cannot use; read the kernel log and reset the board"),
    802: (
        "system-not-ready",
        "the fabric is not ready; start nvidia-fabricmanager of the driver's own version and wait",
    ),
    803: MISMATCH,
    804: (
        "compat-not-supported-on-device",
        "the package cuda-compat does not serve these boards; take it off the library path",
    ),
    999: (
        "unknown",
        "often nvidia-uvm is not loaded or its device node is missing; run nvidia-modprobe -u",
    ),
}


def missing_of(error: OSError) -> dict[str, str]:
    """Why there is no library. One that is here and cannot be used is not `not-installed`."""
    why = str(error)
    absent = why.startswith(LIBRARY) and why.endswith("No such file or directory")
    return missing("not-installed" if absent else "error", f"{LIBRARY} cannot be loaded: {why}")


def start(library: ctypes.CDLL) -> None:
    """Start CUDA, and print how that ended."""
    if not hasattr(library, "cuInit"):
        say({"host": {"software.cuda_start": missing("error", f"{LIBRARY} has no function cuInit")}})
        return
    version = version_of(library)
    code = library.cuInit(ctypes.c_uint(0))
    word, advice = WORDS.get(code, (f"error-{code}", "look it up under CUresult in cuda.h"))
    say({"host": {"software.cuda_start": word}})
    if code != 0:
        say({"problem": f"cuInit of {LIBRARY}{version} gave {code}{name_of(library, code)}: {advice}{hidden(code)}"})


def version_of(library: ctypes.CDLL) -> str:
    """The CUDA version that the library is made for, in brackets. It is known before the start."""
    number = ctypes.c_int(0)
    if not hasattr(library, "cuDriverGetVersion") or library.cuDriverGetVersion(ctypes.byref(number)) != 0:
        return ""
    return f" (CUDA {number.value // 1000}.{number.value % 1000 // 10})"


def name_of(library: ctypes.CDLL, code: int) -> str:
    """The library's own name for an error, in brackets, where it has one."""
    name = ctypes.c_char_p()
    if hasattr(library, "cuGetErrorName"):
        library.cuGetErrorName(ctypes.c_int(code), ctypes.byref(name))
    return f" ({name.value.decode('utf-8', 'replace')})" if name.value else ""


def hidden(code: int) -> str:
    """What else leaves CUDA without a board."""
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
    return (
        f"; CUDA_VISIBLE_DEVICES is set to {chosen!r} and may hide them" if code == 100 and chosen is not None else ""
    )


def main(_: Sequence[str]) -> None:
    """Start CUDA, and say how that went."""
    begin("cuda")
    try:
        library = ctypes.CDLL(LIBRARY)
    except OSError as error:
        say({"host": {"software.cuda_start": missing_of(error)}})
    else:
        start(library)
    end("cuda")
    # Without the library's own clean-up, which can hang where everything else went well.
    os._exit(0)
