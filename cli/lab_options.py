"""The command-line options of the lab: the size of its scaled plan, its RegionServers, and the scenarios to run."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING, Final, NotRequired, TypedDict

import click

from cli.options import chosen_cluster, cluster_option
from cli.unit_text import DURATION, UnitText
from configurations.launch import launch_of
from environments.reader import read_environment
from lab.hbase.scenarios import scenarios_of, servers_of
from lab.model.scaled_plan import SERVERS
from sizing.problem import InvalidInput, Problem
from sizing.units import GIB, MIB, parse_size

if TYPE_CHECKING:
    from lab.hbase.run import RunRequest
    from lab.hbase.store.settings import Settings


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
    from lab.hbase.laboratory import small_of  # noqa: PLC0415 - `--help` loads no more than it needs
    from lab.hbase.run import RunRequest as LabRun  # noqa: PLC0415 - see above
    from lab.model.scaled_plan import Small  # noqa: PLC0415 - see above

    read = read_environment(chosen["environment"])
    launch = launch_of(read, chosen_cluster(read, chosen["cluster"]))
    if not launch.plan.mode.has_bucket_cache:
        raise InvalidInput([_without_cache(read.source, str(launch.plan.mode))])
    servers, named = int(chosen["servers"]), chosen.get("scenarios", ())
    if others := [_of_other_servers(name) for name in named if servers_of(name) != servers]:
        raise InvalidInput(others)
    return LabRun(
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
    from lab.hbase.store.settings import Settings as StoreSettings  # noqa: PLC0415 - see above

    milliseconds = 1000 * chosen["latency"]
    return StoreSettings(latency_ms=milliseconds, latency_p99_ms=TAIL * milliseconds if milliseconds else None)


def command_line() -> str:
    """Return the command, as a report repeats it."""
    return shlex.join(("warmbase", *sys.argv[1:]))


def _of_other_servers(name: str) -> Problem:
    servers = servers_of(name)
    many = "one RegionServer" if servers == 1 else f"{servers} RegionServers"
    return Problem(
        where=f"--scenario {name}",
        what="cannot run in this lab",
        why=f"it needs {many}",
        fix=f"use --servers {servers}",
    )


def _without_cache(source: str, mode: str) -> Problem:
    return Problem(
        where=source,
        what="mode",
        why=f"{mode} has no BucketCache, and the lab measures one",
        fix="choose an environment of mode s3-cached; the scenario `boots` also boots files of the other modes",
    )
