"""NVML's numbers in words: modes, states, reasons and errors. Source: nvml.h. nvml.py and nvml_facts.py use them."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

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
    2: ("error", "the driver calls the question invalid"),
    3: ("not-supported", "the board does not support it"),
    4: ("not-permitted", "this user may not read it"),
    6: ("error", "the driver found no such thing"),
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
