"""Cold caches fill on slow volumes, whose write limit is raised during the fill, as `warmbase warm boost` does."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from itertools import pairwise, takewhile
from math import inf
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from lab.hbase.bench import QUIETER
from lab.hbase.cluster import LabServer
from lab.hbase.configuration import varied
from lab.hbase.experiment import Experiment, ScenarioResult, over_time, within
from lab.hbase.recording import ReadHistory, Tick, read_history
from lab.hbase.result import Measurement
from lab.machine.control_groups import buffered_limit_unavailable as no_limits
from lab.machine.control_groups import limited_writes
from lab.machine.volume import unavailable as no_volumes
from warmbase.ground.errors import OperationFailed
from warmbase.ground.units import MIB, format_percent
from warmbase.operations.aws.progress import turns
from warmbase.sizing.cache.warm_up import Fill, Streams
from warmbase.sizing.recovery.boost import ServerFill
from warmbase.sizing.workload.read import aligned_bytes

TITLE: Final = "Faster volumes while caches fill"
QUESTION: Final = (
    "If the write limit of the cache volumes is raised during a fill, does the fill take the predicted time?"
)
SERVERS: Final = 3
FIRST_MIB_S: Final = 0.5  # judgement: at four times this rate, the S3 server and two cores still keep up
RAISES: Final = ((0.1, 1.75), (0.2, 2.5), (0.3, 3.25), (0.4, 4.0))
"""For each raise, the share of the blocks that are cached by then, and the new limit as a multiple of the first."""
OPENED: Final = 0.01
"""Opening regions caches fewer blocks than this share, 20 to 30 s before the prefetch of their files begins."""
FULL: Final = 0.97
FILLED_SECONDS: Final = 900.0
QUEUE_BLOCKS: Final = 4
THREADS: Final = 2
SCALED: Final = varied(
    {
        "hbase.bucketcache.writer.queuelength": str(QUEUE_BLOCKS),
        "hbase.hfile.thread.prefetch": str(THREADS),
        "hbase.bucketcache.queue.addition.waittime": "60000",
    },
    "scaled down for volumes that are hundreds of times slower, so that no block is dropped from the queue",
)
SPARE_BYTES: Final = 512 * MIB
POLL_SECONDS: Final = 0.5
UNBOOSTED: Final = "constant limit"
BOOSTED: Final = "limit raised in four steps to four times the first"

Raise = tuple[float, float]
"""A time, in seconds since 1970, and the limit from then on, in MiB/s."""


class LimitedFill(Struct, frozen=True, kw_only=True):
    """The record of a fill of all caches. Times are in seconds since 1970."""

    history: ReadHistory
    model: ServerFill
    cached_bytes: float
    """The bytes of all blocks in the caches of all servers."""
    raises: list[Raise]
    written_bytes: list[int]
    """The bytes that all devices wrote before the caches were full."""

    @property
    def began(self) -> float:
        """Return when the prefetch began: the last moment with no more blocks than opening regions caches."""
        return [*takewhile(lambda tick: self.share(tick) < OPENED, self.history.ticks)][-1].at

    @property
    def seconds(self) -> float:
        """Return the time from the start of the prefetch until the caches are full, but for a few skipped blocks."""
        return next(tick.at for tick in self.history.ticks if self.share(tick) >= FULL) - self.began

    def share(self, tick: Tick) -> float:
        """Return the share of all blocks that are cached."""
        return sum(cache.l2_bytes for cache in tick.servers.values()) / self.cached_bytes

    @property
    def shares(self) -> list[tuple[float, float]]:
        """Return the measured share over the seconds since the prefetch began."""
        return [(tick.at - self.began, self.share(tick)) for tick in self.history.ticks if tick.at >= self.began]

    @property
    def predicted_shares(self) -> list[tuple[float, float]]:
        """Return the predicted share at each raise and when the caches are full, from the limits in force."""
        share, points = 0.0, [(0.0, 0.0)]
        steps = [(0.0, FIRST_MIB_S), *((at - self.began, mib_s) for at, mib_s in self.raises), (inf, 0.0)]
        for (begin, mib_s), (end, _) in pairwise(steps):
            whole_seconds = self.model.time(mib_s, self.model.sustained).seconds
            seconds = min(end - begin, (FULL - share) * whole_seconds)
            share += seconds / whole_seconds
            points.append((begin + seconds, share))
        return points


def run(lab: Experiment) -> ScenarioResult:
    """Fill the caches under each limit. Where writes to a volume cannot be limited, the result gives the reason."""
    planned = lab.bench.cluster.launch.plan.warm_up.server
    reason = no_volumes() or no_limits() or (None if planned else "no EBS volume holds the cache of this plan")
    if reason is not None or planned is None:
        return ScenarioResult.not_shown(f"{reason}.")
    lab = lab.filled()
    blocks = lab.miniature.demand.blocks
    # The plan's fill with the blocks of one server of the lab, and without other writes to the volume. Each small
    # batch ends with a sync, so Linux writes a page twice if blocks of two batches share it.
    model = replace(
        planned,
        fill=Fill(
            blocks=round(blocks.count / SERVERS),
            s3_bytes=round(blocks.count / SERVERS * blocks.on_disk_bytes),
            slot_bytes=round(blocks.count / SERVERS * aligned_bytes(round(blocks.cached_bytes))),
        ),
        streams=Streams(
            threads=THREADS,
            get_bytes=blocks.on_disk_bytes,
            first_byte_seconds=lab.bench.latency.latency_ms / 1000,
        ),
        vcpus=lab.cores,
        batch_bytes=QUEUE_BLOCKS * blocks.cached_bytes,
        written_bytes_per_second=0.0,
        ebs_written_bytes_per_second=0.0,
    )
    ways = {BOOSTED: RAISES} if lab.short else {UNBOOSTED: (), BOOSTED: RAISES}
    fills = {name: _recorded(lab, model, raises) for name, raises in ways.items()}
    figures = [figure for name, fill in fills.items() for figure in _figures(name, fill)]
    if UNBOOSTED in fills:
        boosted, unboosted = fills[BOOSTED], fills[UNBOOSTED]
        figures.append(
            Measurement(
                case=f"{BOOSTED}, compared",
                name="fill time as a multiple of that with the constant limit",
                unit="x",
                measured=boosted.seconds / unboosted.seconds,
                predicted=boosted.predicted_shares[-1][0] / unboosted.predicted_shares[-1][0],
                because="both in this run",
                target=within(0.15),
            )
        )
    return ScenarioResult(
        figures=tuple(figures),
        charts=tuple(
            over_time(
                f"Share of the blocks cached: {name}",
                "share",
                [("measured", fill.shares), ("predicted", fill.predicted_shares)],
            )
            for name, fill in fills.items()
        ),
        limits=(
            "The kernel limits the writes of each device; EBS limits the volume and the instance.",
            "A limit of the kernel takes effect at once; this run does not show how soon EBS makes a volume faster.",
            "No client reads during the fill, because HBase 2.6.2 may stop a prefetch at a block that was read before.",
            f"A writer's batch has at most {QUEUE_BLOCKS} blocks; a plan's are larger, and write fewer pages twice.",
        ),
    )


def _recorded(lab: Experiment, model: ServerFill, raises: Sequence[tuple[float, float]]) -> LimitedFill:
    """Return the record of a fill that starts with empty caches and the first limit; no client reads."""
    bench, cluster, blocks = lab.bench, lab.bench.cluster, lab.miniature.demand.blocks
    cluster.stop_servers()
    with ExitStack() as stack:
        volumes, limits = [], []
        for number in cluster.numbers:
            volume = stack.enter_context(lab.volume(str(number), lab.miniature.cache_mib * MIB + SPARE_BYTES))
            volumes.append(volume)
            limits.append(stack.enter_context(limited_writes(volume, round(FIRST_MIB_S * MIB))))
        stack.callback(cluster.stop_servers)
        history = stack.enter_context(read_history(cluster, bench.store))
        before = sum(volume.traffic.written_bytes for volume in volumes)
        fill = LimitedFill(
            history=history,
            model=model,
            cached_bytes=blocks.count * blocks.cached_bytes,
            raises=[],
            written_bytes=[],
        )
        bench.serve(LabServer(varied=SCALED), cold=True)
        bench.store.set(bench.latency)
        for share, multiple in raises:
            _await(fill, share)
            mib_s = multiple * FIRST_MIB_S
            for limit in limits:
                limit(round(mib_s * MIB))
            fill.raises.append((time.time(), mib_s))
            bench.say(f"  {format_percent(share)} cached: {mib_s:g} MiB/s for each volume")
        _await(fill, FULL)
        fill.written_bytes.append(sum(volume.traffic.written_bytes for volume in volumes) - before)
    return fill


def _await(fill: LimitedFill, share: float) -> None:
    """Wait until that share of the blocks is cached. Raises OperationFailed when the time is up."""
    for _ in turns(FILLED_SECONDS, POLL_SECONDS, POLL_SECONDS):
        if fill.share(fill.history.ticks[-1]) >= share:
            return
    raise OperationFailed.of(
        where="the caches",
        what=f"have {format_percent(fill.share(fill.history.ticks[-1]))} of the blocks after {FILLED_SECONDS:.0f} s",
        why="the prefetch is too slow, or has skipped blocks",
        fix=QUIETER,
    )


def _figures(case: str, fill: LimitedFill) -> tuple[Measurement, ...]:
    figure, (predicted, _) = partial(Measurement, case=case), fill.predicted_shares[-1]
    slowest = fill.model.time(FIRST_MIB_S, fill.model.sustained).limits[0]
    return (
        figure(
            name=f"seconds until {FULL:.0%} of the blocks are cached",
            unit="s",
            measured=fill.seconds,
            predicted=predicted,
            because="predicted is the calculator's fill time, with each limit while it is in force; the slowest of"
            f" its terms is `{slowest}`",
            target=within(0.15),
        ),
        figure(
            name="GETs of store files",
            measured=float(fill.history.gets(fill.began, fill.began + fill.seconds)),
            because="by the prefetch; counted in front of S3",
        ),
        figure(
            name="bytes written to the volumes, per byte of the blocks",
            unit="x",
            measured=fill.written_bytes[-1] / (FULL * fill.cached_bytes),
            predicted=SERVERS * fill.model.fill.slot_bytes / fill.cached_bytes,
            because="the devices count them; a page that blocks of two batches share is written twice",
        ),
    )
