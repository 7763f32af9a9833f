"""The real Python binding, in a process of its own, on the stand-in for the NVIDIA library."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.standin.addresses import pci_address
from tests.standin.behaviour import Refused
from tests.standin.nvml import H100, RTX_4090, UNSUPPORTED, V100, Nvml

pytest.importorskip("pynvml", reason="the binding nvidia-ml-py is not installed")

PROGRAM = """
import json, sys, threading, time
from ctypes import byref
import pynvml as n

def ask(name, *arguments):
    try:
        return getattr(n, name)(*arguments)
    except n.NVMLError as error:
        return type(error).__name__

def board(number):
    return n.nvmlDeviceGetHandleByIndex(number)

def field(number, *ids):
    return [[v.nvmlReturn, v.valueType, v.value.siVal] for v in n.nvmlDeviceGetFieldValues(board(number), list(ids))]

def fabric(number, kind):
    info = kind()
    code = ask("nvmlDeviceGetGpuFabricInfoV", board(number), byref(info))
    return [code, info.state, info.healthMask, getattr(info, "healthSummary", None)]
"""


def child(library: Nvml, body: str, init: bool = True) -> subprocess.Popen[str]:
    start = "n.nvmlInit()\n" if init else ""
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", f"{PROGRAM}\n{start}{body}"],
        env={**os.environ, **library.environment()},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ask(library: Nvml, expression: str, init: bool = True, before: str = "") -> Any:
    """The value of a Python expression in a process that has started the library."""
    with child(library, f"{before}\nprint(json.dumps({expression}))", init) as process:
        out, err = process.communicate(timeout=20)
    assert process.returncode == 0, err
    return json.loads(out)


def test_boards_are_seen_with_their_identities(tmp_path: Path) -> None:
    library = Nvml(tmp_path, count=16).board(3, name="NVIDIA H200").host(driver_version="535.1")
    keys = "n.nvmlDeviceGetName(h), n.nvmlDeviceGetUUID(h), n.nvmlDeviceGetSerial(h), n.nvmlDeviceGetPciInfo(h).busId"
    found = ask(library, f"[[{keys}] for h in map(board, range(n.nvmlDeviceGetCount()))]")
    assert len(found) == 16
    assert found[0] == [H100["name"], "GPU-00000000-1111-2222-3333-000000000001", "0000000000001", "00000000:18:00.0"]
    assert found[3][0] == "NVIDIA H200"
    assert [entry[3][4:].lower() for entry in found] == [pci_address(number) for number in range(16)]
    assert ask(library, "[n.nvmlSystemGetDriverVersion(), n.nvmlSystemGetCudaDriverVersion_v2()]") == ["535.1", 13000]


UNDEFINED = 0x5A5A5A5A
"""What a field holds that could not be read."""

ANSWERS: dict[str, Any] = {
    "n.nvmlDeviceGetTemperature(h, 0)": 34,
    "n.nvmlDeviceGetTemperatureV(h, 0)": 34,
    "n.nvmlDeviceGetMarginTemperature(h)": 53,
    "[ask('nvmlDeviceGetTemperatureThreshold', h, kind) for kind in range(4)]": [95, 89, 95, 87],
    "n.nvmlDeviceGetPowerUsage(h)": 71_200,
    "n.nvmlDeviceGetPowerManagementLimitConstraints(h)": [200_000, 700_000],
    "(lambda m: [m.total, m.used, m.free])(n.nvmlDeviceGetMemoryInfo(h))": [81559 << 20, 480 << 20, 81079 << 20],
    "(lambda m: [m.reserved, m.used])(n.nvmlDeviceGetMemoryInfo(h, n.nvmlMemory_v2))": [480 << 20, 0],
    "[n.nvmlDeviceGetClockInfo(h, kind) for kind in range(4)]": [345, 345, 2619, 765],
    "n.nvmlDeviceGetEccMode(h)": [1, 1],
    "n.nvmlDeviceGetTotalEccErrors(h, 1, 1)": 0,
    "ask('nvmlDeviceGetMemoryErrorCounter', h, 1, 1, 0)": "NVMLError_NotSupported",
    "n.nvmlDeviceGetRemappedRows(h)": [0, 0, 0, 0],
    "n.nvmlDeviceGetRowRemapperHistogram(h).max": 2560,
    "ask('nvmlDeviceGetRetiredPages', h, 0)": "NVMLError_NotSupported",
    "ask('nvmlDeviceGetFanSpeed', h)": "NVMLError_NotSupported",
    "n.nvmlDeviceGetMigMode(h)": [0, 0],
    # The binding gives bytes here, unlike elsewhere.
    "n.nvmlDeviceGetGspFirmwareVersion(h).decode()": "580.95.05",
    "ask('nvmlDeviceValidateInforom', h)": None,
    "n.nvmlDeviceGetCurrentClocksEventReasons(h)": 1,
    "sum(n.nvmlDeviceGetNvLinkState(h, link) for link in range(18))": 18,
    "ask('nvmlDeviceGetNvLinkState', h, 18)": "NVMLError_InvalidArgument",
    "n.nvmlDeviceGetNvLinkErrorCounter(h, 17, 0)": 0,
    "n.nvmlDeviceGetNvLinkRemotePciInfo(h, 0).busId": "00000000:07:00.0",
    "n.nvmlDeviceGetComputeRunningProcesses(h)": [],
    "ask('nvmlDeviceGetHandleByIndex', 8)": "NVMLError_InvalidArgument",
    "ask('nvmlDeviceGetHandleByUUID', 'GPU-no')": "NVMLError_NotFound",
    "n.nvmlDeviceGetIndex(n.nvmlDeviceGetHandleByPciBusId('0000:2a:00.0'))": 1,
    "ask('nvmlDeviceGetName', n.c_nvmlDevice_t())": "NVMLError_InvalidArgument",
    "str(n.NVMLError(27))": "Not Ready",
    # Memory temperature, the four limits that are relative, the recovery action, a field that nobody knows.
    "field(0, 82, 193, 194, 196, 230, 9999)": [
        [0, 1, 41],
        [0, 5, -8],
        [0, 5, -2],
        [0, 5, 0],
        [0, 1, 0],
        [3, 3, UNDEFINED],
    ],
    "field(0, (165, 17), (165, 18))": [[0, 1, 1], [2, 1, UNDEFINED]],
    "fabric(0, n.c_nvmlGpuFabricInfo_v2_t)": [0, 3, 0b1_10_10_10_10, None],
    "fabric(0, n.c_nvmlGpuFabricInfo_v3_t)": [0, 3, 0b1_10_10_10_10, 1],
}


def test_a_healthy_board_answers_as_its_model(tmp_path: Path) -> None:
    found = ask(Nvml(tmp_path), f"[{', '.join(ANSWERS)}]", before="h = board(0)")
    assert dict(zip(ANSWERS, found, strict=True)) == ANSWERS


def test_values_that_were_changed(tmp_path: Path) -> None:
    library = (
        Nvml(tmp_path, count=2)
        .board(None, rows_pending=1, nvlink_state_4=0, temperature_margin=-2, inforom_valid=0)
        .board(1, rows_pending=0, ecc_uncorrected_volatile_sram=3, sram_parity_volatile=1, recovery_action=2)
        .board(1, retired_double_bit=2, power_usage=Refused(999), field_206=7, field_206_3=9, field_82=UNSUPPORTED)
        .process(1, 4711, 5 << 30, "python3 serve.py --port 1")
    )
    sram = "n.c_nvmlEccSramErrorStatus_v1_t()"
    found = ask(
        library,
        "[[n.nvmlDeviceGetRemappedRows(board(i))[2] for i in range(2)], n.nvmlDeviceGetTotalEccErrors(h, 1, 0), "
        f"(lambda s: [ask('nvmlDeviceGetSramEccErrorStatus', h, byref(s)), s.volatileUncParity, s.volatileUncSecDed])"
        f"({sram}), field(1, 230, (206, 3), (206, 4), 82, 4), n.nvmlDeviceGetNvLinkState(h, 4), "
        "ask('nvmlDeviceGetPowerUsage', h), n.nvmlDeviceGetMarginTemperature(h), ask('nvmlDeviceValidateInforom', h), "
        "[p['address'] for p in n.nvmlDeviceGetRetiredPages_v2(h, 1)], "
        "[[p.pid, p.usedGpuMemory] for p in n.nvmlDeviceGetComputeRunningProcesses(h)], "
        "n.nvmlSystemGetProcessName(4711)]",
        before="h = board(1)",
    )
    assert found == [
        [1, 0],
        3,
        [0, 1, 2],
        [[0, 1, 2], [0, 3, 9], [0, 3, 7], [3, 1, UNDEFINED], [0, 3, 3]],
        0,
        "NVMLError_Unknown",
        -2,
        "NVMLError_CorruptedInforom",
        [0x1000000, 0x1010000],
        [[4711, 5 << 30]],
        "python3 serve.py --port 1",
    ]


def test_models_differ_in_what_they_have(tmp_path: Path) -> None:
    expression = (
        "[ask('nvmlDeviceGetSerial', h), ask('nvmlDeviceGetEccMode', h), ask('nvmlDeviceGetRemappedRows', h), "
        "ask('nvmlDeviceGetRetiredPagesPendingStatus', h), ask('nvmlDeviceGetNvLinkState', h, 0), "
        "ask('nvmlDeviceGetTotalEccErrors', h, 0, 0), ask('nvmlDeviceGetFanSpeed', h)]"
    )
    no = "NVMLError_NotSupported"
    old = ask(Nvml(tmp_path / "v100", model=V100), expression, before="h = board(0)")
    assert old == ["0000000000001", [1, 1], no, 0, no, 0, no]
    consumer = ask(Nvml(tmp_path / "rtx", model=RTX_4090), expression, before="h = board(0)")
    assert consumer == [no, [0, 0], [0, 0, 0, 0], no, no, no, 30]


@pytest.mark.parametrize(
    ("library", "expected"),
    [
        (lambda nvml: nvml.error("nvmlInit*", 9), ["NVMLError_DriverNotLoaded", "NVMLError_Uninitialized", None]),
        (lambda nvml: nvml.error("nvmlInit*", 18), ["NVMLError_LibRmVersionMismatch", "NVMLError_Uninitialized", None]),
        (
            lambda nvml: nvml.error("nvmlDeviceGetTemperature", 4, board=1),
            [None, 3, [34, "NVMLError_NoPermission", 34]],
        ),
        (lambda nvml: nvml.error("nvmlDeviceGet[TU]*", 999), [None, 3, ["NVMLError_Unknown"] * 3]),
        (lambda nvml: nvml.handle_error(2, 17), [None, 3, [34, 34, "NVMLError_OperatingSystem"]]),
        (lambda nvml: nvml.lost(0), [None, 3, ["NVMLError_GpuIsLost", 34, 34]]),
        (lambda nvml: nvml.lost(1, after_calls=1), [None, 3, [34, "NVMLError_GpuIsLost", 34]]),
        (lambda nvml: nvml.missing("nvmlDeviceGetTemperature"), [None, 3, ["NVMLError_FunctionNotFound"] * 3]),
    ],
)
def test_errors_become_those_of_the_binding(library: Any, expected: list[Any], tmp_path: Path) -> None:
    found = ask(
        library(Nvml(tmp_path, count=3)),
        "[ask('nvmlInit'), ask('nvmlDeviceGetCount'), temperatures()]",
        init=False,
        before="def temperature(i):\n    h = ask('nvmlDeviceGetHandleByIndex', i)\n"
        "    return h if isinstance(h, str) else ask('nvmlDeviceGetTemperature', h, 0)\n"
        "def temperatures():\n"
        "    return [temperature(i) for i in range(3)] if ask('nvmlDeviceGetCount') == 3 else None\n",
    )
    assert found == expected


VERSIONED = {
    "nvmlDeviceGetMemoryInfo_v2": ("n.c_nvmlMemory_v2_t(version={})", "n.nvmlMemory_v2"),
    "nvmlDeviceGetTemperatureV": ("n.c_nvmlTemperature_v1_t(version={})", "n.nvmlTemperature_v1"),
    "nvmlDeviceGetMarginTemperature": ("n.c_nvmlMarginTemperature_v1_t(version={})", "n.nvmlMarginTemperature_v1"),
    "nvmlDeviceGetGpuFabricInfoV": ("versioned(n.c_nvmlGpuFabricInfo_v3_t, {})", "n.nvmlGpuFabricInfo_v3"),
    "nvmlDeviceGetSramEccErrorStatus": (
        "versioned(n.c_nvmlEccSramErrorStatus_v1_t, {})",
        "n.nvmlEccSramErrorStatus_v1",
    ),
}


def test_structures_of_an_unknown_version_are_refused(tmp_path: Path) -> None:
    before = (
        "def versioned(kind, version):\n    made = kind()\n    made.version = version\n    return made\n"
        "def raw(name, made):\n    return n._nvmlGetFunctionPointer(name)(h, byref(made))\nh = board(0)"
    )
    calls = [
        f"raw('{name}', {made.format(version)})"
        for name, (made, right) in VERSIONED.items()
        for version in (right, f"{right} + 1", "0")
    ]
    assert ask(Nvml(tmp_path), f"[{', '.join(calls)}]", before=before) == [0, 25, 25] * len(VERSIONED)
    old = ask(Nvml(tmp_path).board(0, fabric_version_max=2), "[fabric(0, n.c_nvmlGpuFabricInfo_v3_t)[0], "
              "fabric(0, n.c_nvmlGpuFabricInfo_v2_t)[0]]")  # fmt: skip
    assert old == ["NVMLError_ArgumentVersionMismatch", 0]


def test_a_hang_holds_its_own_thread_only(tmp_path: Path) -> None:
    library = Nvml(tmp_path, count=3).hang("nvmlDeviceGetTemperature", board=1)
    assert _boards_that_answer(library) == {0, 2}
    assert library.calls_of(1) == {"nvmlDeviceGetHandleByIndex_v2": 1, "nvmlDeviceGetTemperature": 1}


def test_with_one_lock_a_hang_holds_all(tmp_path: Path) -> None:
    assert _boards_that_answer(Nvml(tmp_path, count=3).hang("nvmlDeviceGetTemperature", board=1).lock()) == set()


def _boards_that_answer(library: Nvml) -> set[int]:
    """Ask each board in a thread of its own, the hanging board first; kill the process after half a second."""
    body = (
        "def show(i, h):\n    n.nvmlDeviceGetTemperature(h, 0)\n    print(i, flush=True)\n"
        "handles = [board(i) for i in range(3)]\n"
        "for i in (1, 0, 2):\n    threading.Thread(target=show, args=(i, handles[i])).start()\n    time.sleep(0.02)\n"
        "print('asked', flush=True)"
    )
    with child(library, body) as process:
        assert process.stdout is not None
        lines = []
        for line in process.stdout:
            lines.append(line.strip())
            if lines[-1] == "asked":
                threading.Timer(0.3, process.kill).start()
    assert process.returncode == -signal.SIGKILL
    return {int(line) for line in lines if line != "asked"}


def test_a_start_that_hangs_has_to_be_killed(tmp_path: Path) -> None:
    library = Nvml(tmp_path).hang("nvmlInit*")
    with child(library, "print('started')") as process:
        with pytest.raises(subprocess.TimeoutExpired):
            process.communicate(timeout=0.5)
        process.kill()
        out, _ = process.communicate()
    assert (out, process.returncode) == ("", -signal.SIGKILL)
    assert library.calls() == {"nvmlInitWithFlags": 1}


@pytest.mark.parametrize("by", [signal.SIGSEGV, signal.SIGABRT, signal.SIGKILL])
def test_a_crash_ends_the_process(by: signal.Signals, tmp_path: Path) -> None:
    library = Nvml(tmp_path).crash("nvmlDeviceGetTemperature", board=1, by=by)
    with child(
        library, "for i in range(3):\n    print(n.nvmlDeviceGetTemperature(board(i), 0), flush=True)"
    ) as process:
        out, _ = process.communicate(timeout=20)
    assert (out, process.returncode) == ("34\n", -by)


def test_delays_take_their_time_and_overlap(tmp_path: Path) -> None:
    library = Nvml(tmp_path, count=4).delay("nvmlDeviceGetName", 0.1).delay_init_per_board(0.05)
    body = (
        "def seconds(work):\n    begin = time.monotonic()\n    work()\n    return time.monotonic() - begin\n"
        "def names():\n"
        "    threads = [threading.Thread(target=n.nvmlDeviceGetName, args=(board(i),)) for i in range(4)]\n"
        "    [t.start() for t in threads]\n    [t.join() for t in threads]\n"
    )
    start, one, four = ask(
        library, "[seconds(n.nvmlInit), seconds(lambda: n.nvmlDeviceGetName(board(0))), seconds(names)]", False, body
    )
    assert start >= 0.2
    assert one >= 0.1
    assert 0.1 <= four < 0.4


def test_calls_are_counted_for_each_board(tmp_path: Path) -> None:
    library = Nvml(tmp_path, count=2)
    assert library.calls() == {}
    ask(library, "[n.nvmlDeviceGetName(h) for h in (board(0), board(1), board(1))]")
    assert library.calls() == {
        "nvmlInitWithFlags": 1,
        "nvmlDeviceGetHandleByIndex_v2": 3,
        "nvmlDeviceGetName": 3,
    }
    assert library.calls_of(1)["nvmlDeviceGetName"] == 2
    seconds = [call.seconds for call in library.trace()]
    assert seconds == sorted(seconds)


def test_boards_are_numbered_in_reverse_after_a_second_start(tmp_path: Path) -> None:
    names = "[n.nvmlDeviceGetMinorNumber(board(i)) for i in range(3)]"
    library = Nvml(tmp_path, count=3).renumber()
    assert ask(library, f"[{names}, n.nvmlInit(), {names}, n.nvmlShutdown(), {names}]") == [
        [0, 1, 2], None, [0, 1, 2], None, [0, 1, 2],
    ]  # fmt: skip
    assert ask(library, f"[{names}, n.nvmlDeviceGetIndex(board(2))]") == [[2, 1, 0], 2]
    again = "[n.nvmlShutdown(), n.nvmlInit()]"
    other = Nvml(tmp_path / "other", count=3).renumber()
    assert ask(other, f"[{names}, {again}, {names}]") == [[0, 1, 2], [None, None], [2, 1, 0]]


def test_the_library_is_closed_before_and_after(tmp_path: Path) -> None:
    found = ask(Nvml(tmp_path), "[n.nvmlShutdown(), ask('nvmlDeviceGetCount'), ask('nvmlShutdown')]")
    assert found == [None, "NVMLError_Uninitialized", "NVMLError_Uninitialized"]


def test_a_line_that_is_not_understood_is_told(tmp_path: Path) -> None:
    with child(Nvml(tmp_path).with_lines("hangs 1"), "") as process:
        _, err = process.communicate(timeout=20)
    assert process.returncode == 70
    assert "is not understood: hangs 1" in err


def test_without_a_compiler_the_test_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(pytest.skip.Exception, match="gcc is not installed"):
        Nvml(tmp_path).environment()
