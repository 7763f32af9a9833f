"""Print the facts of NVIDIA boards as JSON lines, read through NVML: `python -P nvml.py`. It changes nothing.

One initialisation of the driver, then a thread per board: ctypes lets go of the interpreter lock in a driver call, so
a board that hangs costs its own facts only. A board's identity is printed first and its facts when they are all read;
where the driver holds one lock for all, only identities come. What is asked and how errors read stands in two tables.

collect.py starts it, readers/nvml.py reads its lines. It imports pynvml and the standard library only.
"""

import sys

if __name__ == "__main__" and not getattr(sys.flags, "safe_path", False):
    # Python 3.10 has no -P: files beside this one must not stand in for modules of the standard library.
    del sys.path[0]

import functools
import json
import os
import threading
import time
from collections.abc import Callable, Mapping
from ctypes import byref
from pathlib import Path
from typing import Any

try:
    import pynvml as nvml
except ImportError as missing:
    nvml = None
    NO_PYNVML = str(missing)

Values = dict[str, Any]
Read = Callable[[Any], Any]

COMPUTE_MODES = {0: "default", 1: "exclusive-thread", 2: "prohibited", 3: "exclusive-process"}
VIRTUALIZATIONS = {0: "none", 1: "pass-through", 2: "vgpu", 3: "host-vgpu", 4: "host-vsga"}
RECOVERIES = {
    0: "none",
    1: "reset",
    2: "reboot",
    3: "drain-p2p",
    4: "drain-and-reset",
    5: "recover-imex-domain",
    6: "bus-reset",
    7: "reboot",
}
FABRIC_STATES = {1: "not-started", 2: "in-progress", 3: "completed"}
FABRIC_HEALTHS = {1: "healthy", 2: "unhealthy", 3: "limited-capacity"}
ARCHITECTURES = {
    2: "Kepler",
    3: "Maxwell",
    4: "Pascal",
    5: "Volta",
    6: "Turing",
    7: "Ampere",
    8: "Ada Lovelace",
    9: "Hopper",
    10: "Blackwell",
}
REASONS = {
    0x1: "gpu_idle",
    0x2: "applications_clocks_setting",
    0x4: "sw_power_cap",
    0x8: "hw_slowdown",
    0x10: "sync_boost",
    0x20: "sw_thermal_slowdown",
    0x40: "hw_thermal_slowdown",
    0x80: "hw_power_brake_slowdown",
    0x100: "display_clocks_setting",
    0x200: "board_limit",
    0x400: "reliability",
}
# NVML's error codes: kind of Missing, and a sentence. Source: nvml.h.
ERRORS: Mapping[int, tuple[str, str]] = {
    2: ("not-supported", "the driver does not know this question"),
    3: ("not-supported", "the board does not support it"),
    4: ("not-permitted", "this user may not read it"),
    6: ("not-supported", "the driver has no such thing"),
    9: ("error", "the NVIDIA kernel module is not loaded"),
    10: ("timed-out", "the driver gave up waiting for the board"),
    11: ("error", "the board's interrupts do not arrive"),
    12: ("not-installed", "libnvidia-ml.so.1 is not here"),
    13: ("not-supported", "the driver's library does not know it"),
    14: ("error", "the board's InfoROM is corrupted"),
    15: ("lost", "the board no longer answers its driver"),
    16: ("error", "the board must be reset before it answers"),
    17: ("error", "the operating system refused the driver"),
    18: ("error", "library and kernel module of the driver are of different versions"),
    22: ("not-supported", "a virtual board has no error correction"),
    25: ("not-supported", "the driver does not know this version of the question"),
    26: ("not-supported", "the driver no longer gives it"),
    999: ("error", "the driver answered with an unknown error"),
}
NO_VALUE_64 = 2**64 - 1
MAX_LINKS = 36
# Fields of nvmlDeviceGetFieldValues that no function of their own gives.
FIELDS = {
    "recovery_action": 230,
    "temperature.memory_celsius": 82,
    "slow_tlimit": 194,
    "mem_tlimit": 195,
    "power.draw_watts": 186,
}


class NoValueError(Exception):
    """What stands in place of a value: kind of Missing, and why."""

    def __init__(self, kind: str, why: str) -> None:
        super().__init__(why)
        self.kind = kind


def missing_of(error: Exception) -> dict[str, str]:
    """What an error says of the value that it kept us from."""
    if isinstance(error, NoValueError):
        return {"missing": error.kind, "why": str(error)}
    code = getattr(error, "value", None)
    kind, why = (
        ERRORS.get(code, ("error", f"{type(error).__name__}: {error}")) if isinstance(code, int) else ("error", "")
    )
    return {"missing": kind, "why": why or f"{type(error).__name__}: {error}"}


