"""Print the facts of this host as JSON lines: `start.py host [--root DIR] [--cpu] [--torch FILE]`. It changes nothing.

The first line names the probe and the time, the last says that nothing is missing behind it; in between there is a
line per group of facts, as soon as it is read, cheap ones first, since a dead file system may stop us at the later
ones. A value that cannot be read is `{"missing": kind, "why": text}`. `--cpu` adds the processor as a stand-in board;
FILE is PyTorch's version.py. All is read from /proc, /sys and /etc (below DIR), which costs less than a library that
reads the same files.

collect.py starts it, readers/host.py reads its lines. It knows no vendor, no rule and no limit.
"""

from __future__ import annotations

import os
import resource
import time
from os.path import dirname, exists, isdir, isfile, realpath

from boardops.probes.lines import begin, end, missing, names_in, option, say, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from boardops.probes.lines import Values

    Read = Callable[[], Any]

UNLIMITED = 2**63 - 1
SAMPLE_SECONDS = 0.1
# Sensors of the processor by the name of their driver, and the labels that stand for the whole chip, best first.
SENSOR_DRIVERS = ("coretemp", "k10temp", "zenpower", "cpu_thermal")
CHIP_LABELS = ("Package", "Tdie", "Tctl", "")
ZONE_TYPES = ("x86_pkg_temp", "cpu-thermal", "cpu_thermal", "soc_thermal")
# /proc/cpuinfo of Arm servers gives numbers where others give a name.
ARM_PARTS = {("0x48", "0xd01"): "Kunpeng 920", ("0x48", "0xd02"): "Kunpeng 920 (TaiShan v120)"}
CONTAINER_MARKS = (
    ("kubepods", "kubernetes"),
    ("docker", "docker"),
    ("libpod", "podman"),
    ("lxc", "lxc"),
    ("machine.slice/systemd-nspawn", "systemd-nspawn"),
)


class Unread(Exception):
    """A value that could not be read: the kind of Missing, and why."""

    def __init__(self, kind: str, why: str) -> None:
        super().__init__(why)
        self.kind = kind


def missing_of(error: Exception) -> dict[str, str]:
    """What an error says of the value that it kept us from."""
    if isinstance(error, Unread):
        return missing(error.kind, str(error))
    if isinstance(error, OSError):
        kind = "not-permitted" if isinstance(error, PermissionError) else "error"
        return missing(kind, f"{error.filename or 'the kernel'}: {error.strerror or error}")
    return missing("unreadable", str(error) or type(error).__name__)


def attempt(read: Read) -> Any:
    """The value, or what is missing and why."""
    try:
        return read()
    except (Unread, OSError, ValueError, IndexError, KeyError) as error:
        return missing_of(error)


class Machine:
    """The files of a machine below `root`."""

    def __init__(self, root: str) -> None:
        self.root = root.rstrip("/")
        self.texts: dict[str, str] = {}

    def path(self, name: str) -> str:
        return self.root + name

    def text(self, name: str) -> str:
        """The content of a small file, read once. Raises OSError."""
        if name not in self.texts:
            self.texts[name] = text(self.path(name))
        return self.texts[name]

    def field(self, name: str, key: str, separator: str = ":") -> str:
        """What stands behind `key` in a file of keys and values. Raises Unread."""
        for line in self.text(name).splitlines():
            word, found, value = line.partition(separator)
            if found and word.strip() == key:
                return value.strip()
        raise Unread("unreadable", f"{name} has no line {key}")


# Groups of facts. Each gives facts by dotted name and how to read them.


def identity(machine: Machine) -> dict[str, Read]:
    return {
        "hostname": lambda: machine.text("/proc/sys/kernel/hostname"),
        "kernel": lambda: machine.text("/proc/sys/kernel/osrelease"),
        "boot_id": lambda: machine.text("/proc/sys/kernel/random/boot_id"),
        "uptime_seconds": lambda: float(machine.text("/proc/uptime").split()[0]),
        "os": lambda: os_name(machine),
        "container": lambda: container(machine),
    }


