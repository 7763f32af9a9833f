"""`boardops collect`: read this machine and keep the evidence, without judging it."""

from __future__ import annotations

import click

from boardops.cli.main import say
from boardops.cli.output import print_text, write_file
from boardops.cli.request import Request, begin, budget_of, now


@click.command("collect", short_help="Keep the evidence of this machine, to be judged elsewhere.")
@click.option("-o", "--output", required=True, metavar="FILE", help="Where to; - is standard output.")
@click.option(
    "--intent",
    type=click.Choice(["predeploy", "in-service"]),
    help="What the machine is meant to do now, kept with the evidence.  [default: predeploy]",
)
@click.option(
    "--deadline",
    type=click.FloatRange(min=0.1, max=86400),
    metavar="SECONDS",
    help="Time for the whole run.  [default: 10, and 1.25 for each board over 8]",
)
@click.option("--cpu", is_flag=True, help="Add the processor as a stand-in board.")
@click.option("--root", default="/", hidden=True, help="Stands for the root of this machine's files, for tests.")
@click.option("--debug", is_flag=True, help="Show the traceback of a fault of our own.")
def command(output: str, intent: str | None, deadline: float | None, cpu: bool, root: str, debug: bool) -> int:
    """Read this machine as `check` does and keep what was read in a file; `check --from FILE` judges it anywhere.

    Nothing is changed. What a source could not read is said on standard error, and kept as well.
    """
    del debug  # Read by the command line's outermost function, wherever it stands.
    request = Request(intent=intent, budget=budget_of(deadline), cpu=cpu, root=root, keep=True)
    with begin(request) as running:
        from boardops.cli.sources import live, stamp

        found = live(request, running, stamp(now()))
    for entry in found.evidence:
        if entry.why:
            say(f"{entry.source}: {entry.why}")
    record = found.record
    assert record is not None
    if output == "-":
        print_text(record)
    else:
        write_file(output, record)
    return 0
