"""`boardops check`: judge this machine, or files that somebody sent."""

from __future__ import annotations

import datetime
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from boardops.cli.main import UNKNOWN, say
from boardops.cli.output import print_text, write_file
from boardops.cli.request import Request, begin, budget_of, now
from boardops.errors import BoardopsError
from boardops.report.formats import FORMATS, format_of_ending, render
from boardops.yamlfile import short

if TYPE_CHECKING:
    from boardops.score import Result

EXIT_CODES = {"ready": 0, "degraded": 1, "not-ready": 2, "unknown": UNKNOWN}
WIDTH_WITHOUT_TERMINAL = 100
REASONS = {"not-ready": ("fail", "failing"), "unknown": ("unknown", "unknown"), "degraded": ("warn", "warning")}
"""For each readiness the verdict that leads to it, and the word for it in one line."""
MOST_NAMED = 5


class Time(click.ParamType[datetime.datetime]):
    """A day or a time, in UTC where it names no zone."""

    name = "date"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> datetime.datetime:
        if isinstance(value, datetime.datetime):
            return value
        try:
            time = datetime.datetime.fromisoformat(str(value).replace("Z", "+00:00"))
            # The first and the last day of the calendar are none everywhere.
            return time.astimezone(datetime.timezone.utc) if time.tzinfo else time.replace(tzinfo=datetime.timezone.utc)
        except (ValueError, OverflowError):
            self.fail(
                f"{short(str(value))} is not a date such as 2026-12-01 or a time such as 2026-12-01T08:00:00Z",
                param,
                ctx,
            )


@click.command("check", short_help="Judge this machine, or files that somebody sent.")
@click.option(
    "--intent",
    type=click.Choice(["predeploy", "in-service"]),
    help="What the machine is meant to do now: be free for a deployment, or serve.  [default: predeploy]",
)
@click.option(
    "--need", "needs", multiple=True, metavar="KEY=VALUE", help="What the job needs: boards=8, free=70GiB, cuda=12.8."
)
@click.option(
    "--profile",
    type=click.Choice(["quick"]),
    default="quick",
    show_default=True,
    help="How deep to look; quick only reads.",
)
@click.option(
    "--from",
    "files",
    multiple=True,
    metavar="FILE",
    help="Judge this file instead: nvidia-smi -q, -q -x or CSV, or a record; - is standard input.",
)
@click.option("--rules", "rules", multiple=True, metavar="FILE", help="A further rules file, laid over the others.")
@click.option("--only", multiple=True, metavar="PATTERN", help="Only rules whose id matches, such as 'pcie.*'.")
@click.option("--skip", multiple=True, metavar="PATTERN", help="No rules whose id matches.")
@click.option(
    "--board",
    "boards",
    multiple=True,
    metavar="SELECTOR",
    help="Only these boards: PCI address, UUID, serial, index or vendor.",
)
@click.option("--cpu", is_flag=True, help="Add the processor as a stand-in board.")
@click.option("--at", type=Time(), metavar="DATE", help="Judge as of this day. Default: now, or the time in the files.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(sorted(FORMATS)),
    default="text",
    show_default=True,
    help="Format of standard output.",
)
@click.option(
    "-o",
    "--output",
    "outputs",
    multiple=True,
    metavar="FILE",
    help="Also write a report; the ending (.html .md .json .txt) picks the format.",
)
@click.option("--record", metavar="FILE", help="Keep the evidence of this live run, to be judged again with --from.")
@click.option(
    "--baseline", metavar="FILE", help="The record of an earlier run of this host: judge what has grown since then."
)
@click.option(
    "--deadline",
    type=click.FloatRange(min=0.1, max=86400),
    metavar="SECONDS",
    help="Time for the whole run.  [default: 10, and 1.25 for each board over 8]",
)
@click.option("--allow-warnings", is_flag=True, help="Exit 0 instead of 1 when degraded.")
@click.option("--quiet", is_flag=True, help="Print nothing when ready and one line when not.")
@click.option("--root", default="/", hidden=True, help="Stands for the root of this machine's files, for tests.")
@click.option("--debug", is_flag=True, help="Show the traceback of a fault of our own.")
def command(
    intent: str | None,
    needs: Sequence[str],
    profile: str,
    files: Sequence[str],
    rules: Sequence[str],
    only: Sequence[str],
    skip: Sequence[str],
    boards: Sequence[str],
    cpu: bool,
    at: datetime.datetime | None,
    format_: str,
    outputs: Sequence[str],
    record: str | None,
    baseline: str | None,
    deadline: float | None,
    allow_warnings: bool,
    quiet: bool,
    root: str,
    debug: bool,
) -> int:
    """Judge this machine's boards, or files that somebody captured, and say what is to be done.

    \b
    Examples:
      boardops check -o report.html
      boardops check --need boards=8 --need free=70GiB
      boardops check --from nvidia-smi.xml --intent in-service
    """
    del debug  # Read by the command line's outermost function, wherever it stands.
    if cpu and files:
        raise BoardopsError("--cpu looks at this machine and --from at files; give one of them")
    if record and files:
        raise BoardopsError("--record keeps what a live run reads; with --from the files are the record")
    _check_outputs(outputs, record)
    request = Request(
        intent=intent,
        profile=profile,
        needs=tuple(needs),
        files=tuple(files),
        rules=tuple(rules),
        only=tuple(only),
        skip=tuple(skip),
        boards=tuple(boards),
        cpu=cpu,
        at=at,
        budget=budget_of(deadline),
        baseline=baseline,
        keep=record is not None,
        root=root,
    )
    result, code, kept = _judge(request, allow_warnings)
    written = _write(result, outputs) and (not record or _write_record(record, kept))
    _print(result, format_, quiet)
    return code if written else UNKNOWN


