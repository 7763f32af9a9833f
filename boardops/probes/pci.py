"""Print which boards the PCI bus has, and their links, as JSON lines: `start.py pci [--root DIR]`.

All is read from /sys and /proc (below DIR), so it needs no vendor's driver and answers when that one hangs. It changes
nothing. A board is found by vendor, class and device id; display parts of a board management controller, network cards
of the same vendors and virtual functions are not boards. The ports above a board are followed up to the root; the
narrowest is named.

collect.py starts it, readers/pci.py reads its lines. It imports the standard library only.
"""

from __future__ import annotations

import os
from os.path import basename, dirname, exists, realpath

from boardops.probes.lines import begin, end, missing, names_in, option, say, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from boardops.probes.lines import Values

VENDORS = {
    "10de": "nvidia",
    "19e5": "ascend",
    "cabc": "cambricon",
    "1002": "amd",
    "1d94": "hygon",
    "1da3": "habana",
    "1ed5": "mthreads",
    "1e3e": "iluvatar",
    "9999": "metax",
    "1ded": "thead",
}
# PCI classes (first four digits): display controllers, 3D, other display, co-processor, processing accelerator.
ANY_ACCELERATOR = ("0302", "0380", "0b40", "1200")
CLASSES = {
    # A GeForce has the class of a display; so has no other part of this vendor.
    "10de": ("0300", "0302"),
    # The vendor id also covers network cards (0200) and the graphics of its management controllers (0300).
    "19e5": ("1200",),
    # Integrated graphics have class 0300; accelerators of the Instinct line do not.
    "1002": ("0302", "0380", "1200"),
}
# Cards that drive a screen and compute for nobody; drivers of today do not even know most. Source: names in pci.ids.
DISPLAY_ONLY = {
    "10de": {
        "0a65": "GeForce 210",
        "0de1": "GeForce GT 430",
        "1040": "GeForce GT 520",
        "104a": "GeForce GT 610",
        "0f00": "GeForce GT 630",
        "128b": "GeForce GT 710",
        "1287": "GeForce GT 730",
        "1d01": "GeForce GT 1030",
    },
}
AER = {
    "pcie.aer_corrected_count": ("aer_dev_correctable", "TOTAL_ERR_COR"),
    "pcie.aer_nonfatal_count": ("aer_dev_nonfatal", "TOTAL_ERR_NONFATAL"),
    "pcie.aer_fatal_count": ("aer_dev_fatal", "TOTAL_ERR_FATAL"),
}
# Transfer rates of PCIe generations in GT/s.
GENERATIONS = {"2.5": 1, "5.0": 2, "5": 2, "8.0": 3, "8": 3, "16.0": 4, "16": 4, "32.0": 5, "32": 5, "64.0": 6, "64": 6}
UPLINK = (
    "pcie.uplink_width_lanes",
    "pcie.uplink_width_max_lanes",
    "pcie.uplink_generation",
    "pcie.uplink_generation_max",
    "pcie.uplink_address",
)
NO_WIDTH = 255


def value(path: str) -> Any:
    """The text of a file of sysfs, or what is missing."""
    name = basename(path)
    try:
        return text(path)
    except FileNotFoundError:
        return missing("not-supported", f"the kernel gives no {name}")
    except PermissionError:
        return missing("not-permitted", f"this user may not read {name}")
    except OSError as error:
        return missing("error", f"{name}: {error.strerror}")


def number(path: str) -> Any:
    found = value(path)
    if isinstance(found, str):
        return int(found) if found.isdigit() else missing("unreadable", f"{basename(path)} holds {found[:60]!r}")
    return found


def width(path: str) -> Any:
    found = number(path)
    return missing("not-supported", "the link is hidden or down") if found in (0, NO_WIDTH) else found


def generation(path: str) -> Any:
    """The PCIe generation of a speed such as `16.0 GT/s PCIe`."""
    found = value(path)
    if not isinstance(found, str):
        return found
    rate = found.split(" ")[0]
    if rate in GENERATIONS:
        return GENERATIONS[rate]
    if found.lower().startswith("unknown"):
        return missing("not-supported", "the link is hidden or down")
    return missing("unreadable", f"{basename(path)} holds {found[:60]!r}")


def is_address(name: str) -> bool:
    """Whether a name is a PCI address as the kernel writes it."""
    parts = name.replace(".", ":").split(":")
    return (
        len(parts) == 4
        and [len(part) for part in parts[1:]] == [2, 2, 1]
        and len(parts[0]) in range(4, 9)
        and not set("".join(parts)) - set("0123456789abcdef")
    )


