"""The typed facts of a host and its boards, and `Missing` for what could not be read.

A fact is one value with its unit in its name: `board.memory.total_bytes`, `host.thermal.inlet_celsius`.
Units are base units only: bytes, seconds, watts, celsius, ratio (0 to 1), hertz, lanes, counts. Whatever could
not be read is a `Missing` with its kind and a sentence; never 0, None, NaN or a magic string.

Every layer above uses this module; it knows no vendor, no format, no rule and no limit.
"""

import functools
import typing
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

MissingKind = Literal[
    "not-supported",
    "not-permitted",
    "not-installed",
    "timed-out",
    "lost",
    "not-collected",
    "unreadable",
    "error",
]

MISSING_KINDS: tuple[str, ...] = typing.get_args(MissingKind)


class Missing(Struct, frozen=True, rename={"kind": "missing"}, omit_defaults=True):
    """A value that could not be read.

    `kind` says in which way, `why` says it in words (for `unreadable` it holds the raw text). `bare` marks a plain
    `N/A` that no explicit code explains: derive.py turns it into `error` where the catalog or another board of the
    same model shows that the value should exist.
    """

    kind: MissingKind
    why: str
    bare: bool = False


NOT_COLLECTED = Missing("not-collected", "no source that was read gives this")

Text = str | Missing
Count = int | Missing
Number = float | Missing
Flag = bool | Missing
Texts = tuple[str, ...] | Missing


class Process(Struct, frozen=True):
    """One process that holds memory of a board."""

    pid: int
    name: str
    kind: str
    """`compute`, `graphics`, `both` or `unknown`."""
    used_bytes: Count = NOT_COLLECTED
    owner: Text = NOT_COLLECTED
    control_group: Text = NOT_COLLECTED


FaultKind = Literal["xid", "sxid", "ascend", "cnrm", "ras", "aer", "kernel"]
FAULT_KINDS: tuple[str, ...] = typing.get_args(FaultKind)
Severity = Literal["fail", "warn", "note"]
SEVERITIES: tuple[Severity, ...] = typing.get_args(Severity)
"""From worst to best."""
ACTIONS = (
    "none",
    "watch",
    "restart-workload",
    "reset-board",
    "reboot-host",
    "reseat-board",
    "check-cooling",
    "check-power",
    "check-cabling",
    "update-software",
    "restart-service",
    "change-setting",
    "free-memory",
    "replace-board",
    "call-vendor",
    "grant-access",
    "install-tool",
)
"""All that a finding or a fault can ask for; printed, never carried out."""


class Fault(Struct, frozen=True, omit_defaults=True):
    """One fault that a board, its driver or the kernel reported; equal ones are told once, with their number.

    What a reader fills: kind, code, the address that the line names, times, boot, count, detail and the raw line of
    the first. The catalog adds name, meaning, action and severity; derive.py adds `past`.
    """

    kind: FaultKind
    code: str
    """The vendor's number as text (`79`); for `kernel` a word of ours (`off-the-bus`, `out-of-memory`)."""
    pci_address: str | None = None
    """The board or switch that the line names; None where it names none."""
    time: str | None = None
    """When the first of them was, RFC 3339 in UTC; None where the line has no time or its zone is not known."""
    last_time: str | None = None
    """When the last of them was."""
    boot: str | None = None
    """Which boot of the log it belongs to: the kernel's boot id, or `0` for the log's last boot, `-1` for the one
    before; None where the log does not tell."""
    uptime_seconds: float | None = None
    """Time from the boot to the last of them."""
    count: int = 1
    """How many equal ones there are."""
    detail: str = ""
    """What the line adds to the code and its meaning depends on: the action of Xid 154, `RLW Fatal` of Xid 145."""
    name: str = ""
    meaning: str = ""
    severity: Severity = "note"
    action: str = "none"
    """One of the closed list of actions."""
    caused_by: str = ""
    """The fault that dragged this one along, such as `xid:149`."""
    past: str = ""
    """Why it no longer counts; empty where it does."""
    raw: str = ""


Processes = tuple[Process, ...] | Missing
Faults = tuple[Fault, ...] | Missing


def _doc(text: str) -> Meta:
    return Meta(description=text)


