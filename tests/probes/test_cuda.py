"""The CUDA probe, as a program of its own, on a stand-in library."""

from __future__ import annotations

import shutil
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from boardops import worker
from boardops.facts import Missing
from boardops.readers.cuda import read
from boardops.readers.reading import Reading
from tests.probes import program
from tests.standin import library
from tests.standin.cuda import Cuda

MISMATCH = "library and kernel module of the driver are of different versions"
CODES = [
    (2, "out-of-memory", "CUDA_ERROR_OUT_OF_MEMORY", "no memory left"),
    (3, "not-initialized", "CUDA_ERROR_NOT_INITIALIZED", "the driver did not start"),
    (34, "error-34", "", "the library is the stub for linking"),
    (35, "system-driver-mismatch", "", MISMATCH),
    (46, "device-unavailable", "CUDA_ERROR_DEVICE_UNAVAILABLE", "compute mode"),
    (100, "no-device", "CUDA_ERROR_NO_DEVICE", "the driver has no board for CUDA"),
    (101, "invalid-device", "CUDA_ERROR_INVALID_DEVICE", "reset the board"),
    (214, "error-214", "CUDA_ERROR_ECC_UNCORRECTABLE", "look it up"),
    (802, "system-not-ready", "CUDA_ERROR_SYSTEM_NOT_READY", "nvidia-fabricmanager"),
    (803, "system-driver-mismatch", "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", MISMATCH),
    (804, "compat-not-supported-on-device", "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE", "cuda-compat"),
    (999, "unknown", "CUDA_ERROR_UNKNOWN", "nvidia-modprobe -u"),
    (12345, "error-12345", "", "look it up"),
]


def run(env: Mapping[str, str], seconds: float = 10) -> worker.Outcome:
    """The probe with these variables and no others."""
    return worker.run(program.started("cuda"), seconds, env={"PATH": "/no/such/folder", **env})


def probe(env: Mapping[str, str]) -> Reading:
    """What the probe reads, where it comes to its end."""
    outcome = run(env)
    assert (outcome.kind, outcome.stderr) == ("ok", b"")
    reading = read(outcome.stdout)
    assert reading.complete
    return reading


def started(env: Mapping[str, str]) -> object:
    return probe(env).host["software.cuda_start"]


def without(cuda: Cuda, function: str) -> dict[str, str]:
    """The variables for a library of an older driver, which has no such function."""
    folder = library.compiled("cuda.c", "libcuda.so.1", absent=[function])
    return {**cuda.environment({}), "LD_LIBRARY_PATH": str(folder)}


def linked(folder: Path, source: str, *options: str) -> dict[str, str]:
    """The variables for a library made from a few words of C."""
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    command = ["gcc", "-shared", "-fPIC", "-o", str(folder / "libcuda.so.1"), "-x", "c", "-", "-x", "none", *options]
    subprocess.run(command, input=source.encode(), check=True)
    return {"LD_LIBRARY_PATH": str(folder)}


def test_a_host_on_which_cuda_starts(tmp_path: Path) -> None:
    cuda = Cuda(tmp_path)
    reading = read(run(cuda.environment({})).stdout)
    assert (reading.host, reading.boards, reading.problems) == ({"software.cuda_start": "started"}, (), ())
    # No context, no count, no name: nothing else is asked.
    assert [call.function for call in cuda.trace()] == ["cuDriverGetVersion", "cuInit"]


@pytest.mark.parametrize(("code", "word", "name", "advice"), CODES)
def test_a_start_that_fails(tmp_path: Path, code: int, word: str, name: str, advice: str) -> None:
    cuda = Cuda(tmp_path, version=12040).init_fails(code)
    reading = probe(cuda.environment({}))
    assert reading.host == {"software.cuda_start": word}
    (problem,) = reading.problems
    named = f" ({name})" if name else ""
    assert problem.startswith(f"cuInit of libcuda.so.1 (CUDA 12.4) gave {code}{named}: ")
    assert advice in problem
    assert set(cuda.calls()) == {"cuDriverGetVersion", "cuInit", "cuGetErrorName"}


def test_boards_that_a_variable_hides(tmp_path: Path) -> None:
    def problem(code: int, variables: Mapping[str, str]) -> str:
        return probe({**Cuda(tmp_path).init_fails(code).environment({}), **variables}).problems[0]

    assert problem(100, {"CUDA_VISIBLE_DEVICES": ""}).endswith("; CUDA_VISIBLE_DEVICES is set to '' and may hide them")
    assert "CUDA_VISIBLE_DEVICES" not in problem(100, {})
    assert "CUDA_VISIBLE_DEVICES" not in problem(802, {"CUDA_VISIBLE_DEVICES": ""})


