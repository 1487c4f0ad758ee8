"""warmbase lab: a real HBase on this machine, with what was rendered."""

from __future__ import annotations

import shlex
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final, NotRequired, TypedDict, Unpack

import click

from cli.options import chosen_cluster, cluster_option
from configurations.launch import launch_of
from environments.reader import read_environment
from lab.hbase.scenarios import SCENARIOS, question
from sizing.problem import Infeasible, InvalidInput, Problem
from sizing.units import GIB, MIB, format_size, parse_duration, parse_size

if TYPE_CHECKING:
    from lab.hbase.result import Run
    from lab.hbase.run import Asked

__all__ = ["lab"]

RESULTS: Final = "lab-results"
LEAST_MEMORY_BYTES: Final = 3 * GIB
LEAST_DATA_BYTES: Final = 64 * MIB
TAIL: Final = 3
"""The 99th percentile of the latency of S3, over its median."""


class Chosen(TypedDict):
    """What was said on the command line: sizes in bytes, times in seconds."""

    environment: str
    cluster: str | None
    memory: float
    data: float
    latency: float
    seed: int
    seconds: NotRequired[int]
    scenarios: NotRequired[tuple[str, ...]]
    volume_throughput: NotRequired[float]


class Text(click.ParamType[float]):
    """Text with a unit, as people write it."""

    def __init__(self, name: str, parse: Callable[[str], float], least: float = 0) -> None:
        self.name = name
        self._parse = parse
        self._least = least

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number. A default that is one stays."""
        if isinstance(value, int | float):
            return value
        try:
            found = float(self._parse(str(value)))
        except ValueError as error:
            self.fail(f"{value!r}: {error}", param, ctx)
        if found < self._least:
            self.fail(f"{value!r} is too little for the lab", param, ctx)
        return found


def _per_second(text: str) -> int:
    return parse_size(text.removesuffix("/s"))


SIZE: Final = Text("size", parse_size, LEAST_DATA_BYTES)
MEMORY: Final = Text("size", parse_size, LEAST_MEMORY_BYTES)
THROUGHPUT: Final = Text("throughput", _per_second, MIB)
TIME: Final = Text("time", parse_duration)


def scaled(command: click.decorators.FC) -> click.decorators.FC:
    """The options that say how small the miniature is."""
    options = (
        click.argument("environment", metavar="[ENV]", default="prod"),
        cluster_option,
        click.option(
            "--memory",
            type=MEMORY,
            default="4 GiB",
            show_default=True,
            help="For all processes; three eighths are the RegionServer's heap.",
        ),
        click.option("--data", type=SIZE, default="256 MiB", show_default=True, help="How much to load, as stored."),
        click.option(
            "--latency",
            type=TIME,
            default="20 ms",
            show_default=True,
            help="Median time to S3's first byte; the 99th percentile is three times that.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.group()
def lab() -> None:
    """Run what is rendered on a real HBase, on this machine.

    A real S3 protocol server with S3's latency, a disk as fast as a volume, YCSB's load: what happens is set beside
    what the calculator predicts. Nothing reaches the network but `setup`, which downloads.

    \b
    Example:
      warmbase lab setup
      warmbase lab run prod --scenario restart
    """


@lab.command()
def setup() -> None:
    """Download what the lab runs: HBase, an S3 server, a Java runtime, YCSB.

    Some 260 MB of jars to ~/.cache/warmbase/lab and a Java runtime of 105 MB beside this Python; each file is
    verified. `warmbase lab remove` takes the jars away again.

    \b
    Example:
      warmbase lab setup
    """
    from lab.hbase.software import problems, set_up  # noqa: PLC0415 - `--help` loads no more than it needs

    began = time.monotonic()
    set_up(_say(began))
    left = problems()
    click.echo("the lab is ready" if not left else "\n".join(left))


@lab.command()
@scaled
@click.option(
    "--scenario",
    "scenarios",
    type=click.Choice(SCENARIOS),
    multiple=True,
    metavar="NAME",
    help="One of `warmbase lab scenarios`; again for more. All, if not said.",
)
@click.option(
    "--volume-throughput",
    type=THROUGHPUT,
    default="40 MiB/s",
    show_default=True,
    help="What a gp3 at its default of 125 MiB/s is limited to here.",
)
@click.option("--seconds", type=click.IntRange(5, 600), default=15, show_default=True, help="Of each window.")
@click.option("--seed", type=int, default=2, show_default=True, help="Draws the keys.")
@click.option("--results", type=click.Path(file_okay=False, path_type=Path), default=RESULTS, show_default=True)
@click.option("--resume", is_flag=True, help="Keep what an earlier run has found, but for scenarios named here.")
def run(*, results: Path, resume: bool, **chosen: Unpack[Chosen]) -> None:
    """Boot, load and read in scenarios; write what was found beside what was predicted.

    Writes RESULTS/ENV.json and one HTML page after each scenario. Exit code 3 where a target was missed.

    \b
    Example:
      warmbase lab run prod
      warmbase lab run prod --scenario restart --scenario warm-up --resume
    """
    from lab.hbase.run import Results  # noqa: PLC0415 - see above
    from lab.hbase.run import run as run_scenarios  # noqa: PLC0415 - see above

    asked = _asked(chosen)
    began = time.monotonic()
    files = Results(results, Path(chosen["environment"]).stem)
    made = run_scenarios(asked, files, _say(began), resume=resume)
    _print_run(made, files.page)
    missed = sum(len(scenario.missed) for scenario in made.scenarios)
    if missed:
        raise Infeasible(f"{missed} of the targets are missed; {files.page} says by how much")


@lab.command()
def scenarios() -> None:
    """List the scenarios: what each asks."""
    formatter = click.HelpFormatter(width=shutil.get_terminal_size().columns)
    formatter.write_dl([(name, question(name).question) for name in SCENARIOS])
    click.echo(formatter.getvalue(), nl=False)


@lab.command()
@scaled
@click.option("--seed", type=int, default=2, show_default=True, help="Draws the keys.")
def up(**chosen: Unpack[Chosen]) -> None:
    """Leave one running to play with: the environment's table filled, one RegionServer as planned.

    \b
    Example:
      warmbase lab up dev --data "256 MiB"
    """
    from lab.hbase.standing import up as stand_up  # noqa: PLC0415 - see above

    stand_up(_asked(chosen), _say(time.monotonic()))
    _print_status()


@lab.command()
def status() -> None:
    """Say what runs, and what its cache holds."""
    _print_status()


@lab.command()
def down() -> None:
    """End the one that is up, and remove what it stored."""
    from lab.hbase.standing import down as take_down  # noqa: PLC0415 - see above

    click.echo("the lab is down" if take_down() else "no lab was up")


@lab.command()
def remove() -> None:
    """Delete what `setup` downloaded, and what killed runs left."""
    from lab.hbase.run_directory import clean_abandoned, running  # noqa: PLC0415 - see above
    from lab.hbase.software import remove as remove_software  # noqa: PLC0415 - see above
    from lab.hbase.standing import down as take_down  # noqa: PLC0415 - see above

    if labs := running():
        raise InvalidInput([_still_running(labs)])
    take_down()
    clean_abandoned()
    click.echo(f"{format_size(remove_software())} freed; the Java runtime stays beside {sys.executable}")


def _still_running(labs: tuple[int, ...]) -> Problem:
    return Problem(
        where="the lab",
        what=f"a lab that runs now, process {', '.join(map(str, labs))}",
        why="it works with what would be deleted",
        fix="let it end, or end it with ctrl-C",
    )


def _asked(chosen: Chosen) -> Asked:
    from lab.hbase.laboratory import small_of  # noqa: PLC0415 - see above
    from lab.hbase.run import Asked as AskedRun  # noqa: PLC0415 - see above
    from lab.hbase.store.settings import Settings  # noqa: PLC0415 - see above
    from sizing.miniature import Small  # noqa: PLC0415 - see above

    read = read_environment(chosen["environment"])
    launch = launch_of(read, chosen_cluster(read, chosen["cluster"]))
    if not launch.plan.mode.cached:
        raise InvalidInput([_without_cache(read.source, launch.plan.mode)])
    milliseconds = 1000 * chosen["latency"]
    tail = TAIL * milliseconds if milliseconds else None
    return AskedRun(
        of=small_of(
            launch,
            Small(memory_bytes=round(chosen["memory"]), data_bytes=round(chosen["data"])),
            Settings(latency_ms=milliseconds, latency_p99_ms=tail),
        ),
        scenarios=chosen.get("scenarios") or SCENARIOS,
        named=bool(chosen.get("scenarios")),
        seconds=float(chosen.get("seconds", 0)),
        seed=chosen["seed"],
        volume_mib_s=round(chosen.get("volume_throughput", 0) / MIB),
        command=shlex.join(("warmbase", *sys.argv[1:])),
    )


def _without_cache(source: str, mode: str) -> Problem:
    return Problem(
        where=source,
        what="mode",
        why=f"{mode} has no BucketCache, and the lab asks what one does",
        fix="take an environment of mode s3-cached; the scenario `boots` boots files of the other modes besides",
    )


def _say(began: float) -> Callable[[str], None]:
    def say(line: str) -> None:
        minutes, seconds = divmod(int(time.monotonic() - began), 60)
        click.echo(f"{minutes:3}:{seconds:02}  {line}", err=True)

    return say


def _print_run(made: Run, page: Path) -> None:
    for scenario in made.scenarios:
        held = [figure for figure in scenario.figures if figure.holds]
        asked = [figure for figure in scenario.figures if figure.target is not None]
        click.echo(f"{scenario.name:<14} {len(held):>3} of {len(asked):>3} targets held, {scenario.seconds:.0f} s")
    click.echo(f"figures, curves and limits: {page}")


def _print_status() -> None:
    from lab.hbase.standing import standing  # noqa: PLC0415 - see above

    found = standing()
    if found is None:
        click.echo("no lab is up")
        return
    click.echo(f"a lab of {found.environment}, in {found.root}")
    for process in found.processes:
        click.echo(f"  {process.name:<12} {'process ' + str(process.id) if process.is_alive else 'gone'}")
    cache = found.cache
    if cache is not None:
        click.echo(f"  cache        {cache.l2_blocks:,} blocks, {format_size(cache.l2_bytes)}; {cache.regions} regions")
    ports, place = found.ports, found.place
    click.echo(f"  table        {found.table}")
    click.echo(f"  for clients  {place.configuration('client') / 'hbase-site.xml'}")
    click.echo(f"  JMX          http://127.0.0.1:{ports.servers_info[0]}/jmx")
    click.echo(f"  S3           http://127.0.0.1:{ports.endpoint}/lab")
    click.echo("end it with: warmbase lab down")