class BoardMemory(Struct, frozen=True):
    total_bytes: Annotated[Count, _doc("memory of the board")] = NOT_COLLECTED
    used_bytes: Annotated[Count, _doc("memory in use, without what the driver reserves")] = NOT_COLLECTED
    reserved_bytes: Annotated[Count, _doc("memory that driver and firmware keep for themselves")] = NOT_COLLECTED
    free_bytes: Annotated[Count, _doc("memory that a new process can still have")] = NOT_COLLECTED
    used_ratio: Annotated[Number, _doc("used over total")] = NOT_COLLECTED
    offered_bytes: Annotated[Count, _doc("free memory that a job can have; an error where the board does not tell")] = (
        NOT_COLLECTED
    )
    owner_count: Annotated[Count, _doc("independent owners of compute processes on the board")] = NOT_COLLECTED


class Utilization(Struct, frozen=True):
    compute_ratio: Annotated[Number, _doc("share of time in which a kernel ran")] = NOT_COLLECTED
    memory_ratio: Annotated[Number, _doc("share of time in which memory was read or written")] = NOT_COLLECTED


class Temperature(Struct, frozen=True):
    core_celsius: Annotated[Number, _doc("temperature of the chip")] = NOT_COLLECTED
    memory_celsius: Annotated[Number, _doc("temperature of the memory")] = NOT_COLLECTED
    slowdown_celsius: Annotated[Number, _doc("chip temperature at which hardware slows down")] = NOT_COLLECTED
    shutdown_celsius: Annotated[Number, _doc("chip temperature at which the board switches off")] = NOT_COLLECTED
    memory_max_celsius: Annotated[Number, _doc("highest memory temperature that the board allows")] = NOT_COLLECTED
    margin_celsius: Annotated[
        Number, _doc("degrees left to the board's operating limit (T.Limit); higher is cooler, may be negative")
    ] = NOT_COLLECTED
    slowdown_margin_celsius: Annotated[
        Number, _doc("degrees left to the point of hardware slowdown; may be negative")
    ] = NOT_COLLECTED


class Power(Struct, frozen=True):
    draw_watts: Annotated[Number, _doc("power drawn now")] = NOT_COLLECTED
    limit_watts: Annotated[Number, _doc("power limit in force")] = NOT_COLLECTED
    default_limit_watts: Annotated[Number, _doc("power limit as delivered")] = NOT_COLLECTED
    max_limit_watts: Annotated[Number, _doc("highest power limit that can be set")] = NOT_COLLECTED


class Pcie(Struct, frozen=True):
    link_width_lanes: Annotated[Count, _doc("lanes in use now")] = NOT_COLLECTED
    link_width_max_lanes: Annotated[Count, _doc("lanes that the board reports as its maximum here")] = NOT_COLLECTED
    link_generation: Annotated[Count, _doc("PCIe generation of the link now")] = NOT_COLLECTED
    link_generation_max: Annotated[Count, _doc("highest PCIe generation of board and system together")] = NOT_COLLECTED
    device_generation_max: Annotated[Count, _doc("highest PCIe generation of the board alone")] = NOT_COLLECTED
    replay_count: Annotated[Count, _doc("packets sent again since the driver was loaded")] = NOT_COLLECTED
    replay_growth_count: Annotated[Count, _doc("packets sent again since the earlier run")] = NOT_COLLECTED
    host_generation_max: Annotated[Count, _doc("highest PCIe generation of the host")] = NOT_COLLECTED
    port_width_max_lanes: Annotated[Count, _doc("lanes of the narrowest port above the board")] = NOT_COLLECTED
    port_generation_max: Annotated[Count, _doc("generation of the slowest port above the board")] = NOT_COLLECTED
    port_address: Annotated[Text, _doc("PCI address of the narrowest port above the board")] = NOT_COLLECTED
    uplink_width_lanes: Annotated[
        Count, _doc("lanes in use on the worst of the links above the board's own, between switch and root")
    ] = NOT_COLLECTED
    uplink_width_max_lanes: Annotated[Count, _doc("lanes that both ends of that link can do")] = NOT_COLLECTED
    uplink_generation: Annotated[Count, _doc("PCIe generation of that link now")] = NOT_COLLECTED
    uplink_generation_max: Annotated[Count, _doc("highest PCIe generation that both ends of that link can do")] = (
        NOT_COLLECTED
    )
    uplink_address: Annotated[Text, _doc("PCI address of the upper end of that link")] = NOT_COLLECTED
    config_readable: Annotated[Flag, _doc("the configuration space reads as more than all ones")] = NOT_COLLECTED
    aer_corrected_count: Annotated[Count, _doc("corrected PCIe errors since the boot")] = NOT_COLLECTED
    aer_nonfatal_count: Annotated[Count, _doc("uncorrected PCIe errors that were not fatal, since the boot")] = (
        NOT_COLLECTED
    )
    aer_fatal_count: Annotated[Count, _doc("fatal PCIe errors since the boot")] = NOT_COLLECTED
    aer_corrected_growth_count: Annotated[Count, _doc("corrected PCIe errors since the earlier run")] = NOT_COLLECTED
    aer_nonfatal_growth_count: Annotated[
        Count, _doc("uncorrected PCIe errors that were not fatal, since the earlier run")
    ] = NOT_COLLECTED


