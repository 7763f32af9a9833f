"""What counters have grown by since an earlier run of the same host.

A counter that started again counts from zero: after a boot for those that the kernel keeps, after the driver was loaded
again for those of the driver, which nobody tells and a smaller number shows. A board that was swapped has no earlier
run. Called by the command line before facts are derived; it knows no limit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from boardops.facts import Missing, Value, Values, board_key, build_board

# What has grown, and the counter that it is the growth of.
GROWN: Mapping[str, str] = {
    "pcie.aer_corrected_growth_count": "pcie.aer_corrected_count",
    "pcie.aer_nonfatal_growth_count": "pcie.aer_nonfatal_count",
    "pcie.replay_growth_count": "pcie.replay_count",
    "link.error_growth_count": "link.error_count",
}
NO_EARLIER_RUN = Missing("not-supported", "no earlier run to compare with (--baseline)")


class Baseline(Struct, frozen=True):
    """The facts of an earlier run, by dotted name."""

    host: Values
    boards: tuple[Values, ...]


def baselines_of(before: Baseline) -> dict[str, dict[str, Value]]:
    """For `host` and each board's key the facts of an earlier run by full dotted name."""
    boards = {board_key(build_board(board)): _full("board", board) for board in before.boards}
    return {"host": _full("host", before.host), **boards}


def _full(subject: str, values: Values) -> dict[str, Value]:
    return {f"{subject}.{name}": value for name, value in values.items()}


def add_growth(
    host: Values, boards: Sequence[Values], before: Baseline | Missing | None
) -> tuple[dict[str, Value], tuple[dict[str, Value], ...]]:
    """The host with the boards that are gone, and the boards with what their counters have grown by, since `before`.

    Where that is Missing, nobody can tell.
    """
    if not isinstance(before, Baseline):
        unknown = before or NO_EARLIER_RUN
        grown = tuple({**dict.fromkeys(GROWN, unknown), **board} for board in boards)
        return {**host, "gone_boards": unknown}, grown
    return {**host, "gone_boards": _gone(boards, before)}, _all_grown(host, boards, before)


def _gone(boards: Sequence[Values], before: Baseline) -> Value:
    """Boards of the earlier run that nothing shows any more, neither at their address nor by their UUID."""
    here = {board.get(name) for board in boards for name in ("pci_address", "uuid")}
    gone = [
        board
        for board in before.boards
        if board.get("vendor") != "cpu" and isinstance(board.get("pci_address"), str)
        if board["pci_address"] not in here and board.get("uuid") not in here
    ]
    return tuple(
        " ".join(str(board[name]) for name in ("pci_address", "model", "serial") if isinstance(board.get(name), str))
        for board in gone
    )


def _all_grown(host: Values, boards: Sequence[Values], before: Baseline) -> tuple[dict[str, Value], ...]:
    earlier = {board.get("pci_address"): board for board in before.boards}
    same_boot = host.get("boot_id") == before.host.get("boot_id")
    return tuple({**_growth(board, earlier.get(board.get("pci_address")), same_boot), **board} for board in boards)


def _growth(board: Values, before: Values | None, same_boot: bool) -> dict[str, Value]:
    if before is None:
        return dict.fromkeys(GROWN, Missing("not-supported", "the earlier run did not have this board"))
    for name in ("uuid", "serial"):
        now, then = board.get(name), before.get(name)
        if isinstance(now, str) and isinstance(then, str) and now != then:
            return dict.fromkeys(GROWN, Missing("not-supported", f"another board was here in the earlier run ({then})"))
    return {grown: _grown(board.get(name), before.get(name), same_boot) for grown, name in GROWN.items()}


def _grown(now: Value | None, then: Value | None, same_boot: bool) -> Value:
    if not isinstance(now, int):
        return now if isinstance(now, Missing) else NO_EARLIER_RUN
    if not same_boot:
        return now
    if not isinstance(then, int):
        return Missing("not-supported", "the earlier run has no value of this counter")
    return now - then if now >= then else now