def is_board(folder: str) -> bool:
    """Whether a PCI device is an accelerator board, by vendor, class and what it is a part of."""
    try:
        vendor = text(f"{folder}/vendor")[2:].lower()
        if vendor not in VENDORS:
            return False
        code, device = (text(f"{folder}/{name}")[2:].lower() for name in ("class", "device"))
    except OSError:
        return False
    return device not in DISPLAY_ONLY.get(vendor, ()) and code[:4] in CLASSES.get(vendor, ANY_ACCELERATOR)


class Machine:
    """What is read once for all boards below `root`."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.devices = f"{root}/sys/bus/pci/devices"
        # The number of a board's device node, by PCI address, where the driver tells it.
        self.gpus = f"{root}/proc/driver/nvidia/gpus"
        self.slots = {
            found: slot
            for slot in names_in(f"{root}/sys/bus/pci/slots")
            if isinstance(found := value(f"{root}/sys/bus/pci/slots/{slot}/address"), str)
        }
        nodes = names_in(f"{root}/dev")
        self.nvidia_nodes = [node for node in nodes if node.startswith("nvidia") and node[6:].isdigit()]


def board(machine: Machine, name: str) -> Values:
    """All that sysfs knows of one board."""
    folder = f"{machine.devices}/{name}"
    whole = realpath(folder)
    chain = [part for part in dirname(whole).split("/") if is_address(part)]
    vendor, device = text(f"{folder}/vendor")[2:].lower(), value(f"{folder}/device")
    values: Values = {
        "vendor": VENDORS[vendor],
        "pci_address": short(name),
        "on_bus": True,
        "pci_device_id": f"{vendor}:{device[2:].lower()}" if isinstance(device, str) else device,
        "kernel_driver": driver_of(folder),
        "numa_node": numa_node(folder),
        "slot": slot_of(machine, [name, *reversed(chain)]),
        "pcie.config_readable": config_readable(folder),
        "pcie.link_width_lanes": width(f"{folder}/current_link_width"),
        "pcie.link_width_max_lanes": width(f"{folder}/max_link_width"),
        "pcie.link_generation": generation(f"{folder}/current_link_speed"),
        "pcie.device_generation_max": generation(f"{folder}/max_link_speed"),
        **ports(dirname(whole), len(chain)),
        **{fact: aer(f"{folder}/{file}", word) for fact, (file, word) in AER.items()},
    }
    if vendor == "10de":
        values["device_node"] = device_node(machine, name)
    if exists(f"{folder}/physfn"):
        values["virtualization"] = "vgpu"
    return values


def short(name: str) -> str:
    """The kernel's address in this project's spelling: it is the same for a domain of four digits."""
    domain, _, rest = name.lower().partition(":")
    return f"{int(domain, 16):0{8 if int(domain, 16) > 0xFFFF else 4}x}:{rest}"


def driver_of(folder: str) -> str:
    try:
        return basename(os.readlink(f"{folder}/driver"))
    except OSError:
        return "none"


def numa_node(folder: str) -> Any:
    found = value(f"{folder}/numa_node")
    return missing("not-supported", "the host does not tell") if found == "-1" else number(f"{folder}/numa_node")


def slot_of(machine: Machine, upwards: Sequence[str]) -> Any:
    """The physical slot: that of the board, or of the closest port above it."""
    for address in upwards:
        slot = machine.slots.get(address.rpartition(".")[0])
        if slot is not None:
            return slot
    return missing("not-supported", "the host names no slot for it")


def device_node(machine: Machine, name: str) -> Any:
    """Whether the node by which programs reach the board is here; containers are given those of their boards only."""
    found = value(f"{machine.gpus}/{name}/information")
    if not isinstance(found, str):
        if not machine.nvidia_nodes:
            return False
        return missing("not-supported", "the driver does not tell which device node belongs to the board")
    for line in found.splitlines():
        word, _, minor = line.partition(":")
        if word.strip() == "Device Minor" and minor.strip().isdigit():
            return f"nvidia{minor.strip()}" in machine.nvidia_nodes
    return missing("unreadable", f"{name}/information names no Device Minor")


def ports(parent: str, depth: int) -> Values:
    """The narrowest and the slowest port above a board, and the worst of the links above its own."""
    above = []
    for _ in range(depth):
        lanes, speed = width(f"{parent}/max_link_width"), generation(f"{parent}/max_link_speed")
        above.append((parent, lanes, speed))
        parent = dirname(parent)
    none = missing("not-supported", "no port above the board is visible")
    widths = [(lanes, short(basename(path))) for path, lanes, _ in above if isinstance(lanes, int)]
    generations = [speed for _, _, speed in above if isinstance(speed, int)]
    narrowest = min(widths, default=None)
    return {
        "pcie.port_width_max_lanes": narrowest[0] if narrowest else none,
        "pcie.port_address": narrowest[1] if narrowest else none,
        "pcie.port_generation_max": min(generations) if generations else none,
        **uplink(above),
    }


def uplink(above: Sequence[tuple[str, Any, Any]]) -> Values:
    """The worst of the links between the ports above a board: lanes now, lanes that both ends can do, generations.

    `above` goes upwards. The first port is the upper end of the board's own link; then always a switch's port towards
    the processor and the port above it are the two ends of one link.
    """
    found = []
    for (lower, lower_lanes, lower_speed), (upper, upper_lanes, upper_speed) in zip(
        above[1::2], above[2::2], strict=False
    ):
        lanes = width(f"{lower}/current_link_width")
        if isinstance(lanes, int) and isinstance(lower_lanes, int) and isinstance(upper_lanes, int):
            most = min(lower_lanes, upper_lanes)
            speeds = [speed for speed in (lower_speed, upper_speed) if isinstance(speed, int)]
            fastest = min(speeds) if speeds else missing("not-supported", "the ports do not tell")
            found.append((lanes / most, lanes, most, generation(f"{lower}/current_link_speed"), fastest, upper))
    if not found:
        none = missing("not-supported", "no switch with a visible link is above the board")
        return dict.fromkeys(UPLINK, none)
    _, lanes, most, speed, fastest, upper = min(found, key=lambda link: link[:2])
    return dict(zip(UPLINK, (lanes, most, speed, fastest, short(basename(upper))), strict=True))


def config_readable(folder: str) -> Any:
    """False where the configuration space is all ones: the board is electrically gone."""
    try:
        handle = os.open(f"{folder}/config", os.O_RDONLY | os.O_CLOEXEC)
        try:
            head = os.read(handle, 4)
        finally:
            os.close(handle)
    except FileNotFoundError:
        return missing("not-supported", "the kernel gives no config")
    except PermissionError:
        return missing("not-permitted", "this user may not read config")
    except OSError as error:
        return missing("error", f"config: {error.strerror}")
    return head != b"\xff\xff\xff\xff"


def aer(path: str, word: str) -> Any:
    """A sum of the kernel's PCIe error counters."""
    found = value(path)
    if not isinstance(found, str):
        return found
    for line in found.splitlines():
        name, _, count = line.rpartition(" ")
        if name == word and count.isdigit():
            return int(count)
    return missing("unreadable", f"{basename(path)} has no {word}")