class Link(Struct, frozen=True):
    active_count: Annotated[Count, _doc("active links between boards (NVLink, HCCS, MLU-Link)")] = NOT_COLLECTED
    expected_count: Annotated[Count, _doc("links that the board should have active")] = NOT_COLLECTED
    error_count: Annotated[Count, _doc("errors of all links since the driver was loaded")] = NOT_COLLECTED
    error_growth_count: Annotated[Count, _doc("errors of all links since the earlier run")] = NOT_COLLECTED
    inactive: Annotated[Texts, _doc("numbers of the links that are down")] = NOT_COLLECTED
    with_errors: Annotated[Texts, _doc("links with errors: number, counters and counts")] = NOT_COLLECTED


class Ecc(Struct, frozen=True):
    enabled: Annotated[Flag, _doc("error correction is on")] = NOT_COLLECTED
    pending: Annotated[Flag, _doc("error correction will be on after the next reset")] = NOT_COLLECTED
    corrected_volatile_count: Annotated[Count, _doc("corrected errors since the last reset")] = NOT_COLLECTED
    uncorrected_volatile_count: Annotated[Count, _doc("uncorrected errors since the last reset")] = NOT_COLLECTED
    corrected_aggregate_count: Annotated[Count, _doc("corrected errors in the board's life")] = NOT_COLLECTED
    uncorrected_aggregate_count: Annotated[Count, _doc("uncorrected errors in the board's life")] = NOT_COLLECTED
    sram_uncorrected_aggregate_count: Annotated[
        Count, _doc("uncorrected errors of on-chip memory in the board's life")
    ] = NOT_COLLECTED
    sram_threshold_exceeded: Annotated[
        Flag, _doc("the board says that on-chip memory errors passed the vendor's limit")
    ] = NOT_COLLECTED
    repair_pending: Annotated[Flag, _doc("a channel or cluster repair waits for a reset")] = NOT_COLLECTED
    unrepairable: Annotated[Flag, _doc("the board says that its memory cannot be repaired any more")] = NOT_COLLECTED


class Rows(Struct, frozen=True):
    remapped_corrected_count: Annotated[Count, _doc("rows remapped after corrected errors")] = NOT_COLLECTED
    remapped_uncorrected_count: Annotated[Count, _doc("rows remapped after uncorrected errors")] = NOT_COLLECTED
    pending: Annotated[Flag, _doc("a row remap waits for a reset")] = NOT_COLLECTED
    failed: Annotated[Flag, _doc("a row could not be remapped")] = NOT_COLLECTED
    exhausted_bank_count: Annotated[Count, _doc("banks of memory without a spare row left")] = NOT_COLLECTED


class Pages(Struct, frozen=True):
    retired_single_count: Annotated[Count, _doc("pages retired after repeated single-bit errors")] = NOT_COLLECTED
    retired_double_count: Annotated[Count, _doc("pages retired after a double-bit error")] = NOT_COLLECTED
    retired_count: Annotated[Count, _doc("pages retired for any reason")] = NOT_COLLECTED
    pending: Annotated[Flag, _doc("a page retirement waits for a reset")] = NOT_COLLECTED