def attempt(read: Callable[[], Any]) -> Any:
    """The value, or what is missing and why. One field never costs another."""
    try:
        return read()
    except Exception as error:  # noqa: BLE001 - whatever one field does, the others are read
        return missing_of(error)


_PRINTING = threading.Lock()


def say(line: Mapping[str, Any]) -> None:
    """Print one line, whole and at once, from any thread."""
    text = json.dumps(line) + "\n"
    with _PRINTING:
        sys.stdout.write(text)
        sys.stdout.flush()


def word(table: Mapping[int, str], value: int) -> str:
    """A vendor's number as a word. One that we do not know is told as it is."""
    if value not in table:
        raise NoValueError("unreadable", f"the driver gave {value}")
    return table[value]


def text(value: Any) -> str:
    """A text of the driver, which gives bytes in some versions."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def address(handle: Any) -> str:
    """PCI address, lower case, four-digit domain where it fits."""
    info = nvml.nvmlDeviceGetPciInfo(handle)
    width = 8 if info.domain > 0xFFFF else 4
    return f"{info.domain:0{width}x}:{info.bus:02x}:{info.device:02x}.0"


def device_id(handle: Any) -> str:
    number = nvml.nvmlDeviceGetPciInfo(handle).pciDeviceId
    return f"{number & 0xFFFF:04x}:{number >> 16:04x}"


def reasons(handle: Any) -> list[str]:
    try:
        mask = nvml.nvmlDeviceGetCurrentClocksEventReasons(handle)
    except nvml.NVMLError_FunctionNotFound:
        mask = nvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle)
    known = [name for bit, name in REASONS.items() if mask & bit]
    rest = mask & ~sum(REASONS)
    return [*known, f"bit_{rest:#x}"] if rest else known


def field(handle: Any, number: int) -> int | float:
    """One value of the driver's field interface."""
    value = nvml.nvmlDeviceGetFieldValues(handle, [number])[0]
    if value.nvmlReturn != 0:
        raise nvml.NVMLError(value.nvmlReturn)
    names = {0: "dVal", 1: "uiVal", 2: "ulVal", 3: "ullVal", 4: "sllVal", 5: "siVal", 6: "usVal"}
    found: int | float = getattr(value.value, names[value.valueType])
    return found


def threshold(which: int) -> Read:
    return lambda handle: float(nvml.nvmlDeviceGetTemperatureThreshold(handle, which))


def core(handle: Any) -> float:
    try:
        return float(nvml.nvmlDeviceGetTemperatureV(handle, 0))
    except (nvml.NVMLError_FunctionNotFound, nvml.NVMLError_ArgumentVersionMismatch, nvml.NVMLError_NotSupported):
        return float(nvml.nvmlDeviceGetTemperature(handle, 0))


def margin(handle: Any) -> float:
    value = nvml.nvmlDeviceGetMarginTemperature(handle)
    return float(value if value < 2**31 else value - 2**32)


def slowdown_margin(handle: Any) -> float:
    return margin(handle) - float(field(handle, FIELDS["slow_tlimit"]))


def memory(name: str) -> Read:
    """A size of the board's memory; the newer question tells what is reserved apart from what is used."""

    def read(handle: Any) -> int:
        try:
            return int(getattr(nvml.nvmlDeviceGetMemoryInfo(handle, nvml.nvmlMemory_v2), name))
        except (nvml.NVMLError_FunctionNotFound, nvml.NVMLError_ArgumentVersionMismatch):
            if name == "reserved":
                raise
            return int(getattr(nvml.nvmlDeviceGetMemoryInfo(handle), name))

    return read


def sram(name: str) -> Read:
    def read(handle: Any) -> Any:
        status = nvml.c_nvmlEccSramErrorStatus_v1_t()
        nvml.nvmlDeviceGetSramEccErrorStatus(handle, byref(status))
        return getattr(status, name)

    return read


def sram_uncorrected(handle: Any) -> Any:
    return sram("aggregateUncParity")(handle) + sram("aggregateUncSecDed")(handle)


