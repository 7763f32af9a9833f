"""Results to render: composed captures, judged by the shipped rules."""

from __future__ import annotations

import datetime
import functools
import tempfile
from pathlib import Path

from boardops.cli.request import Request
from boardops.cli.run import perform, without_facts
from boardops.score import Result
from examples.compose import example
from tests.smi_xml import H100, compose, process, with_tags

NOW = datetime.datetime(2026, 12, 1, 12, tzinfo=datetime.timezone.utc)
EVIL = "| `x` <b>\u202e # [a](b) *c*"
SCRIPT = "<script>alert(1)</script>"


def judged(text: str, **request: object) -> Result:
    """A composed capture through the whole road."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "smi.xml"
        path.write_text(text, encoding="utf-8")
        wanted = {"files": (str(path),), "site_rules": Path(folder) / "none", **request}
        return perform(Request(**wanted), lambda: NOW)  # type: ignore[arg-type]


@functools.cache
def faulty() -> Result:
    """Eight boards, three with a fault."""
    return judged(example(), intent="in-service")


@functools.cache
def unseen() -> Result:
    """A board whose temperature could not be read, beside a healthy one."""
    other = with_tags(H100, {"pci/pci_bus_id": "00000000:2A:00.0", "temperature/gpu_temp": "ERR!"})
    return judged(compose([H100, other]))


@functools.cache
def healthy() -> Result:
    """One board without any finding."""
    return judged(compose([H100]))


@functools.cache
def hostile() -> Result:
    """A board whose model and processes try to be more than text."""
    return judged(
        compose([with_tags(H100, {"product_name": EVIL})], processes={0: [process(7, SCRIPT)]}), intent="in-service"
    )


@functools.cache
def processor() -> Result:
    """This machine's processor."""
    return perform(Request(cpu=True, site_rules=Path("/nonexistent")), lambda: NOW)


@functools.cache
def many() -> Result:
    """A hundred and twenty boards, one of them narrow."""
    boards = []
    for number in range(120):
        tags = {"pci/pci_bus_id": f"0000{number // 32:04X}:{number % 32 + 1:02X}:00.0"}
        if number == 77:
            tags["pci/pci_gpu_link_info/link_widths/current_link_width"] = "4x"
        boards.append(with_tags(H100, tags))
    return judged(compose(boards))


@functools.cache
def nothing() -> Result:
    """A run that could not see anything."""
    return without_facts("cannot read smi.xml: No such file or directory", Request(), NOW)


@functools.cache
def waived() -> Result:
    """A board whose fault is known and accepted."""
    tags = with_tags(H100, {"persistence_mode": "Disabled"})
    with tempfile.TemporaryDirectory() as folder:
        rules = Path(folder) / "site.yaml"
        rules.write_text(
            "schema: boardops.rules/1\nwaivers:\n  - {rule: mode.persistence, reason: loaded at boot, owner: ops team, "
            "ticket: OPS-1, until: 2027-01-31}\n",
            encoding="utf-8",
        )
        return judged(compose([tags]), rules=(str(rules),))


ALL = (faulty, unseen, healthy, hostile, processor, many, nothing, waived)
