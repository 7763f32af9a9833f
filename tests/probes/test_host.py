"""The host probe as a program, on a machine that lies in a folder and on this one."""

from __future__ import annotations

import os
import resource
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from boardops.facts import Missing, Values
from boardops.readers.host import BOARD_FILLS, FILLS, read
from boardops.readers.reading import Reading
from tests.probes.program import started

FILES = {
    "proc/sys/kernel/hostname": "node-7\n",
    "proc/sys/kernel/osrelease": "5.15.0-119-generic\n",
    "proc/sys/kernel/random/boot_id": "11111111-2222-3333-4444-555555555555\n",
    "proc/uptime": "4321.50 8000.00\n",
    "proc/1/cgroup": "0::/init.scope\n",
    "proc/1/environ": "HOME=/\0TERM=linux\0",
    "proc/loadavg": "3.00 2.00 1.00 1/200 4242\n",
    "proc/meminfo": "MemTotal: 1000 kB\nMemFree: 1 kB\nMemAvailable: 600 kB\nSwapTotal: 50 kB\nSwapFree: 20 kB\n",
    "proc/cpuinfo": "processor : 0\nmodel name\t: Some  Processor @ 2 GHz\nprocessor : 1\nmodel name : Other\n",
    "proc/stat": "cpu  10 0 10 80 0 0 0 0 0 0\ncpu0 5 0 5 40\ncpu1 5 0 5 40\ncpu2 1 1 1 1\ncpu3 1 1 1 1\nintr 5\n",
    "etc/os-release": 'NAME="Ubuntu"\nPRETTY_NAME="Ubuntu 22.04.5 LTS"\n',
    "dev/shm/.keep": "",
    "usr/local/cuda/version.json": '{"cuda" : {"name" : "CUDA SDK", "version" : "12.4.1"}, "nvcc": {"version": "9"}}',
    "sys/class/hwmon/hwmon0/name": "nvme\n",
    "sys/class/hwmon/hwmon0/temp1_input": "99000\n",
    "sys/class/hwmon/hwmon1/name": "coretemp\n",
    "sys/class/hwmon/hwmon1/temp1_label": "Package id 0\n",
    "sys/class/hwmon/hwmon1/temp1_input": "61000\n",
    "sys/class/hwmon/hwmon1/temp2_label": "Core 0\n",
    "sys/class/hwmon/hwmon1/temp2_input": "70000\n",
    "sys/class/hwmon/hwmon2/name": "coretemp\n",
    "sys/class/hwmon/hwmon2/temp1_label": "Package id 1\n",
    "sys/class/hwmon/hwmon2/temp1_input": "64500\n",
    "sys/class/hwmon/hwmon3/name": "k10temp\n",
    "sys/class/hwmon/hwmon3/temp1_label": "Tctl\n",
    "sys/class/hwmon/hwmon3/temp1_input": "88000\n",
    "sys/class/hwmon/hwmon3/temp2_label": "Tdie\n",
    "sys/class/hwmon/hwmon3/temp2_input": "61000\n",
    "sys/class/thermal/thermal_zone0/type": "x86_pkg_temp\n",
    "sys/class/thermal/thermal_zone0/temp": "-274000\n",
    **{f"sys/devices/system/cpu/cpu{n}/topology/physical_package_id": "0\n" for n in range(4)},
    **{f"sys/devices/system/cpu/cpu{n}/topology/core_id": f"{n % 2}\n" for n in range(4)},
}


def machine(root: Path, changes: Mapping[str, str | None] | None = None) -> Path:
    """A machine whose files lie below `root`; a change to None takes a file away."""
    for name, text in {**FILES, **(changes or {})}.items():
        if text is not None:
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    return root