def fabric(handle: Any) -> Any:
    """What the driver knows of the fabric; older drivers give state and status only."""
    for info, ask in (
        (nvml.c_nvmlGpuFabricInfo_v3_t, nvml.nvmlDeviceGetGpuFabricInfoV),
        (nvml.c_nvmlGpuFabricInfo_v2_t, nvml.nvmlDeviceGetGpuFabricInfoV),
        (nvml.c_nvmlGpuFabricInfo_t, nvml.nvmlDeviceGetGpuFabricInfo),
    ):
        found = info()
        try:
            ask(handle, byref(found))
        except (
            nvml.NVMLError_FunctionNotFound,
            nvml.NVMLError_ArgumentVersionMismatch,
            nvml.NVMLError_InvalidArgument,
        ):
            continue
        if found.state == 0:
            raise NoValueError("not-supported", "the board has no fabric")
        return found
    raise NoValueError("not-supported", "the driver's library does not know it")


def fabric_status(handle: Any) -> str:
    found = fabric(handle)
    if found.state != 3:
        raise NoValueError("not-supported", "the board has not joined the fabric yet")
    return "success" if found.status == 0 else text(nvml.NVMLError(found.status)).strip().lower().replace(" ", "-")


def fabric_health(handle: Any) -> str:
    found = fabric(handle)
    if not hasattr(found, "healthMask"):
        raise NoValueError("not-supported", "the driver's library does not know it")
    summary = getattr(found, "healthSummary", 0)
    if summary:
        return word(FABRIC_HEALTHS, summary)
    # Without a summary the parts tell: a route that is unhealthy, less bandwidth, a wrong configuration.
    if found.healthMask >> 4 & 3 == 1 or found.healthMask >> 8 & 0xF > 1:
        return "unhealthy"
    if found.healthMask & 3 == 1:
        return "limited-capacity"
    if found.healthMask == 0:
        raise NoValueError("not-supported", "the board gives no health of the fabric")
    return "healthy"


def links(handle: Any) -> list[int]:
    """State of each NVLink, 1 for active. Empty where the board has none."""
    states = []
    for link in range(MAX_LINKS):
        try:
            states.append(int(nvml.nvmlDeviceGetNvLinkState(handle, link)))
        except (nvml.NVMLError_InvalidArgument, nvml.NVMLError_NotSupported):
            break
    if not states:
        raise NoValueError("not-supported", "the board has no NVLink")
    return states


def link_errors(handle: Any) -> int:
    """Replay, recovery and CRC errors of all active links."""
    total = 0
    for link, state in enumerate(links(handle)):
        for counter in range(4) if state else ():
            total += int(nvml.nvmlDeviceGetNvLinkErrorCounter(handle, link, counter))
    return total


def inforom_valid(handle: Any) -> bool:
    try:
        nvml.nvmlDeviceValidateInforom(handle)
    except nvml.NVMLError_CorruptedInforom:
        return False
    return True


def retired(cause: int) -> Read:
    return lambda handle: len(nvml.nvmlDeviceGetRetiredPages(handle, cause))


def processes(handle: Any) -> list[Values]:
    found: dict[int, Values] = {}
    for kind, ask in (
        ("compute", nvml.nvmlDeviceGetComputeRunningProcesses),
        ("graphics", nvml.nvmlDeviceGetGraphicsRunningProcesses),
    ):
        try:
            entries = ask(handle)
        except nvml.NVMLError_NotSupported:
            continue
        for entry in entries:
            old = found.get(entry.pid)
            found[entry.pid] = process(entry, "both" if old and old["kind"] != kind else kind)
    return list(found.values())


def process(entry: Any, kind: str) -> Values:
    used = entry.usedGpuMemory
    folder = Path("/proc") / str(entry.pid)
    return {
        "pid": entry.pid,
        "kind": kind,
        "used_bytes": {"missing": "not-supported", "why": "the driver does not tell"} if used is None else used,
        "name": attempt_text(lambda: (folder / "cmdline").read_bytes().split(b"\0")[0].decode("utf-8", "replace")),
        "owner": attempt(lambda: owner(folder)),
        "control_group": attempt(lambda: (folder / "cgroup").read_text(errors="replace").strip().rpartition(":")[2]),
    }


def attempt_text(read: Callable[[], str]) -> str:
    try:
        return read()[:512]
    except OSError:
        return ""


def owner(folder: Path) -> str:
    """The user of a process, by name where the system knows one."""
    import pwd

    number = folder.stat().st_uid
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


def milliwatts(value: int | float) -> float:
    return value / 1000


def megahertz(value: int) -> float:
    return value * 1e6


