"""`nvidia-smi -q -x` into facts: composed texts of drivers 352 to 580, spellings of no value, and broken files."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boardops.facts import Missing, Process, Value, known
from boardops.readers.addresses import pci_address
from boardops.readers.markup import MarkupError
from boardops.readers.nvidia_smi_xml import FILLS, read, recognise
from boardops.readers.reading import Reading
from tests.smi_xml import H100, K80_352, compose, process, with_tags

GIB = 2**30


def one(tags: dict[str, str] | None = None, **changes: str) -> dict[str, Value]:
    """The facts of one composed H100 with some tags changed (`__` stands for `/`)."""
    dotted = {path.replace("__", "/"): text for path, text in changes.items()}
    reading = read(compose([with_tags(tags or H100, dotted)]).encode())
    return dict(reading.boards[0])


def kind(value: Value) -> str:
    assert isinstance(value, Missing), value
    return value.kind


def test_a_healthy_board_of_driver_580() -> None:
    board = one()
    assert board["vendor"] == "nvidia"
    assert board["pci_address"] == "0000:18:00.0"
    assert board["pci_device_id"] == "10de:2330"
    assert board["memory.total_bytes"] == 81559 * 2**20
    assert board["memory.reserved_bytes"] == 480 * 2**20
    assert board["temperature.core_celsius"] == 34.0
    assert board["temperature.margin_celsius"] == 53.0
    assert board["temperature.slowdown_margin_celsius"] == 55.0
    assert board["power.draw_watts"] == 70.93
    assert board["clock.throttle_reasons"] == ("gpu_idle",)
    assert board["ecc.uncorrected_volatile_count"] == 0
    assert board["ecc.repair_pending"] is False
    assert board["fabric_state"] == "completed"
    assert board["lost"] is False
    assert board["processes"] == ()


def test_a_board_of_driver_352() -> None:
    reading = read(compose([K80_352], driver="352.99", cuda=None).encode())
    board = reading.boards[0]
    assert reading.problems == () and reading.complete
    assert reading.host["software.nvidia_driver_version"] == "352.99"
    assert kind(reading.host["software.cuda_driver_version"]) == "not-supported"
    assert board["pci_address"] == "0000:05:00.0"
    assert board["temperature.slowdown_celsius"] == 88.0
    assert board["power.limit_watts"] == 149.0
    assert board["ecc.corrected_volatile_count"] == 3
    assert board["ecc.uncorrected_aggregate_count"] == 1
    assert board["pages.retired_single_count"] == 2
    assert board["pages.pending"] is False
    assert board["clock.throttle_reasons"] == ("gpu_idle",)
    for name in ("rows.failed", "mig_enabled", "fabric_state", "recovery_action", "temperature.margin_celsius"):
        assert kind(board[name]) == "not-supported"


def test_every_fact_that_is_promised_is_given() -> None:
    reading = read(compose([H100]).encode())
    given = {f"board.{name}" for name in reading.boards[0]} | {f"host.{name}" for name in reading.host}
    assert given == set(FILLS)
    assert given <= set(known())


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("N/A", "not-supported"),
        ("[N/A]", "not-supported"),
        ("n/a", "not-supported"),
        ("[Not Supported]", "not-supported"),
        ("Requested functionality has been deprecated", "not-supported"),
        ("", "unreadable"),
        ("500 C", "unreadable"),
        ("307 K", "unreadable"),
        ("Unknown Error", "error"),
        ("[Unknown Error]", "error"),
        ("ERR!", "error"),
        ("[Insufficient Permissions]", "not-permitted"),
        ("GPU is lost", "lost"),
        ("[GPU is lost]", "lost"),
        ("GPU requires reset", "error"),
        ("twelve", "unreadable"),
        ("12 F", "unreadable"),
        ("4294967295 C", "error"),
    ],
)
def test_spellings_of_no_value(text: str, missing: str) -> None:
    board = one(temperature__gpu_temp=text)
    assert kind(board["temperature.core_celsius"]) == missing
    assert board["memory.total_bytes"] == 81559 * 2**20, "one bad field must not lose the rest"


def test_what_is_not_understood_keeps_its_text() -> None:
    value = one(temperature__gpu_temp="warm")["temperature.core_celsius"]
    assert isinstance(value, Missing) and "'warm'" in value.why


def test_a_lost_board_among_healthy_ones() -> None:
    lost = with_tags(
        H100,
        {
            "pci/pci_bus_id": "00000000:2A:00.0",
            "temperature/gpu_temp": "GPU is lost",
            "fb_memory_usage/used": "GPU is lost",
            "remapped_rows": "GPU is lost",
        },
        without=("remapped_rows/remapped_row_corr", "remapped_rows/remapped_row_unc"),
    )
    lost = with_tags(lost, without=("remapped_rows/remapped_row_pending", "remapped_rows/remapped_row_failure"))
    first, second = read(compose([H100, lost]).encode()).boards
    assert first["lost"] is False and second["lost"] is True
    for name in ("temperature.core_celsius", "memory.used_bytes", "rows.failed", "rows.remapped_uncorrected_count"):
        assert kind(second[name]) == "lost"
    assert second["pcie.link_width_lanes"] == 16, "what is printed is kept"


def test_negative_margins_are_values() -> None:
    board = one(temperature__gpu_temp="93 C", temperature__gpu_temp_tlimit="-6 C")
    assert board["temperature.margin_celsius"] == -6.0
    assert board["temperature.slowdown_margin_celsius"] == -4.0


def test_versions_stay_text() -> None:
    reading = read(compose([H100], driver="570.10", cuda="12.10").encode())
    assert reading.host["software.nvidia_driver_version"] == "570.10"
    assert reading.host["software.cuda_driver_version"] == "12.10"


def test_mig_nodes_before_the_boards_own_are_not_mixed_up() -> None:
    text = compose([H100]).replace(
        "<mig_devices>None</mig_devices>",
        "<mig_devices><mig_device><index>0</index><fb_memory_usage><total>9856 MiB</total><used>1 MiB</used>"
        "</fb_memory_usage><ecc_error_count><volatile_count><sram_uncorrectable>7</sram_uncorrectable></volatile_count>"
        "</ecc_error_count></mig_device></mig_devices>",
    )
    board = read(text.encode()).boards[0]
    assert board["memory.total_bytes"] == 81559 * 2**20
    assert board["ecc.uncorrected_volatile_count"] == 0


def test_an_inlined_dtd_is_read_over() -> None:
    dtd = "<!DOCTYPE nvidia_smi_log [<!ELEMENT nvidia_smi_log (timestamp,gpu*)><!ATTLIST gpu id CDATA #REQUIRED>]>"
    assert len(read(compose([H100], dtd=dtd).encode()).boards) == 1


@pytest.mark.parametrize(
    "dtd",
    [
        '<!DOCTYPE nvidia_smi_log [<!ENTITY a "x"><!ENTITY b "&a;&a;&a;&a;">]>',
        '<!DOCTYPE nvidia_smi_log [<!ENTITY a SYSTEM "file:///etc/passwd">]>',
        '<!DOCTYPE nvidia_smi_log [<!ENTITY % a SYSTEM "http://example.com/x.dtd"> %a;]>',
    ],
)
def test_entities_are_refused(dtd: str) -> None:
    with pytest.raises(MarkupError, match="entity"):
        read(compose([H100], dtd=dtd).encode())


def test_too_deep_is_refused() -> None:
    with pytest.raises(MarkupError, match="deep"):
        read(b"<nvidia_smi_log>" + b"<a>" * 100 + b"</a>" * 100 + b"</nvidia_smi_log>")


def test_warnings_around_the_xml_are_told_and_read_over() -> None:
    text = "WARNING: infoROM is corrupted at gpu 0000:18:00.0\n" + compose([H100]) + "trailing words\n"
    reading = read(text.encode())
    assert len(reading.boards) == 1 and reading.complete
    assert [problem for problem in reading.problems if "infoROM" in problem]
    assert [problem for problem in reading.problems if "trailing words" in problem]


def test_processes_keep_hostile_names_as_they_are() -> None:
    name = "<script>alert(1)</script>"
    reading = read(compose([H100], processes={0: [process(7, name), process(8, "x", "N/A", "G")]}).encode())
    processes = reading.boards[0]["processes"]
    assert isinstance(processes, tuple)
    first, second = processes
    assert isinstance(first, Process) and isinstance(second, Process)
    assert (first.pid, first.name, first.kind, first.used_bytes) == (7, name, "compute", 1000 * 2**20)
    assert second.kind == "graphics" and isinstance(second.used_bytes, Missing)


def test_ten_processes_stay_in_order() -> None:
    reading = read(compose([H100], processes={0: [process(n, f"p{n}") for n in range(1, 13)]}).encode())
    processes = reading.boards[0]["processes"]
    assert isinstance(processes, tuple)
    assert [entry.pid for entry in processes if isinstance(entry, Process)] == list(range(1, 13))


@pytest.mark.parametrize("share", [0.2, 0.35, 0.5, 0.65, 0.8, 0.99])
def test_a_truncated_file_gives_what_stands_before_the_cut(share: float) -> None:
    whole = compose([with_tags(H100, {"pci/pci_bus_id": f"00000000:{n:02X}:00.0"}) for n in range(1, 5)])
    reading = read(whole.encode()[: int(len(whole) * share)])
    assert not reading.complete
    assert kind(reading.host["boards_listed_count"]) == "unreadable"
    assert [problem for problem in reading.problems if "line" in problem and "column" in problem]
    if len(reading.boards) > 1:
        assert reading.boards[0]["memory.total_bytes"] == 81559 * 2**20


def test_what_a_cut_board_lacks_is_unreadable_not_unsupported() -> None:
    text = compose([H100])
    cut = text[: text.index("<temperature>")]
    board = read(cut.encode()).boards[0]
    assert board["memory.total_bytes"] == 81559 * 2**20
    assert kind(board["temperature.core_celsius"]) == "unreadable"
    assert kind(board["fabric_state"]) == "unreadable"


def test_a_board_without_an_address_is_told() -> None:
    reading = read(compose([with_tags(H100, {"pci/pci_bus_id": "somewhere"}), H100]).encode())
    assert len(reading.boards) == 1
    assert not reading.complete
    assert [problem for problem in reading.problems if problem.startswith("GPU 0 is left out")]


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("00000000:3B:00.0", "0000:3b:00.0"),
        ("0000:3B:00.0", "0000:3b:00.0"),
        ("00000008:06:00.0", "0008:06:00.0"),
        ("00010000:01:00.1", "00010000:01:00.1"),
        ("0:1:2.3", "0000:01:02.3"),
    ],
)
def test_pci_addresses(text: str, address: str) -> None:
    assert pci_address(text) == address


def test_recognition_is_by_content() -> None:
    assert recognise(b"noise\n" + compose([H100]).encode())
    assert not recognise(b"<html><body>gpu</body></html>")


_TEXT = compose([H100, K80_352], processes={0: [process(1, "a")]}).encode()


@given(st.integers(0, len(_TEXT) - 1), st.integers(0, len(_TEXT) - 1), st.binary(max_size=12))
def test_any_damage_gives_a_reading_or_one_clear_error(start: int, length: int, instead: bytes) -> None:
    damaged = _TEXT[:start] + instead + _TEXT[start + length % 200 :]
    if not recognise(damaged):
        return
    try:
        reading = read(damaged)
    except MarkupError as error:
        assert str(error)
        return
    assert isinstance(reading, Reading)
    for board in reading.boards:
        assert {f"board.{name}" for name in board} <= set(known())


@given(st.text(max_size=30))
def test_any_text_in_a_field_becomes_a_value_or_missing(text: str) -> None:
    clean = "".join(char for char in text if char.isprintable())
    board = one(temperature__gpu_temp=clean, pci__replay_counter=clean, ecc_mode__current_ecc=clean)
    for name in ("temperature.core_celsius", "pcie.replay_count", "ecc.enabled"):
        assert isinstance(board[name], (Missing, int, float, bool))


@pytest.mark.parametrize(
    ("gone", "fact"),
    [
        ("temperature", "temperature.core_celsius"),
        ("pci/pci_gpu_link_info", "pcie.link_width_lanes"),
        ("fb_memory_usage", "memory.total_bytes"),
        ("clocks_event_reasons", "clock.throttle_reasons"),
        ("fabric", "fabric_state"),
        ("ecc_errors", "ecc.uncorrected_volatile_count"),
        ("remapped_rows", "rows.failed"),
        ("gpu_recovery_action", "recovery_action"),
        ("utilization", "utilization.compute_ratio"),
    ],
)
def test_what_this_driver_prints_and_the_file_lacks_is_unreadable(gone: str, fact: str) -> None:
    board = read(compose([with_tags(H100, without=(gone,))]).encode()).boards[0]
    assert kind(board[fact]) == "unreadable"


def test_an_empty_entry_is_no_healthy_board() -> None:
    text = compose([H100]).replace("</nvidia_smi_log>", '<gpu id="00000000:99:00.0"/></nvidia_smi_log>')
    _, empty = read(text.encode()).boards
    assert kind(empty["memory.total_bytes"]) == kind(empty["temperature.core_celsius"]) == "unreadable"


def test_board_memory_that_nobody_counted_is_no_zero() -> None:
    assert kind(one(ecc_errors__volatile__dram_uncorrectable="N/A")["ecc.uncorrected_volatile_count"]) == "error"
    assert one(ecc_errors__volatile__sram_uncorrectable_parity="N/A")["ecc.uncorrected_volatile_count"] == 0


def test_one_address_twice_is_told() -> None:
    reading = read(compose([H100, with_tags(H100, {"temperature/gpu_temp": "99 C"})]).encode())
    assert len(reading.boards) == 1 and not reading.complete
    assert any("has the address of an earlier one" in problem for problem in reading.problems)
    assert kind(reading.host["boards_listed_count"]) == "unreadable"


def test_boards_without_an_entry_are_told() -> None:
    reading = read(compose([H100], attached=8).encode())
    value = reading.host["boards_listed_count"]
    assert isinstance(value, Missing) and value.why.startswith("7 of 8 attached boards have no entry")


def test_a_board_that_the_tool_cannot_reach_has_a_row() -> None:
    text = "Unable to determine the device handle for GPU 0000:BA:00.0: Unknown Error\n" + compose([H100])
    _, dead = read(text.encode()).boards
    assert dead["pci_address"] == "0000:ba:00.0" and dead["lost"] is True
    assert kind(dead["memory.total_bytes"]) == "lost"


def test_an_unknown_word_is_no_verdict() -> None:
    assert kind(one(compute_mode="Sometimes")["compute_mode"]) == "unreadable"
    assert one(compute_mode="Exclusive_Process")["compute_mode"] == "exclusive-process"
    assert kind(one(fabric__state="Foo")["fabric_state"]) == "unreadable"


def test_command_lines_are_cut_to_the_program() -> None:
    name = "/home/ann/run --api-key=sk-1 --password hunter2"
    reading = read(compose([H100], processes={0: [process(7, name)]}).encode())
    processes = reading.boards[0]["processes"]
    assert isinstance(processes, tuple) and isinstance(processes[0], Process)
    assert processes[0].name == "/home/ann/run"


def test_the_driver_version_is_never_unsupported() -> None:
    reading = read(compose([H100], driver="[N/A]").encode())
    assert kind(reading.host["software.nvidia_driver_version"]) == "error"


def test_a_counter_of_64_bits_is_exact() -> None:
    assert (
        kind(one(ecc_errors__volatile__dram_correctable="18446744073709551615")["ecc.corrected_volatile_count"])
        == "error"
    )
    assert (
        one(ecc_errors__volatile__dram_correctable="9007199254740993")["ecc.corrected_volatile_count"]
        == 9007199254740993
    )
