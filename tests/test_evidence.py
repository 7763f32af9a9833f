"""Files: recognised by content, refused with one sentence, joined by PCI address."""

from __future__ import annotations

import gzip

import pytest

from boardops.evidence import MAX_BYTES, EvidenceError, File, failed, join, read_file
from boardops.facts import Missing
from boardops.readers.reading import Reading
from tests.smi_xml import H100, compose, with_tags


def reading(name: str, text: str) -> tuple[str, str, Reading]:
    return f"id-{name}", name, read_file(File(name, text.encode()))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "is empty"),
        (b" \n\t\r\n" * 1000, "nothing but blanks"),
        (b"\x89PNG\r\n\x1a\n" + b"\x00" * 100, "PNG picture"),
        (b"\xff\xd8\xff\xe0" + b"\x00" * 100, "JPEG"),
        (gzip.compress(b"x", mtime=0), "gzip archive"),
        (b"PK\x03\x04....", "zip archive"),
        (b"\x7fELF\x02\x01", "a program"),
        (b"\x00\x01\x02\x03\x04", "binary"),
        (b"<html><body>gpu</body></html>", "not a format that boardops knows"),
        (b"hello", "not a format that boardops knows"),
        (
            b"NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.",
            "holds an error of nvidia-smi",
        ),
        (b"Failed to initialize NVML: Driver/library version mismatch (nvidia-smi)", "Driver/library version mismatch"),
        (b"<nvidia_smi_log><", "line 1"),
        (b'<!DOCTYPE nvidia_smi_log [<!ENTITY a "b">]><nvidia_smi_log/>', "entity"),
    ],
)
def test_any_other_file_gets_one_sentence_that_names_it(data: bytes, words: str) -> None:
    with pytest.raises(EvidenceError) as caught:
        read_file(File("sent.xml", data))
    sentence = str(caught.value)
    assert sentence.startswith("sent.xml")
    assert words in sentence
    assert "\n" not in sentence


def test_a_file_over_the_limit_is_refused() -> None:
    with pytest.raises(EvidenceError, match=r"^big is larger than 64 MiB$"):
        read_file(File("big", b" " * (MAX_BYTES + 1)))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_encodings_of_windows_shells(encoding: str) -> None:
    found = read_file(File("x", compose([H100]).encode(encoding)))
    assert found.boards[0]["model"] == "NVIDIA H100 80GB HBM3"
    assert found.complete


def test_two_files_of_one_host_are_joined_and_the_newest_wins() -> None:
    other = with_tags(H100, {"pci/pci_bus_id": "00000000:2A:00.0"})
    old = reading("old", compose([H100], timestamp="Tue Dec  1 08:00:00 2026"))
    new = reading(
        "new",
        compose([with_tags(H100, {"temperature/gpu_temp": "50 C"}), other], timestamp="Tue Dec  1 09:00:00 2026"),
    )
    for order in ([old, new], [new, old]):
        joined = join(order)
        assert [board["pci_address"] for board in joined.boards] == ["0000:18:00.0", "0000:2a:00.0"]
        assert joined.boards[0]["temperature.core_celsius"] == 50.0
        newest = next(entry.id for entry in joined.evidence if entry.origin == "new")
        assert joined.read_from["0000:18:00.0"]["temperature.core_celsius"] == newest


def test_what_the_newest_file_lacks_comes_from_the_older() -> None:
    old = reading("old", compose([H100], timestamp="Tue Dec  1 08:00:00 2026"))
    bare = with_tags(H100, {"temperature/gpu_temp": "N/A"})
    joined = join([old, reading("new", compose([bare], timestamp="Tue Dec  1 09:00:00 2026"))])
    assert joined.boards[0]["temperature.core_celsius"] == 34.0
    assert joined.read_from["0000:18:00.0"]["temperature.core_celsius"] == "id-old"


def test_one_address_with_two_boards_names_both_files() -> None:
    other = with_tags(H100, {"uuid": "GPU-00000000-1111-2222-3333-00000000000f"})
    with pytest.raises(EvidenceError) as caught:
        join([reading("a.xml", compose([H100])), reading("b.xml", compose([other]))])
    assert "a.xml" in str(caught.value) and "b.xml" in str(caught.value) and "0000:18:00.0" in str(caught.value)


def test_evidence_tells_what_could_not_be_read() -> None:
    text = compose([H100])
    joined = join([reading("half.xml", text[: len(text) // 2])])
    (entry,) = joined.evidence
    assert entry.outcome == "partial" and "stops in line" in entry.why
    assert isinstance(joined.host["boards_listed_count"], Missing)
    assert failed(2, "b", "why").outcome == "failed"
