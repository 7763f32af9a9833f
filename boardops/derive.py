"""Facts that follow from other facts: the catalog's word on a model, ratios, limits from margins, owners of memory.

Called with the values that readers gave, before they become Host and Board. What was read is never overwritten by what
follows from it; only a bare N/A is looked at twice: where the catalog or a board of the same model shows that the value
should exist, it becomes an error instead of "not supported".
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence

from boardops.catalog.boards import BoardEntry, find_board
from boardops.catalog.nvidia_drivers import end_of_life, oldest_driver_for
from boardops.conflicts import shared_uuids
from boardops.facts import NOT_COLLECTED, Board, Host, Missing, Process, Value, Values, build_board, build_host, known
from boardops.faults import settle
from boardops.plausible import plausible

# Facts that a board with a feature of the catalog has.
_FEATURES: Mapping[str, tuple[str, ...]] = {
    "ecc": ("ecc.enabled", "ecc.pending", "ecc.uncorrected_volatile_count", "ecc.corrected_volatile_count"),
    "row_remapping": ("rows.failed", "rows.pending", "rows.remapped_uncorrected_count"),
    "page_retirement": ("pages.pending", "pages.retired_single_count", "pages.retired_double_count"),
}
_EVERY = frozenset({"temperature.core_celsius"})
_EVERY_MEMORY = frozenset({"memory.total_bytes", "memory.used_bytes", "memory.free_bytes"})
# Facts that the driver withholds while error correction is off, or while the board is split into instances.
_NEED_ECC = ("ecc.corrected", "ecc.uncorrected", "ecc.sram", "rows.", "pages.")
_NEED_WHOLE = ("utilization.", "rows.")


_RECOVERIES: Mapping[str, str] = {
    "none": "none",
    "reset": "reset-board",
    "drain-and-reset": "reset-board",
    "bus-reset": "reset-board",
    "drain-p2p": "restart-workload",
    "drain": "restart-workload",
    "recover-imex-domain": "restart-service",
    "reboot": "reboot-host",
}
"""Recovery actions of nvml.h (nvmlDeviceGpuRecoveryAction_t) as actions of ours."""


def derive(host: Values, boards: Sequence[Values], at: datetime.datetime) -> tuple[Host, tuple[Board, ...]]:
    """The host and its boards with all that follows from their values; `at` counts for ends of life."""
    host, boards = settle(host, boards, at)
    entries = [_entry(board) for board in boards]
    settled = [_settle(board, entry, boards) for board, entry in zip(boards, entries, strict=True)]
    return (
        build_host(_host(host, boards, at)),
        tuple(build_board(_board(board, entry)) for board, entry in zip(settled, entries, strict=True)),
    )


def _text(values: Values, name: str) -> str | None:
    value = values.get(name)
    return value if isinstance(value, str) else None


def _number(values: Values, name: str) -> float | int | None:
    value = values.get(name)
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _entry(board: Values) -> BoardEntry | None:
    return find_board(_text(board, "pci_device_id"), _text(board, "model"))


# A bare N/A, looked at twice.


def _settle(board: Values, entry: BoardEntry | None, boards: Sequence[Values]) -> dict[str, Value]:
    values = {name: plausible(name, value) for name, value in board.items()}
    if _text(board, "virtualization") == "vgpu":
        return values  # A guest sees little of its board, whatever the model has.
    for name, value in board.items():
        if isinstance(value, Missing) and value.bare and not _withheld(board, name):
            why = _should_exist(name, entry, board, boards)
            if why:
                values[name] = Missing("error", f"{value.why}, but {why}")
    return values


def _passed_through(board: Values) -> bool:
    """Whether we are in a virtual machine, which may be given a board without its links."""
    return board.get("virtualization") == "pass-through"


def _withheld(board: Values, name: str) -> bool:
    return (board.get("ecc.enabled") is False and name.startswith(_NEED_ECC)) or (
        board.get("mig_enabled") is True and name.startswith(_NEED_WHOLE)
    )


def _should_exist(name: str, entry: BoardEntry | None, board: Values, boards: Sequence[Values]) -> str:
    if name in _EVERY or (name in _EVERY_MEMORY and not (entry and entry.unified_memory)):
        return "every board has it"
    if name.startswith("link.") and isinstance(_expected_links(entry), int) and not _passed_through(board):
        return "the catalog says that this model has links"
    if entry is not None:
        for feature, names in _FEATURES.items():
            if name in names and getattr(entry, feature):
                return "the catalog says that this model has it"
    for other in boards:
        if other is not board and other.get("model") == board.get("model"):
            value = other.get(name)
            if value is not None and not isinstance(value, Missing) and not _withheld(other, name):
                return f"{other.get('pci_address')}, of the same model, shows it"
    return ""


# What follows from the values of one board.


def _board(board: dict[str, Value], entry: BoardEntry | None) -> dict[str, Value]:
    values = {**board, **_spec(entry)}
    if values.get("vendor") == "cpu":
        values["lost"] = False
        values["spec.known"] = False
    _fill(values, "temperature.slowdown_celsius", _slowdown(values))
    _fill(values, "temperature.slowdown_celsius", values["spec.slowdown_celsius"])
    _fill(values, "temperature.memory_max_celsius", values["spec.memory_max_celsius"])
    expected_links = _expected_links(entry)
    _fill(values, "link.expected_count", expected_links)
    # No source gives it, so that nobody has read it would be the wrong reason.
    values.setdefault("link.expected_count", expected_links)
    values["memory.used_ratio"] = _ratio(values, "memory.used_bytes", "memory.total_bytes")
    values["memory.offered_bytes"] = _offered(values, "memory.free_bytes")
    values["memory.owner_count"] = _owners(values)
    values["pages.retired_count"] = _retired(values)
    values["recovery_remedy"] = _remedy(values.get("recovery_action", NOT_COLLECTED))
    return values


def _remedy(asked: Value) -> Value:
    """What the driver asks for, in the words of the closed list."""
    if isinstance(asked, Missing):
        return asked
    return _RECOVERIES.get(str(asked), "watch")


def _spec(entry: BoardEntry | None) -> dict[str, Value]:
    if entry is None:
        values: dict[str, Value] = {
            name.partition(".")[2]: Missing("not-supported", "the catalog does not know this model")
            for name in known()
            if name.startswith("board.spec.")
        }
        return {**values, "spec.known": False}
    given: dict[str, Value | None] = {
        "spec.name": entry.id,
        "spec.memory_bytes": None if entry.memory_gb is None else int(entry.memory_gb * 10**9),
        "spec.ecc": entry.ecc,
        "spec.row_remapping": entry.row_remapping,
        "spec.pcie_width_lanes": entry.pcie_width_lanes,
        "spec.pcie_width_min_lanes": entry.pcie_width_min_lanes,
        "spec.pcie_generation": entry.pcie_generation,
        "spec.link_count": entry.link_count,
        "spec.memory_max_celsius": entry.memory_max_celsius,
        "spec.slowdown_celsius": entry.slowdown_celsius,
    }
    unknown = Missing("not-supported", "the catalog has no value for this model")
    return {"spec.known": True, **{name: unknown if value is None else value for name, value in given.items()}}


def _fill(values: dict[str, Value], name: str, value: Value) -> None:
    """Put a value where the board itself gives none, unless the board was asked in vain."""
    old = values.get(name)
    open_ = old is None or (isinstance(old, Missing) and old.kind in {"not-supported", "not-collected"})
    if open_ and not isinstance(value, Missing):
        values[name] = value


def _expected_links(entry: BoardEntry | None) -> Value:
    """Links that are always there; a bridge between two cards is an option."""
    if entry is None or entry.link_count is None or entry.link_kind == "nvlink-bridge":
        return Missing("not-supported", "the catalog does not say how many links the model has")
    return entry.link_count


def _slowdown(values: Values) -> Value:
    core = _number(values, "temperature.core_celsius")
    left = _number(values, "temperature.slowdown_margin_celsius")
    if core is None or left is None:
        return Missing("not-supported", "no margin to count from")
    return float(core + left)


def _first_missing(values: Values, *names: str) -> Missing | None:
    for name in names:
        value = values.get(name, NOT_COLLECTED)
        if isinstance(value, Missing):
            return value
    return None


def _ratio(values: Values, part: str, whole: str) -> Value:
    missing = _first_missing(values, part, whole)
    if missing is not None:
        return missing
    total = _number(values, whole)
    return (_number(values, part) or 0) / total if total else Missing("error", f"{whole} is 0")


def _offered(values: Values, name: str) -> Value:
    """A value that a need is measured by. What does not exist cannot meet a need, so it is an error, not a skip."""
    value = values.get(name, NOT_COLLECTED)
    if isinstance(value, Missing) and value.kind in {"not-supported", "not-installed"}:
        return Missing("error", f"the need cannot be checked: {value.why}")
    return value


def _retired(values: Values) -> Value:
    """All retired pages. A board that counts one kind counts the other, so that one alone is no answer."""
    parts = [values.get(f"pages.retired_{kind}_count", NOT_COLLECTED) for kind in ("single", "double")]
    missing = [part for part in parts if isinstance(part, Missing)]
    if not missing:
        return sum(part for part in parts if isinstance(part, int))
    unseen = next((part for part in missing if part.kind != "not-supported"), None)
    if unseen is not None:
        return unseen
    return missing[0] if len(missing) == 2 else Missing("error", "only one of two counts of retired pages is given")


def _owners(values: Values) -> Value:
    """How many independent owners compute on the board: by user and control group, else by the program's name."""
    processes = values.get("processes", NOT_COLLECTED)
    if isinstance(processes, Missing):
        return processes
    assert isinstance(processes, tuple)
    owners = {_owner(process) for process in processes if isinstance(process, Process) and process.kind != "graphics"}
    return len(owners)


