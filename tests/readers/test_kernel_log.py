"""Kernel logs in every form, and the messages in them."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boardops.evidence import READERS, File, read_file
from boardops.facts import Fault, Missing
from boardops.probes import kernel_log as probe
from boardops.readers import kernel_log, kernel_probe
from boardops.readers.kernel_log import BOOT, BYTES, MAX_FAULTS, REBOOT, START
from boardops.readers.kernel_messages import WORDS, fault_of
from boardops.readers.kernel_stamps import line_of
from tests.kernel_log_text import BOOT_ID, FORMS, NOISE, Said, compose_log
from tests.smi_text import compose_text
from tests.smi_xml import H100, compose

XID79 = "NVRM: Xid (PCI:0000:38:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
NVLINK = "NVRM: Xid (PCI:0018:01:00): 145, pid=7, name=ray::Worker, RLW_RXPIPE  Nonfatal   XC0 i0 Link 13 (0x04 0x08)"


def faults_of(data: bytes) -> tuple[Fault, ...]:
    found = kernel_log.read(data).host["faults"]
    assert isinstance(found, tuple)
    return tuple(fault for fault in found if isinstance(fault, Fault))


def told(faults: Sequence[Fault]) -> list[tuple[str, str, str | None, str, int]]:
    return [(fault.kind, fault.code, fault.pci_address, fault.detail, fault.count) for fault in faults]


@pytest.mark.parametrize(
    ("message", "kind", "code", "address", "detail"),
    [
        (XID79, "xid", "79", "0000:38:00.0", ""),
        ("NVRM: Xid (0000:03:00): 43, Ch 00000010", "xid", "43", "0000:03:00.0", ""),
        ("NVRM: Xid (PCI:0000:01:00 GPU-I:05): 94, pid=7194, Contained: CE", "xid", "94", "0000:01:00.0", "GPU-I:05"),
        ("NVRM: Xid (PCI:00000000:3B:00): 31, pid=1, name=python3, Ch 1", "xid", "31", "0000:3b:00.0", ""),
        ("NVRM: Xid (PCI:10000:3b:00): 31, Ch 1", "xid", "31", "00010000:3b:00.0", ""),
        (
            "NVRM: Xid: 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)",
            "xid",
            "154",
            None,
            "recovery action changed to 0x1 (GPU Reset Required)",
        ),
        (
            "NVRM: Xid (PCI:0009:01:00): 154, GPU recovery action changed from 0x1 (x) to 0x0 (None)",
            "xid",
            "154",
            "0009:01:00.0",
            "recovery action changed to 0x0 (None)",
        ),
        (NVLINK, "xid", "145", "0018:01:00.0", "RLW_RXPIPE Nonfatal XC0 i0 Link 13 (0x04 0x08)"),
        (
            "NVRM: Xid (PCI:0000:3b:00): 45, pid=1, name=a, caused by previous Xid 13",
            "xid",
            "45",
            "0000:3b:00.0",
            "caused by previous Xid 13",
        ),
        (
            "nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 12028, Non-fatal, Link 32 egress",
            "sxid",
            "12028",
            "0000:05:00.0",
            "Non-fatal, Link 32",
        ),
        ("nvidia-nvswitch0: SXid (PCI:0000:00:00.0): xyz, Fatal error", "sxid", "xyz", "0000:00:00.0", "Fatal"),
        ("NVRM: GPU 0000:91:00.0: GPU has fallen off the bus.", "kernel", "off-the-bus", "0000:91:00.0", ""),
        (
            "NVRM: GPU 0000:ae:00.0: RmInitAdapter failed! (0x61:0x56:1697)",
            "kernel",
            "adapter-init-failed",
            "0000:ae:00.0",
            "",
        ),
        ("NVRM: RmFetchGspRmImages: No firmware image found", "kernel", "no-firmware", None, ""),
        ("NVRM: API mismatch: the client has the version 580.1, but", "kernel", "version-mismatch", None, ""),
        (
            "pcieport 0000:15:01.0: PCIe Bus Error: severity=Corrected, type=Data Link Layer",
            "aer",
            "corrected",
            "0000:15:01.0",
            "",
        ),
        (
            "nvidia 0000:18:00.0: PCIe Bus Error: severity=Uncorrected (Non-Fatal), type=Transaction",
            "aer",
            "nonfatal",
            "0000:18:00.0",
            "",
        ),
        (
            "nvidia 0000:18:00.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction",
            "aer",
            "fatal",
            "0000:18:00.0",
            "",
        ),
        (
            "pci 0000:18:00.0: 31.504 Gb/s available PCIe bandwidth, limited by 8.0 GT/s PCIe x4 link at 0000:15:01.0",
            "kernel",
            "bandwidth-limited",
            "0000:18:00.0",
            "31.504 Gb/s available PCIe bandwidth, limited by 8.0 GT/s PCIe x4 link at 0000:15:01.0",
        ),
        ("Out of memory: Killed process 7 (python3)", "kernel", "out-of-memory", None, ""),
        ("Memory cgroup out of memory: Killed process 7 (python3)", "kernel", "out-of-memory", None, "memory cgroup"),
        ("mce: [Hardware Error]: Machine check events logged", "kernel", "machine-check", None, ""),
        ("EDAC MC0: 1 CE memory read error on CPU_SrcID#0", "kernel", "machine-check", None, "corrected"),
        ("nouveau 0000:01:00.0: gr: firmware error", "kernel", "nouveau", "0000:01:00.0", ""),
    ],
)
def test_a_message_is_the_fault_that_it_tells_of(
    message: str, kind: str, code: str, address: str | None, detail: str
) -> None:
    fault = fault_of(message)
    assert fault is not None
    assert (fault.kind, fault.code, fault.pci_address, fault.detail) == (kind, code, address, detail)
    assert fault.raw == message[:300]


@pytest.mark.parametrize(
    "message",
    [
        *NOISE,
        "nvidia-nvlink: Nvlink Core is being initialized",
        "oom_reaper: reaped process 7",
        "NVRM: Xid is a word",
        "EDAC MC: Ver: 3.0.0",
        "nouveau 0000:01:00.0: enabled",
        "PCIe Bus Error: severity=odd",
        "",
    ],
)
def test_other_messages_tell_of_none(message: str) -> None:
    assert fault_of(message) is None


SAID = (
    Said(12.5, "NVRM: Xid (PCI:0000:38:00): 31, pid=1, name=python3, Ch 00000008"),
    Said(90.25, "NVRM: Xid (PCI:0000:38:00): 31, pid=2, name=python3, Ch 00000009"),
    Said(4000.0, XID79),
    Said(4000.5, "nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 20034, Fatal, Link 30 LTSSM Fault Up"),
    Said(4000.6, "nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 20034, Severity 1 Engine instance 60"),
    Said(4000.7, "nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 20034, Data {0x50610002, 0x10100030}"),
    Said(9000.0, NVLINK),
)
EXPECTED = [
    ("xid", "31", "0000:38:00.0", "", 2),
    ("xid", "79", "0000:38:00.0", "", 1),
    ("sxid", "20034", "0000:05:00.0", "Fatal, Link 30", 1),
    ("xid", "145", "0018:01:00.0", "RLW_RXPIPE Nonfatal XC0 i0 Link 13 (0x04 0x08)", 1),
]
WITH_UPTIME = {"dmesg", "kmsg", "syslog", "journal-json", "journal-monotonic", "dmesg-x", "dmesg-colour"}
WITH_TIME = {"dmesg-iso", "dmesg-x-iso", "journal-iso", "journal-json", "syslog-5424", "syslog-iso"}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_tells_the_same(form: str) -> None:
    data = compose_log(form, SAID)
    assert kernel_log.recognise(data), "the same text must be known for a log"
    assert read_file(File("sent", data)).kind == kernel_log.KIND
    faults = faults_of(data)
    assert told(faults) == EXPECTED
    assert {fault.boot for fault in faults} == {BOOT_ID if "json" in form else "0"}
    if form in WITH_UPTIME:
        assert (faults[0].uptime_seconds, faults[1].uptime_seconds) == (90.25, 4000.0)
    if form in WITH_TIME:
        assert (faults[0].time, faults[0].last_time) == ("2026-11-30T06:00:12Z", "2026-11-30T06:01:30Z")
    if form in {"dmesg-T", "dmesg-T-fr", "dmesg-T-zh", "journal-short", "bare"}:
        assert faults[0].time is None, "nobody knows the zone"
    assert kernel_log.read(data).host["log.covers_boot"] is True


@given(st.sampled_from(sorted(FORMS)), st.lists(st.sampled_from(SAID), max_size=12), st.booleans())
def test_forms_agree_whatever_came(form: str, said: list[Said], noise: bool) -> None:
    ordered = sorted(said, key=lambda one: one.seconds)
    whole = compose_log(form, ordered, noise=noise)
    assert told(faults_of(whole)) == told(faults_of(compose_log("dmesg", ordered, noise=False)))
    cut = kernel_log.read(whole[:-1])
    assert told(faults_of(whole[:-1])) == told(faults_of(whole)) and cut.complete


def test_a_log_that_begins_late_says_so() -> None:
    host = kernel_log.read(compose_log("dmesg", SAID, first=False)).host
    assert (host["log.covers_boot"], host["log.from_uptime_seconds"]) == (False, 12.5)
    bare = kernel_log.read(compose_log("bare", SAID, first=False)).host["log.covers_boot"]
    assert isinstance(bare, Missing) and bare.kind == "not-supported"


BEFORE = [FORMS["dmesg"](one) for one in (Said(0.0, "Linux version 6.8.0"), Said(500.0, XID79))]
AFTER = [FORMS["dmesg"](one) for one in (Said(0.0, "Linux version 6.8.0"), Said(700.0, XID79))]


@pytest.mark.parametrize(
    ("lines", "boots"),
    [
        ([*BEFORE, *AFTER], ["-1", "0"]),
        (["-- Boot " + "a" * 32 + " --", *BEFORE, "-- Boot " + "b" * 32 + " --", *AFTER], ["a" * 32, "b" * 32]),
        ([*BEFORE, "-- Reboot --", *AFTER], ["-1", "0"]),
        ([*BEFORE, "-- Reboot --", *AFTER[1:]], ["-1", "0"]),
        ([BEFORE[1], FORMS["dmesg"](Said(3.0, XID79))], ["-1", "0"]),
        # Nobody knows which of these is later: both count.
        ([AFTER[1], BEFORE[1]], ["0"]),
        ([BEFORE[1], FORMS["dmesg"](Said(499.9, XID79))], ["0"]),
    ],
)
def test_boots_are_told_apart(lines: list[str], boots: list[str]) -> None:
    reading = kernel_log.read("\n".join(lines).encode())
    faults = faults_of("\n".join(lines).encode())
    assert [fault.boot for fault in faults] == boots
    assert reading.host.get("boot_id") == (boots[-1] if len(boots[-1]) == 32 else None)


def test_a_journal_of_two_boots() -> None:
    older = [json.loads(FORMS["journal-json"](SAID[2])) | {"_BOOT_ID": "c" * 32}, {"MESSAGE": "x", "_BOOT_ID": BOOT_ID}]
    text = "\n".join([*map(json.dumps, older), FORMS["journal-json"](SAID[2])])
    assert [fault.boot for fault in faults_of(text.encode())] == ["c" * 32, BOOT_ID]


@pytest.mark.parametrize(
    "text",
    [
        compose([H100]),
        compose_text([H100]),
        "hello\nworld\n",
        "a,b,c\n1,2,3\n",
        "[Mon Dec 01 2026 08:00:00] [INFO] [tid 7] x\n",
    ],
)
def test_other_texts_are_no_log(text: str) -> None:
    assert not any(reader is kernel_log and reader.recognise(text.encode()) for reader in READERS)


def test_a_log_without_a_fault_is_a_log() -> None:
    data = b"".join(b"[ %d.000000] usb 1-%d: new device\n" % (number, number) for number in range(9))
    assert kernel_log.recognise(data) and faults_of(data) == ()


def test_more_faults_than_can_be_are_cut_with_a_sentence() -> None:
    data = b"".join(b"NVRM: Xid (PCI:0000:%02x:00): %d, Ch 1\n" % (n % 200, n) for n in range(3 * MAX_FAULTS))
    reading = kernel_log.read(data)
    assert len(faults_of(data)) == MAX_FAULTS and "left out" in reading.problems[0]


@pytest.mark.parametrize(
    "data",
    [
        b"NVRM: Xid (PCI:0000:38:00): 79" + b"x" * 10**6,
        b"\xff\xfe\x00NVRM: Xid (PCI:0000:38:00): 79, \xff\n",
        b'{"MESSAGE": "NVRM: Xid (PCI:0000:38:00): 79',
        b'{"MESSAGE":[78,86,1e9,-1,"x"],"_BOOT_ID":7}\n',
        b"[" * 10_000 + b"NVRM: Xid",
        b"NVRM: Xid (PCI:" + b"0" * 10_000 + b"\n",
        b"kern  :warn  : " * 2000 + b"Xid",
        b"<4>" * 2000 + b"Xid",
    ],
)
def test_odd_texts_cost_nothing(data: bytes) -> None:
    kernel_log.recognise(data)
    kernel_log.read(data)


@given(st.binary(max_size=300))
def test_no_line_raises(data: bytes) -> None:
    line_of(data)
    fault_of(data.decode("utf-8", "replace"))
    kernel_log.read(b"NVRM: Xid (PCI:0000:38:00): " + data)


def test_the_probe_looks_for_the_same_words() -> None:
    assert set(probe.WORDS) == {*WORDS, START, BOOT, REBOOT, BYTES}
    assert set(probe.FACTS) == set(kernel_probe.FILLS)


def test_lines_of_the_probe_are_read_as_those_of_a_file() -> None:
    log = compose_log("kmsg", SAID)
    said = [json.dumps({"log": line.decode()}) for line in probe.lines_of(log)]
    text = "\n".join(['{"probe": "kernel_log"}', *said, '{"end": "kernel_log"}'])
    reading = kernel_probe.read(text.encode())
    assert reading.host["faults"] == kernel_log.read(log).host["faults"] and reading.complete
    assert len(said) < log.count(b"\n")
