"""What is asked of each NVIDIA board, and how the answers become facts. nvml.py calls this in a thread per board.

A question that several facts need is asked once. Whatever one answer is, the others are read.
"""

from __future__ import annotations

from ctypes import byref

import pynvml as nvml

from boardops.probes.lines import missing
from boardops.probes.nvml_processes import processes
from boardops.probes.nvml_words import (
    ARCHITECTURES,
    COMPUTE_MODES,
    ERRORS,
    FABRIC_HEALTHS,
    FABRIC_STATES,
    REASONS,
    RECOVERIES,
    VIRTUALIZATIONS,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, TypeVar

    from boardops.probes.lines import Values

    Read = Callable[["Board"], Any]
    Word = TypeVar("Word")

MAX_LINKS = 36
INVALID_ARGUMENT, NOT_SUPPORTED = 2, 3
FLAGS = {0: False, 1: True}
LINK_STATES = {0: False, 1: True, 2: True}
"""Off, on, asleep."""
# Fields of nvmlDeviceGetFieldValues that no function of their own gives.
RECOVERY_ACTION, MEMORY_CELSIUS, SLOWDOWN_MARGIN, LINK_COUNT = FIELDS = (230, 82, 194, 91)
# Fields of a single link: its state, and its counters of errors, up to Hopper and from Blackwell on.
LINK_STATE = 165
LINK_COUNTERS: tuple[Mapping[str, int], ...] = (
    {"replay": 161, "recovery": 162, "crc": 163},
    {"receive": 208, "integrity": 211, "recovery": 215},
)
OLD_LINK_COUNTERS = {"replay": 0, "recovery": 1, "crc_flit": 2, "crc_data": 3}
"""Counters of nvmlDeviceGetNvLinkErrorCounter, for drivers that do not know the fields."""
VALUES = {0: "dVal", 1: "uiVal", 2: "ulVal", 3: "ullVal", 4: "sllVal", 5: "siVal", 6: "usVal"}


class NoValueError(Exception):
    """What stands in place of a value: kind of Missing, and why."""

    def __init__(self, kind: str, why: str, *, bare: bool = False) -> None:
        super().__init__(why)
        self.kind = kind
        self.bare = bare


def share(percent: int) -> float:
    """A share of the whole. Some drivers give more than all of a board that is split into instances."""
    if percent > 100:
        raise NoValueError("unreadable", f"the driver gives {percent} %, which is no share of a board")
    return percent / 100


def missing_of(error: Exception) -> dict[str, Any]:
    """What an error says of the value that it kept us from."""
    if isinstance(error, NoValueError):
        return missing(error.kind, str(error), bare=error.bare)
    if isinstance(error, AttributeError):
        return missing("not-supported", f"this version of pynvml does not know the question ({error.name})")
    code = getattr(error, "value", None)
    if isinstance(code, int) and code in ERRORS:
        return missing(*ERRORS[code], bare=code == NOT_SUPPORTED)
    return missing("error", f"{type(error).__name__}: {error}")


class Board:
    """One board, and what it answered so far."""

    def __init__(self, handle: Any) -> None:
        self.handle = handle
        self.answers: dict[Any, Any] = {}
        self.asked = ""
        """The question that was asked last; where the driver hangs, the one that was not answered."""

    def once(self, key: Any, read: Callable[[], Any]) -> Any:
        """What `read` gives, read once. Raises what it raised."""
        if key not in self.answers:
            try:
                self.answers[key] = read()
            except Exception as error:  # noqa: BLE001 - kept, and raised for each who asks
                self.answers[key] = error
        answer = self.answers[key]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def ask(self, name: str, *words: Any) -> Any:
        """The answer of one of NVML's functions."""
        return self.once((name, *words), lambda: self.call(name, *words))

    def call(self, name: str, *words: Any) -> Any:
        """The same, asked again."""
        self.asked = name
        return getattr(nvml, name)(self.handle, *words)

    def fill(self, name: str, empty: Any) -> Any:
        """A structure of NVML, filled by one of its functions."""
        self.call(name, byref(empty))
        return empty

    def field(self, number: int) -> int | float:
        """One value of the driver's field interface; all of them are one question."""
        return value_of(self.ask("nvmlDeviceGetFieldValues", FIELDS)[FIELDS.index(number)])


def value_of(field: Any) -> int | float:
    """The value of a field. Raises NVMLError."""
    if field.nvmlReturn == INVALID_ARGUMENT:
        raise nvml.NVMLError(NOT_SUPPORTED)  # So drivers answer a field that came after them.
    if field.nvmlReturn != 0:
        raise nvml.NVMLError(field.nvmlReturn)
    found: int | float = getattr(field.value, VALUES[field.valueType])
    return found


def word(table: Mapping[int, Word], value: int) -> Word:
    """What a vendor's number stands for. One that we do not know is told as it is."""
    if value not in table:
        raise NoValueError("unreadable", f"the driver gave {value}")
    return table[value]


def plain(value: Any) -> str:
    """A text of the driver, which gives bytes in some versions."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def pci_address(board: Board) -> str:
    """PCI address, lower case, four-digit domain where it fits."""
    info = board.ask("nvmlDeviceGetPciInfo")
    width = 8 if info.domain > 0xFFFF else 4
    return f"{info.domain:0{width}x}:{info.bus:02x}:{info.device:02x}.0"


def device_id(board: Board) -> str:
    number = board.ask("nvmlDeviceGetPciInfo").pciDeviceId
    return f"{number & 0xFFFF:04x}:{number >> 16:04x}"


def reasons(board: Board) -> list[str]:
    try:
        mask = board.ask("nvmlDeviceGetCurrentClocksEventReasons")
    except nvml.NVMLError_FunctionNotFound:
        mask = board.ask("nvmlDeviceGetCurrentClocksThrottleReasons")
    known = [name for bit, name in REASONS.items() if mask & bit]
    rest = mask & ~sum(REASONS)
    return [*known, f"bit_{rest:#x}"] if rest else known


def core_celsius(board: Board) -> float:
    try:
        return float(board.ask("nvmlDeviceGetTemperatureV", 0))
    except (nvml.NVMLError_FunctionNotFound, nvml.NVMLError_ArgumentVersionMismatch, nvml.NVMLError_NotSupported):
        return float(board.ask("nvmlDeviceGetTemperature", 0))


def threshold(which: int) -> Read:
    def read(board: Board) -> float:
        try:
            found = float(board.ask("nvmlDeviceGetTemperatureThreshold", which))
        except nvml.NVMLError_InvalidArgument:
            raise nvml.NVMLError(NOT_SUPPORTED) from None  # So drivers answer a threshold that came after them.
        if not found:
            raise NoValueError("not-supported", "the driver gives 0, which is no limit", bare=True)
        return found

    return read


def margin(board: Board) -> float:
    value = board.ask("nvmlDeviceGetMarginTemperature")
    return float(value if value < 2**31 else value - 2**32)


def slowdown_margin(board: Board) -> float:
    return margin(board) - float(board.field(SLOWDOWN_MARGIN))


def memory(name: str) -> Read:
    """A size of the board's memory; the newer question tells what is reserved apart from what is used."""

    def read(board: Board) -> int:
        try:
            return int(getattr(board.ask("nvmlDeviceGetMemoryInfo", nvml.nvmlMemory_v2), name))
        except (nvml.NVMLError_FunctionNotFound, nvml.NVMLError_ArgumentVersionMismatch):
            if name == "reserved":
                raise
            return int(getattr(board.ask("nvmlDeviceGetMemoryInfo"), name))

    return read


def sram(board: Board) -> Any:
    """Errors of on-chip memory."""
    name = "nvmlDeviceGetSramEccErrorStatus"
    return board.once(name, lambda: board.fill(name, nvml.c_nvmlEccSramErrorStatus_v1_t()))


def sram_uncorrected(board: Board) -> Any:
    status = sram(board)
    return status.aggregateUncParity + status.aggregateUncSecDed


def fabric(board: Board) -> Any:
    """What the driver knows of the fabric."""
    return board.once("fabric", lambda: read_fabric(board))


def read_fabric(board: Board) -> Any:
    """The same, asked of the driver; older ones give state and status only."""
    for info, name in (
        (nvml.c_nvmlGpuFabricInfo_v3_t, "nvmlDeviceGetGpuFabricInfoV"),
        (nvml.c_nvmlGpuFabricInfo_v2_t, "nvmlDeviceGetGpuFabricInfoV"),
        (nvml.c_nvmlGpuFabricInfo_t, "nvmlDeviceGetGpuFabricInfo"),
    ):
        try:
            found = board.fill(name, info())
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


def fabric_status(board: Board) -> str:
    found = fabric(board)
    if found.state != 3:
        raise NoValueError("not-supported", "the board has not joined the fabric yet")
    return "success" if found.status == 0 else plain(nvml.NVMLError(found.status)).strip().lower().replace(" ", "-")


def fabric_health(board: Board) -> str:
    found = fabric(board)
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


def links(board: Board) -> list[bool]:
    """Whether each NVLink is up; one that sleeps is."""
    return list(board.once("links", lambda: read_links(board)))


def read_links(board: Board) -> list[bool]:
    states: list[bool] = []
    try:
        count = min(int(board.field(LINK_COUNT)), MAX_LINKS)
        states = [word(LINK_STATES, value) for value in of_links(board, [LINK_STATE], range(count))[LINK_STATE]]
    except nvml.NVMLError:
        states = old_links(board)
    if not states:
        raise NoValueError("not-supported", "the driver knows no NVLink of the board", bare=True)
    return states


def old_links(board: Board) -> list[bool]:
    """The same from a driver that does not know the fields, which is asked link by link."""
    states: list[bool] = []
    for link in range(MAX_LINKS):
        try:
            states.append(word(LINK_STATES, board.call("nvmlDeviceGetNvLinkState", link)))
        except (nvml.NVMLError_InvalidArgument, nvml.NVMLError_NotSupported):
            break
    return states


def of_links(board: Board, fields: Sequence[int], which: Sequence[int]) -> dict[int, list[int]]:
    """Values of each field for each of the links `which`, in one question. Raises NVMLError."""
    pairs = [(field, link) for field in fields for link in which]
    found = [int(value_of(value)) for value in board.call("nvmlDeviceGetFieldValues", pairs)] if pairs else []
    return {field: found[at * len(which) : (at + 1) * len(which)] for at, field in enumerate(fields)}


def link_errors(board: Board) -> dict[int, dict[str, int]]:
    """For each active link its errors by the counter's name."""
    found: dict[int, dict[str, int]] = board.once("link errors", lambda: read_link_errors(board))
    return found


def read_link_errors(board: Board) -> dict[int, dict[str, int]]:
    active = [link for link, state in enumerate(links(board)) if state]
    for counters in LINK_COUNTERS:
        try:
            found = of_links(board, list(counters.values()), active)
        except (nvml.NVMLError_NotSupported, nvml.NVMLError_InvalidArgument):
            continue
        return {link: {name: found[counters[name]][at] for name in counters} for at, link in enumerate(active)}
    return {
        link: {
            name: int(board.call("nvmlDeviceGetNvLinkErrorCounter", link, counter))
            for name, counter in OLD_LINK_COUNTERS.items()
        }
        for link in active
    }


def links_with_errors(board: Board) -> list[str]:
    return [
        f"{link}: {', '.join(f'{name} {count}' for name, count in counts.items() if count)}"
        for link, counts in link_errors(board).items()
        if any(counts.values())
    ]


def inforom_valid(board: Board) -> bool:
    try:
        board.ask("nvmlDeviceValidateInforom")
    except nvml.NVMLError_CorruptedInforom:
        return False
    return True


def exhausted_banks(board: Board) -> int:
    """Asked of boards that remap rows only: drivers of guests write an error to the kernel log for each question."""
    board.ask("nvmlDeviceGetRemappedRows")
    return int(board.ask("nvmlDeviceGetRowRemapperHistogram").none)


def retired(cause: int) -> Read:
    return lambda board: len(board.ask("nvmlDeviceGetRetiredPages", cause))


def ecc(kind: int, counter: int) -> Read:
    """Errors of the whole memory: 0 corrected, 1 uncorrected; 0 since the last reset, 1 in the board's life."""
    return lambda board: board.ask("nvmlDeviceGetTotalEccErrors", kind, counter)


def answer(name: str, *words: Any) -> Read:
    """What a function gives, as it is."""
    return lambda board: board.ask(name, *words)


def printed(name: str) -> Read:
    return lambda board: plain(board.ask(name))


def named(table: Mapping[int, str], name: str) -> Read:
    return lambda board: word(table, board.ask(name))


def flag(name: str, part: int | None = None) -> Read:
    return lambda board: word(FLAGS, board.ask(name) if part is None else board.ask(name)[part])


def watts(name: str, part: int | None = None) -> Read:
    """NVML gives milliwatts."""
    return lambda board: (board.ask(name) if part is None else board.ask(name)[part]) / 1000


def hertz(name: str, clock: int) -> Read:
    """NVML gives megahertz."""
    return lambda board: board.ask(name, clock) * 1e6


IDENTITY: Mapping[str, Read] = {
    "model": printed("nvmlDeviceGetName"),
    "uuid": printed("nvmlDeviceGetUUID"),
    "serial": printed("nvmlDeviceGetSerial"),
    "pci_device_id": device_id,
    "part_number": printed("nvmlDeviceGetBoardPartNumber"),
}
STATE: Mapping[str, Read] = {
    "architecture": named(ARCHITECTURES, "nvmlDeviceGetArchitecture"),
    "firmware_version": printed("nvmlDeviceGetGspFirmwareVersion"),
    "vbios_version": printed("nvmlDeviceGetVbiosVersion"),
    "inforom_version": printed("nvmlDeviceGetInforomImageVersion"),
    "inforom_valid": inforom_valid,
    "performance_state": lambda board: f"P{board.ask('nvmlDeviceGetPerformanceState')}",
    "recovery_action": lambda board: word(RECOVERIES, int(board.field(RECOVERY_ACTION))),
    "virtualization": named(VIRTUALIZATIONS, "nvmlDeviceGetVirtualizationMode"),
    "mig_enabled": flag("nvmlDeviceGetMigMode", 0),
    "mig_pending": flag("nvmlDeviceGetMigMode", 1),
    "persistence_mode": flag("nvmlDeviceGetPersistenceMode"),
    "compute_mode": named(COMPUTE_MODES, "nvmlDeviceGetComputeMode"),
    "fabric_state": lambda board: word(FABRIC_STATES, fabric(board).state),
    "fabric_status": fabric_status,
    "fabric_health": fabric_health,
    "memory.total_bytes": memory("total"),
    "memory.used_bytes": memory("used"),
    "memory.free_bytes": memory("free"),
    "memory.reserved_bytes": memory("reserved"),
    "pcie.link_width_lanes": answer("nvmlDeviceGetCurrPcieLinkWidth"),
    "pcie.link_width_max_lanes": answer("nvmlDeviceGetMaxPcieLinkWidth"),
    "pcie.link_generation": answer("nvmlDeviceGetCurrPcieLinkGeneration"),
    "pcie.link_generation_max": answer("nvmlDeviceGetMaxPcieLinkGeneration"),
    "pcie.device_generation_max": answer("nvmlDeviceGetGpuMaxPcieLinkGeneration"),
    "pcie.replay_count": answer("nvmlDeviceGetPcieReplayCounter"),
}
SENSORS: Mapping[str, Read] = {
    "fan_ratio": lambda board: board.ask("nvmlDeviceGetFanSpeed") / 100,
    "utilization.compute_ratio": lambda board: share(board.ask("nvmlDeviceGetUtilizationRates").gpu),
    "utilization.memory_ratio": lambda board: share(board.ask("nvmlDeviceGetUtilizationRates").memory),
    "temperature.core_celsius": core_celsius,
    "temperature.memory_celsius": lambda board: float(board.field(MEMORY_CELSIUS)),
    "temperature.slowdown_celsius": threshold(1),
    "temperature.shutdown_celsius": threshold(0),
    "temperature.memory_max_celsius": threshold(2),
    "temperature.margin_celsius": margin,
    "temperature.slowdown_margin_celsius": slowdown_margin,
    "power.draw_watts": watts("nvmlDeviceGetPowerUsage"),
    "power.limit_watts": watts("nvmlDeviceGetPowerManagementLimit"),
    "power.default_limit_watts": watts("nvmlDeviceGetPowerManagementDefaultLimit"),
    "power.max_limit_watts": watts("nvmlDeviceGetPowerManagementLimitConstraints", 1),
    "clock.core_hertz": hertz("nvmlDeviceGetClockInfo", 1),
    "clock.core_max_hertz": hertz("nvmlDeviceGetMaxClockInfo", 1),
    "clock.memory_hertz": hertz("nvmlDeviceGetClockInfo", 2),
    "clock.throttle_reasons": reasons,
}
COUNTERS: Mapping[str, Read] = {
    "ecc.enabled": flag("nvmlDeviceGetEccMode", 0),
    "ecc.pending": flag("nvmlDeviceGetEccMode", 1),
    "ecc.corrected_volatile_count": ecc(0, 0),
    "ecc.uncorrected_volatile_count": ecc(1, 0),
    "ecc.corrected_aggregate_count": ecc(0, 1),
    "ecc.uncorrected_aggregate_count": ecc(1, 1),
    "ecc.sram_uncorrected_aggregate_count": sram_uncorrected,
    "ecc.sram_threshold_exceeded": lambda board: word(FLAGS, sram(board).bThresholdExceeded),
    "ecc.repair_pending": lambda board: any(board.ask("nvmlDeviceGetRepairStatus")),
    "ecc.unrepairable": flag("nvmlDeviceGetUnrepairableMemoryFlag_v1"),
    "rows.remapped_corrected_count": lambda board: board.ask("nvmlDeviceGetRemappedRows")[0],
    "rows.remapped_uncorrected_count": lambda board: board.ask("nvmlDeviceGetRemappedRows")[1],
    "rows.pending": flag("nvmlDeviceGetRemappedRows", 2),
    "rows.failed": flag("nvmlDeviceGetRemappedRows", 3),
    "rows.exhausted_bank_count": exhausted_banks,
    "pages.retired_single_count": retired(0),
    "pages.retired_double_count": retired(1),
    "pages.pending": flag("nvmlDeviceGetRetiredPagesPendingStatus"),
    "link.active_count": lambda board: sum(links(board)),
    "link.inactive": lambda board: [str(link) for link, state in enumerate(links(board)) if not state],
    "link.error_count": lambda board: sum(sum(counts.values()) for counts in link_errors(board).values()),
    "link.with_errors": links_with_errors,
    "processes": processes,
}
GROUPS = (STATE, SENSORS, COUNTERS)
"""Each group is printed when it was read, so that a board that hangs later keeps it."""


def read(table: Mapping[str, Read], board: Board) -> Values:
    """All values of a table, each for itself."""
    values: Values = {}
    for name, read_one in table.items():
        try:
            values[name] = read_one(board)
        except Exception as error:  # noqa: BLE001 - whatever one field does, the others are read
            values[name] = missing_of(error)
    return values
