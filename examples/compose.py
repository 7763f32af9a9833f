"""Write examples/eight-boards.xml and its reports. Run from the top of the tree: `python -m examples.compose`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from boardops.cli.main import run
from tests.smi_xml import H100, compose, process, with_tags

COMMAND = ("check", "--from", "examples/eight-boards.xml", "--intent", "in-service")
FOLDER = Path(__file__).resolve().parent
ADDRESSES = ("18", "2A", "3A", "5D", "9A", "AB", "BA", "DB")
TEMPERATURES = (34, 36, 33, 35, 37, 34, 36, 35)

LOST = "GPU is lost"
FAULTS: dict[int, dict[str, str]] = {
    2: {"pci/pci_gpu_link_info/link_widths/current_link_width": "8x"},
    4: {
        "temperature/gpu_temp": "90 C",
        "temperature/gpu_temp_tlimit": "-3 C",
        "temperature/memory_temp": "88 C",
        "utilization/gpu_util": "97 %",
        "clocks/sm_clock": "990 MHz",
        "gpu_power_readings/instant_power_draw": "412.66 W",
        "clocks_event_reasons/clocks_event_reason_gpu_idle": "Not Active",
        "clocks_event_reasons/clocks_event_reason_hw_slowdown": "Active",
        "clocks_event_reasons/clocks_event_reason_hw_thermal_slowdown": "Active",
        "fb_memory_usage/used": "61440 MiB",
        "fb_memory_usage/free": "19640 MiB",
    },
    6: {
        "fb_memory_usage/used": LOST,
        "fb_memory_usage/free": LOST,
        "utilization/gpu_util": LOST,
        "utilization/memory_util": LOST,
        "ecc_errors/volatile/dram_uncorrectable": LOST,
        "ecc_errors/aggregate/dram_uncorrectable": LOST,
        "remapped_rows/remapped_row_failure": LOST,
        "remapped_rows/remapped_row_pending": LOST,
        "temperature/gpu_temp": LOST,
        "temperature/gpu_temp_tlimit": LOST,
        "temperature/memory_temp": LOST,
        "gpu_power_readings/instant_power_draw": LOST,
        "fabric/state": LOST,
        "fabric/status": LOST,
    },
}


def example() -> str:
    """The XML of a server with eight boards, of which three have a fault."""
    boards = []
    for number, (bus, degrees) in enumerate(zip(ADDRESSES, TEMPERATURES, strict=True)):
        own = {
            "pci/pci_bus_id": f"00000000:{bus}:00.0",
            "serial": f"00000000000{number + 1:02d}",
            "uuid": f"GPU-00000000-1111-2222-3333-0000000000{number + 1:02d}",
            "temperature/gpu_temp": f"{degrees} C",
            "temperature/gpu_temp_tlimit": f"{87 - degrees} C",
            "temperature/memory_temp": f"{degrees + 7} C",
        }
        boards.append(with_tags(H100, {**own, **FAULTS.get(number, {})}))
    return compose(boards, processes={4: [process(48213, "python3 train.py", "61430 MiB")]})


def screen() -> str:
    """What a terminal of no width of its own shows of the example."""
    done = subprocess.run(
        [sys.executable, "-m", "boardops", *COMMAND], capture_output=True, text=True, cwd=FOLDER.parent, check=False
    )
    return done.stdout


def main() -> None:
    """Write the capture, every report of it, and the screen in the README."""
    source = FOLDER / "eight-boards.xml"
    source.write_text(example(), encoding="utf-8")
    outputs = [f"examples/eight-boards.{ending}" for ending in ("html", "md", "json", "txt")]
    run([*COMMAND, *(word for name in outputs for word in ("-o", name))])
    readme = FOLDER.parent / "README.md"
    text = readme.read_text(encoding="utf-8")
    start, end = text.index("```\n", text.index("<!-- screen: ")) + 4, text.index("```\n<!-- end of screen")
    readme.write_text(text[:start] + screen() + text[end:], encoding="utf-8")


if __name__ == "__main__":
    main()