class Clock(Struct, frozen=True):
    core_hertz: Annotated[Number, _doc("clock of the cores now")] = NOT_COLLECTED
    core_max_hertz: Annotated[Number, _doc("highest clock of the cores")] = NOT_COLLECTED
    memory_hertz: Annotated[Number, _doc("clock of the memory now")] = NOT_COLLECTED
    throttle_reasons: Annotated[
        Texts, _doc("what holds the clock down now (gpu_idle, sw_power_cap, hw_slowdown, ...)")
    ] = NOT_COLLECTED


class FaultGroups(Struct, frozen=True):
    """What faults come to: those that count, by how bad they are, and what they ask for."""

    failing: Annotated[Texts, _doc("faults that make it unfit, those that still count")] = NOT_COLLECTED
    warning: Annotated[Texts, _doc("faults after which something is to be planned")] = NOT_COLLECTED
    noted: Annotated[Texts, _doc("faults that are worth a remark, and those that no longer count")] = NOT_COLLECTED
    failing_action: Annotated[Text, _doc("what the worst failing fault asks for, of the closed list of actions")] = (
        NOT_COLLECTED
    )
    warning_action: Annotated[Text, _doc("the same of the warning faults")] = NOT_COLLECTED


class Spec(Struct, frozen=True):
    """What the catalog knows of the board's model."""

    memory_bytes: Annotated[Count, _doc("nominal memory of the model")] = NOT_COLLECTED
    known: Annotated[Flag, _doc("the catalog has an entry for this model")] = NOT_COLLECTED
    name: Annotated[Text, _doc("the catalog's name of the model")] = NOT_COLLECTED
    ecc: Annotated[Flag, _doc("the model has error correction")] = NOT_COLLECTED
    row_remapping: Annotated[Flag, _doc("the model remaps memory rows")] = NOT_COLLECTED
    pcie_width_lanes: Annotated[Count, _doc("lanes of the model")] = NOT_COLLECTED
    pcie_width_min_lanes: Annotated[Count, _doc("fewest lanes that are normal for the model")] = NOT_COLLECTED
    pcie_generation: Annotated[Count, _doc("PCIe generation of the model")] = NOT_COLLECTED
    link_count: Annotated[Count, _doc("links between boards of the model")] = NOT_COLLECTED
    memory_max_celsius: Annotated[Number, _doc("highest memory temperature of the model")] = NOT_COLLECTED
    slowdown_celsius: Annotated[Number, _doc("chip temperature at which the model slows down")] = NOT_COLLECTED


