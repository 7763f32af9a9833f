"""The whole road on files that are almost right: judged and shown in every format, or refused with one sentence."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from boardops.cli.request import Request, now
from boardops.cli.run import perform
from boardops.errors import BoardopsError
from boardops.report.formats import FORMATS, render
from tests.fuzz.mutations import EXAMPLES, almost
from tests.fuzz.test_readers import PROBE, READERS

SLACK_SECONDS = 5.0
LINES = (
    b'{"probe": "nvml", "read_at": "2026-12-01T08:00:00Z"}\n{"host": {"boards_in_driver_count": 1, "hostname": "h",'
    b' "software.nvidia_driver_version": "580.95.05", "software.cuda_driver_version": "13.0"}}\n'
) + PROBE.partition(b"\n")[2]


def record(lines: bytes = LINES, **changes: object) -> bytes:
    """A record of what one probe printed."""
    answer = {"source": "nvml", "origin": "nvml", "kind": "ok", "seconds": 0.1, "text": lines.decode()}
    top = {
        "schema": "boardops.record/1",
        "tool_version": "0.1.0",
        "read_at": "2026-12-01T08:00:00Z",
        "cpu": False,
        "intent": "predeploy",
        "needs": ["free=1GiB"],
        "answers": [{**answer, **changes}],
        **{key: value for key, value in changes.items() if key in {"read_at", "needs", "intent", "tool_version"}},
    }
    return json.dumps(top, separators=(",", ":")).encode()


SENT = {**{name: READERS[name][1] for name in ("xml", "text", "csv")}, "record": record()}


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder) / "sent"


def walk(place: Path, data: bytes) -> None:
    place.write_bytes(data)
    begun = time.process_time()
    try:
        result = perform(Request(files=(str(place),)), now)
    except BoardopsError as error:
        assert 0 < len(str(error)) < 2000 and "\n" not in str(error), str(error)
    else:
        assert result.readiness in {"ready", "degraded", "unknown", "not-ready"}
        for format_ in FORMATS:
            render(result, format_).encode("utf-8", "backslashreplace")
    assert time.process_time() - begun < 1 + SLACK_SECONDS


@pytest.mark.parametrize("name", SENT)
@given(data=st.data())
@settings(
    max_examples=max(20, EXAMPLES // 4),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture],
)
def test_what_was_sent_is_judged_and_shown_or_refused(name: str, place: Path, data: st.DataObject) -> None:
    walk(place, data.draw(almost(SENT[name])))


ODD = {
    "a word": record(read_at="yesterday"),
    "no time": record(read_at=""),
    "a day": record(read_at="2026-12-01"),
    "no zone": record(read_at="2026-12-01T08:00:00"),
    "before all time": record(read_at="0001-01-01T00:00:00+23:59"),
    "after all time": record(read_at="9999-12-31T23:59:59-23:59"),
    "an intent": record(intent="anything\nat all"),
    "a need": record(needs=["bords=8"]),
    "a long need": record(needs=["free=" + "9" * 10_000]),
    "a long version": record(needs=["cuda=" + "9" * 10_000]),
    "two lines": record(needs=["cuda=1\n2"]),
    "long and two lines": record(needs=["boards=" + "x" * 10_000 + "\n"]),
    "many seconds": record(seconds=1e308),
    "negative seconds": record(seconds=-1),
    "a return code": record(returncode=10**18, kind="failed"),
    "a long origin": record(origin="a\nb" * 1000),
    "a long reason": record(why="a\nb" * 1000, kind="failed"),
    "a state": record(state="\x00", kind="hung"),
    "a place": record(wait_channel="\n" * 100, kind="hung"),
    "a long driver": record(LINES.replace(b"580.95.05", b"9" * 10_000)),
    "a long CUDA": record(LINES.replace(b"13.0", b"9" * 10_000 + b"." + b"9" * 10_000)),
    "half a pair": record(LINES.replace(b"580.95.05", b"\\ud800")),
    "a large memory": record(LINES.replace(b"85899345920", b"9" * 18)),
    "a negative memory": record(LINES.replace(b"85899345920", b"-1")),
    "a large fan": record(
        LINES.replace(b'"temperature.core_celsius": {"missing": "error", "why": "x"}', b'"fan_ratio": 1e308')
    ),
    "no address": record(LINES.replace(b'"0000:18:00.0"', b'""')),
    "a stand-in": record(LINES.replace(b'"nvidia"', b'"cpu"')),
    "a long driver in XML": SENT["xml"].replace(b"580.95.05", b"9" * 10_000),
    "a long CUDA in XML": SENT["xml"].replace(b"13.0", b"9" * 10_000 + b".1"),
    "the last second": SENT["xml"].replace(b"<timestamp>", b"<timestamp>9999/12/31 23:59:59"),
    "odd line ends": SENT["xml"].replace(b"NVIDIA H100", b"NVIDIA " + b"\xc2\x85\xe2\x80\xa8" * 100),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_values_are_judged_and_shown_or_refused(place: Path, name: str) -> None:
    walk(place, ODD[name])


@given(data=st.binary(max_size=2000))
@settings(
    max_examples=max(20, EXAMPLES // 2), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_bytes_are_refused(place: Path, data: bytes) -> None:
    walk(place, data)
    for read, _ in READERS.values():
        try:
            read(data)
        except BoardopsError as error:
            assert "\n" not in str(error)
