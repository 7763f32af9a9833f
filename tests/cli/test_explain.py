"""`boardops explain`: rules and fault codes, however they are typed."""

from __future__ import annotations

import pytest

from boardops.catalog.faults import TITLES, codes_of
from boardops.cli.fault_text import explain_fault, parse_subject
from boardops.errors import BoardopsError
from tests.cli.program import boardops, one_line


@pytest.mark.parametrize("typed", [["xid:79"], ["XID:79"], ["xid", "79"], ["Xid 79"], ["xid: 79"], ["xid:079"]])
def test_a_code_may_be_typed_in_several_ways(typed: list[str]) -> None:
    done = boardops("explain", *typed)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Xid 79: ")
    for words in ("Means", "Who acts", "fail: ", "reboot-host", "- ", "Applies to", "Sources", "Confidence"):
        assert words in done.stdout


def test_a_rule_is_still_explained() -> None:
    done = boardops("explain", "pcie.width")
    assert done.returncode == 0 and "Looks at" in done.stdout


@pytest.mark.parametrize(
    ("subject", "words"),
    [
        ("xid:999", ["Xid 999 is not in the catalog", "1 to 176", "warn", "watch"]),
        ("xid:seventy", ["cannot be read", "'seventy'"]),
        ("sxid:11999", ["Port, incoming side"]),
        ("sxid:99999", ["is not in the catalog"]),
        ("aer:badtpl", ["Did you mean 'aer:BadTLP'"]),
        ("kernel:off-the-buss", ["Did you mean 'kernel:off-the-bus'"]),
        ("kernel:quite-different", ["is not in the catalog"]),
        ("cnrm:9", ["no codes of the kind cnrm"]),
    ],
)
def test_of_an_unknown_code_its_family_is_told(subject: str, words: list[str]) -> None:
    done = boardops("explain", subject)
    assert (done.returncode, done.stderr) == (3, "")
    flat = " ".join(done.stdout.split())
    assert all(word in flat for word in words), flat


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["79"], "did you mean 'xid:79'"),
        (["xdi:79"], "did you mean 'xid'"),
        (["sxdi:20034"], "did you mean 'sxid'"),
        (["xid"], "xid:79"),
        (["xid:"], "xid:79"),
        (["nonsense:79"], "kinds: xid"),
        (["pcie.wdth"], "did you mean 'pcie.width'"),
        ([], "SUBJECT"),
    ],
)
def test_what_is_no_subject_is_one_line_with_the_nearest(arguments: list[str], words: str) -> None:
    done = boardops("explain", *arguments)
    assert (done.returncode, done.stdout) == (3, "")
    assert words in one_line(done.stderr)


@pytest.mark.parametrize("kind", TITLES)
def test_every_entry_fits_its_width(kind: str) -> None:
    for code in codes_of(kind):
        for width in (60, 100):
            text, known = explain_fault(kind, code, width)
            assert known
            assert all(len(line) <= width or " " not in line.strip() for line in text.splitlines()), code


def test_disagreement_and_choice_are_told() -> None:
    text, _ = explain_fault("xid", "92", 100)
    assert "aznhc: fails a node" in text and "Our choice" in text
    text, _ = explain_fault("xid", "154", 100)
    assert "drain-and-reset: " in text
    text, _ = explain_fault("xid", "63", 100)
    assert "pre-Ampere" in text and "Otherwise" in text


@pytest.mark.parametrize("subject", ["pcie.width", "temperature.core", "a b c", "", "-", "\x1b[31m"])
def test_what_is_no_fault_is_left_to_the_rules(subject: str) -> None:
    assert parse_subject(subject) is None


@pytest.mark.parametrize("subject", [":", "::", ":79", "1:2", "79"])
def test_a_colon_without_a_kind_is_an_error(subject: str) -> None:
    with pytest.raises(BoardopsError):
        parse_subject(subject)


def test_control_characters_of_a_code_are_not_sent() -> None:
    assert parse_subject("xid:\x1b[31m") == ("xid", "\x1b[31m")
    assert "\x1b" not in explain_fault("xid", "\x1b[31m", 100)[0]
