"""A log in HDFS with and without the encryption that EMR adds with local-disk encryption."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import pairwise
from statistics import mean, median
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from lab.hbase.configuration import HDFS_ENCRYPTION, NOTHING_VARIED
from lab.hbase.experiment import Experiment, ScenarioResult, Turns, in_turn, within_factor
from lab.hbase.hdfs import hdfs_client, running_hdfs
from lab.hbase.result import Measurement
from lab.machine import OwnCpu
from lab.machine.paths import LabPaths, free_ports
from warmbase.ground.units import format_size
from warmbase.sizing.server.writes import ENCRYPTED_BYTE_CPU_SECONDS

TITLE: Final = "HDFS with encryption"
QUESTION: Final = "How much more does a write to HDFS cost if EMR encrypts what HDFS transfers?"
HOSTS: Final = ("127.0.0.1", "127.0.0.2", "127.0.0.3")
EDITS: Final = ((256 << 10, 1), (256 << 10, 2), (256 << 10, 3), (2 << 10, 2))
"""The bytes of a sync, and the copies of the file."""
FAN_OUT: Final = "HBase's log writer"
PIPELINE: Final = "HDFS's pipeline"
READ_BYTES: Final = 64 << 10
WINDOW_SECONDS: Final = 2.0
"""Short, so that the two take turns often: on a machine that others use, only neighbours can be compared."""
WARMING_SECONDS: Final = 5.0
"""judgement: until the JVMs have compiled the loop; only their second compiler knows AES instructions."""
ROUNDS: Final = 8
IN_TURN: Final = f"median of {ROUNDS} windows of {WINDOW_SECONDS:.0f} s, each between two windows without encryption"
FACTOR: Final = 3.0
"""judgement: on two busy cores, windows of the same case differ by a factor of two, and here two are subtracted."""
LIMITS: Final = (
    (
        "All DataNodes and the client share the cores of one machine, and its loopback is the network. On a cluster, "
        "syncs also wait for a network, so these ratios of rates and times overstate the effect there."
    ),
    "The JVM does the encryption, and its second compiler runs here, too. EMR's Hadoop may use OpenSSL instead.",
    "Processor time is the total of all of the lab's processes.",
)


class HdfsWindow(Struct, frozen=True, kw_only=True):
    """A window of steps, which are syncs or reads: their rate, their median, and the lab's processor time for one."""

    per_second: float
    median_ms: float
    cpu_seconds: float


RATIOS: Final[Mapping[str, Callable[[HdfsWindow], float]]] = {
    "rate": lambda window: window.per_second,
    "median time": lambda window: window.median_ms,
    "processor time": lambda window: window.cpu_seconds,
}


def run(lab: Experiment) -> ScenarioResult:
    """Write and read a file in two HDFS, one with encryption, in turn."""
    cluster = lab.bench.cluster
    cluster.stop_servers()
    place = LabPaths(root=cluster.place.root / "encrypted", ports=free_ports())
    place.make()
    second = replace(cluster, place=place)
    figures: list[Measurement] = []
    with ExitStack() as stack:
        files = [
            f"{stack.enter_context(running_hdfs(at, at.place.volumes, HOSTS, emr=emr, flags=()))}/log"
            for at, emr in ((cluster, NOTHING_VARIED), (second, HDFS_ENCRYPTION))
        ]
        admin = stack.enter_context(hdfs_client(second))
        # The asynchronous writer of HBase 2.6.2 as built for Hadoop 2 does not find the classes of Hadoop 3.
        ways = (True, False) if any("-hadoop3" in jar for jar in cluster.software.class_path) else (False,)
        for fans_out in ways:
            for bytes_, copies in EDITS:
                case = f"{FAN_OUT if fans_out else PIPELINE}, {format_size(bytes_)} a sync, {copies} of 3 DataNodes"
                step = partial(admin.hdfs_write, bytes_=bytes_, copies=copies, fan_out=fans_out)
                turns = _turns(step, files)
                lab.bench.say(
                    f"  {case}: {turns.controls[-1].per_second:,.0f} and {turns.of(0)[-1].per_second:,.0f} /s"
                )
                figures += _ratios(case, turns)
                if bytes_ == EDITS[0][0]:
                    added = median(encrypted - plain for encrypted, plain in _pairs(turns, RATIOS["processor time"]))
                    figures.append(
                        Measurement(
                            case=case,
                            name="processor time that encryption adds to a byte of a copy",
                            unit="ns",
                            measured=added / (bytes_ * copies) * 1e9,
                            predicted=ENCRYPTED_BYTE_CPU_SECONDS * 1e9,
                            because=f"client and DataNodes together; {IN_TURN}",
                            target=within_factor(FACTOR),
                        )
                    )
        reads = _turns(partial(admin.hdfs_read, bytes_=READ_BYTES), files)
        figures += _ratios(f"reads of {format_size(READ_BYTES)} over TCP", reads)
    return ScenarioResult(figures=tuple(figures), limits=LIMITS)


def _turns(step: Callable[..., Mapping[str, float]], files: Sequence[str]) -> Turns[HdfsWindow]:
    """Warm the JVMs for this step, and repeat it on both files in turn; the control is the one without encryption."""
    for file in files:
        step(file, window=WARMING_SECONDS)

    def window(file: str) -> HdfsWindow:
        cpu = OwnCpu()
        answer = step(file, window=WINDOW_SECONDS)
        seconds, steps = answer["seconds_used"], answer["steps"]
        return HdfsWindow(
            per_second=steps / seconds, median_ms=answer["median_ms"], cpu_seconds=cpu.cores() * seconds / steps
        )

    plain, encrypted = (partial(window, file) for file in files)
    return in_turn(plain, [encrypted], ROUNDS)


def _pairs(turns: Turns[HdfsWindow], figure: Callable[[HdfsWindow], float]) -> list[tuple[float, float]]:
    """Return a figure of each window with encryption, and the mean of those without before and after it."""
    between = [mean(both) for both in pairwise(map(figure, turns.controls))]
    return list(zip(map(figure, turns.of(0)), between, strict=True))


def _ratios(case: str, turns: Turns[HdfsWindow]) -> tuple[Measurement, ...]:
    return tuple(
        Measurement(
            case=case,
            name=f"{name} with encryption, relative to without",
            unit="x",
            measured=median(encrypted / plain for encrypted, plain in _pairs(turns, figure)),
            because=IN_TURN,
        )
        for name, figure in RATIOS.items()
    )