IDENTITY: Mapping[str, Read] = {
    "model": lambda h: text(nvml.nvmlDeviceGetName(h)),
    "uuid": lambda h: text(nvml.nvmlDeviceGetUUID(h)),
    "serial": lambda h: text(nvml.nvmlDeviceGetSerial(h)),
    "pci_device_id": device_id,
    "part_number": lambda h: text(nvml.nvmlDeviceGetBoardPartNumber(h)),
}
FACTS: Mapping[str, Read] = {
    "architecture": lambda h: word(ARCHITECTURES, nvml.nvmlDeviceGetArchitecture(h)),
    "firmware_version": lambda h: text(nvml.nvmlDeviceGetGspFirmwareVersion(h)),
    "vbios_version": lambda h: text(nvml.nvmlDeviceGetVbiosVersion(h)),
    "inforom_valid": inforom_valid,
    "performance_state": lambda h: f"P{nvml.nvmlDeviceGetPerformanceState(h)}",
    "recovery_action": lambda h: word(RECOVERIES, int(field(h, FIELDS["recovery_action"]))),
    "virtualization": lambda h: word(VIRTUALIZATIONS, nvml.nvmlDeviceGetVirtualizationMode(h)),
    "mig_enabled": lambda h: bool(nvml.nvmlDeviceGetMigMode(h)[0]),
    "mig_pending": lambda h: bool(nvml.nvmlDeviceGetMigMode(h)[1]),
    "persistence_mode": lambda h: bool(nvml.nvmlDeviceGetPersistenceMode(h)),
    "compute_mode": lambda h: word(COMPUTE_MODES, nvml.nvmlDeviceGetComputeMode(h)),
    "fabric_state": lambda h: word(FABRIC_STATES, fabric(h).state),
    "fabric_status": fabric_status,
    "fabric_health": fabric_health,
    "fan_ratio": lambda h: nvml.nvmlDeviceGetFanSpeed(h) / 100,
    "memory.total_bytes": memory("total"),
    "memory.used_bytes": memory("used"),
    "memory.free_bytes": memory("free"),
    "memory.reserved_bytes": memory("reserved"),
    "utilization.compute_ratio": lambda h: nvml.nvmlDeviceGetUtilizationRates(h).gpu / 100,
    "utilization.memory_ratio": lambda h: nvml.nvmlDeviceGetUtilizationRates(h).memory / 100,
    "temperature.core_celsius": core,
    "temperature.memory_celsius": lambda h: float(field(h, FIELDS["temperature.memory_celsius"])),
    "temperature.slowdown_celsius": threshold(1),
    "temperature.shutdown_celsius": threshold(0),
    "temperature.memory_max_celsius": threshold(2),
    "temperature.margin_celsius": margin,
    "temperature.slowdown_margin_celsius": slowdown_margin,
    "power.draw_watts": lambda h: milliwatts(nvml.nvmlDeviceGetPowerUsage(h)),
    "power.limit_watts": lambda h: milliwatts(nvml.nvmlDeviceGetPowerManagementLimit(h)),
    "power.default_limit_watts": lambda h: milliwatts(nvml.nvmlDeviceGetPowerManagementDefaultLimit(h)),
    "power.max_limit_watts": lambda h: milliwatts(nvml.nvmlDeviceGetPowerManagementLimitConstraints(h)[1]),
    "pcie.link_width_lanes": lambda h: nvml.nvmlDeviceGetCurrPcieLinkWidth(h),
    "pcie.link_width_max_lanes": lambda h: nvml.nvmlDeviceGetMaxPcieLinkWidth(h),
    "pcie.link_generation": lambda h: nvml.nvmlDeviceGetCurrPcieLinkGeneration(h),
    "pcie.link_generation_max": lambda h: nvml.nvmlDeviceGetMaxPcieLinkGeneration(h),
    "pcie.device_generation_max": lambda h: nvml.nvmlDeviceGetGpuMaxPcieLinkGeneration(h),
    "pcie.replay_count": lambda h: nvml.nvmlDeviceGetPcieReplayCounter(h),
    "link.active_count": lambda h: sum(links(h)),
    "link.error_count": link_errors,
    "ecc.enabled": lambda h: bool(nvml.nvmlDeviceGetEccMode(h)[0]),
    "ecc.pending": lambda h: bool(nvml.nvmlDeviceGetEccMode(h)[1]),
    "ecc.corrected_volatile_count": lambda h: nvml.nvmlDeviceGetTotalEccErrors(h, 0, 0),
    "ecc.uncorrected_volatile_count": lambda h: nvml.nvmlDeviceGetTotalEccErrors(h, 1, 0),
    "ecc.corrected_aggregate_count": lambda h: nvml.nvmlDeviceGetTotalEccErrors(h, 0, 1),
    "ecc.uncorrected_aggregate_count": lambda h: nvml.nvmlDeviceGetTotalEccErrors(h, 1, 1),
    "ecc.sram_uncorrected_aggregate_count": sram_uncorrected,
    "ecc.sram_threshold_exceeded": lambda h: bool(sram("bThresholdExceeded")(h)),
    "rows.remapped_corrected_count": lambda h: nvml.nvmlDeviceGetRemappedRows(h)[0],
    "rows.remapped_uncorrected_count": lambda h: nvml.nvmlDeviceGetRemappedRows(h)[1],
    "rows.pending": lambda h: bool(nvml.nvmlDeviceGetRemappedRows(h)[2]),
    "rows.failed": lambda h: bool(nvml.nvmlDeviceGetRemappedRows(h)[3]),
    "pages.retired_single_count": retired(0),
    "pages.retired_double_count": retired(1),
    "pages.pending": lambda h: bool(nvml.nvmlDeviceGetRetiredPagesPendingStatus(h)),
    "clock.core_hertz": lambda h: megahertz(nvml.nvmlDeviceGetClockInfo(h, 1)),
    "clock.core_max_hertz": lambda h: megahertz(nvml.nvmlDeviceGetMaxClockInfo(h, 1)),
    "clock.memory_hertz": lambda h: megahertz(nvml.nvmlDeviceGetClockInfo(h, 2)),
    "clock.throttle_reasons": reasons,
    "processes": processes,
}


