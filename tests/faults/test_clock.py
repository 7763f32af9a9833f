"""Clocks that jump: the wall clock dates a report, and bounds nothing."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest

from boardops.cli.request import Request
from boardops.cli.run import perform

UTC = datetime.timezone.utc


@pytest.mark.parametrize("year", [1970, 2026, 2099])
def test_a_run_on_a_host_whose_clock_is_wrong(tmp_path: Path, year: int) -> None:
    times = [datetime.datetime(year, 1, 1, tzinfo=UTC), datetime.datetime(1999, 1, 1, tzinfo=UTC)]
    result = perform(
        Request(cpu=True, root="/", site_rules=tmp_path), lambda: times.pop(0) if len(times) > 1 else times[0]
    )
    assert result.started_at == f"{year}-01-01T00:00:00Z"
    assert 0 <= result.seconds < 60
    assert all(entry.seconds is not None and 0 <= entry.seconds < 60 for entry in result.evidence)
