"""The formats that a report can have, and the file endings that pick them."""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from boardops.score import Result

# Each format's module has `render(result)`; a module is imported when its format is asked for.
FORMATS = {
    "html": "boardops.report.html",
    "json": "boardops.report.json",
    "markdown": "boardops.report.markdown",
    "text": "boardops.report.text",
}
ENDINGS = {
    ".html": "html",
    ".htm": "html",
    ".json": "json",
    ".md": "markdown",
    ".markdown": "markdown",
    ".txt": "text",
}


def format_of_ending(name: str) -> str | None:
    """The format that a file's ending picks, None where it picks none."""
    return ENDINGS.get(os.path.splitext(name)[1].lower())


def render(result: Result, format_: str, *, width: int = 100, colour: bool = False, ascii: bool = False) -> str:
    """The report in a format. `width`, `colour` and `ascii` matter to text only."""
    module = importlib.import_module(FORMATS[format_])
    if format_ == "text":
        text: str = module.render(result, width=width, colour=colour, ascii=ascii)
        return text
    made: str = module.render(result)
    return made