def probe(*options: str, env: Mapping[str, str] | None = None) -> Reading:
    """What the probe reads."""
    done = subprocess.run(
        started("host", *options),
        env={"PATH": "/no/such/folder", **(env or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    reading = read(done.stdout)
    assert (reading.problems, reading.complete) == ((), True)
    return reading


def probe_host(root: Path, changes: Mapping[str, str | None], env: Mapping[str, str] | None = None) -> Values:
    return probe("--root", str(machine(root, changes)), env=env).host


def test_the_facts_of_a_machine(tmp_path: Path) -> None:
    host = probe_host(tmp_path, {})
    size = os.statvfs(tmp_path)
    assert set(host) == set(FILLS)
    given = {name: value for name, value in host.items() if not name.startswith(("disk.", "shm.", "limits."))}
    assert {name: value for name, value in given.items() if not isinstance(value, Missing)} == {
        "hostname": "node-7",
        "kernel": "5.15.0-119-generic",
        "os": "Ubuntu 22.04.5 LTS",
        "boot_id": "11111111-2222-3333-4444-555555555555",
        "uptime_seconds": 4321.5,
        "container": "none",
        "memory.total_bytes": 1024000,
        "memory.available_bytes": 614400,
        "memory.swap_total_bytes": 51200,
        "memory.swap_used_bytes": 30720,
        "cpu.model": "Some Processor @ 2 GHz",
        "cpu.core_count": 2,
        "cpu.thread_count": len(os.sched_getaffinity(0)),
        "cpu.load_1m_ratio": 0.75,
        "software.cuda_toolkit_version": "12.4.1",
    }
    assert host["disk.root_total_bytes"] == host["shm.total_bytes"] == size.f_blocks * size.f_frsize
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    assert host["limits.open_file_count"] == soft


def test_the_processor_as_a_board(tmp_path: Path) -> None:
    (board,) = probe("--cpu", "--root", str(machine(tmp_path))).boards
    assert {name: board[name] for name in BOARD_FILLS} == {
        "vendor": "cpu",
        "index": 0,
        "model": "Some Processor @ 2 GHz",
        "architecture": os.uname().machine,
        "memory.total_bytes": 1024000,
        "memory.used_bytes": 409600,
        "memory.free_bytes": 614400,
        "temperature.core_celsius": 64.5,
        # The times of a machine in a folder stand still.
        "utilization.compute_ratio": Missing("error", "the processor's times did not move in 0.1 s"),
    }


def test_a_processor_without_a_sensor(tmp_path: Path) -> None:
    changes = {name: None for name in FILES if name.startswith("sys/class/hwmon")}
    (board,) = probe("--cpu", "--root", str(machine(tmp_path, changes))).boards
    assert board["temperature.core_celsius"] == Missing("not-supported", "no temperature sensor for the processor")


@pytest.mark.parametrize(
    ("changes", "env", "kind"),
    [
        ({".dockerenv": ""}, {}, "docker"),
        ({"run/.containerenv": ""}, {}, "podman"),
        ({".dockerenv": ""}, {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, "kubernetes"),
        ({"run/systemd/container": "systemd-nspawn\n"}, {}, "systemd-nspawn"),
        ({"proc/1/environ": "A=b\0container=lxc\0"}, {}, "lxc"),
        ({"proc/1/cgroup": "11:cpu:/kubepods/burstable/pod1/2\n"}, {}, "kubernetes"),
        ({"proc/1/cgroup": "0::/../../docker/abc\n"}, {}, "docker"),
        ({"proc/1/environ": None}, {}, "none"),
        ({"proc/1/cgroup": None}, {}, "none"),
        ({"proc/1/cgroup": None, "proc/1/environ": None}, {}, "error"),
    ],
)
def test_kinds_of_container(tmp_path: Path, changes: dict[str, str | None], env: dict[str, str], kind: str) -> None:
    found = probe_host(tmp_path, changes, env)["container"]
    assert (found.kind if isinstance(found, Missing) else found) == kind


CUDA_H = "#define OTHER 1\n#define CUDA_VERSION 12080\n"


@pytest.mark.parametrize(
    ("changes", "env", "found"),
    [
        ({"opt/cuda/version.json": '{"cuda": {"version": "11.8.0"}}'}, "CUDA_HOME", "11.8.0"),
        ({"opt/cuda/version.txt": "CUDA Version 10.2.89\n"}, "CUDA_PATH", "10.2.89"),
        ({"opt/cuda/include/cuda.h": CUDA_H}, "CUDA_HOME", "12.8"),
        ({"opt/cuda/bin/nvcc": "", "opt/cuda/include/cuda.h": CUDA_H}, "PATH", "12.4.1"),
        (
            {"usr/local/cuda/version.json": None, "opt/cuda/bin/nvcc": "", "opt/cuda/include/cuda.h": CUDA_H},
            "PATH",
            "12.8",
        ),
        ({"opt/cuda/version.json": "{"}, "CUDA_HOME", "12.4.1"),
        ({"usr/local/cuda/version.json": "{"}, None, "unreadable"),
        ({"usr/local/cuda/version.json": None}, None, "not-installed"),
    ],
)
def test_cuda_toolkits(tmp_path: Path, changes: dict[str, str | None], env: str | None, found: str) -> None:
    root = machine(tmp_path, changes)
    if (root / "opt/cuda/bin/nvcc").exists():
        (root / "opt/cuda/bin/nvcc").chmod(0o755)
    variables = {env: f"/opt/cuda{'/bin' if env == 'PATH' else ''}"} if env else {}
    value = probe("--root", str(root), env=variables).host["software.cuda_toolkit_version"]
    assert (value.kind if isinstance(value, Missing) else value) == found


@pytest.mark.parametrize(
    ("text", "version", "cuda"),
    [
        ("__version__ = '2.13.0+cu126'\ncuda: Optional[str] = '12.6'\nhip = None\n", "2.13.0+cu126", "12.6"),
        ("__version__ = '2.13.0+cpu'\ncuda: Optional[str] = None\n", "2.13.0+cpu", "not-supported"),
        ("__all__ = []\n", "unreadable", "unreadable"),
        (None, "not-installed", "not-installed"),
    ],
)
def test_torch_is_read_and_not_imported(tmp_path: Path, text: str | None, version: str, cuda: str) -> None:
    if text is not None:
        (tmp_path / "version.py").write_text(f"{text}\nraise SystemExit('imported')\n")
    host = probe(*(["--torch", str(tmp_path / "version.py")] if text is not None else [])).host
    values = [host["software.torch_version"], host["software.torch_cuda_version"]]
    assert [value.kind if isinstance(value, Missing) else value for value in values] == [version, cuda]


def test_a_processor_without_a_name(tmp_path: Path) -> None:
    arm = {"proc/cpuinfo": "processor: 0\nCPU implementer : 0x48\nCPU part : 0xd01\n"}
    assert probe_host(tmp_path / "a", arm)["cpu.model"] == "Kunpeng 920"
    other = {"proc/cpuinfo": "CPU implementer : 0x41\nCPU part : 0xd0c\n"}
    assert probe_host(tmp_path / "b", other)["cpu.model"] == "implementer 0x41, part 0xd0c"
    assert probe_host(tmp_path / "c", {"proc/cpuinfo": "x\n"})["cpu.model"] == Missing(
        "unreadable", "/proc/cpuinfo has no line CPU implementer"
    )


def test_an_empty_machine_gives_reasons_and_no_guesses(tmp_path: Path) -> None:
    reading = probe("--cpu", "--root", str(tmp_path))
    read_all_the_same = ("cpu.thread_count", "limits.", "disk.")
    for name, value in reading.host.items():
        assert isinstance(value, Missing) != name.startswith(read_all_the_same), name
    assert reading.host["kernel"] == Missing(
        "error", f"{tmp_path}/proc/sys/kernel/osrelease: No such file or directory"
    )
    assert isinstance(reading.boards[0]["memory.used_bytes"], Missing)


@pytest.mark.parametrize("text", ["", "nonsense", "\xff\n\n", "0", "cpu\n", "cpu 1 2 3\n", "MemTotal:\n", ": :\n" * 9])
def test_odd_files_cost_only_their_own_fact(tmp_path: Path, text: str) -> None:
    reading = probe(
        "--cpu", "--root", str(machine(tmp_path, {name: text for name in FILES if name.startswith("proc/")}))
    )
    assert set(reading.host) == set(FILLS)
    assert reading.host["os"] == "Ubuntu 22.04.5 LTS"
    assert isinstance(reading.host["memory.total_bytes"], Missing)


def test_this_machine() -> None:
    reading = probe("--cpu")
    assert set(reading.host) == set(FILLS)
    assert reading.host["kernel"] == os.uname().release
    assert isinstance(reading.host["memory.total_bytes"], int)
    ratio = reading.boards[0]["utilization.compute_ratio"]
    assert isinstance(ratio, float)
    assert 0 <= ratio <= 1
