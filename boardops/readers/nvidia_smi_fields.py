"""Which tags of `nvidia-smi -q -x` give which facts, and how their texts become values.

One table for the reader nvidia_smi_xml.py, the newest tag first. A conversion raises ValueError for what it does not
understand; what is missing is decided by the reader.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from msgspec import Struct

from boardops.facts import Missing, Value
from boardops.quantities import parse
from boardops.readers.novalue import is_sentinel

_COMPUTE_MODES = ("default", "exclusive-process", "exclusive-thread", "prohibited")
_FABRIC_STATES = ("not-started", "in-progress", "completed", "not-supported")


# Conversions of one text. They raise ValueError for what they do not understand.


def text_of(text: str) -> Value:
    return text


def quantity(unit: str) -> Callable[[str], Value]:
    def convert(text: str) -> Value:
        number = parse(text, unit)
        if is_sentinel(number):
            return Missing("error", f"printed as {text!r}, which stands for no value")
        if unit in {"bytes", "lanes", "count", "generation"}:
            if number != int(number) or number < 0:
                raise ValueError(f"{text!r} is not a whole number")
            return int(number)
        return float(number)

    return convert


def flag(text: str) -> Value:
    word = text.lower()
    if word in {"enabled", "yes", "active", "true", "pending"}:
        return True
    if word in {"disabled", "no", "not active", "false", "none"}:
        return False
    raise ValueError(f"{text!r} is neither on nor off")


def word_of(text: str) -> Value:
    """A vendor's word in lower case with dashes: `Drain and Reset` becomes `drain-and-reset`."""
    return re.sub(r"[\s_]+", "-", text.strip().lower()).replace("gpu-", "")


def one_of(words: tuple[str, ...]) -> Callable[[str], Value]:
    def convert(text: str) -> Value:
        word = word_of(text)
        if word not in words:
            raise ValueError(f"{text!r} is not one of {', '.join(words)}")
        return word

    return convert


def celsius(text: str) -> Value:
    """A temperature that can be: outside -60 to 200 degrees a sensor or its wiring is broken."""
    number = quantity("celsius")(text)
    if isinstance(number, float) and not -60 <= number <= 200:
        raise ValueError(f"{text!r} is no temperature of a board")
    return number


def share(text: str) -> Value:
    """A share of the whole. Some drivers print more than all of a board that is split into instances."""
    number = quantity("ratio")(text)
    if isinstance(number, float) and not 0 <= number <= 1:
        raise ValueError(f"{text!r} is no share of a board")
    return number


def banks(text: str) -> Value:
    """`8 bank(s)` of memory."""
    return quantity("count")(text.removesuffix("bank(s)"))


def device_id(text: str) -> Value:
    if not re.fullmatch(r"(0x)?[0-9a-fA-F]{8}", text):
        raise ValueError(f"{text!r} is not a PCI device id")
    word = text[-8:].lower()
    return f"{word[4:]}:{word[:4]}"


class Field(Struct, frozen=True):
    """Tags that give one fact, the first that holds a value wins."""

    fact: str
    tags: tuple[str, ...]
    convert: Callable[[str], Value]
    since: int | None = None
    """Driver branch from which on the tool surely prints it for every board; None where that is not known."""


FIRST = 352
"""The oldest driver branch that is read; what it prints, all later ones print."""
_POWER = ("gpu_power_readings", "power_readings")
_LINK = "pci/pci_gpu_link_info"
_SPARE = "remapped_rows/row_remapper_histogram"


def _ceiling(word: str) -> tuple[str, str]:
    """A power limit, which stands in a section of its own from driver 610 on."""
    return f"gpu_ceiling_power_limit/{word}_power_limit", f"{word}_power_limit"


