"""What a rule is: its values, and the closed lists of words that a rules file may use.

Every module that reads, judges, tests or shows rules uses these; how they are read from YAML is rulefile.py's and
rules.py's business.
"""

# Annotations are not postponed here: msgspec would evaluate the text of each in every run.

import datetime
from collections.abc import Mapping

from msgspec import Struct

from boardops.catalog import boards
from boardops.compare import Comparison, Condition, Scalar
from boardops.facts import Fault, Missing

SCHEMA = "boardops.rules/1"
LANGUAGES = ("en", "zh")
VERDICTS = ("pass", "warn", "fail", "unknown", "skipped", "waived")
CASE_VERDICTS = tuple(verdict for verdict in VERDICTS if verdict != "waived")
"""What a rule itself can say."""
IF_MISSING = ("unknown", "skipped", "warn", "fail")
VENDORS = (*boards.VENDORS, "cpu")
PLACEHOLDERS = ("found", "expected", "fact", "board", "model", "why")
TOP_KEYS = ("schema", "settings", "scoring", "waivers", "rules")
RULE_KEYS = (
    "id",
    "title",
    "for",
    "vendor",
    "when",
    "fact",
    "expect",
    "warn",
    "severity",
    "weight",
    "required",
    "if_missing",
    "cap",
    "caused_by",
    "say",
    "remedy",
    "source",
    "cases",
    "off",
)
WAIVER_KEYS = ("rule", "board", "host", "reason", "owner", "ticket", "until")
NEEDED_KEYS = ("title", "for", "fact", "expect", "severity", "weight", "remedy", "source", "cases")

Words = Mapping[str, str]
"""A text by language; `en` is always there."""


class Remedy(Struct, frozen=True):
    """What to do: one action of the closed list, a sentence, and steps."""

    action: str
    text: Words
    steps: tuple[Words, ...] = ()
    action_from: str | None = None
    """A fact that holds a word of the closed list: the action where it does."""


class Source(Struct, frozen=True):
    """Where a limit comes from and how far to trust it."""

    text: str
    confidence: str


Given = Scalar | tuple[str | Fault, ...] | Missing
"""A fact as a case gives it."""


class Case(Struct, frozen=True):
    """Proof of a rule: with these facts it gives this verdict."""

    file: str
    line: int
    given: Mapping[str, Given]
    peers: tuple[Mapping[str, Given], ...]
    baseline: Mapping[str, Given]
    verdict: str
    note: bool | None


class Rule(Struct, frozen=True):
    """One entry of rules.yaml."""

    id: str
    title: Words
    subject: str
    vendor: str | None
    when: Condition | None
    fact: str
    expect: tuple[Comparison, ...]
    warn: tuple[Comparison, ...]
    severity: str
    weight: float | int
    required: bool
    if_missing: str
    cap: float | int | None
    caused_by: tuple[str, ...]
    say: Words | None
    remedy: Remedy
    source: Source
    cases: tuple[Case, ...]
    off: str | None
    places: Mapping[str, str]
    """For each key that is set, `file:line` where it was set."""


class Waiver(Struct, frozen=True):
    """A finding that is known and accepted until a day."""

    rule: str
    board: str
    host: str
    reason: str
    owner: str
    ticket: str
    until: datetime.date
    place: str


class Scoring(Struct, frozen=True):
    """How findings become a score."""

    coverage_floor: float | int = 0.8
    cap_fail: float | int = 40
    cap_warn: float | int = 90


class RuleSet(Struct, frozen=True):
    """All layers together."""

    rules: tuple[Rule, ...]
    scoring: Scoring
    waivers: tuple[Waiver, ...]
    files: tuple[str, ...]
    digest: str
    """SHA-256 over the texts of all layers, in their order."""
