"""The catalog of fault codes: what an operator is told of the important ones, that the line decides, strict reading."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from boardops.catalog.fault_lines import recovery_of, word_of
from boardops.catalog.fault_table import FaultEntry, read_faults, read_sxids
from boardops.catalog.faults import TITLES, advise, annotate, codes_of, entry_of, source_text
from boardops.catalog.nvlink5 import decode, read_nvlink5
from boardops.catalog.sourced import text_of
from boardops.facts import ACTIONS, FAULT_KINDS, SEVERITIES, Fault
from boardops.yamlfile import YamlError

ENTRIES = [entry for kind in TITLES for code in codes_of(kind) if (entry := entry_of(kind, code))]
LINK_LINE = "NVRM: Xid (PCI:0009:01:00): {}, {} {}  XC0 i0 Link 01 (0x{:08x} 0x{:08x} 0x00000000)"


@pytest.mark.parametrize(
    ("code", "severity", "action", "who"),
    [
        ("8", "warn", "restart-workload", "user"),
        ("13", "note", "restart-workload", "user"),
        ("14", "note", "none", "operator"),
        ("31", "note", "restart-workload", "user"),
        ("32", "warn", "restart-workload", "operator"),
        ("43", "note", "restart-workload", "user"),
        ("45", "note", "none", "operator"),
        ("46", "fail", "reset-board", "operator"),
        ("48", "fail", "reset-board", "operator"),
        ("54", "fail", "check-power", "operator"),
        ("62", "fail", "reset-board", "operator"),
        ("63", "warn", "reset-board", "operator"),
        ("64", "fail", "replace-board", "vendor"),
        ("68", "note", "restart-workload", "user"),
        ("69", "note", "restart-workload", "user"),
        ("74", "fail", "reset-board", "operator"),
        ("78", "warn", "update-software", "operator"),
        ("79", "fail", "reboot-host", "operator"),
        ("80", "fail", "restart-workload", "operator"),
        ("92", "warn", "watch", "operator"),
        ("94", "warn", "restart-workload", "operator"),
        ("95", "fail", "reset-board", "operator"),
        ("109", "warn", "reset-board", "operator"),
        ("110", "fail", "reset-board", "operator"),
        ("119", "fail", "reset-board", "operator"),
        ("120", "fail", "reset-board", "operator"),
        ("136", "fail", "reset-board", "operator"),
        ("140", "fail", "reset-board", "operator"),
        ("143", "fail", "reset-board", "operator"),
        ("156", "warn", "reset-board", "operator"),
        ("157", "fail", "call-vendor", "vendor"),
        ("161", "fail", "call-vendor", "vendor"),
        ("167", "fail", "reboot-host", "operator"),
        ("168", "warn", "change-setting", "operator"),
        ("172", "fail", "reset-board", "operator"),
        ("176", "warn", "reseat-board", "operator"),
        ("999", "warn", "watch", "operator"),
        ("xyz", "warn", "watch", "operator"),
    ],
)
def test_what_an_operator_is_told_of_a_xid(code: str, severity: str, action: str, who: str) -> None:
    found = advise(Fault("xid", code))
    assert (found.severity, found.action, found.who) == (severity, action, who)


@pytest.mark.parametrize(
    ("code", "line", "severity", "action"),
    [
        ("20034", "", "fail", "reset-board"),
        ("20034", "Fatal, Link 30 LTSSM Fault Up", "fail", "reset-board"),
        ("20034", "Non-fatal, Link 30 LTSSM Fault Up", "warn", "watch"),
        ("20034", "Data {0x50610002, 0x10100030}", "warn", "watch"),
        ("20034", "Severity 1 Engine instance 62 Sub-engine instance 00", "warn", "watch"),
        ("12028", "Non-fatal, Link 32 egress non-posted PRIV error", "warn", "watch"),
        ("12028", "Fatal, Link 32", "fail", "reboot-host"),
        ("12028", "", "warn", "reboot-host"),
        ("20012", "", "warn", "check-cabling"),
        ("11004", "", "warn", "change-setting"),
        ("19084", "", "warn", "reboot-host"),
        ("12020", "", "fail", "reboot-host"),
        ("22003", "Fatal, Link 3", "fail", "reboot-host"),
        ("10004", "", "fail", "check-cooling"),
        ("20001", "Non-fatal, Link 3", "note", "none"),
        ("20001", "Fatal, Link 3", "fail", "reset-board"),
        ("10001", "", "warn", "watch"),
        ("11111", "Data {0x50610002, 0x10100030}", "warn", "watch"),
        ("xyz", "Fatal error", "fail", "reset-board"),
        ("xyz", "", "warn", "watch"),
    ],
)
def test_the_line_of_a_sxid_decides(code: str, line: str, severity: str, action: str) -> None:
    for fault in (
        Fault("sxid", code, detail=line),
        Fault("sxid", code, raw=f"nvidia-nvswitch3: SXid (PCI:0000:05:00.0): {code}, {line}"),
    ):
        found = annotate(fault)
        assert (found.severity, found.action) == (severity, action)
        assert code in found.meaning or entry_of("sxid", code)


@pytest.mark.parametrize(
    ("line", "severity", "action"),
    [
        ("GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)", "fail", "reset-board"),
        ("GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)", "fail", "reboot-host"),
        ("GPU recovery action changed from 0x0 (None) to 0x2 (OS Reboot)", "fail", "reboot-host"),
        ("GPU recovery action changed from 0x0 (None) to 0x3 (Drain P2P)", "fail", "restart-workload"),
        ("GPU recovery action changed from 0x0 (None) to 0x4 (Drain and Reset)", "fail", "reset-board"),
        ("GPU recovery action changed from 0x4 (Drain and Reset) to 0x1 (GPU Reset Required)", "fail", "reset-board"),
        ("GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)", "note", "none"),
        ("GPU recovery action changed from 0x0 (None) to 0x1 (PF FLR)", "fail", "reset-board"),
        ("GPU recovery action changed from 0x0 (None) to 0x5 (Recover IMEX)", "fail", "restart-service"),
        ("GPU recovery action changed from 0x0 (None) to 0x63 (Something New)", "fail", "call-vendor"),
        ("0x2 (Node Reboot Required)", "fail", "reboot-host"),
        ("None -> Drain and Reset", "fail", "reset-board"),
        ("Node Reboot Required", "fail", "reboot-host"),
        ("none", "note", "none"),
        # Cut before the new value: the old one must not be taken for it.
        ("GPU recovery action changed from 0x0 (No", "warn", "watch"),
        ("GPU recovery action changed from 0x0 (None) to", "warn", "watch"),
        ("", "warn", "watch"),
        ("zzz", "warn", "watch"),
    ],
)
def test_xid_154_says_its_own_action(line: str, severity: str, action: str) -> None:
    found = annotate(Fault("xid", "154", detail=line))
    assert (found.severity, found.action) == (severity, action)
    raw = f"NVRM: Xid (PCI:0000:19:00): 154, pid=7, name=goes to 0x0 none, {line}"
    assert line == "" or annotate(Fault("xid", "154", raw=raw)).severity == severity


@pytest.mark.parametrize(
    ("code", "unit", "word", "info", "status", "severity", "action", "place"),
    [
        ("149", "NETIR_LINK_EVT", "Fatal", 0x021425C6, 0, "fail", "reset-board", "peer"),
        ("149", "NETIR_LINK_EVT", "Fatal", 0x004505C6, 0, "fail", "reset-board", "signal"),
        ("149", "NETIR", "Fatal", 0x000FE406, 0, "fail", "reset-board", "alone"),
        ("149", "NETIR_BER_EVENT", "Nonfatal", 0x00086226, 1, "warn", "check-cabling", "cables"),
        ("145", "RLW_RXPIPE", "Nonfatal", 0x0409A0C2, 8, "warn", "watch", "vendor"),
        ("145", "RLW_SRC_TRACK", "Nonfatal", 0x040988E2, 8, "warn", "watch", "nothing"),
        ("144", "SAW_MVB", "Nonfatal", 0x00000021, 4, "note", "none", "nothing"),
        ("144", "SAW_MVB", "", 0x00000021, 2, "fail", "reset-board", "vendor"),
        ("144", "SAW_MVB", "", 0x00000021, 4, "note", "none", "nothing"),
        ("150", "MSE_WATCHDOG", "Fatal", 0, 0, "fail", "reset-board", "vendor"),
        ("147", "TREX", "Nonfatal", 0xFFFFFFFF, 0, "warn", "watch", ""),
        ("147", "TREX", "", 0xFFFFFFFF, 0, "fail", "reset-board", ""),
        ("149", "NETIR_SOMETHING_NEW", "Fatal", 0, 0, "fail", "reset-board", ""),
    ],
)
def test_nvlink_5_is_decoded(
    code: str, unit: str, word: str, info: int, status: int, severity: str, action: str, place: str
) -> None:
    fault = Fault("xid", code, raw=LINK_LINE.format(code, unit, word, info, status))
    found = annotate(fault)
    assert (found.severity, found.action) == (severity, action)
    decoded = decode(fault)
    assert decoded is not None
    assert (decoded.unit, decoded.link, decoded.place) == (unit, "1", place)
    assert "link 1" in found.meaning


def test_a_process_cannot_speak_for_the_driver() -> None:
    line = "145, pid=7, name=Nonfatal Fatal sram, RLW_CTRL {} XC0 i0 Link 13 (0x00000062 0x80000000 0x0)"
    assert annotate(Fault("xid", "145", raw=line.format("Fatal"))).severity == "fail"
    assert annotate(Fault("xid", "145", raw=line.format("Nonfatal"))).severity == "warn"
    plain = annotate(Fault("xid", "48", raw="48, pid=7, name=sram, An uncorrectable double bit error (DBE)"))
    assert plain.name == annotate(Fault("xid", "48")).name


@pytest.mark.parametrize(
    ("fault", "architecture", "words", "severity"),
    [
        (Fault("xid", "63"), "Volta", "page", "warn"),
        (Fault("xid", "63"), "Turing", "page", "warn"),
        (Fault("xid", "63"), "Ampere", "row", "warn"),
        (Fault("xid", "63"), "Ada Lovelace", "row", "warn"),
        (Fault("xid", "63"), None, "row", "warn"),
        (Fault("xid", "63", detail="ECC page retirement recording event"), None, "page", "warn"),
        (Fault("xid", "64"), "Pascal", "page", "fail"),
        (Fault("xid", "48", detail="DBE has been detected on GPU in the framebuffer"), "Hopper", "one word", "fail"),
        (Fault("xid", "48", detail="DBE has been detected on GPU in the SM L1 cache"), "Hopper", "SRAM", "fail"),
        (Fault("xid", "74", detail="NVLink: fatal error detected on link 2(0x10000, 0x0)"), None, "link", "fail"),
        (Fault("xid", "74", detail="NVLink: non-fatal error detected on link 2(0x0)"), None, "survived", "warn"),
        (Fault("kernel", "machine-check", detail="uncorrected"), None, "not correct", "fail"),
        (Fault("kernel", "machine-check", detail="corrected"), None, "nothing was lost", "note"),
        (Fault("kernel", "machine-check-uncorrected"), None, "not correct", "fail"),
        (Fault("kernel", "machine-check"), None, "corrected", "warn"),
        (Fault("kernel", "out-of-memory"), None, "host", "note"),
        (Fault("kernel", "out-of-memory", raw="oom-kill:constraint=CONSTRAINT_MEMCG"), None, "container", "note"),
        (Fault("kernel", "off-the-bus"), None, "Xid 79", "fail"),
        (Fault("kernel", "adapter-init-failed"), None, "start", "fail"),
        (Fault("kernel", "no-firmware"), None, "firmware", "fail"),
        (Fault("kernel", "bandwidth-limited"), None, "slower", "note"),
        (Fault("kernel", "nouveau"), None, "nouveau", "warn"),
        (Fault("kernel", "version-mismatch"), None, "version", "fail"),
        (Fault("kernel", "gpu-memory-error"), None, "memory", "warn"),
        (Fault("aer", "corrected"), None, "corrected", "note"),
        (Fault("aer", "fatal"), None, "link", "fail"),
        (Fault("aer", "non-fatal"), None, "packet", "warn"),
        (Fault("aer", "bad-tlp"), None, "checksum", "note"),
        (Fault("aer", "RxErr", raw="severity=Corrected, type=Physical Layer"), None, "decode", "note"),
        (Fault("aer", "UnsupReq", raw="severity=Uncorrected (Non-Fatal)"), None, "asked", "warn"),
        (Fault("aer", "UnsupReq", raw="severity=Uncorrected (Fatal)"), None, "asked", "fail"),
        (Fault("aer", "DLP"), None, "protocol", "fail"),
    ],
)
def test_line_and_board_change_the_meaning(fault: Fault, architecture: str | None, words: str, severity: str) -> None:
    found = annotate(fault, architecture)
    assert words.lower() in f"{found.name} {found.meaning}".lower()
    assert found.severity == severity


def test_a_code_that_an_older_driver_does_not_know_is_only_a_warning() -> None:
    assert annotate(Fault("xid", "175"), driver_version="595.45.04").severity == "fail"
    assert annotate(Fault("xid", "175")).severity == "fail"
    old = annotate(Fault("xid", "175"), driver_version="550.54.14")
    assert (old.severity, old.action) == ("warn", "watch")
    assert "595" in old.meaning


def test_the_catalog_is_whole() -> None:
    assert [len(codes_of(kind)) for kind in ("xid", "sxid")] == [176, 398]
    assert codes_of("xid") == tuple(str(number) for number in range(1, 177))
    assert sum(entry.fatal is True for entry in ENTRIES) > 200


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: f"{entry.kind}:{entry.code}")
def test_every_entry_can_be_acted_on(entry: FaultEntry) -> None:
    assert entry.severity in SEVERITIES and entry.action in ACTIONS
    assert entry.name and entry.meaning.endswith(".") and entry.applies_to
    assert all(source_text(entry, source) for source in entry.sources)
    if entry.severity == "fail":
        assert entry.action not in {"none", "watch"} and entry.steps
    if entry.action == "replace-board":
        assert "memory_errors" in entry.sources
    if entry.action not in {"none", "watch"}:
        assert entry.steps


def test_replacement_is_advised_only_where_a_source_says_so() -> None:
    advised = {entry.code for entry in ENTRIES if entry.action == "replace-board"}
    assert advised == {"64"}
    assert annotate(Fault("xid", "48", count=99)).action == "reset-board"


@pytest.mark.parametrize("code", ["56", "63", "65", "68", "69", "73", "80", "81", "92", "109", "164"])
def test_disagreement_is_kept(code: str) -> None:
    entry = entry_of("xid", code)
    assert entry is not None and entry.choice
    assert len({opinion.says for opinion in entry.opinions}) > 1


_faults = st.builds(
    Fault,
    kind=st.sampled_from(FAULT_KINDS),
    code=st.sampled_from([entry.code for entry in ENTRIES]) | st.text(max_size=60),
    detail=st.text(max_size=80)
    | st.lists(
        st.sampled_from(["Fatal", "Non-fatal", "to", "0x1", "Link", "-1", "(", "RLW_CTRL", "drain", "->", "SRAM"])
    ).map(" ".join),
    raw=st.text(max_size=200),
)


@given(_faults, st.none() | st.text(max_size=20), st.none() | st.text(max_size=20))
def test_no_fault_is_too_odd(fault: Fault, architecture: str | None, driver: str | None) -> None:
    found = annotate(fault, architecture, driver)
    assert annotate(found, architecture, driver) == found
    assert found.name and found.meaning and found.severity in SEVERITIES and found.action in ACTIONS
    kept = msgspec.structs.replace(found, name="", meaning="", severity=fault.severity, action=fault.action)
    assert kept == fault
    if entry_of(fault.kind, fault.code) is None:
        assert found.severity != "note"


def test_what_another_reader_explained_stays() -> None:
    fault = Fault("ascend", "80E01801", name="a name", severity="fail", action="reset-board")
    assert annotate(fault) == fault


@given(st.text(max_size=3000))
def test_any_line_is_read_quickly_and_never_raises(text: str) -> None:
    word_of(text)
    recovery_of(Fault("xid", "154", raw=text))
    decode(Fault("xid", "149", raw=text))


FAULTS, FILE = text_of("faults.yaml")
SXIDS, _ = text_of("sxids.yaml")
NVLINK5, _ = text_of("nvlink5.yaml")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("action: reboot-host", "action: reboot-hots", "did you mean 'reboot-host'"),
        ("severity: fail", "severity: fatal", "severity"),
        ("who: vendor", "who: nobody", "who"),
        ("steps: remap_failed", "steps: remap_faild", "did you mean 'remap_failed'"),
        ("sources: [nvidia_xid, gcm]", "sources: [nvidia_xdi, gcm]", "did you mean 'nvidia_xid'"),
        ("confidence: high", "confidence: sure", "confidence"),
        ("  - code: 2\n", "  - code: 1\n", "already"),
        ("    choice: ", "    chioce: ", "did you mean 'choice'"),
        ("applies_to: [any]", "applies_to: [all]", "applies_to"),
        ('says: ["sram"', 'says: ["SRAM"', "small letters"),
        ("schema: boardops.faults/1", "schema: boardops.faults/2", "schema"),
    ],
)
def test_a_mistake_in_the_file_is_named_with_its_line(old: str, new: str, words: str) -> None:
    assert old in FAULTS
    with pytest.raises(YamlError, match=r"faults\.yaml:\d+: ") as caught:
        read_faults(FAULTS.replace(old, new, 1), FILE)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("fatal: true, do: link", "fatal: false, do: link"),
        ("do: fabric", "do: fabrik"),
        ("code: 11002,", "code: 11001,"),
        ("code: 30006,", "code: 99006,"),
        ("  11004: {fatal", "  11999: {fatal"),
    ],
)
def test_a_mistake_in_the_sxids_is_noticed(old: str, new: str) -> None:
    assert old in SXIDS
    with pytest.raises(YamlError):
        read_sxids(SXIDS.replace(old, new, 1), "sxids.yaml")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("------0", "-----0"),
        ('status: "0x', 'status: "1x'),
        ("look_at: peer", "look_at: pear"),
        ("xid: 150", "xid: 151"),
    ],
)
def test_a_mistake_in_the_decoding_is_noticed(old: str, new: str) -> None:
    assert old in NVLINK5
    with pytest.raises(YamlError):
        read_nvlink5(NVLINK5.replace(old, new, 1), "nvlink5.yaml")
