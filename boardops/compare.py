"""The closed vocabulary of comparisons: what a rule may ask of a fact, and the words for it.

A comparison is an operator and a limit. The limit is a value, several values, another fact (`Ref`), or closeness to
the other boards of the host or to the last good run (`Near`). Reading a comparison checks that the operator, the
limit and the fact go together: celsius are never compared to bytes. Nothing here runs code from a rules file; a
pattern for `matches` is tried on a bounded text only.
"""

# Annotations are not postponed here: msgspec would evaluate the text of each in every run.

import re
from collections.abc import Callable, Mapping

from msgspec import Struct

from boardops.facts import Fact, Fault, Missing, Value, known
from boardops.quantities import parse, show
from boardops.versions import looks_like_version, parse_spec, satisfies, version_key
from boardops.yamlfile import Item, nearest, short

Scalar = str | int | float | bool
MAX_MATCHED = 4096
MAX_PATTERN = 200
MIN_PEERS = 3


class Ref(Struct, frozen=True, tag=True):
    """The value of another fact, times a number, plus a number."""

    fact: str
    times: float | int = 1
    plus: float | int = 0


class Near(Struct, frozen=True, tag=True):
    """How far a value may lie from the median of its peers, or from its baseline."""

    within: float | int | None = None
    """Distance in the fact's own unit."""
    within_ratio: float | int | None = None
    """Distance as a share of the reference."""


Limit = Scalar | Ref | Near | tuple[Scalar | Ref, ...]


class Comparison(Struct, frozen=True):
    """One operator with its limit."""

    op: str
    limit: Limit

    def references(self) -> tuple[str, ...]:
        """The facts that the limit refers to."""
        limits = self.limit if isinstance(self.limit, tuple) else (self.limit,)
        return tuple(limit.fact for limit in limits if isinstance(limit, Ref))


class Test(Struct, frozen=True):
    """What is asked of one fact: all comparisons must hold."""

    fact: str
    comparisons: tuple[Comparison, ...]


class AllOf(Struct, frozen=True, tag=True):
    """A condition that holds when all of its tests hold."""

    tests: tuple[Test, ...]


class AnyOf(Struct, frozen=True, tag=True):
    """A condition that holds when one of its parts holds."""

    parts: tuple[AllOf, ...]


Condition = AllOf | AnyOf


class Operator(Struct, frozen=True):
    """One word of the vocabulary."""

    words: str
    """How the expectation reads, with `{limit}`."""
    against: str
    """The opposite, for `warn`: what is expected where the comparison must not hold."""
    kinds: tuple[str, ...]
    """Kinds of fact that it goes with."""
    takes: str
    """What its limit is: `value`, `values`, `pair`, `pattern`, `spec`, `flag` or `near`."""


_ORDERED = ("number", "version")
_SCALAR = ("number", "version", "text", "flag")

OPERATORS: Mapping[str, Operator] = {
    "equals": Operator("{limit}", "anything but {limit}", _SCALAR, "value"),
    "not_equals": Operator("anything but {limit}", "{limit}", _SCALAR, "value"),
    "below": Operator("below {limit}", "at least {limit}", _ORDERED, "value"),
    "at_most": Operator("at most {limit}", "above {limit}", _ORDERED, "value"),
    "above": Operator("above {limit}", "at most {limit}", _ORDERED, "value"),
    "at_least": Operator("at least {limit}", "below {limit}", _ORDERED, "value"),
    "between": Operator("between {limit}", "outside {limit}", _ORDERED, "pair"),
    "one_of": Operator("one of {limit}", "none of {limit}", ("number", "version", "text"), "values"),
    "none_of": Operator("none of {limit}", "one of {limit}", ("number", "version", "text"), "values"),
    "matches": Operator("like {limit}", "unlike {limit}", ("text", "version"), "pattern"),
    "version": Operator("{limit}", "not {limit}", ("version",), "spec"),
    "empty": Operator("{limit}", "not {limit}", ("texts", "processes", "faults", "text"), "flag"),
    "contains_none": Operator("none of {limit}", "one of {limit}", ("texts", "faults"), "values"),
    "near_peers": Operator("within {limit} of its peers", "further than {limit} from its peers", ("number",), "near"),
    "near_baseline": Operator(
        "within {limit} of its last good run", "further than {limit} from its last good run", ("number",), "near"
    ),
}


def read_fact_name(item: Item, what: str, subject: str) -> Fact:
    """The fact that `item` names. A rule for the host cannot use facts of a board."""
    name = item.text(what)
    fact = known().get(name)
    if fact is None:
        raise item.error(f"{what} names the unknown fact {short(name)}{nearest(name, known())}")
    if subject == "host" and name.startswith("board."):
        raise item.error(f"{what} names {name}, but a rule for the host sees no board")
    return fact


def read_comparisons(item: Item, fact: Fact, what: str, subject: str) -> tuple[Comparison, ...]:
    """The comparisons of a map such as `{at_least: 16, below: {fact: ...}}`. Raises YamlError."""
    entries = item.map(what, OPERATORS)
    if not entries:
        raise item.error(f"{what} is empty")
    return tuple(Comparison(op, _read_limit(limit, op, fact, f"{what}.{op}", subject)) for op, limit in entries.items())