def os_name(machine: Machine) -> str:
    name = "/etc/os-release" if exists(machine.path("/etc/os-release")) else "/usr/lib/os-release"
    return machine.field(name, "PRETTY_NAME", "=").strip("\"'")


def container(machine: Machine) -> str:
    """Kind of container that we run in. `none` only where something was read that would have said otherwise."""
    if os.environ.get("KUBERNETES_SERVICE_HOST"):
        return "kubernetes"
    for mark, kind in (("/run/.containerenv", "podman"), ("/.dockerenv", "docker")):
        if exists(machine.path(mark)):
            return kind
    if exists(machine.path("/run/systemd/container")):
        return machine.text("/run/systemd/container")
    errors = []
    for read in (container_of_groups, container_of_environment):
        try:
            kind = read(machine)
        except OSError as error:
            errors.append(error)
            continue
        if kind:
            return kind
    if len(errors) == 2:
        raise errors[0]
    return "none"


def container_of_groups(machine: Machine) -> str:
    groups = machine.text("/proc/1/cgroup")
    return next((kind for mark, kind in CONTAINER_MARKS if mark in groups), "")


def container_of_environment(machine: Machine) -> str:
    for word in machine.text("/proc/1/environ").split("\0"):
        if word.startswith("container="):
            return word.partition("=")[2]
    return ""


def memory(machine: Machine) -> dict[str, Read]:
    def size(key: str) -> int:
        return int(machine.field("/proc/meminfo", key).split()[0]) * 1024

    return {
        "memory.total_bytes": lambda: size("MemTotal"),
        "memory.available_bytes": lambda: size("MemAvailable"),
        "memory.swap_total_bytes": lambda: size("SwapTotal"),
        "memory.swap_used_bytes": lambda: size("SwapTotal") - size("SwapFree"),
    }


def limits(_: Machine) -> dict[str, Read]:
    def limit(which: int) -> int:
        soft = resource.getrlimit(which)[0]
        return UNLIMITED if soft == resource.RLIM_INFINITY else soft

    return {
        "limits.memlock_bytes": lambda: limit(resource.RLIMIT_MEMLOCK),
        "limits.open_file_count": lambda: limit(resource.RLIMIT_NOFILE),
    }


def cpu(machine: Machine) -> dict[str, Read]:
    return {
        "cpu.model": lambda: cpu_model(machine),
        "cpu.core_count": lambda: core_count(machine),
        "cpu.thread_count": lambda: len(os.sched_getaffinity(0)),
        "cpu.load_1m_ratio": lambda: float(machine.text("/proc/loadavg").split()[0]) / thread_count(machine),
    }


def cpu_model(machine: Machine) -> str:
    try:
        return " ".join(machine.field("/proc/cpuinfo", "model name").split())
    except Unread:
        part = (machine.field("/proc/cpuinfo", "CPU implementer"), machine.field("/proc/cpuinfo", "CPU part"))
        return ARM_PARTS.get(part, f"implementer {part[0]}, part {part[1]}")


def core_count(machine: Machine) -> int:
    folder = "/sys/devices/system/cpu"
    cores = set()
    for name in numbered(machine, folder, "cpu"):
        topology = f"{folder}/{name}/topology"
        if isdir(machine.path(topology)):
            cores.add((machine.text(f"{topology}/physical_package_id"), machine.text(f"{topology}/core_id")))
    if not cores:
        raise Unread("not-supported", "the kernel gives no topology of the processors")
    return len(cores)


def numbered(machine: Machine, folder: str, word: str) -> list[str]:
    """The names in a folder that are a word and a number, such as `cpu0`."""
    return [name for name in names_in(machine.path(folder)) if name.startswith(word) and name[len(word) :].isdigit()]


