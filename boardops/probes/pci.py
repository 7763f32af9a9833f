"""Print which boards the PCI bus has, and their links, as JSON lines: `python -P pci.py [--root DIR]`.

All is read from /sys and /proc (below DIR), so it needs no vendor's driver and answers when that one hangs. It changes
nothing. A board is found by vendor, class and device id; display parts of a board management controller, network cards
of the same vendors and virtual functions are not boards. The ports above a board are followed up to the root; the
narrowest is named.

collect.py starts it, readers/pci.py reads its lines. It imports the standard library only.
"""

import sys

if __name__ == "__main__" and not getattr(sys.flags, "safe_path", False):
    # Python 3.10 has no -P: files beside this one must not stand in for modules of the standard library.
    del sys.path[0]

import json
import re
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

Values = dict[str, Any]

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
ADDRESS = re.compile(r"^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$")
NO_WIDTH = 255


def missing(kind: str, why: str) -> dict[str, str]:
    return {"missing": kind, "why": why}


def say(line: Mapping[str, Any]) -> None:
    """Print one line, at once."""
    print(json.dumps(line), flush=True)


def text(path: Path) -> str:
    """The content of a small file. Raises OSError."""
    with path.open("rb") as file:
        return file.read(65536).decode("utf-8", "replace").strip()


def value(path: Path) -> Any:
    """The text of a file of sysfs, or what is missing."""
    try:
        return text(path)
    except FileNotFoundError:
        return missing("not-supported", f"the kernel gives no {path.name}")
    except PermissionError:
        return missing("not-permitted", f"this user may not read {path.name}")
    except OSError as error:
        return missing("error", f"{path.name}: {error.strerror}")


def number(path: Path) -> Any:
    found = value(path)
    if isinstance(found, str):
        return int(found) if found.isdigit() else missing("unreadable", f"{path.name} holds {found[:60]!r}")
    return found


def width(path: Path) -> Any:
    found = number(path)
    return missing("not-supported", "the link is hidden or down") if found in (0, NO_WIDTH) else found


def generation(path: Path) -> Any:
    """The PCIe generation of a speed such as `16.0 GT/s PCIe`."""
    found = value(path)
    if not isinstance(found, str):
        return found
    rate = found.split(" ")[0]
    if rate in GENERATIONS:
        return GENERATIONS[rate]
    if found.lower().startswith("unknown"):
        return missing("not-supported", "the link is hidden or down")
    return missing("unreadable", f"{path.name} holds {found[:60]!r}")


def is_board(folder: Path) -> bool:
    """Whether a PCI device is an accelerator board, by vendor, class and what it is a part of."""
    try:
        vendor, code, device = (text(folder / name)[2:].lower() for name in ("vendor", "class", "device"))
    except OSError:
        return False
    if vendor not in VENDORS or device in DISPLAY_ONLY.get(vendor, ()):
        return False
    return code[:4] in CLASSES.get(vendor, ANY_ACCELERATOR)


def board(root: Path, folder: Path) -> Values:
    """All that sysfs knows of one board."""
    vendor, device = text(folder / "vendor")[2:].lower(), value(folder / "device")
    values: Values = {
        "vendor": VENDORS[vendor],
        "pci_address": short(folder.name),
        "on_bus": True,
        "pci_device_id": f"{vendor}:{device[2:].lower()}" if isinstance(device, str) else device,
        "kernel_driver": driver_of(folder),
        "numa_node": numa_node(folder),
        "slot": slot_of(root, folder.name),
        "virtualization": "vgpu" if (folder / "physfn").exists() else missing("not-supported", "sysfs does not tell"),
        "pcie.config_readable": config_readable(folder),
        "pcie.link_width_lanes": width(folder / "current_link_width"),
        "pcie.link_width_max_lanes": width(folder / "max_link_width"),
        "pcie.link_generation": generation(folder / "current_link_speed"),
        "pcie.device_generation_max": generation(folder / "max_link_speed"),
        **ports(folder),
        **{name: aer(folder / file, word) for name, (file, word) in AER.items()},
    }
    if values["virtualization"] != "vgpu":
        del values["virtualization"]
    return values


def short(name: str) -> str:
    """The kernel's address in this project's spelling: it is the same for a domain of four digits."""
    domain, _, rest = name.lower().partition(":")
    return f"{int(domain, 16):0{8 if int(domain, 16) > 0xFFFF else 4}x}:{rest}"


def driver_of(folder: Path) -> str:
    try:
        return (folder / "driver").readlink().name
    except OSError:
        return "none"


def numa_node(folder: Path) -> Any:
    found = value(folder / "numa_node")
    return missing("not-supported", "the host does not tell") if found == "-1" else number(folder / "numa_node")


