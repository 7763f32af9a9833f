"""Every reader, the records and the rules on texts that are almost right: one sentence at most, and soon."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from boardops.catalog.boards import read_boards
from boardops.collect import source_named
from boardops.errors import BoardopsError
from boardops.evidence import File, read_file
from boardops.readers import cuda, host, nvml, pci, stuck
from boardops.record import answers_of, load
from boardops.rules import load as load_rules
from tests.cli.program import ROOT
from tests.fuzz.mutations import EXAMPLES, almost
from tests.smi_text import compose_text
from tests.smi_xml import H100, K80_352, compose, process

SLACK_SECONDS = 5.0
PROBE = (
    b'{"probe": "nvml", "read_at": "2026-12-01T08:00:00Z"}\n{"host": {"boards_in_driver_count": 1, "kernel": "6.8"}}\n'
    b'{"board": {"vendor": "nvidia", "pci_address": "0000:18:00.0", "index": 0, "model": "X", "lost": false,'
    b' "memory.total_bytes": 85899345920, "clock.throttle_reasons": ["gpu_idle"], "processes": [{"pid": 1, "name": "a",'
    b' "kind": "compute"}], "temperature.core_celsius": {"missing": "error", "why": "x"}}}\n{"end": "nvml"}\n'
)
CSV = (
    b"timestamp, driver_version, count, name, pci.bus_id, uuid, memory.total [MiB], temperature.gpu, pstate\n"
    b"2026/12/01 08:00:00.000, 580.95.05, 1, NVIDIA X, 00000000:18:00.0, GPU-1, 81559 MiB, 34, P0\n"
)
RECORD = (
    b'{"schema":"boardops.record/1","tool_version":"0.1.0","read_at":"2026-12-01T08:00:00Z","cpu":false,'
    b'"intent":"predeploy","needs":[],"answers":[{"source":"pci","origin":"pci","kind":"ok","seconds":0.1,'
    b'"text":"{\\"probe\\": \\"pci\\"}\\n{\\"end\\": \\"pci\\"}\\n"}]}\n'
)


def of_file(data: bytes) -> object:
    return read_file(File("sent", data))


def of_record(data: bytes) -> object:
    return answers_of(load(data, "sent"), lambda name: source_named(name, cpu=False), "sent")


def of_rules(data: bytes) -> object:
    return load_rules([("sent", data.decode("utf-8", "replace"))])


def of_boards(data: bytes) -> object:
    return read_boards(data.decode("utf-8", "replace"), "sent")


READERS: dict[str, tuple[Callable[[bytes], object], bytes]] = {
    "xml": (of_file, compose([H100], processes={0: [process(1, "python")]}).encode()),
    "old-xml": (of_file, compose([K80_352], "352.99", None).encode()),
    "text": (of_file, compose_text([H100], processes={0: [process(1, "python")]}).encode()),
    "csv": (of_file, CSV),
    **{f"{reader.PROBE}-probe": (reader.read, PROBE) for reader in (host, nvml, pci, cuda, stuck)},
    "record": (of_record, RECORD),
    "rules": (of_rules, Path(ROOT, "rules.yaml").read_bytes()[:9000].rpartition(b"\n  - id")[0] + b"\n"),
    "catalog": (of_boards, Path(ROOT, "boardops/catalog/boards.yaml").read_bytes()[:6000]),
}


@pytest.mark.parametrize("name", READERS)
@given(data=st.data())
@settings(
    max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
def test_whatever_was_sent_it_is_read_or_refused_with_one_sentence(name: str, data: st.DataObject) -> None:
    read, valid = READERS[name]
    text = data.draw(almost(valid))
    begun = time.process_time()
    try:
        read(text)
    except BoardopsError as error:
        assert "sent" in str(error) and "\n" not in str(error) and len(str(error)) < 2000
    assert time.process_time() - begun < 1 + SLACK_SECONDS


def test_the_valid_texts_are_valid() -> None:
    for name, (read, valid) in READERS.items():
        if name != "catalog":
            assert read(valid) is not None
