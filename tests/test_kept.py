"""What was read is kept beside the bytecode: it equals what is read, and whatever else lies there is not believed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec import msgpack

from boardops import kept as module
from boardops import ruleset
from boardops.catalog.boards import BoardEntry, read_boards
from boardops.catalog.nvidia_driver_table import Drivers, read_drivers
from boardops.catalog.sourced import text_of
from boardops.cli.run import rule_layers
from boardops.kept import kept
from boardops.rule import RuleSet
from boardops.rules import load

ROOT = Path(__file__).resolve().parent.parent
SHIPPED = rule_layers([], "/no/such/folder")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A place for one kept value, as if all modules had stood still for long."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(module, "_path", lambda name: str(tmp_path / "folder" / name))
    monkeypatch.setattr(module, "_code", lambda: module._Code(b"code", 0.0))
    return tmp_path / "folder" / "x"


class Reader:
    """Reads a text, and counts how often it had to."""

    def __init__(self, value: Any = (1, 2)) -> None:
        self.value, self.times = value, 0

    def __call__(self) -> Any:
        self.times += 1
        return self.value


def numbers(reader: Callable[[], Any], text: bytes = b"text") -> Any:
    return kept("x", text, tuple[int, ...], reader)


@pytest.mark.parametrize(
    ("type_", "read"),
    [
        (RuleSet, lambda: ruleset.for_judging(load(SHIPPED))),
        (tuple[BoardEntry, ...], lambda: read_boards(*text_of("boards.yaml"))),
        (Drivers, lambda: read_drivers(*text_of("nvidia_drivers.yaml"))),
    ],
)
def test_what_is_kept_equals_what_is_read(place: Path, type_: Any, read: Callable[[], Any]) -> None:
    reader = Reader(read())
    first, second = (kept("x", b"text", type_, reader) for _ in range(2))
    assert reader.times == 1 and place.is_file()
    # By their words too: 8 and 8.0 are equal and are not shown alike.
    assert (first, repr(first)) == (second, repr(second))


def test_the_rules_for_judging_lack_only_cases_and_places() -> None:
    for rule, whole in zip(ruleset.for_judging(load(SHIPPED)).rules, load(SHIPPED).rules, strict=True):
        names = [name for name in rule.__struct_fields__ if getattr(rule, name) != getattr(whole, name)]
        assert names == ["cases", "places"]


def test_another_text_or_other_code_is_read(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = Reader()
    assert [numbers(reader), numbers(reader)] == [(1, 2)] * 2 and reader.times == 1
    numbers(reader, b"texs")
    assert reader.times == 2
    monkeypatch.setattr(module, "_code", lambda: module._Code(b"edit", 0.0))
    numbers(reader, b"texs")
    assert reader.times == 3
    monkeypatch.setattr(module, "_code", lambda: None)
    numbers(reader, b"texs")
    assert reader.times == 4


def test_whatever_else_lies_there_is_not_believed(place: Path) -> None:
    reader = Reader()
    numbers(reader)
    good = place.read_bytes()
    head = good[: good.index(b"\n") + 1]
    foreign = msgpack.encode(("a",))
    damaged = [good[:size] for size in range(len(good))]
    damaged += [good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :] for at in range(len(good))]
    damaged += [good + b"\0", b"garbage", head + module._sum(foreign) + foreign, head + module._sum(b"\xc1") + b"\xc1"]
    for number, data in enumerate(damaged, 2):
        place.write_bytes(data)
        assert (numbers(reader), reader.times) == ((1, 2), number)
        assert place.read_bytes() == good


def test_where_nothing_can_be_written_all_is_read(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = Reader()
    place.parent.write_text("no folder")
    assert (numbers(reader), numbers(reader), reader.times) == ((1, 2), (1, 2), 2)
    place.parent.unlink()
    place.mkdir(parents=True)  # A folder where the file should be: it cannot be replaced, and nothing is left behind.
    assert (numbers(reader), reader.times, [*place.parent.iterdir()]) == ((1, 2), 3, [place])
    place.rmdir()
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert (numbers(reader), reader.times, [*place.parent.iterdir()]) == ((1, 2), 4, [])


def test_code_that_changed_just_now_is_not_settled(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_code", lambda: module._Code(b"code", 2.0**40))
    assert numbers(Reader()) == (1, 2) and not place.exists()


def test_the_rules_of_a_site_are_always_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ruleset, "kept", lambda *_: pytest.fail("a site's rules are not kept"))
    site = ("site.yaml", "schema: boardops.rules/1\nrules:\n  - {id: pcie.width, weight: 7}\n")
    rules = ruleset.rules_in_force([*SHIPPED, site])
    assert next(rule.weight for rule in rules.rules if rule.id == "pcie.width") == 7


def test_a_checkout_keeps_beside_its_bytecode_and_sees_every_edit(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "boardops", tmp_path / "boardops", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "rules.yaml", tmp_path)
    for path in tmp_path.rglob("*"):
        os.utime(path, (1e9, 1e9))
    example = ROOT / "examples" / "eight-boards.xml"
    argv = [sys.executable, "-m", "boardops", "check", "--from", str(example), "--format", "json"]
    surroundings = {**os.environ, "PYTHONPYCACHEPREFIX": str(tmp_path / "bytecode")}
    surroundings.pop("PYTHONDONTWRITEBYTECODE", None)

    def check() -> Any:
        done = subprocess.run(argv, cwd=tmp_path, env=surroundings, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (2, "")
        report = json.loads(done.stdout)
        return {key: report[key] for key in ("rules", "score", "host", "boards")}

    def state() -> dict[str, int]:
        return {path.name.partition(".")[0]: path.stat().st_mtime_ns for path in tmp_path.rglob("*.kept")}

    first, once = check(), state()
    assert set(once) == {"rules", "boards", "nvidia_drivers"}
    assert (check(), state()) == (first, once)
    rules = tmp_path / "rules.yaml"
    text = rules.read_text(encoding="utf-8")
    rules.write_text(text.replace("weight: 6", "weight: 7"), encoding="utf-8")
    edited = check()
    assert edited["rules"]["digest"] != first["rules"]["digest"] and edited["boards"] != first["boards"]
    assert {name for name, time in state().items() if time != once[name]} == {"rules"}
    rules.write_text(text, encoding="utf-8")
    assert check() == first
    os.utime(tmp_path / "boardops" / "compare.py", (1.1e9, 1.1e9))
    again = state()
    assert check() == first and all(time != again[name] for name, time in state().items())