def read_condition(item: Item, what: str, subject: str) -> Condition:
    """A `when`: a map whose tests must all hold, or a list of such maps of which one must hold. Raises YamlError."""
    if isinstance(item.value, list):
        if not item.value:
            raise item.error(f"{what} is empty")
        return AnyOf(tuple(_read_all(part, what, subject) for part in item.value))
    return _read_all(item, what, subject)


def _read_all(item: Item, what: str, subject: str) -> AllOf:
    tests = []
    for name, value in item.map(what).items():
        fact = read_fact_name(Item(value.file, value.line, name, name), what, subject)
        tests.append(Test(name, read_comparisons(value, fact, f"{what}.{name}", subject)))
    if not tests:
        raise item.error(f"{what} is empty")
    return AllOf(tuple(tests))


def _read_limit(item: Item, op: str, fact: Fact, what: str, subject: str) -> Limit:
    operator = OPERATORS[op]
    if fact.kind not in operator.kinds:
        raise item.error(f"{what} cannot be asked of {fact.name}, which is {_article(fact)}")
    if operator.takes == "flag":
        return item.flag(what)
    if operator.takes == "near":
        return _read_near(item, fact, what)
    if operator.takes == "pattern":
        return _read_pattern(item, what)
    if operator.takes == "spec":
        spec = item.text(what)
        try:
            parse_spec(spec)
        except ValueError as error:
            raise item.error(f"{what}: {error}") from None
        return spec
    if operator.takes == "value":
        return _read_value(item, fact, what, subject)
    values = tuple(_read_value(part, fact, what, subject) for part in item.list(what))
    if not values or (operator.takes == "pair" and len(values) != 2):
        raise item.error(f"{what} must be a list of {'two values' if operator.takes == 'pair' else 'values'}")
    if operator.takes == "pair" and _reversed(values[0], values[1], fact):
        raise item.error(f"{what} has its larger value first, so nothing lies between")
    return values


def _reversed(low: Scalar | Ref, high: Scalar | Ref, fact: Fact) -> bool:
    return not isinstance(low, Ref) and not isinstance(high, Ref) and _order(low, high, fact) > 0


def _article(fact: Fact) -> str:
    if fact.kind == "number":
        return f"a number of {fact.unit}"
    return {"flag": "true or false", "texts": "a list of words", "text": "a text", "version": "a version"}.get(
        fact.kind, f"a list of {fact.kind}"
    )


def _read_near(item: Item, fact: Fact, what: str) -> Near:
    entries = item.map(what, ("within", "within_ratio"))
    if len(entries) != 1:
        raise item.error(f"{what} needs either 'within' or 'within_ratio'")
    key, value = next(iter(entries.items()))
    unit = fact.unit if key == "within" else "ratio"
    number = read_number(value, unit, what)
    if number < 0:
        raise value.error(f"{what}.{key} must not be negative")
    return Near(within=number) if key == "within" else Near(within_ratio=number)


def _read_pattern(item: Item, what: str) -> str:
    pattern = item.text(what)
    if len(pattern) > MAX_PATTERN:
        raise item.error(f"{what} is longer than {MAX_PATTERN} characters")
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            re.compile(pattern)
    except (re.error, OverflowError, RecursionError, Warning) as error:
        raise item.error(f"{what} is not a regular expression: {error}") from None
    return pattern


def read_number(item: Item, unit: str, what: str) -> float | int:
    """A number of `unit`, plain or with a unit in its text. Raises YamlError."""
    if isinstance(item.value, str):
        try:
            return parse(item.value, unit)
        except ValueError as error:
            raise item.error(f"{what}: {error}") from None
    return item.number(what)


def _read_value(item: Item, fact: Fact, what: str, subject: str) -> Scalar | Ref:
    if isinstance(item.value, dict):
        return _read_ref(item, fact, what, subject)
    return read_scalar(item, fact, what)


def read_scalar(item: Item, fact: Fact, what: str) -> Scalar:
    """A value of the kind and unit of `fact`. Raises YamlError."""
    if fact.kind == "number":
        return read_number(item, fact.unit, what)
    if fact.kind == "flag":
        return item.flag(what)
    if fact.kind in {"processes", "faults", "texts"} and isinstance(item.value, list):
        raise item.error(f"{what} must be one word")
    text = item.text(what)
    if fact.kind == "version" and not looks_like_version(text):
        raise item.error(f"{what} must be a version, not {short(text)}")
    return text


