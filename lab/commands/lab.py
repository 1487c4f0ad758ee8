"""`warmbase lab` runs the rendered configuration on a real HBase on this machine.

Its options state the size of the scaled plan, its RegionServers, and the scenarios to run.
"""

from __future__ import annotations

import shlex
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, NotRequired, TypedDict, Unpack

import click
from click.core import ParameterSource

from lab.hbase import software as hbase
from lab.hbase.background import background_lab
from lab.hbase.background import down as take_down
from lab.hbase.background import up as stand_up
from lab.hbase.laboratory import clean_abandoned, running, small_of
from lab.hbase.result import Run
from lab.hbase.run import RunFiles, RunRequest
from lab.hbase.run import run as run_scenarios
from lab.hbase.scenarios import SCENARIOS, question, scenarios_of, servers_of
from lab.hbase.software import remove as remove_software
from lab.hbase.store import Settings
from lab.scaled_plan import SERVERS, Small
from lab.trino import SCENARIOS as TRINO_SCENARIOS
from lab.trino import software as trino
from lab.trino.run import TrinoRequest
from lab.trino.run import run as run_trino
from warmbase.cli.options import DURATION, UnitText, cluster_option
from warmbase.cli.terminal import echo
from warmbase.configurations.launch import launch_of
from warmbase.environments.planning import chosen_cluster
from warmbase.environments.reader import read_environment
from warmbase.ground.errors import Infeasible, InvalidInput, Problem
from warmbase.ground.units import GIB, MIB, format_size, parse_size

LEAST_MEMORY_BYTES: Final = 3 * GIB
LEAST_DATA_BYTES: Final = 64 * MIB
TAIL: Final = 3
"""The 99th percentile of the latency of S3, over its median."""


class Chosen(TypedDict):
    """The options given on the command line: sizes in bytes, times in seconds."""

    environment: str
    cluster: str | None
    servers: str
    memory: float
    data: float
    latency: float
    seed: int
    seconds: NotRequired[int]
    short: NotRequired[bool]
    scenarios: NotRequired[tuple[str, ...]]
    volume_throughput: NotRequired[float]


def _per_second(text: str) -> int:
    return parse_size(text.removesuffix("/s"))


SIZE: Final = UnitText("size", parse_size, LEAST_DATA_BYTES)
MEMORY: Final = UnitText("size", parse_size, LEAST_MEMORY_BYTES)
THROUGHPUT: Final = UnitText("throughput", _per_second, MIB)