class Board(Struct, frozen=True):
    """One accelerator."""

    vendor: Annotated[Text, _doc("nvidia, ascend, cambricon, ... or cpu for the stand-in")] = NOT_COLLECTED
    model: Annotated[Text, _doc("model as the vendor's tool prints it")] = NOT_COLLECTED
    architecture: Annotated[Text, _doc("architecture as the vendor's tool prints it")] = NOT_COLLECTED
    part_number: Annotated[Text, _doc("part number of the board")] = NOT_COLLECTED
    uuid: Annotated[Text, _doc("identifier that the vendor gave the chip")] = NOT_COLLECTED
    serial: Annotated[Text, _doc("serial number of the board; two chips may share one")] = NOT_COLLECTED
    pci_address: Annotated[Text, _doc("PCI address, lower case, four-digit domain where it fits")] = NOT_COLLECTED
    pci_device_id: Annotated[Text, _doc("PCI vendor and device id, such as 10de:2330")] = NOT_COLLECTED
    slot: Annotated[Text, _doc("physical slot")] = NOT_COLLECTED
    index: Annotated[Count, _doc("number that the vendor's tool gave the board; never a key")] = NOT_COLLECTED
    lost: Annotated[Flag, _doc("the board no longer answers its driver")] = NOT_COLLECTED
    on_bus: Annotated[Flag, _doc("the PCI bus shows the board")] = NOT_COLLECTED
    in_driver: Annotated[Flag, _doc("the vendor's driver has the board")] = NOT_COLLECTED
    kernel_driver: Annotated[Text, _doc("kernel driver that holds the board, none where none does")] = NOT_COLLECTED
    numa_node: Annotated[Count, _doc("memory node that the board is next to")] = NOT_COLLECTED
    device_node: Annotated[Flag, _doc("the device node by which programs reach the board is here")] = NOT_COLLECTED
    inforom_version: Annotated[Text, _doc("version of the board's InfoROM")] = NOT_COLLECTED
    inforom_valid: Annotated[Flag, _doc("the checksum of the board's InfoROM is right")] = NOT_COLLECTED
    driver_version: Annotated[Text, _doc("driver that serves the board")] = NOT_COLLECTED
    firmware_version: Annotated[Text, _doc("firmware of the board")] = NOT_COLLECTED
    vbios_version: Annotated[Text, _doc("video BIOS of the board")] = NOT_COLLECTED
    performance_state: Annotated[Text, _doc("performance state, P0 is the fastest")] = NOT_COLLECTED
    health_state: Annotated[Text, _doc("the vendor's own health word")] = NOT_COLLECTED
    recovery_action: Annotated[Text, _doc("what the board asks for: none, reset, reboot, drain, drain-and-reset")] = (
        NOT_COLLECTED
    )
    recovery_remedy: Annotated[Text, _doc("the same as one of the closed list of actions")] = NOT_COLLECTED
    virtualization: Annotated[Text, _doc("none, pass-through, vgpu, host-vgpu, host-vsga")] = NOT_COLLECTED
    mig_enabled: Annotated[Flag, _doc("the board is split into instances")] = NOT_COLLECTED
    mig_pending: Annotated[Flag, _doc("the board will be split after the next reset")] = NOT_COLLECTED
    persistence_mode: Annotated[Flag, _doc("the driver stays loaded without a client")] = NOT_COLLECTED
    compute_mode: Annotated[Text, _doc("default, exclusive-process, exclusive-thread, prohibited")] = NOT_COLLECTED
    fabric_state: Annotated[Text, _doc("not-started, in-progress, completed")] = NOT_COLLECTED
    fabric_status: Annotated[Text, _doc("result of the fabric registration, success or an error")] = NOT_COLLECTED
    fabric_health: Annotated[Text, _doc("healthy, unhealthy, limited-capacity")] = NOT_COLLECTED
    fan_ratio: Annotated[Number, _doc("fan speed over its maximum")] = NOT_COLLECTED
    memory: BoardMemory = BoardMemory()
    utilization: Utilization = Utilization()
    temperature: Temperature = Temperature()
    power: Power = Power()
    pcie: Pcie = Pcie()
    link: Link = Link()
    ecc: Ecc = Ecc()
    rows: Rows = Rows()
    pages: Pages = Pages()
    clock: Clock = Clock()
    spec: Spec = Spec()
    faults: Annotated[Faults, _doc("faults that name this board")] = NOT_COLLECTED
    fault: FaultGroups = FaultGroups()
    processes: Annotated[Processes, _doc("processes that hold memory of the board")] = NOT_COLLECTED


class HostMemory(Struct, frozen=True):
    total_bytes: Annotated[Count, _doc("memory of the host")] = NOT_COLLECTED
    available_bytes: Annotated[Count, _doc("memory that can be had without swapping")] = NOT_COLLECTED
    swap_total_bytes: Annotated[Count, _doc("swap space")] = NOT_COLLECTED
    swap_used_bytes: Annotated[Count, _doc("swap space in use")] = NOT_COLLECTED


class HostShm(Struct, frozen=True):
    total_bytes: Annotated[Count, _doc("size of /dev/shm")] = NOT_COLLECTED
    free_bytes: Annotated[Count, _doc("free space in /dev/shm")] = NOT_COLLECTED


class HostCpu(Struct, frozen=True):
    model: Annotated[Text, _doc("name of the processor")] = NOT_COLLECTED
    core_count: Annotated[Count, _doc("physical cores")] = NOT_COLLECTED
    thread_count: Annotated[Count, _doc("hardware threads that this process may use")] = NOT_COLLECTED
    load_1m_ratio: Annotated[Number, _doc("one-minute load over hardware threads")] = NOT_COLLECTED


class HostDisk(Struct, frozen=True):
    root_total_bytes: Annotated[Count, _doc("size of the root file system")] = NOT_COLLECTED
    root_free_bytes: Annotated[Count, _doc("free space in the root file system")] = NOT_COLLECTED
    root_used_ratio: Annotated[Number, _doc("used share of the root file system")] = NOT_COLLECTED