def module_version(root: str) -> Any:
    """Version of the NVIDIA kernel module that is loaded."""
    found = value(f"{root}/proc/driver/nvidia/version")
    if not isinstance(found, str):
        gone = found["missing"] == "not-supported"
        return missing("not-installed", "no NVIDIA kernel module is loaded") if gone else found
    # "... NVIDIA UNIX x86_64 Kernel Module  580.95.05 ..." or "... UNIX Open Kernel Module for x86_64  580.95.05 ..."
    words = found.partition("Kernel Module")[2].split()
    version = words[2] if words[:1] == ["for"] and len(words) > 2 else words[0] if words else ""
    if version.replace(".", "").isdigit() and "." in version:
        return version
    return missing("unreadable", f"/proc/driver/nvidia/version holds {found[:80]!r}")


def nouveau(root: str) -> Any:
    found = value(f"{root}/proc/modules")
    if not isinstance(found, str):
        return found
    return any(line.split(" ")[0] == "nouveau" for line in found.splitlines())


def main(words: Sequence[str]) -> None:
    """Print all boards, then what concerns the whole host."""
    root = (option(words, "--root") or "").rstrip("/")
    begin("pci")
    machine = Machine(root)
    found: list[Values] | None = None
    try:
        names = [name for name in sorted(os.listdir(machine.devices)) if is_address(name)]
        found = [board(machine, name) for name in names if is_board(f"{machine.devices}/{name}")]
    except FileNotFoundError:
        gone = missing("not-permitted", "there is no PCI bus below /sys; it may be hidden from here")
    except OSError as error:
        gone = missing("error", f"the PCI bus cannot be read: {error.strerror}")
    for values in found or ():
        say({"board": values})
    say(
        {
            "host": {
                "boards_on_bus_count": gone if found is None else sum(map(counts, found)),
                "nvidia_node_count": len(machine.nvidia_nodes),
                "software.nvidia_module_version": module_version(root),
                "software.nouveau_loaded": nouveau(root),
            }
        }
    )
    end("pci")


def counts(values: Values) -> bool:
    """Whether the vendor's driver should have this board: it is no virtual function, nor kept for a virtual machine."""
    return not values["kernel_driver"].startswith("vfio") and values.get("virtualization") != "vgpu"
