"""The page on faults is that of the rows."""

from __future__ import annotations

from tests.faults.table import PAGE, page


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run `python -m tests.faults.table`"