def thread_count(machine: Machine) -> int:
    """Hardware threads that are switched on. Raises Unread."""
    lines = machine.text("/proc/stat").splitlines()
    count = sum(line.startswith("cpu") and line[3:4].isdigit() for line in lines)
    if not count:
        raise Unread("unreadable", "/proc/stat names no processor")
    return count


def numa(machine: Machine) -> dict[str, Read]:
    def count() -> int:
        nodes = numbered(machine, "/sys/devices/system/node", "node")
        if not nodes:
            raise Unread("not-supported", "the kernel tells of no memory nodes")
        return len(nodes)

    return {"numa_node_count": count}


def shm(machine: Machine) -> dict[str, Read]:
    def sizes() -> os.statvfs_result:
        return os.statvfs(machine.path("/dev/shm"))  # noqa: S108 - its size, not a file in it

    return {
        "shm.total_bytes": lambda: sizes().f_blocks * sizes().f_frsize,
        "shm.free_bytes": lambda: sizes().f_bavail * sizes().f_frsize,
    }


def disk(machine: Machine) -> dict[str, Read]:
    def sizes() -> os.statvfs_result:
        return os.statvfs(machine.path("/"))

    def used_ratio() -> float:
        # What is kept for root counts for neither side, as in `df`.
        used, free = sizes().f_blocks - sizes().f_bfree, sizes().f_bavail
        if used + free == 0:
            raise Unread("not-supported", "the root file system has no size")
        return used / (used + free)

    return {
        "disk.root_total_bytes": lambda: sizes().f_blocks * sizes().f_frsize,
        "disk.root_free_bytes": lambda: sizes().f_bavail * sizes().f_frsize,
        "disk.root_used_ratio": used_ratio,
    }


def software(machine: Machine, torch: str | None) -> dict[str, Read]:
    return {
        "software.cuda_toolkit_version": lambda: toolkit_version(machine),
        "software.torch_version": lambda: torch_value(torch, "__version__"),
        "software.torch_cuda_version": lambda: torch_value(torch, "cuda"),
    }


def toolkit_version(machine: Machine) -> str:
    """Version of the first CUDA toolkit that is there. Raises Unread."""
    found = [folder for folder in toolkit_folders(machine) if isdir(folder)]
    for folder in found:
        for name, pattern in (
            ("version.json", r'"cuda"\s*:\s*\{[^}]*"version"\s*:\s*"([\d.]+)"'),
            ("version.txt", r"CUDA Version ([\d.]+)"),
            ("include/cuda.h", r"#define\s+CUDA_VERSION\s+(\d+)"),
        ):
            version = found_in(f"{folder}/{name}", pattern)
            if version and name == "include/cuda.h":
                return f"{int(version) // 1000}.{int(version) % 1000 // 10}"
            if version:
                return version
    if found and found[0].rpartition("/")[2] != "usr":
        raise Unread("unreadable", f"{found[0]} has no version.json, version.txt or include/cuda.h with a version")
    raise Unread("not-installed", "neither CUDA_HOME, /usr/local/cuda nor nvcc leads to a CUDA toolkit")


def found_in(path: str, pattern: str) -> str:
    """What a pattern finds in a file; nothing where there is none. Raises OSError."""
    if not isfile(path):
        return ""
    import re

    match = re.search(pattern, text(path), re.MULTILINE)
    return match[1] if match else ""


def toolkit_folders(machine: Machine) -> Iterator[str]:
    for name in ("CUDA_HOME", "CUDA_PATH"):
        if os.environ.get(name):
            yield machine.path(os.environ[name])
    yield machine.path("/usr/local/cuda")
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        nvcc = machine.path(f"{folder}/nvcc")
        if isfile(nvcc) and os.access(nvcc, os.X_OK):
            yield dirname(dirname(realpath(nvcc)))


