"""Compose `nvidia-smi -q -x` output for tests and for the example.

Composed by hand after the DTDs that the tool prints; values and identifiers are made up. A board is a map of tag paths
to texts, such as `{"pci/replay_counter": "0"}`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from xml.sax.saxutils import escape

Tags = Mapping[str, str]

H100: dict[str, str] = {
    "product_name": "NVIDIA H100 80GB HBM3",
    "product_brand": "NVIDIA",
    "product_architecture": "Hopper",
    "persistence_mode": "Enabled",
    "mig_mode/current_mig": "Disabled",
    "mig_mode/pending_mig": "Disabled",
    "mig_devices": "None",
    "serial": "0000000000001",
    "uuid": "GPU-00000000-1111-2222-3333-000000000001",
    "vbios_version": "96.00.89.00.01",
    "board_part_number": "692-2G520-0200-000",
    "gpu_virtualization_mode/virtualization_mode": "None",
    "gpu_recovery_action": "None",
    "gsp_firmware_version": "580.95.05",
    "pci/pci_device_id": "233010DE",
    "pci/pci_bus_id": "00000000:18:00.0",
    "pci/pci_gpu_link_info/pcie_gen/max_link_gen": "5",
    "pci/pci_gpu_link_info/pcie_gen/current_link_gen": "5",
    "pci/pci_gpu_link_info/pcie_gen/max_device_link_gen": "5",
    "pci/pci_gpu_link_info/pcie_gen/max_host_link_gen": "5",
    "pci/pci_gpu_link_info/link_widths/max_link_width": "16x",
    "pci/pci_gpu_link_info/link_widths/current_link_width": "16x",
    "pci/replay_counter": "0",
    "fan_speed": "N/A",
    "performance_state": "P0",
    "clocks_event_reasons/clocks_event_reason_gpu_idle": "Active",
    "clocks_event_reasons/clocks_event_reason_sw_power_cap": "Not Active",
    "clocks_event_reasons/clocks_event_reason_hw_slowdown": "Not Active",
    "clocks_event_reasons/clocks_event_reason_hw_thermal_slowdown": "Not Active",
    "clocks_event_reasons/clocks_event_reason_hw_power_brake_slowdown": "Not Active",
    "clocks_event_reasons/clocks_event_reason_sw_thermal_slowdown": "Not Active",
    "fb_memory_usage/total": "81559 MiB",
    "fb_memory_usage/reserved": "480 MiB",
    "fb_memory_usage/used": "0 MiB",
    "fb_memory_usage/free": "81080 MiB",
    "compute_mode": "Default",
    "utilization/gpu_util": "0 %",
    "utilization/memory_util": "0 %",
    "ecc_mode/current_ecc": "Enabled",
    "ecc_mode/pending_ecc": "Enabled",
    "ecc_errors/volatile/sram_correctable": "0",
    "ecc_errors/volatile/sram_uncorrectable_parity": "0",
    "ecc_errors/volatile/sram_uncorrectable_secded": "0",
    "ecc_errors/volatile/dram_correctable": "0",
    "ecc_errors/volatile/dram_uncorrectable": "0",
    "ecc_errors/aggregate/sram_correctable": "0",
    "ecc_errors/aggregate/sram_uncorrectable_parity": "0",
    "ecc_errors/aggregate/sram_uncorrectable_secded": "0",
    "ecc_errors/aggregate/dram_correctable": "0",
    "ecc_errors/aggregate/dram_uncorrectable": "0",
    "ecc_errors/aggregate/sram_threshold_exceeded": "No",
    "ecc_errors/channel_repair_pending": "No",
    "ecc_errors/tpc_repair_pending": "No",
    "ecc_errors/unrepairable_memory": "No",
    "retired_pages/multiple_single_bit_retirement/retired_count": "N/A",
    "retired_pages/double_bit_retirement/retired_count": "N/A",
    "retired_pages/pending_blacklist": "N/A",
    "retired_pages/pending_retirement": "N/A",
    "remapped_rows/remapped_row_corr": "0",
    "remapped_rows/remapped_row_unc": "0",
    "remapped_rows/remapped_row_pending": "No",
    "remapped_rows/remapped_row_failure": "No",
    "remapped_rows/row_remapper_histogram/row_remapper_histogram_none": "0 bank(s)",
    "temperature/gpu_temp": "34 C",
    "temperature/gpu_temp_tlimit": "53 C",
    "temperature/gpu_temp_max_tlimit_threshold": "-8 C",
    "temperature/gpu_temp_slow_tlimit_threshold": "-2 C",
    "temperature/memory_temp": "41 C",
    "temperature/gpu_temp_max_mem_tlimit_threshold": "0 C",
    "gpu_power_readings/average_power_draw": "71.20 W",
    "gpu_power_readings/instant_power_draw": "70.93 W",
    "gpu_power_readings/current_power_limit": "700.00 W",
    "gpu_power_readings/default_power_limit": "700.00 W",
    "gpu_power_readings/max_power_limit": "700.00 W",
    "clocks/sm_clock": "345 MHz",
    "clocks/mem_clock": "2619 MHz",
    "max_clocks/sm_clock": "1980 MHz",
    "fabric/state": "Completed",
    "fabric/status": "Success",
    "fabric/health/summary": "Healthy",
    "processes": "",
}
"""A healthy idle H100 as drivers of the 580 branch print it."""

K80_352: dict[str, str] = {
    "product_name": "Tesla K80",
    "product_brand": "Tesla",
    "persistence_mode": "Enabled",
    "serial": "0000000000002",
    "uuid": "GPU-00000000-1111-2222-3333-000000000002",
    "vbios_version": "80.21.1F.00.01",
    "gpu_virtualization_mode/virtualization_mode": "None",
    "pci/pci_device_id": "102D10DE",
    "pci/pci_bus_id": "0000:05:00.0",
    "pci/pci_gpu_link_info/pcie_gen/max_link_gen": "3",
    "pci/pci_gpu_link_info/pcie_gen/current_link_gen": "1",
    "pci/pci_gpu_link_info/link_widths/max_link_width": "16x",
    "pci/pci_gpu_link_info/link_widths/current_link_width": "16x",
    "pci/replay_counter": "0",
    "fan_speed": "N/A",
    "performance_state": "P8",
    "clocks_throttle_reasons/clocks_throttle_reason_gpu_idle": "Active",
    "clocks_throttle_reasons/clocks_throttle_reason_applications_clocks_setting": "Not Active",
    "clocks_throttle_reasons/clocks_throttle_reason_sw_power_cap": "Not Active",
    "clocks_throttle_reasons/clocks_throttle_reason_hw_slowdown": "Not Active",
    "clocks_throttle_reasons/clocks_throttle_reason_unknown": "Not Active",
    "fb_memory_usage/total": "11519 MiB",
    "fb_memory_usage/used": "22 MiB",
    "fb_memory_usage/free": "11497 MiB",
    "compute_mode": "Default",
    "utilization/gpu_util": "0 %",
    "utilization/memory_util": "0 %",
    "ecc_mode/current_ecc": "Enabled",
    "ecc_mode/pending_ecc": "Enabled",
    "ecc_errors/volatile/single_bit/device_memory": "3",
    "ecc_errors/volatile/single_bit/total": "3",
    "ecc_errors/volatile/double_bit/device_memory": "0",
    "ecc_errors/volatile/double_bit/total": "0",
    "ecc_errors/aggregate/single_bit/total": "7",
    "ecc_errors/aggregate/double_bit/total": "1",
    "retired_pages/multiple_single_bit_retirement/retired_count": "2",
    "retired_pages/double_bit_retirement/retired_count": "1",
    "retired_pages/pending_retirement": "No",
    "temperature/gpu_temp": "31 C",
    "temperature/gpu_temp_max_threshold": "93 C",
    "temperature/gpu_temp_slow_threshold": "88 C",
    "power_readings/power_state": "P8",
    "power_readings/power_management": "Supported",
    "power_readings/power_draw": "26.40 W",
    "power_readings/power_limit": "149.00 W",
    "power_readings/default_power_limit": "149.00 W",
    "power_readings/enforced_power_limit": "149.00 W",
    "power_readings/max_power_limit": "175.00 W",
    "clocks/graphics_clock": "324 MHz",
    "clocks/sm_clock": "324 MHz",
    "clocks/mem_clock": "324 MHz",
    "max_clocks/sm_clock": "875 MHz",
    "processes": "",
}
"""Half a Tesla K80 as driver 352 prints it: four-digit domain, no CUDA version, throttle reasons, one ECC total."""


def with_tags(base: Tags, changes: Tags | None = None, without: Iterable[str] = ()) -> dict[str, str]:
    """A board with some tags changed and all tags under the paths `without` left out."""
    tags = {**base, **(changes or {})}
    gone = tuple(without)
    return {path: text for path, text in tags.items() if not any(f"{path}/".startswith(f"{end}/") for end in gone)}


def process(pid: int, name: str, used: str = "1000 MiB", kind: str = "C") -> dict[str, str]:
    """One process of a board."""
    return {"pid": str(pid), "type": kind, "process_name": name, "used_memory": used}


def apart(gpus: Iterable[Tags]) -> list[Tags]:
    """Boards that were all made of one model each with a UUID of its own."""
    boards = list(gpus)
    uuids = [tags.get("uuid") for tags in boards]
    return [
        {**tags, "uuid": f"{uuid[:-4]}{1000 + number}"} if uuid and uuids.index(uuid) < number else tags
        for number, (tags, uuid) in enumerate(zip(boards, uuids, strict=True))
    ]


def compose(
    gpus: Iterable[Tags],
    driver: str = "580.95.05",
    cuda: str | None = "13.0",
    timestamp: str = "Tue Dec  1 08:00:00 2026",
    attached: int | None = None,
    processes: Mapping[int, Iterable[Tags]] | None = None,
    dtd: str = '<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v13.dtd">',
) -> str:
    """The XML of several boards. `processes` maps a board's number to its processes."""
    boards = apart(gpus)
    lines = ['<?xml version="1.0" ?>', dtd, "<nvidia_smi_log>", f"\t<timestamp>{timestamp}</timestamp>"]
    lines.append(f"\t<driver_version>{driver}</driver_version>")
    if cuda:
        lines.append(f"\t<cuda_version>{cuda}</cuda_version>")
    lines.append(f"\t<attached_gpus>{len(boards) if attached is None else attached}</attached_gpus>")
    for number, tags in enumerate(boards):
        lines.append(f'\t<gpu id="{tags.get("pci/pci_bus_id", "")}">')
        own = list((processes or {}).get(number, ()))
        lines += _nested({path: text for path, text in tags.items() if not (own and path == "processes")}, "\t\t")
        if own:
            lines.append("\t\t<processes>")
            for entry in own:
                lines += ["\t\t\t<process_info>", *_nested(entry, "\t\t\t\t"), "\t\t\t</process_info>"]
            lines.append("\t\t</processes>")
        lines.append("\t</gpu>")
    lines.append("</nvidia_smi_log>")
    return "\n".join(lines) + "\n"


def _nested(tags: Tags, indent: str) -> list[str]:
    lines: list[str] = []
    groups: dict[str, dict[str, str]] = {}
    for path, text in tags.items():
        head, slash, rest = path.partition("/")
        if slash:
            groups.setdefault(head, {})[rest] = text
        else:
            groups[head] = {"": text}
    for head, inner in groups.items():
        if "" in inner:
            lines.append(f"{indent}<{head}>{escape(inner[''])}</{head}>")
        else:
            lines += [f"{indent}<{head}>", *_nested(inner, indent + "\t"), f"{indent}</{head}>"]
    return lines