def _read_ref(item: Item, fact: Fact, what: str, subject: str) -> Ref:
    entries = item.map(what, ("fact", "times", "plus"), ("fact",))
    other = read_fact_name(entries["fact"], f"{what}.fact", subject)
    if other.kind != fact.kind or other.unit != fact.unit:
        raise entries["fact"].error(
            f"{what} compares {fact.name}, {_article(fact)}, with {other.name}, {_article(other)}"
        )
    if fact.kind != "number" and len(entries) > 1:
        raise item.error(f"{what}: 'times' and 'plus' go with numbers only")
    times = entries["times"].number(f"{what}.times") if "times" in entries else 1
    plus = read_number(entries["plus"], fact.unit, f"{what}.plus") if "plus" in entries else 0
    return Ref(other.name, times, plus)


# What follows judges. Limits are resolved: no Ref is left in them.


def resolve(limit: Limit, lookup: Callable[[str], Value]) -> Limit | Missing:
    """`limit` with the values of the facts it refers to, or the Missing that stands there."""
    if isinstance(limit, tuple):
        values = [resolve(part, lookup) for part in limit]
        missing = next((value for value in values if isinstance(value, Missing)), None)
        return missing if missing else tuple(value for value in values if isinstance(value, (str, int, float, bool)))
    if not isinstance(limit, Ref):
        return limit
    value = lookup(limit.fact)
    if isinstance(value, Missing):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value * limit.times + limit.plus
    assert isinstance(value, (str, bool))
    return value


def reference_of(op: str, peers: tuple[float, ...], baseline: Value | None) -> float | Missing:
    """What `near_peers` and `near_baseline` compare with: the median of the other boards, or the last good run."""
    if op == "near_peers":
        if len(peers) < MIN_PEERS:
            return Missing("not-supported", f"fewer than {MIN_PEERS} other boards of this model to compare with")
        from statistics import median

        return median(peers)
    if isinstance(baseline, (int, float)) and not isinstance(baseline, bool):
        return baseline
    return Missing("not-supported", "no earlier good run to compare with")


def holds(op: str, found: Value, limit: Limit, fact: Fact, reference: float | None = None) -> bool:
    """Whether `found` meets the comparison. `limit` is resolved; `reference` goes with `near_...` operators."""
    if op in {"near_peers", "near_baseline"}:
        assert isinstance(limit, Near) and reference is not None and isinstance(found, (int, float))
        allowed = limit.within if limit.within is not None else (limit.within_ratio or 0) * abs(reference)
        return abs(found - reference) <= allowed
    if op == "empty":
        return (not found) is limit
    if op == "contains_none":
        assert isinstance(found, tuple) and isinstance(limit, tuple)
        return not any(_matches_word(entry, word) for entry in found for word in limit)
    if op == "matches":
        return re.search(str(limit), str(found)[:MAX_MATCHED]) is not None
    if op == "version":
        return satisfies(str(found), str(limit))
    if isinstance(limit, tuple):
        places = [_order(found, value, fact) for value in limit]
        if op == "between":
            return places[0] >= 0 >= places[1]
        return (0 in places) is (op == "one_of")
    order = _order(found, limit, fact)
    return {
        "equals": order == 0,
        "not_equals": order != 0,
        "below": order < 0,
        "at_most": order <= 0,
        "above": order > 0,
        "at_least": order >= 0,
    }[op]


def _order(found: Value, limit: object, fact: Fact) -> int:
    """-1, 0 or 1 for found below, equal to or above limit; for texts and flags only 0 and 1 have a meaning."""
    if fact.kind == "version":
        a, b = version_key(str(found)), version_key(str(limit))
        return (a > b) - (a < b)
    if fact.kind == "number":
        assert isinstance(found, (int, float)) and isinstance(limit, (int, float))
        return (found > limit) - (found < limit)
    return 0 if found == limit else 1


def _matches_word(entry: object, word: object) -> bool:
    if isinstance(entry, Fault):
        return f"{entry.kind}:{entry.code}" == word
    return entry == word


def words(
    comparisons: tuple[Comparison, ...], limits: tuple[Limit | Missing, ...], fact: Fact, *, against: bool = False
) -> str:
    """What is expected, for people: `at least x16`. With `against`, what is expected where they must not hold."""
    parts = []
    for comparison, limit in zip(comparisons, limits, strict=True):
        operator = OPERATORS[comparison.op]
        template = operator.against if against else operator.words
        parts.append(template.replace("{limit}", _show_limit(comparison.op, limit, fact)))
    return (" or " if against else " and ").join(parts)


_SPEC_WORDS = {">=": "at least ", "<=": "at most ", "==": "", "!=": "not ", ">": "above ", "<": "below "}


def _show_limit(op: str, limit: Limit | Missing, fact: Fact) -> str:
    if isinstance(limit, Missing):
        return f"an unknown limit ({limit.why})"
    if op == "empty":
        return "nothing" if limit else "something"
    if op == "version":
        return " and ".join(f"{_SPEC_WORDS[sign]}{version}" for sign, version in parse_spec(str(limit)))
    if isinstance(limit, Near):
        return show(limit.within, fact.unit) if limit.within is not None else show(limit.within_ratio, "ratio")
    if isinstance(limit, tuple):
        shown = [show(value, fact.unit) for value in limit]
        return " and ".join(shown) if op == "between" else ", ".join(shown)
    return show(limit, fact.unit)