def torch_value(path: str | None, name: str) -> str:
    """A value of PyTorch's version.py, which is read as text: importing torch takes seconds. Raises Unread."""
    if path is None:
        raise Unread("not-installed", "no torch in the folders of the Python that runs boardops")
    value = found_in(path, rf"^{name}\b[^=\n]*=\s*(.+)$").strip().strip("\"'")
    if not value:
        raise Unread("unreadable", f"{path} has no {name}")
    if value == "None":
        raise Unread("not-supported", "this PyTorch was built without CUDA")
    return value


# The processor as a stand-in board.


def processor_times(machine: Machine) -> tuple[int, int]:
    """Busy and total time since the boot."""
    times = [int(word) for word in text(machine.path("/proc/stat")).splitlines()[0].split()[1:9]]
    return sum(times) - times[3] - times[4], sum(times)


def compute_ratio(machine: Machine) -> float:
    busy, total = processor_times(machine)
    time.sleep(SAMPLE_SECONDS)
    busy_after, total_after = processor_times(machine)
    if total_after <= total:
        raise Unread("error", f"the processor's times did not move in {SAMPLE_SECONDS} s")
    return min(1.0, max(0.0, (busy_after - busy) / (total_after - total)))


def core_celsius(machine: Machine) -> float:
    found = [value for path in sensors(machine) for value in celsius(path)]
    if not found:
        raise Unread("not-supported", "no temperature sensor for the processor")
    return max(found)


def sensors(machine: Machine) -> Iterator[str]:
    """Files with the temperature of a whole processor chip."""
    for folder, word, file, words in (
        ("/sys/class/hwmon", "hwmon", "name", SENSOR_DRIVERS),
        ("/sys/class/thermal", "thermal_zone", "type", ZONE_TYPES),
    ):
        for name in numbered(machine, folder, word):
            path = machine.path(f"{folder}/{name}")
            if word_in(f"{path}/{file}") in words:
                yield from chip_sensors(path) if word == "hwmon" else [f"{path}/temp"]


def chip_sensors(folder: str) -> list[str]:
    inputs = [name for name in names_in(folder) if name.startswith("temp") and name.endswith("_input")]
    labels = {f"{folder}/{name}": word_in(f"{folder}/{name[:-5]}label") for name in inputs}
    for word in CHIP_LABELS:
        paths = [path for path, label in labels.items() if label.startswith(word)]
        if paths:
            return paths
    return []


def word_in(path: str) -> str:
    try:
        return text(path)
    except OSError:
        return ""


def celsius(path: str) -> list[float]:
    """The value of a sensor, or nothing where it is broken: drivers print odd numbers for one that is not there."""
    try:
        value = int(text(path)) / 1000
    except (OSError, ValueError):
        return []
    return [value] if -50 < value < 150 else []


def board(machine: Machine) -> Values:
    sizes = {name: attempt(read) for name, read in memory(machine).items()}
    total, free = sizes["memory.total_bytes"], sizes["memory.available_bytes"]
    known = isinstance(total, int) and isinstance(free, int)
    return {
        "vendor": "cpu",
        "index": 0,
        "model": attempt(lambda: cpu_model(machine)),
        "architecture": os.uname().machine,
        "memory.total_bytes": total,
        "memory.free_bytes": free,
        "memory.used_bytes": total - free if known else missing("error", "total or free memory is missing"),
        "temperature.core_celsius": attempt(lambda: core_celsius(machine)),
        "utilization.compute_ratio": attempt(lambda: compute_ratio(machine)),
    }


def print_host(groups: Sequence[dict[str, Read]]) -> None:
    for group in groups:
        say({"host": {name: attempt(read) for name, read in group.items()}})


def main(words: Sequence[str]) -> None:
    """Print the host, cheap groups first."""
    machine = Machine(option(words, "--root") or "/")
    begin("host")
    print_host([identity(machine), memory(machine), limits(machine), cpu(machine), numa(machine)])
    if "--cpu" in words:
        say({"board": board(machine)})
    print_host([shm(machine), disk(machine), software(machine, option(words, "--torch"))])
    end("host")
