"""versions.py: vendor versions have one total order, and a specification means what it says."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from boardops.versions import looks_like_version, parse_spec, satisfies, version_key

releases = st.lists(st.integers(0, 999), min_size=1, max_size=4).map(lambda parts: ".".join(map(str, parts)))
candidates = st.tuples(releases, st.sampled_from(["rc", "beta", "alpha", "b", "dev"]), st.integers(0, 20)).map(
    lambda parts: f"{parts[0]}.{parts[1]}{parts[2]}"
)
versions = st.one_of(releases, candidates)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("9", "10"),
        ("12.9", "12.10"),
        ("450.51.06", "450.80.02"),
        ("535.104.05", "535.104.12"),
        ("579.99", "580.65.06"),
        ("24.1.rc1", "24.1"),
        ("24.1.rc1", "24.1.rc2"),
        ("24.1.0.rc1", "24.1"),
        ("25.0.rc1", "25.0"),
        ("25.0.RC1", "25"),
        ("2.0.0rc1", "2.0"),
        ("23.0.6", "24.1.rc1"),
        ("8.0.rc1.beta1", "8.0.rc1"),
        ("v6.2.10", "v6.2.11"),
        ("2.3.1", "2.4.0+cu121"),
    ],
)
def test_older_and_newer(older: str, newer: str) -> None:
    assert version_key(older) < version_key(newer)
    assert not satisfies(older, f">={newer}")
    assert satisfies(newer, f">{older}")


@pytest.mark.parametrize(
    ("one", "other"), [("580", "580.0.0"), ("v1.2", "1.2"), ("12.10", " 12.10 "), ("1.02", "1.2"), ("2.4+cu121", "2.4")]
)
def test_same_version(one: str, other: str) -> None:
    assert version_key(one) == version_key(other)
    assert satisfies(one, f"=={other.strip()}") and not satisfies(one, f"!={other.strip()}")


@given(releases, st.integers(0, 20), st.sampled_from(["rc", ".rc", "-beta", ".alpha", "b"]))
def test_a_candidate_is_older_than_its_release(release: str, number: int, word: str) -> None:
    assert version_key(f"{release}{word}{number}") < version_key(release)


@given(releases, st.integers(1, 3))
def test_zeros_at_the_end_change_nothing(release: str, zeros: int) -> None:
    assert version_key(release + ".0" * zeros) == version_key(release)


@given(st.lists(st.integers(0, 99), min_size=1, max_size=4), st.lists(st.integers(0, 99), min_size=1, max_size=4))
def test_numbers_compare_as_numbers(a: list[int], b: list[int]) -> None:
    wide = max(len(a), len(b))
    padded_a, padded_b = (parts + [0] * (wide - len(parts)) for parts in (a, b))
    key_a, key_b = (version_key(".".join(map(str, parts))) for parts in (a, b))
    assert (key_a < key_b) == (padded_a < padded_b) and (key_a == key_b) == (padded_a == padded_b)


@given(versions, versions)
def test_signs_agree_with_each_other(a: str, b: str) -> None:
    assert satisfies(a, f">={b}") == (satisfies(a, f">{b}") or satisfies(a, f"=={b}"))
    assert satisfies(a, f"<={b}") != satisfies(a, f">{b}")
    assert satisfies(a, f"!={b}") != satisfies(a, f"=={b}")
    assert satisfies(a, f">={b},<={b}") == satisfies(a, f"=={b}")


@given(st.text(max_size=40), st.text(max_size=40))
def test_any_two_texts_can_be_compared(a: str, b: str) -> None:
    key_a, key_b = version_key(a), version_key(b)
    assert (key_a < key_b) + (key_a == key_b) + (key_a > key_b) == 1


@given(st.text(max_size=20))
def test_a_specification_is_read_or_refused(text: str) -> None:
    assume(not looks_like_version(text))
    with pytest.raises(ValueError, match="is not an operator"):
        parse_spec(f">={text}")


@pytest.mark.parametrize("spec", ["", "580", ">=", ">=580,", "=>580", "~=580", ">=N/A", ">=1 <2", "== latest"])
def test_bad_specifications(spec: str) -> None:
    with pytest.raises(ValueError, match="is not an operator"):
        parse_spec(spec)


@pytest.mark.parametrize(
    ("text", "is_one"), [("580.65.06", True), ("v1", True), ("N/A", False), ("", False), ("rc1", False)]
)
def test_looks_like_version(text: str, is_one: bool) -> None:
    assert looks_like_version(text) is is_one


def test_endless_numbers_end() -> None:
    assert version_key("9" * 100_000) > version_key("1")