def test_a_library_without_a_version(tmp_path: Path) -> None:
    refusing = Cuda(tmp_path / "refusing").init_fails(802).error("cuDriverGetVersion", 1).environment({})
    older = without(Cuda(tmp_path / "older").init_fails(802), "cuDriverGetVersion")
    for reading in map(probe, (refusing, older)):
        assert reading.host == {"software.cuda_start": "system-not-ready"}
        assert reading.problems[0].startswith("cuInit of libcuda.so.1 gave 802 (CUDA_ERROR_SYSTEM_NOT_READY): ")


def test_a_library_that_names_no_errors(tmp_path: Path) -> None:
    reading = probe(without(Cuda(tmp_path).init_fails(802), "cuGetErrorName"))
    assert reading.host == {"software.cuda_start": "system-not-ready"}
    assert reading.problems[0].startswith("cuInit of libcuda.so.1 (CUDA 13.0) gave 802: the fabric is not ready")


def test_no_library(tmp_path: Path) -> None:
    if Path("/proc/driver/nvidia").exists() or shutil.which("nvidia-smi"):
        pytest.skip("this machine has an NVIDIA driver, whose library is found without a variable")
    reading = probe({"LD_LIBRARY_PATH": str(tmp_path)})
    assert reading.problems == ()
    assert reading.host["software.cuda_start"] == Missing(
        "not-installed",
        "libcuda.so.1 cannot be loaded: libcuda.so.1: cannot open shared object file: No such file or directory",
    )


def test_a_file_that_is_no_library(tmp_path: Path) -> None:
    (tmp_path / "libcuda.so.1").write_bytes(b"")
    value = started({"LD_LIBRARY_PATH": str(tmp_path)})
    assert isinstance(value, Missing)
    assert value.kind == "error"
    assert value.why.startswith("libcuda.so.1 cannot be loaded: ")
    assert value.why.endswith("file too short")


def test_a_library_without_a_start(tmp_path: Path) -> None:
    value = started(without(Cuda(tmp_path), "cuInit"))
    assert value == Missing("error", "libcuda.so.1 has no function cuInit")


def test_a_library_that_lacks_another_one(tmp_path: Path) -> None:
    """What is here and cannot be loaded is not the same as what was never installed."""
    other = library.compiled("cuda.c", "libother.so.1") / "libother.so.1"
    value = started(linked(tmp_path, "", "-Wl,--no-as-needed", str(other)))
    assert value == Missing(
        "error",
        "libcuda.so.1 cannot be loaded: libother.so.1: cannot open shared object file: No such file or directory",
    )


def test_a_library_that_hangs_when_the_process_ends(tmp_path: Path) -> None:
    source = "int pause(void); int cuInit(int f) { return f; } __attribute__((destructor)) void end(void) { pause(); }"
    assert started(linked(tmp_path, source)) == "started"


@pytest.mark.parametrize("function", ["cuInit", "cuDriverGetVersion"])
def test_a_start_that_hangs(tmp_path: Path, function: str) -> None:
    outcome = run(Cuda(tmp_path).hang(function).environment({}), 0.5)
    assert outcome.kind == "timed-out"
    assert outcome.seconds < 5
    reading = read(outcome.stdout)
    assert (reading.host, reading.complete) == ({}, False)
    assert reading.read_at is not None


@pytest.mark.parametrize("by", [signal.SIGSEGV, signal.SIGABRT])
def test_a_start_that_crashes(tmp_path: Path, by: signal.Signals) -> None:
    outcome = run(Cuda(tmp_path).crash("cuInit", by=by).environment({}))
    assert (outcome.kind, outcome.signal) == ("crashed", by)
    reading = read(outcome.stdout)
    assert (reading.host, reading.complete) == ({}, False)
    assert reading.read_at is not None


def test_the_word_is_kept_when_the_name_of_the_error_is_not_told(tmp_path: Path) -> None:
    cuda = Cuda(tmp_path).init_fails(802)
    hung = run(cuda.hang("cuGetErrorName").environment({}), 0.5)
    crashed = run(cuda.crash("cuGetErrorName").environment({}))
    assert (hung.kind, crashed.kind) == ("timed-out", "crashed")
    assert read(hung.stdout).host == read(crashed.stdout).host == {"software.cuda_start": "system-not-ready"}


def test_a_slow_start_is_waited_for(tmp_path: Path) -> None:
    begun = time.monotonic()
    assert started(Cuda(tmp_path).delay("cuInit", 0.3).environment({})) == "started"
    assert time.monotonic() - begun >= 0.3