def _owner(process: Process) -> tuple[str, ...]:
    known_owner = tuple(word for word in (process.owner, process.control_group) if isinstance(word, str))
    return known_owner or (process.name,)


# What follows for the host.


def _host(host: Values, boards: Sequence[Values], at: datetime.datetime) -> dict[str, Value]:
    values = dict(host)
    values["software.nvidia_driver_support_left_seconds"] = _support_left(values, at)
    values["software.cuda_toolkit_driver_version"] = _driver_for(values, "software.cuda_toolkit_version")
    values["software.torch_driver_version"] = _driver_for(values, "software.torch_cuda_version")
    values["need.offered_board_count"] = _offered_boards(values, boards)
    values["need.offered_cuda_version"] = _offered(values, "software.cuda_driver_version")
    values["vbios_version_count"] = _versions(boards, "vbios_version", "video BIOS")
    values["inforom_version_count"] = _versions(boards, "inforom_version", "InfoROM")
    values["numa_spread_count"] = _numa_spread(boards)
    values.setdefault("hung_sources", Missing("not-supported", "no driver was asked"))
    values.setdefault("stuck_processes", Missing("not-supported", "no driver was asked that did not answer in time"))
    conflicts = values.get("conflicts", ())
    if isinstance(conflicts, tuple):
        values["conflicts"] = (*conflicts, *shared_uuids(boards))
    count = values.get("boards_in_driver_count")
    if values.get("boards_on_bus_count") == 0 and isinstance(count, Missing) and count.kind == "not-installed":
        # Where the bus shows no board, nobody misses a driver.
        gone = Missing("not-supported", f"the PCI bus shows no board, and {count.why}")
        values.update({"boards_in_driver_count": gone, "boards_listed_count": gone})
    return values