def ask(table: Mapping[str, Read], handle: Any) -> Values:
    """All values of a table, each for itself."""
    return {name: attempt(functools.partial(read, handle)) for name, read in table.items()}


def read_board(handle: Any, known: Values) -> None:
    """Print the facts of one board: identity first, then the rest as one line."""
    who = {name: known[name] for name in ("vendor", "pci_address", "index")}
    say({"board": {**known, **ask(IDENTITY, handle)}})
    values = ask(FACTS, handle)
    lost = any(isinstance(value, dict) and value.get("missing") == "lost" for value in values.values())
    say({"board": {**who, **values, "lost": lost}})


def boards(count: int, driver: str, only: str | None) -> list[threading.Thread]:
    """A thread for each board that the driver has, or for the one at the PCI address `only`."""
    threads = []
    for index in range(count):
        try:
            handle = nvml.nvmlDeviceGetHandleByIndex(index)
            if only and address(handle) != only:
                continue
            known = {"vendor": "nvidia", "pci_address": address(handle), "index": index, "driver_version": driver}
        except nvml.NVMLError as error:
            say({"problem": f"the driver gives no board number {index}: {missing_of(error)['why']}"})
            continue
        thread = threading.Thread(target=read_board, args=(handle, known), daemon=True)
        thread.start()
        threads.append(thread)
    return threads


def host(count: Any, driver: Any) -> Values:
    def cuda() -> str:
        number = nvml.nvmlSystemGetCudaDriverVersion_v2()
        return f"{number // 1000}.{number % 1000 // 10}"

    return {
        "software.nvidia_driver_version": driver,
        "software.cuda_driver_version": attempt(cuda),
        "boards_in_driver_count": count,
        "boards_listed_count": count,
    }


def fail(missing: Mapping[str, str]) -> None:
    """Nothing can be read: say why, once for each fact of the host."""
    names = (
        "software.nvidia_driver_version",
        "software.cuda_driver_version",
        "boards_in_driver_count",
        "boards_listed_count",
    )
    say({"host": dict.fromkeys(names, missing)})
    say({"problem": missing["why"]})


def option(name: str) -> str | None:
    """The word behind an option. Only collect.py calls this program, and argparse costs a quarter of its time."""
    words = sys.argv[1:]
    return words[words.index(name) + 1] if name in words[:-1] else None


def main() -> None:
    only = option("--board")
    say({"probe": "nvml", "read_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())})
    if nvml is None:
        fail({"missing": "not-installed", "why": f"pynvml (nvidia-ml-py) cannot be imported: {NO_PYNVML}"})
    else:
        try:
            nvml.nvmlInit()
        except nvml.NVMLError as error:
            fail(missing_of(error))
        else:
            driver = attempt(lambda: text(nvml.nvmlSystemGetDriverVersion()))
            count = attempt(nvml.nvmlDeviceGetCount)
            say({"host": host(count, driver)})
            for thread in boards(count if isinstance(count, int) else 0, driver, only):
                thread.join()
    say({"end": "nvml"})
    # Without nvmlShutdown, which can hang where everything else went well.
    os._exit(0)


if __name__ == "__main__":
    main()