FIELDS: tuple[Field, ...] = (
    Field("model", ("product_name",), text_of, FIRST),
    Field("architecture", ("product_architecture",), text_of),
    Field("part_number", ("board_part_number",), text_of),
    Field("uuid", ("uuid",), text_of, FIRST),
    Field("serial", ("serial",), text_of, FIRST),
    Field("pci_device_id", ("pci/pci_device_id",), device_id, FIRST),
    Field("firmware_version", ("gsp_firmware_version",), text_of),
    Field("vbios_version", ("vbios_version",), text_of, FIRST),
    Field("inforom_version", ("inforom_version/img_version",), text_of),
    Field("performance_state", ("performance_state",), text_of, FIRST),
    Field("recovery_action", ("gpu_recovery_action",), word_of, 570),
    Field("virtualization", ("gpu_virtualization_mode/virtualization_mode",), word_of, FIRST),
    Field("mig_enabled", ("mig_mode/current_mig",), flag, 470),
    Field("mig_pending", ("mig_mode/pending_mig",), flag, 470),
    Field("persistence_mode", ("persistence_mode",), flag, FIRST),
    Field("compute_mode", ("compute_mode",), one_of(_COMPUTE_MODES), FIRST),
    Field("fabric_state", ("fabric/state",), one_of(_FABRIC_STATES), 570),
    Field("fabric_status", ("fabric/status",), word_of, 570),
    Field("fabric_health", ("fabric/health/summary",), word_of),
    Field("fan_ratio", ("fan_speed",), quantity("ratio"), FIRST),
    Field("memory.total_bytes", ("fb_memory_usage/total",), quantity("bytes"), FIRST),
    Field("memory.used_bytes", ("fb_memory_usage/used",), quantity("bytes"), FIRST),
    Field("memory.reserved_bytes", ("fb_memory_usage/reserved",), quantity("bytes"), 570),
    Field("memory.free_bytes", ("fb_memory_usage/free",), quantity("bytes"), FIRST),
    Field("utilization.compute_ratio", ("utilization/gpu_util",), share, FIRST),
    Field("utilization.memory_ratio", ("utilization/memory_util",), share, FIRST),
    Field("temperature.core_celsius", ("temperature/gpu_temp",), celsius, FIRST),
    Field("temperature.memory_celsius", ("temperature/memory_temp",), celsius, 470),
    Field("temperature.slowdown_celsius", ("temperature/gpu_temp_slow_threshold",), celsius),
    Field("temperature.shutdown_celsius", ("temperature/gpu_temp_max_threshold",), celsius),
    Field("temperature.memory_max_celsius", ("temperature/gpu_temp_max_mem_threshold",), celsius),
    Field("temperature.margin_celsius", ("temperature/gpu_temp_tlimit",), celsius, 570),
    Field(
        "power.draw_watts",
        tuple(
            f"{group}/{tag}" for tag in ("instant_power_draw", "power_draw", "average_power_draw") for group in _POWER
        ),
        quantity("watts"),
        FIRST,
    ),
    Field(
        "power.limit_watts",
        tuple(f"{group}/{tag}" for tag in (*_ceiling("current"), "power_limit") for group in _POWER),
        quantity("watts"),
        FIRST,
    ),
    Field(
        "power.default_limit_watts",
        tuple(f"{group}/{tag}" for tag in _ceiling("default") for group in _POWER),
        quantity("watts"),
        FIRST,
    ),
    Field("power.max_limit_watts", tuple(f"{group}/max_power_limit" for group in _POWER), quantity("watts")),
    Field("pcie.link_width_lanes", (f"{_LINK}/link_widths/current_link_width",), quantity("lanes"), FIRST),
    Field("pcie.link_width_max_lanes", (f"{_LINK}/link_widths/max_link_width",), quantity("lanes"), FIRST),
    Field("pcie.link_generation", (f"{_LINK}/pcie_gen/current_link_gen",), quantity("generation"), FIRST),
    Field("pcie.link_generation_max", (f"{_LINK}/pcie_gen/max_link_gen",), quantity("generation"), FIRST),
    Field("pcie.device_generation_max", (f"{_LINK}/pcie_gen/max_device_link_gen",), quantity("generation")),
    Field("pcie.host_generation_max", (f"{_LINK}/pcie_gen/max_host_link_gen",), quantity("generation")),
    Field("pcie.replay_count", ("pci/replay_counter",), quantity("count"), FIRST),
    Field("ecc.enabled", ("ecc_mode/current_ecc",), flag, FIRST),
    Field("ecc.pending", ("ecc_mode/pending_ecc",), flag, FIRST),
    Field("ecc.sram_threshold_exceeded", ("ecc_errors/aggregate/sram_threshold_exceeded",), flag),
    Field("rows.remapped_corrected_count", ("remapped_rows/remapped_row_corr",), quantity("count"), 470),
    Field("rows.remapped_uncorrected_count", ("remapped_rows/remapped_row_unc",), quantity("count"), 470),
    Field("rows.pending", ("remapped_rows/remapped_row_pending",), flag, 470),
    Field("rows.failed", ("remapped_rows/remapped_row_failure",), flag, 470),
    Field(
        "pages.retired_single_count",
        ("retired_pages/multiple_single_bit_retirement/retired_count",),
        quantity("count"),
        FIRST,
    ),
    Field(
        "pages.retired_double_count", ("retired_pages/double_bit_retirement/retired_count",), quantity("count"), FIRST
    ),
    Field("rows.exhausted_bank_count", (f"{_SPARE}/row_remapper_histogram_none",), banks),
    Field("ecc.unrepairable", ("ecc_errors/unrepairable_memory",), flag),
    Field("clock.core_hertz", ("clocks/sm_clock", "clocks/graphics_clock"), quantity("hertz"), FIRST),
    Field("clock.core_max_hertz", ("max_clocks/sm_clock", "max_clocks/graphics_clock"), quantity("hertz")),
    Field("clock.memory_hertz", ("clocks/mem_clock",), quantity("hertz"), FIRST),
)

# Counters that the driver splits up, and flags that stand in two places: all parts that are given count.
_CORRECTED = ("sram_correctable", "dram_correctable", "single_bit/total")
_SRAM_UNCORRECTED = ("sram_uncorrectable", "sram_uncorrectable_parity", "sram_uncorrectable_secded")
_UNCORRECTED = (*_SRAM_UNCORRECTED, "dram_uncorrectable", "double_bit/total")


def _under(group: str, tags: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{group}/{tag}" for tag in tags)


SUMS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("ecc.corrected_volatile_count", _under("ecc_errors/volatile", _CORRECTED)),
    ("ecc.uncorrected_volatile_count", _under("ecc_errors/volatile", _UNCORRECTED)),
    ("ecc.corrected_aggregate_count", _under("ecc_errors/aggregate", _CORRECTED)),
    ("ecc.uncorrected_aggregate_count", _under("ecc_errors/aggregate", _UNCORRECTED)),
    ("ecc.sram_uncorrected_aggregate_count", _under("ecc_errors/aggregate", _SRAM_UNCORRECTED)),
)
ANY: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("pages.pending", ("retired_pages/pending_blacklist", "retired_pages/pending_retirement")),
    ("ecc.repair_pending", ("ecc_errors/channel_repair_pending", "ecc_errors/tpc_repair_pending")),
)
REASONS = ("clocks_event_reasons/clocks_event_reason_", "clocks_throttle_reasons/clocks_throttle_reason_")
REASON_GROUPS = ("clocks_event_reasons", "clocks_throttle_reasons")
KIND_OF_PROCESS = {"C": "compute", "G": "graphics", "C+G": "both"}