def _offered_boards(values: Values, boards: Sequence[Values]) -> Value:
    """How many boards can serve. Those that nobody could ask count where they make no difference to the need."""
    serving, unsure = 0, None
    for board in boards:
        in_driver, lost = board.get("in_driver", NOT_COLLECTED), board.get("lost", NOT_COLLECTED)
        if board.get("vendor") == "cpu" or in_driver is False or lost is True:
            continue
        missing = next((value for value in (in_driver, lost) if isinstance(value, Missing)), None)
        if missing is None:
            serving += 1
        elif missing.kind != "not-supported":
            unsure = unsure or missing
    need = _number(values, "need.board_count")
    if unsure is None or (need is not None and serving >= need):
        return serving
    return unsure


def _support_left(values: Values, at: datetime.datetime) -> Value:
    name = "software.nvidia_driver_version"
    missing = _first_missing(values, name)
    if missing is not None:
        return missing
    end = end_of_life(str(values[name]))
    if end is None:
        return Missing("not-supported", f"the catalog knows no end for driver {values[name]}")
    last = datetime.datetime.combine(end, datetime.time.max, tzinfo=datetime.timezone.utc)
    return float(round((last - at).total_seconds()))


def _driver_for(values: Values, name: str) -> Value:
    """The oldest driver that serves the CUDA version in a fact."""
    missing = _first_missing(values, name)
    if missing is not None:
        # Without a toolkit or PyTorch there is nothing that the driver could be too old for.
        return Missing("not-supported", missing.why) if missing.kind == "not-installed" else missing
    driver = oldest_driver_for(str(values[name]))
    return driver if driver else Missing("not-supported", f"the catalog does not know CUDA {values[name]}")


def _versions(boards: Sequence[Values], name: str, title: str) -> Value:
    """How many versions of a thing boards of one part number have, at most."""
    versions: dict[str, set[str]] = {}
    for board in boards:
        part, version = _text(board, "part_number"), _text(board, name)
        if part is not None and version is not None:
            versions.setdefault(part, set()).add(version)
    if not versions:
        return Missing("not-supported", f"no board gives part number and {title}")
    return max(len(found) for found in versions.values())


def _numa_spread(boards: Sequence[Values]) -> Value:
    """Boards on the memory node with most of them less those on the node with fewest, among nodes with boards."""
    counts: dict[Value, int] = {}
    for board in boards:
        if board.get("vendor") == "cpu":
            continue
        node = board.get("numa_node", NOT_COLLECTED)
        if isinstance(node, Missing):
            return node
        counts[node] = counts.get(node, 0) + 1
    if not counts:
        return Missing("not-supported", "there is no board")
    return max(counts.values()) - min(counts.values())
