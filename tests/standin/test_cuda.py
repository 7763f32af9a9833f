"""A process of its own on the stand-in for libcuda."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.standin.cuda import Cuda
from tests.standin.nvml import Nvml

PROGRAM = """
import ctypes, json
cuda = ctypes.CDLL("libcuda.so.1")

def text(name, code):
    answer = ctypes.c_char_p()
    return getattr(cuda, name)(code, ctypes.byref(answer)), answer.value and answer.value.decode()

def number(name):
    answer = ctypes.c_int(-1)
    return getattr(cuda, name)(ctypes.byref(answer)), answer.value
"""


def child(library: Cuda, body: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM + body],
        env={**os.environ, **library.environment()},
        stdout=subprocess.PIPE,
        text=True,
    )


def ask(library: Cuda, expression: str) -> Any:
    with child(library, f"print(json.dumps({expression}))") as process:
        out, _ = process.communicate(timeout=20)
    assert process.returncode == 0
    return json.loads(out)


def test_a_healthy_host(tmp_path: Path) -> None:
    library = Cuda(tmp_path, count=4, version=12040)
    found = ask(library, "[number('cuDeviceGetCount'), cuda.cuInit(1), cuda.cuInit(0), *map(number, NAMES)]".replace(
        "NAMES", "['cuDeviceGetCount', 'cuDriverGetVersion']"))  # fmt: skip
    assert found == [[3, -1], 1, 0, [0, 4], [0, 12040]]
    assert library.calls() == {"cuDeviceGetCount": 2, "cuInit": 2, "cuDriverGetVersion": 1}


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (3, "CUDA_ERROR_NOT_INITIALIZED"),
        (100, "CUDA_ERROR_NO_DEVICE"),
        (101, "CUDA_ERROR_INVALID_DEVICE"),
        (802, "CUDA_ERROR_SYSTEM_NOT_READY"),
        (803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"),
        (804, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE"),
        (999, "CUDA_ERROR_UNKNOWN"),
    ],
)
def test_a_start_that_fails_has_a_name(code: int, name: str, tmp_path: Path) -> None:
    expression = "[cuda.cuInit(0), text('cuGetErrorName', cuda.cuInit(0)), text('cuGetErrorString', cuda.cuInit(0))[0]]"
    assert ask(Cuda(tmp_path).init_fails(code), expression) == [code, [0, name], 0]


def test_a_code_that_nobody_knows_has_no_name(tmp_path: Path) -> None:
    assert ask(Cuda(tmp_path), "text('cuGetErrorName', 12345)") == [1, None]


def test_delays_hangs_and_crashes(tmp_path: Path) -> None:
    slow = Cuda(tmp_path / "slow").delay("cuInit", 0.1)
    assert ask(slow, "[cuda.cuInit(0), cuda.cuInit(0)]") == [0, 0]
    first, second = slow.trace()
    assert second.seconds - first.seconds >= 0.1
    with child(Cuda(tmp_path / "crash").crash("cuInit", by=signal.SIGABRT), "cuda.cuInit(0)") as process:
        process.communicate(timeout=20)
    assert process.returncode == -signal.SIGABRT
    with child(Cuda(tmp_path / "hang").hang("cuInit"), "cuda.cuInit(0)") as process:
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=0.5)
        process.kill()
    assert process.returncode == -signal.SIGKILL


def test_both_libraries_are_found_from_one_folder(tmp_path: Path) -> None:
    pytest.importorskip("pynvml", reason="the binding nvidia-ml-py is not installed")
    nvml = Nvml(tmp_path, count=2)
    cuda = Cuda(tmp_path, count=1)
    first = {**os.environ, **nvml.environment()}
    body = "import pynvml as n\nn.nvmlInit()\nprint(n.nvmlDeviceGetCount(), cuda.cuInit(0), number('cuDeviceGetCount'))"
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM + body],
        env={**first, **cuda.environment(first)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "2 0 (0, 1)\n"
    assert set(cuda.calls()) == {"cuInit", "cuDeviceGetCount"}
    assert set(nvml.calls()) == {"nvmlInitWithFlags", "nvmlDeviceGetCount_v2"}