def scaled(command: click.decorators.FC) -> click.decorators.FC:
    """Add the options that set the size of the scaled plan."""
    options = (
        click.argument("environment", metavar="[ENV]", default="prod"),
        cluster_option,
        click.option(
            "--servers",
            type=click.Choice([str(servers) for servers in SERVERS]),
            default="1",
            show_default=True,
            help="Number of RegionServers, which share the memory and the data.",
        ),
        click.option(
            "--memory",
            type=MEMORY,
            default="4 GiB",
            show_default=True,
            help="Memory of all processes; three eighths are the RegionServers' heaps.",
        ),
        click.option(
            "--data", type=SIZE, default="256 MiB", show_default=True, help="How much data to load, in stored bytes."
        ),
        click.option(
            "--latency",
            type=DURATION,
            default="20 ms",
            show_default=True,
            help="Median time to S3's first byte; the 99th percentile is three times that.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def run_request(chosen: Chosen) -> RunRequest:
    """Return the requested run. Raises InvalidInput for an environment without a BucketCache."""
    read = read_environment(chosen["environment"])
    launch = launch_of(read, chosen_cluster(read, chosen["cluster"]))
    if not launch.plan.mode.has_bucket_cache:
        raise InvalidInput.of(
            where=read.source,
            what="mode",
            why=f"{launch.plan.mode} has no BucketCache, and the lab measures one",
            fix="choose an environment of mode s3-cached; the scenario `boots` also boots files of the other modes",
        )
    servers, named = int(chosen["servers"]), chosen.get("scenarios", ())
    others = {name: servers_of(name) for name in named if servers_of(name) != servers}
    if others:
        raise InvalidInput(
            Problem(
                where=f"--scenario {name}",
                what="cannot run in this lab",
                why=f"it needs {'one RegionServer' if needed == 1 else f'{needed} RegionServers'}",
                fix=f"use --servers {needed}",
            )
            for name, needed in others.items()
        )
    return RunRequest(
        of=small_of(
            launch,
            Small(memory_bytes=round(chosen["memory"]), data_bytes=round(chosen["data"]), servers=servers),
            latency_settings(chosen),
        ),
        scenarios=named or scenarios_of(servers),
        named=bool(named),
        seconds=float(chosen.get("seconds", 0)),
        seed=chosen["seed"],
        volume_mib_s=round(chosen.get("volume_throughput", 0) / MIB),
        short=chosen.get("short", False),
        command=command_line(),
    )


def latency_settings(chosen: Chosen) -> Settings:
    """Return the latency of the lab's S3."""
    milliseconds = 1000 * chosen["latency"]
    return Settings(latency_ms=milliseconds, latency_p99_ms=TAIL * milliseconds if milliseconds else None)


def command_line() -> str:
    """Return the command, as a report repeats it."""
    return shlex.join(("warmbase", *sys.argv[1:]))


RESULTS: Final = "lab-results"
OF_TRINO: Final = frozenset({"environment", "scenarios", "latency", "results"})
"""The options of `run` that apply to a scenario of Trino."""


@click.group()
def lab() -> None:
    """Run the rendered configuration on a real HBase here.

    The lab adds a real S3-protocol server with S3's latency, a disk as fast as an EBS volume, and YCSB's load, and
    compares its measurements with the calculator's predictions. Only `setup` uses the network.

    \b
    Example:
      warmbase lab setup
      warmbase lab run prod --scenario restart
    """


@lab.command(short_help="Download what the lab needs.")
@click.option(
    "--engine",
    type=click.Choice(["hbase", "trino"]),
    default="hbase",
    show_default=True,
    help="The engine whose scenarios you want to run.",
)
def setup(*, engine: str) -> None:
    """Download the lab's software: HBase, an S3 server, a Java runtime and YCSB.

    The command stores about 260 MB of jars in ~/.cache/warmbase/lab, and a Java runtime of 105 MB beside this Python.
    Each file is verified. `warmbase lab remove` deletes the jars again.

    For Trino it downloads 880 MB, of which 560 MB stay there, with a Java runtime of its own.

    \b
    Example:
      warmbase lab setup
      warmbase lab setup --engine trino
    """
    of_trino = engine == "trino"
    (trino.set_up if of_trino else hbase.set_up)(_say(time.monotonic()))
    remaining = trino.problems() if of_trino else hbase.problems()
    echo("the lab is ready" if not remaining else "\n".join(remaining))


@lab.command(short_help="Run scenarios and compare.")
@scaled
@click.option(
    "--scenario",
    "scenarios",
    type=click.Choice([*SCENARIOS, *TRINO_SCENARIOS]),
    multiple=True,
    metavar="NAME",
    help="A scenario of `warmbase lab scenarios`; repeat the option for more. Default: all of HBase.",
)
@click.option(
    "--volume-throughput",
    type=THROUGHPUT,
    default="40 MiB/s",
    show_default=True,
    help="The limit that stands for a gp3 volume at its default of 125 MiB/s.",
)
@click.option(
    "--seconds", type=click.IntRange(5, 600), default=15, show_default=True, help="Length of each measurement."
)
@click.option("--seed", type=int, default=2, show_default=True, help="Seed of the random keys.")
@click.option(
    "--results",
    type=click.Path(file_okay=False, path_type=Path),
    default=RESULTS,
    show_default=True,
    help="Directory of the results.",
)
@click.option(
    "--short",
    is_flag=True,
    help="Shorten the scenarios of three servers: restart, compaction, heal, lost node and fill.",
)
@click.option("--resume", is_flag=True, help="Keep the results of an earlier run, except for the scenarios named here.")
@click.pass_context
def run(context: click.Context, *, results: Path, resume: bool, **chosen: Unpack[Chosen]) -> None:
    """Run scenarios and compare their measurements with the predictions.

    After each scenario the command writes RESULTS/ENV.json and an HTML page. It exits with 3 if a target is missed.
    `trino-cache` runs Trino instead of HBase, by itself, and writes RESULTS/ENV-trino.json.

    \b
    Example:
      warmbase lab run prod
      warmbase lab run prod --scenario restart --scenario warm-up --resume
      warmbase lab run prod --servers 3 --scenario rolling-restart --short
      warmbase lab run prod --scenario trino-cache
    """
    began = time.monotonic()
    if TRINO_SCENARIOS.keys() & chosen.get("scenarios", ()):
        files = RunFiles(results, f"{Path(chosen['environment']).stem}-trino")
        finished = _run_trino(context, chosen, files, _say(began))
    else:
        request = run_request(chosen)
        # Labs of one RegionServer and of several do not overwrite each other's files.
        name = Path(chosen["environment"]).stem
        files = RunFiles(results, name if chosen["servers"] == "1" else f"{name}-{chosen['servers']}-servers")
        finished = run_scenarios(request, files, _say(began), resume=resume)
    for scenario in finished.scenarios:
        met = [figure for figure in scenario.figures if figure.holds]
        targets = [figure for figure in scenario.figures if figure.target is not None]
        echo(f"{scenario.name:<14} {len(met):>3} of {len(targets):>3} targets met, {scenario.seconds:.0f} s")
    echo(f"figures, charts and limits: {files.page}")
    missed = sum(len(scenario.missed) for scenario in finished.scenarios)
    if missed:
        raise Infeasible.of(
            where=str(files.page),
            what=f"{missed} targets are missed",
            why="the page shows the differences",
            fix="run the scenario again on a quiet machine; if it misses again, report it with the page",
        )


def _run_trino(context: click.Context, chosen: Chosen, files: RunFiles, say: Callable[[str], None]) -> Run:
    """Run the scenario of Trino. Raises InvalidInput for options and scenarios that do not go with it."""
    name, *others = sorted(chosen.get("scenarios", ()), key=TRINO_SCENARIOS.__contains__, reverse=True)
    unsuited = [
        f"--{option.replace('_', '-')}"
        for option in sorted(context.params.keys() - OF_TRINO)
        if context.get_parameter_source(option) is ParameterSource.COMMANDLINE
    ]
    if others or unsuited:
        raise InvalidInput.of(
            where=f"--scenario {name}",
            what=f"cannot be combined with {', '.join([*others, *unsuited])}",
            why="it runs alone, and takes only the options that apply to Trino",
            fix="leave them out, or run the other scenarios with a separate command",
        )
    read = read_environment(chosen["environment"])
    request = TrinoRequest(
        environment=read.name,
        release=read.release,
        latency=latency_settings(chosen),
        command=command_line(),
    )
    return run_trino(request, files, say)


@lab.command()
def scenarios() -> None:
    """List the scenarios and their questions."""
    formatter = click.HelpFormatter(width=shutil.get_terminal_size().columns)
    rows = []
    for name in SCENARIOS:
        servers = servers_of(name)
        rows.append((name, question(name).question + (f" (--servers {servers})" if servers > 1 else "")))
    formatter.write_dl([*rows, *((name, scenario.question) for name, scenario in TRINO_SCENARIOS.items())])
    echo(formatter.getvalue(), nl=False)


@lab.command(short_help="Start a lab that stays up.")
@scaled
@click.option("--seed", type=int, default=2, show_default=True, help="Seed of the random keys.")
def up(**chosen: Unpack[Chosen]) -> None:
    """Start a lab that stays up, with the environment's table filled and its RegionServers as planned.

    \b
    Example:
      warmbase lab up dev --data "256 MiB"
      warmbase lab up dev --servers 3
    """
    stand_up(run_request(chosen), _say(time.monotonic()))
    _print_status()


@lab.command()
def status() -> None:
    """Show the running lab and the contents of its cache."""
    _print_status()


@lab.command()
def down() -> None:
    """End the running lab and delete its data."""
    echo("the lab has ended" if take_down() else "no lab is running")


@lab.command(short_help="Delete what setup downloaded.")
def remove() -> None:
    """Delete the files that `setup` downloaded, and leftovers of killed runs."""
    if labs := running():
        raise InvalidInput.of(
            where="the lab",
            what=f"a lab is running, process {', '.join(map(str, labs))}",
            why="it uses the files that would be deleted",
            fix="wait until it ends, or end it with Ctrl-C",
        )
    take_down()
    clean_abandoned()
    echo(f"{format_size(remove_software())} freed; the Java runtime stays beside {sys.executable}")


def _say(began: float) -> Callable[[str], None]:
    def say(line: str) -> None:
        minutes, seconds = divmod(int(time.monotonic() - began), 60)
        echo(f"{minutes:3}:{seconds:02}  {line}", err=True)

    return say


def _print_status() -> None:
    background = background_lab()
    if background is None:
        echo("no lab is running")
        return
    echo(f"a lab of {background.environment}, in {background.root}")
    for process in background.processes:
        echo(f"  {process.name:<12} {'process ' + str(process.id) if process.is_alive else 'ended'}")
    cache = background.cache
    if cache is not None:
        echo(f"  cache        {cache.l2_blocks:,} blocks, {format_size(cache.l2_bytes)}; {cache.regions} regions")
    ports, place = background.ports, background.place
    echo(f"  table        {background.table}")
    echo(f"  for clients  {place.configuration('client') / 'hbase-site.xml'}")
    for number in background.numbers:
        echo(f"  JMX          http://127.0.0.1:{ports.servers_info[number]}/jmx")
    echo(f"  S3           http://127.0.0.1:{ports.endpoint}/lab")
    echo("To end it: warmbase lab down")