def slot_of(root: Path, name: str) -> Any:
    """The physical slot: that of the board, or of the closest port above it."""
    slots = {}
    for path in sorted((root / "sys/bus/pci/slots").glob("*/address")):
        found = value(path)
        if isinstance(found, str):
            slots[found] = path.parent.name
    for above in (name, *reversed(chain(root / "sys/bus/pci/devices" / name))):
        if above.rpartition(".")[0] in slots:
            return slots[above.rpartition(".")[0]]
    return missing("not-supported", "the host names no slot for it")


def chain(folder: Path) -> list[str]:
    """The addresses of the ports above a device, the root port first."""
    return [part for part in folder.resolve().parts[:-1] if ADDRESS.match(part)]


def ports(folder: Path) -> Values:
    """The narrowest and the slowest of the links above a board, and which port is the narrowest."""
    whole = folder.resolve()
    widths: list[tuple[int, str]] = []
    generations: list[int] = []
    for above in [path for path in whole.parents if ADDRESS.match(path.name)]:
        lanes, speed = width(above / "max_link_width"), generation(above / "max_link_speed")
        if isinstance(lanes, int):
            widths.append((lanes, short(above.name)))
        if isinstance(speed, int):
            generations.append(speed)
    none = missing("not-supported", "no port above the board is visible")
    narrowest = min(widths, default=None)
    return {
        "pcie.port_width_max_lanes": narrowest[0] if narrowest else none,
        "pcie.port_address": narrowest[1] if narrowest else none,
        "pcie.port_generation_max": min(generations) if generations else none,
    }


def config_readable(folder: Path) -> Any:
    """False where the configuration space is all ones: the board is electrically gone."""
    try:
        with (folder / "config").open("rb") as file:
            head = file.read(4)
    except FileNotFoundError:
        return missing("not-supported", "the kernel gives no config")
    except PermissionError:
        return missing("not-permitted", "this user may not read config")
    except OSError as error:
        return missing("error", f"config: {error.strerror}")
    return head != b"\xff\xff\xff\xff"


def aer(path: Path, word: str) -> Any:
    """A sum of the kernel's PCIe error counters."""
    found = value(path)
    if not isinstance(found, str):
        return found
    for line in found.splitlines():
        name, _, count = line.rpartition(" ")
        if name == word and count.isdigit():
            return int(count)
    return missing("unreadable", f"{path.name} has no {word}")


def module_version(root: Path) -> Any:
    """Version of the NVIDIA kernel module that is loaded."""
    found = value(root / "proc/driver/nvidia/version")
    if not isinstance(found, str):
        return (
            missing("not-installed", "no NVIDIA kernel module is loaded")
            if found["missing"] == "not-supported"
            else found
        )
    match = re.search(r"Kernel Module(?: for \S+)?\s+(\d+(?:\.\d+)+)", found)
    return match[1] if match else missing("unreadable", f"/proc/driver/nvidia/version holds {found[:80]!r}")


def nouveau(root: Path) -> Any:
    found = value(root / "proc/modules")
    if not isinstance(found, str):
        return found
    return any(line.split(" ")[0] == "nouveau" for line in found.splitlines())


def devices(root: Path) -> Iterator[Path]:
    for folder in sorted((root / "sys/bus/pci/devices").iterdir()):
        if ADDRESS.match(folder.name):
            yield folder


def option(name: str) -> str | None:
    """The word behind an option. Only collect.py calls this program, and argparse costs a quarter of its time."""
    words = sys.argv[1:]
    return words[words.index(name) + 1] if name in words[:-1] else None


def main() -> None:
    root = Path(option("--root") or "/")
    say({"probe": "pci", "read_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())})
    found: list[Values] | None = None
    try:
        found = [board(root, folder) for folder in devices(root) if is_board(folder)]
    except FileNotFoundError:
        why = "this machine shows no PCI bus"
    except OSError as error:
        why = f"the PCI bus cannot be read: {error.strerror}"
    for values in found or ():
        say({"board": values})
    say(
        {
            "host": {
                "boards_on_bus_count": missing("error", why) if found is None else sum(map(counts, found)),
                "software.nvidia_module_version": module_version(root),
                "software.nouveau_loaded": nouveau(root),
            }
        }
    )
    say({"end": "pci"})


def counts(values: Values) -> bool:
    """Whether the vendor's driver should have this board: it is no virtual function, nor kept for a virtual machine."""
    return not values["kernel_driver"].startswith("vfio") and values.get("virtualization") != "vgpu"


if __name__ == "__main__":
    main()