def _check_outputs(outputs: Sequence[str], record: str | None) -> None:
    for name in outputs:
        if format_of_ending(name) is None:
            raise BoardopsError(f"-o {name}: the ending must be .html, .md, .json or .txt")
    if record in {"", "-"}:
        raise BoardopsError("--record wants the name of a file; `boardops collect -o -` prints the evidence")
    paths = [os.path.realpath(name) for name in (*outputs, *([record] if record else ()))]
    twice = next((name for name in paths if paths.count(name) > 1 and not name.startswith("/dev/")), None)
    if twice:
        raise BoardopsError(f"{os.path.basename(twice)} would be written twice; give each report a file of its own")


def _judge(request: Request, allow_warnings: bool) -> tuple[Result, int, str | None]:
    """The result with its exit code and its record. What keeps us from seeing anything still gives a report."""
    try:
        with begin(request) as running:
            # Imported now, while the programs run.
            from boardops.cli.run import perform_with

            performed = perform_with(running, request, now)
    except BoardopsError as error:
        from boardops.cli.run import without_facts

        say(str(error))
        return without_facts(str(error), request, now()), UNKNOWN, None
    result = performed.result
    if result.cause:
        say(result.cause)
    code = EXIT_CODES[result.readiness]
    return result, 0 if code == 1 and allow_warnings else code, performed.record


def _write_record(name: str, record: str | None) -> bool:
    """Write the record of a live run; False where it could not be written or there is none."""
    try:
        if record is None:
            raise BoardopsError(f"nothing was read, so there is nothing to keep in {name}")
        write_file(name, record)
    except BoardopsError as error:
        say(str(error))
        return False
    return True


def _write(result: Result, outputs: Sequence[str]) -> bool:
    """Write all reports that can be written; False where one could not."""
    fine = True
    for name in outputs:
        try:
            write_file(name, render(result, format_of_ending(name) or "text", width=WIDTH_WITHOUT_TERMINAL))
        except BoardopsError as error:
            say(str(error))
            fine = False
    return fine


def _print(result: Result, format_: str, quiet: bool) -> None:
    if quiet:
        # A cause stands on standard error already; cron must get one line, not two.
        if result.readiness != "ready" and not result.cause:
            print_text(_one_line(result) + "\n")
        return
    if not result.boards and result.cause and format_ == "text":
        return  # The cause stands on standard error already.
    if sys.stdout is None:
        raise BoardopsError("standard output is closed")
    terminal = sys.stdout.isatty()
    width = _terminal_width() if terminal else WIDTH_WITHOUT_TERMINAL
    colour = terminal and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
    ascii_ = "utf" not in (sys.stdout.encoding or "").lower()
    print_text(render(result, format_, width=width, colour=colour, ascii=ascii_))


def _terminal_width() -> int:
    import shutil

    return shutil.get_terminal_size((WIDTH_WITHOUT_TERMINAL, 24)).columns


def _one_line(result: Result) -> str:
    """Readiness and the rules that made it so, the heaviest first, without those that others explain."""
    from boardops.report.view import view

    shown = view(result)
    verdict, word = REASONS.get(result.readiness, ("", ""))
    findings = [item.finding for item in shown.items if item.finding.verdict == verdict]
    # What is unknown keeps a board from being ready only where the rule is required.
    heavy = [finding for finding in findings if finding.required or verdict != "unknown"] or findings
    rules = list(dict.fromkeys(finding.rule for finding in heavy))
    named = f"; {word}: {', '.join(rules[:MOST_NAMED])}" if rules else ""
    return f"boardops: {result.readiness}, usable {result.usable} of {shown.selected}{named}"