class HostLimits(Struct, frozen=True):
    memlock_bytes: Annotated[Count, _doc("memory that a process may lock; 2**63 - 1 means unlimited")] = NOT_COLLECTED
    open_file_count: Annotated[Count, _doc("files that a process may hold open")] = NOT_COLLECTED


class HostThermal(Struct, frozen=True):
    inlet_celsius: Annotated[Number, _doc("air that enters the host")] = NOT_COLLECTED
    outlet_celsius: Annotated[Number, _doc("air that leaves the host")] = NOT_COLLECTED
    delta_celsius: Annotated[Number, _doc("outlet minus inlet")] = NOT_COLLECTED


class HostSoftware(Struct, frozen=True):
    nvidia_driver_version: Annotated[Text, _doc("NVIDIA driver")] = NOT_COLLECTED
    nvidia_driver_support_left_seconds: Annotated[
        Number, _doc("time to the end of the driver branch's life, negative after it")
    ] = NOT_COLLECTED
    cuda_driver_version: Annotated[Text, _doc("newest CUDA that the driver can serve")] = NOT_COLLECTED
    cuda_toolkit_version: Annotated[Text, _doc("CUDA toolkit that is in force")] = NOT_COLLECTED
    cuda_toolkit_driver_version: Annotated[Text, _doc("oldest NVIDIA driver that can serve the CUDA toolkit")] = (
        NOT_COLLECTED
    )
    ascend_driver_version: Annotated[Text, _doc("Ascend driver")] = NOT_COLLECTED
    ascend_firmware_version: Annotated[Text, _doc("Ascend firmware")] = NOT_COLLECTED
    cann_version: Annotated[Text, _doc("CANN that is in force")] = NOT_COLLECTED
    torch_npu_version: Annotated[Text, _doc("torch_npu")] = NOT_COLLECTED
    cambricon_driver_version: Annotated[Text, _doc("Cambricon driver")] = NOT_COLLECTED
    neuware_version: Annotated[Text, _doc("Cambricon Neuware")] = NOT_COLLECTED
    rocm_version: Annotated[Text, _doc("ROCm")] = NOT_COLLECTED
    torch_version: Annotated[Text, _doc("PyTorch")] = NOT_COLLECTED
    torch_cuda_version: Annotated[Text, _doc("CUDA that PyTorch was built for")] = NOT_COLLECTED
    torch_driver_version: Annotated[Text, _doc("oldest NVIDIA driver that can serve PyTorch's CUDA")] = NOT_COLLECTED
    nvidia_module_version: Annotated[Text, _doc("NVIDIA kernel module that is loaded")] = NOT_COLLECTED
    nouveau_loaded: Annotated[Flag, _doc("the kernel module nouveau is loaded")] = NOT_COLLECTED
    cuda_start: Annotated[Text, _doc("how the CUDA driver library starts: started, or the name of its error")] = (
        NOT_COLLECTED
    )


class HostLog(Struct, frozen=True):
    """How far the kernel log reaches."""

    first_at: Annotated[Text, _doc("time of the first line of the kernel log, RFC 3339 in UTC")] = NOT_COLLECTED
    last_at: Annotated[Text, _doc("time of the last line of the kernel log, RFC 3339 in UTC")] = NOT_COLLECTED
    covers_boot: Annotated[Flag, _doc("the kernel log reaches back to the start of the last boot in it")] = (
        NOT_COLLECTED
    )
    from_uptime_seconds: Annotated[
        Number, _doc("time from the last boot in the kernel log to the first line that is left of it")
    ] = NOT_COLLECTED


class HostNeed(Struct, frozen=True):
    """What the job needs, from `--need`."""

    board_count: Annotated[Count, _doc("boards that the job needs")] = NOT_COLLECTED
    free_bytes: Annotated[Count, _doc("free memory that the job needs on each board")] = NOT_COLLECTED
    cuda_version: Annotated[Text, _doc("CUDA that the job was built for")] = NOT_COLLECTED
    offered_board_count: Annotated[Count, _doc("boards that can serve the job: seen, answering, no stand-in")] = (
        NOT_COLLECTED
    )
    offered_cuda_version: Annotated[Text, _doc("CUDA that a job can have here")] = NOT_COLLECTED


