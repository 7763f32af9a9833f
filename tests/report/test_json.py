"""The JSON report: its schema, its keys, and that it can be read back."""

from __future__ import annotations

import json
from collections.abc import Callable

import jsonschema
import msgspec
import pytest

from boardops.report.json import render, schema
from boardops.score import Result
from tests.report import samples

TOP = [
    "schema",
    "tool_version",
    "rules",
    "started_at",
    "seconds",
    "profile",
    "intent",
    "partial",
    "readiness",
    "cause",
    "score",
    "coverage",
    "host",
    "boards",
    "evidence",
]


@pytest.mark.parametrize("sample", samples.ALL, ids=lambda sample: sample.__name__)
def test_every_report_follows_the_schema_and_comes_back(sample: Callable[[], Result]) -> None:
    text = render(sample())
    jsonschema.Draft202012Validator(schema()).validate(json.loads(text))
    assert msgspec.json.decode(text, type=Result) == sample()


def test_the_schema_is_one_and_refuses_what_is_not_a_report() -> None:
    jsonschema.Draft202012Validator.check_schema(schema())
    report = json.loads(render(samples.healthy()))
    for key in TOP:
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.Draft202012Validator(schema()).validate({k: v for k, v in report.items() if k != key})
    report["readiness"] = "fine"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(schema()).validate(report)


def test_stable_keys_and_nested_facts() -> None:
    report = json.loads(render(samples.faulty()))
    assert report["schema"] == "boardops.report/1"
    assert set(TOP) <= set(report)
    board = report["boards"][0]
    assert board["pci_address"] == "0000:18:00.0"
    assert board["facts"]["memory"]["total_bytes"] == 81559 * 2**20
    lost = next(board for board in report["boards"] if board["pci_address"] == "0000:ba:00.0")
    assert lost["facts"]["temperature"]["core_celsius"] == {
        "missing": "lost",
        "why": "the board no longer answers its driver",
    }
    assert report["host"]["facts"]["thermal"]["inlet_celsius"]["missing"] == "not-collected"
    finding = board["findings"][0]
    assert set(finding) >= {
        "rule",
        "title",
        "verdict",
        "note",
        "expected",
        "found",
        "reason",
        "evidence",
        "severity",
        "weight",
        "required",
        "caused_by",
        "remedy",
        "source",
    }
    assert finding["evidence"] == ["file-1"]
    assert {entry["id"] for entry in report["evidence"]} == {"file-1"}
