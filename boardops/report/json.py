"""A judged run as JSON, and the schema of it."""

from __future__ import annotations

from typing import Any

import msgspec

from boardops.score import SCHEMA, Result


def render(result: Result) -> str:
    """The JSON report, keys in a fixed order."""
    return msgspec.json.format(msgspec.json.encode(result), indent=2).decode() + "\n"


def schema() -> dict[str, Any]:
    """The JSON Schema of the report, draft 2020-12."""
    made = msgspec.json.schema(Result)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA,
        "title": "A judged run of boardops",
        **made,
    }