class Host(Struct, frozen=True):
    """The machine that the boards sit in."""

    hostname: Annotated[Text, _doc("name of the host")] = NOT_COLLECTED
    kernel: Annotated[Text, _doc("kernel release")] = NOT_COLLECTED
    os: Annotated[Text, _doc("operating system")] = NOT_COLLECTED
    boot_id: Annotated[Text, _doc("identifier of this boot")] = NOT_COLLECTED
    uptime_seconds: Annotated[Number, _doc("time since the boot")] = NOT_COLLECTED
    container: Annotated[Text, _doc("kind of container that we run in, none on the bare host")] = NOT_COLLECTED
    cooling: Annotated[Text, _doc("air or liquid")] = NOT_COLLECTED
    intent: Annotated[Text, _doc("predeploy or in-service")] = NOT_COLLECTED
    boards_on_bus_count: Annotated[Count, _doc("boards that the PCI bus shows")] = NOT_COLLECTED
    boards_in_driver_count: Annotated[Count, _doc("boards that the drivers show")] = NOT_COLLECTED
    vbios_version_count: Annotated[
        Count, _doc("different video BIOS versions among boards of one part number, at most")
    ] = NOT_COLLECTED
    inforom_version_count: Annotated[
        Count, _doc("different InfoROM versions among boards of one part number, at most")
    ] = NOT_COLLECTED
    boards_listed_count: Annotated[Count, _doc("boards that the vendor tool gave an entry for")] = NOT_COLLECTED
    nvidia_node_count: Annotated[Count, _doc("device nodes of NVIDIA boards that are here")] = NOT_COLLECTED
    numa_node_count: Annotated[Count, _doc("memory nodes of the host")] = NOT_COLLECTED
    numa_spread_count: Annotated[
        Count,
        _doc("boards on the memory node with most of them less those on the node with fewest, among nodes with boards"),
    ] = NOT_COLLECTED
    hung_sources: Annotated[
        Texts, _doc("programs that asked a driver and cannot be ended, with the kernel's word on where they hang")
    ] = NOT_COLLECTED
    gone_boards: Annotated[Texts, _doc("boards that the earlier run had and nothing shows any more")] = NOT_COLLECTED
    conflicts: Annotated[Texts, _doc("what two sources, or two boards, say against each other")] = NOT_COLLECTED
    stuck_processes: Annotated[Texts, _doc("processes that hang in a vendor's driver")] = NOT_COLLECTED
    memory: HostMemory = HostMemory()
    shm: HostShm = HostShm()
    cpu: HostCpu = HostCpu()
    disk: HostDisk = HostDisk()
    limits: HostLimits = HostLimits()
    log: HostLog = HostLog()
    faults: Annotated[Faults, _doc("faults that name no board of this host")] = NOT_COLLECTED
    fault: FaultGroups = FaultGroups()
    thermal: HostThermal = HostThermal()
    software: HostSoftware = HostSoftware()
    need: HostNeed = HostNeed()


Value = str | int | float | bool | tuple[str, ...] | tuple[Process, ...] | tuple[Fault, ...] | Missing
Values = Mapping[str, Value]
"""Facts by dotted name without their first word: `memory.total_bytes`, `thermal.inlet_celsius`."""


class Evidence(Struct, frozen=True):
    """What was read: where from, when, how long it took and how it ended."""

    id: str
    source: str
    """Name of the reader or probe, such as `nvidia-smi-xml` or `host`."""
    kind: str
    """`file` or `probe`."""
    origin: str
    """File name or program."""
    read_at: str | None
    """RFC 3339 in UTC; for a file the time it gives for itself."""
    seconds: float | None
    outcome: Literal["ok", "partial", "failed", "timed-out", "hung", "crashed", "not-installed", "not-permitted"]
    why: str = ""
    """One sentence on everything that could not be read; empty when all was."""


class Facts(Struct, frozen=True):
    """All that is known of one host."""

    host: Host
    boards: tuple[Board, ...]
    evidence: tuple[Evidence, ...] = ()
    read_from: Mapping[str, Mapping[str, str]] = {}
    """For `host` and each board's key: which evidence gave which fact."""

    def evidence_of(self, key: str, names: Iterable[str]) -> tuple[str, ...]:
        """Ids of the evidence behind the facts `names` (full dotted names) of the board or host `key`."""
        host, own = self.read_from.get("host", {}), self.read_from.get(key, {})
        ids: dict[str | None, None] = {}
        for name in names:
            subject, _, rest = name.partition(".")
            ids[(host if subject == "host" else own).get(rest)] = None
        return tuple(id for id in ids if id)


def board_key(board: Board) -> str:
    """What a board is followed by: its PCI address, else its UUID, else vendor and index."""
    return _key(board.pci_address, board.uuid, board.vendor, board.index)


def elsewhere(board: Board) -> str | None:
    """Why a board on this bus is not for this machine to use: kept for a virtual machine, or not given to us."""
    in_driver = board.in_driver
    not_ours = isinstance(in_driver, Missing) and in_driver.kind == "not-supported" and board.vendor != "cpu"
    return in_driver.why if not_ours and isinstance(in_driver, Missing) else None


def key_of(values: Values) -> str:
    """The same from a board's facts by dotted name."""
    return _key(*(values.get(name, NOT_COLLECTED) for name in ("pci_address", "uuid", "vendor", "index")))


def _key(pci_address: Value, uuid: Value, vendor: Value, index: Value) -> str:
    for value in (pci_address, uuid):
        if isinstance(value, str):
            return value
    return f"{vendor}-{index}"


_Kind = Literal["number", "text", "flag", "texts", "version", "processes", "faults"]


class Fact(Struct, frozen=True):
    """What is known about a fact itself."""

    name: str
    kind: _Kind
    unit: str
    """Base unit for a number (`bytes`, `celsius`, ...), `` for anything else."""
    description: str


UNITS = ("bytes", "seconds", "watts", "celsius", "ratio", "hertz", "lanes", "count", "generation")


def _unit(word: str) -> str:
    for unit in UNITS:
        if word.endswith(f"_{unit}") or word == unit:
            return unit
    if "generation" in word:
        return "generation"
    return "count"


_KINDS: Mapping[Any, _Kind] = {
    Text: "text",
    Count: "number",
    Number: "number",
    Flag: "flag",
    Texts: "texts",
    Processes: "processes",
    Faults: "faults",
}


def _walk(group: type[Struct], prefix: str) -> Iterator[Fact]:
    # This module does not postpone its annotations: they are the types themselves, and need no evaluation.
    for word, hint in group.__annotations__.items():
        name = f"{prefix}.{word}"
        if isinstance(hint, type):
            yield from _walk(hint, name)
            continue
        kind: _Kind = "version" if word.endswith("_version") else _KINDS[hint.__origin__]
        yield Fact(name, kind, _unit(word) if kind == "number" else "", hint.__metadata__[0].description)


@functools.cache
def known() -> Mapping[str, Fact]:
    """All facts by full dotted name, in the order in which they are declared."""
    return {fact.name: fact for group, prefix in ((Board, "board"), (Host, "host")) for fact in _walk(group, prefix)}


def value_of(subject: Struct, name: str) -> Value:
    """The fact `name` (without its first word) of a board or host."""
    for word in name.split("."):
        subject = getattr(subject, word)
    return typing.cast(Value, subject)


def build_board(values: Values) -> Board:
    """A board from facts by dotted name. Raises msgspec.ValidationError for a name or type that is not declared."""
    return msgspec.convert(_nest(values, "board"), Board, strict=True)


def build_host(values: Values) -> Host:
    """A host from facts by dotted name. Raises msgspec.ValidationError for a name or type that is not declared."""
    return msgspec.convert(_nest(values, "host"), Host, strict=True)


def _nest(values: Values, subject: str) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    declared = known()
    for name, value in values.items():
        if f"{subject}.{name}" not in declared:
            raise msgspec.ValidationError(f"no fact is called {subject}.{name}")
        *groups, word = name.split(".")
        node = tree
        for group in groups:
            node = node.setdefault(group, {})
        node[word] = value
    return tree


def flatten(subject: Struct, prefix: str = "") -> dict[str, Value]:
    """The facts of a board or host by dotted name, the opposite of `build_board` and `build_host`."""
    values: dict[str, Value] = {}
    for name in subject.__struct_fields__:
        value = getattr(subject, name)
        if isinstance(value, Struct) and not isinstance(value, Missing):
            values.update(flatten(value, f"{prefix}{name}."))
        else:
            values[prefix + name] = value
    return values
