"""The fill of cold caches while the throughput of the cache volumes is raised, and the price of that for an hour.

The times are those of a prefetch without reads: reads that are served meanwhile use the same disks and delay it.

Sources: EC2 API Reference, ModifyVolume (gp3: 125 to 2,000 MiB/s, 3,000 to 80,000 IOPS); EBS User Guide,
general-purpose volumes (0.25 MiB/s for each IOPS, 500 IOPS for each GiB); EC2 User Guide, EBS-optimized instances
(smaller instances sustain their maximum for 30 minutes at least once every 24 hours).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from warmbase.ground.prices import PriceTable
from warmbase.ground.units import HOURS_PER_MONTH, MIB
from warmbase.sizing import gp3
from warmbase.sizing.cache.bucket_cache import WRITER_THREADS
from warmbase.sizing.cache.warm_up import CPU_SECONDS_PER_BLOCK, Fill, Streams, writer_bytes_per_second
from warmbase.sizing.requirements import Volume
from warmbase.sizing.server.writes import rest

FillLimit: TypeAlias = Literal["s3-streams", "network", "s3-requests", "volume", "instance-ebs", "cache-writers", "cpu"]
Level: TypeAlias = Literal["sustained", "burst"]

MOST_MIB_S: Final = 2_000  # of a gp3 volume: ModifyVolume changes it beyond what EMR accepts at a launch
MOST_IOPS: Final = 80_000
# judgement: the network bursts by credits, for 5 to 60 minutes; the 30 minutes of EBS are taken for both.
BURST_SECONDS: Final = 1_800.0
# judgement: an estimate does not tell apart limits that are this close.
TIE_FRACTION: Final = 0.02
# judgement: a boost that saves less than this fraction of the time is not worth a modification of each volume.
LEAST_GAIN: Final = 0.05


class NodeRates(Struct, frozen=True, kw_only=True):
    """The bytes a second of one node's network and of all its EBS volumes, for ever or in a burst."""

    network_bytes_per_second: float
    ebs_bytes_per_second: float


class FillTime(Struct, frozen=True, kw_only=True):
    """The time of a fill. `limits` are the slowest of its `terms`, in seconds: all of them must be raised to help."""

    seconds: float
    limits: tuple[FillLimit, ...]
    terms: Mapping[FillLimit, float]


class ServerFill(Struct, frozen=True, kw_only=True):
    """The fill of one RegionServer's cache, with the rates that writes leave, whatever its volumes are raised to.

    `volume` is the cache volume as planned. Of several, one fills at a time. `written_bytes_per_second` are the writes
    to the cache volume, `ebs_written_bytes_per_second` those to all volumes of the node.
    """

    fill: Fill
    streams: Streams
    vcpus: float
    s3_gets_per_second: float
    batch_bytes: float
    written_bytes_per_second: float
    ebs_written_bytes_per_second: float
    sustained: NodeRates
    burst: NodeRates
    volume: Volume
    servers: int

    def time(self, throughput_mib_s: float, rates: NodeRates) -> FillTime:
        """Return the time while each cache volume has this throughput and the node these rates."""
        volume = rest(throughput_mib_s * MIB, self.written_bytes_per_second)
        instance = min(
            rest(rates.ebs_bytes_per_second, self.written_bytes_per_second),
            rest(rates.ebs_bytes_per_second, self.ebs_written_bytes_per_second),
        )
        slots, files = self.fill.slot_bytes, self.volume.count
        one_writer = writer_bytes_per_second(1, self.batch_bytes, min(volume, instance), files)
        terms: dict[FillLimit, float] = {
            "s3-streams": self.fill.s3_bytes / self.streams.bytes_per_second,
            "network": self.fill.s3_bytes / rates.network_bytes_per_second,
            "s3-requests": self.fill.s3_bytes / self.streams.get_bytes / self.s3_gets_per_second,
            "volume": slots / volume,
            "instance-ebs": slots / instance,
            "cache-writers": slots / (WRITER_THREADS * one_writer),
            "cpu": self.fill.blocks * CPU_SECONDS_PER_BLOCK / min(self.streams.threads, self.vcpus),
        }
        seconds = max(terms.values())
        limits = tuple(name for name, term in terms.items() if term >= (1 - TIE_FRACTION) * seconds)
        return FillTime(seconds=seconds, limits=limits, terms=terms)

    def remaining(self, fraction: float) -> ServerFill:
        """Return the fill of a cache that lacks only this fraction of what it holds when it is warm."""
        fill = self.fill
        blocks, s3_bytes, slot_bytes = (
            round(fraction * amount) for amount in (fill.blocks, fill.s3_bytes, fill.slot_bytes)
        )
        return replace(self, fill=Fill(blocks=blocks, s3_bytes=s3_bytes, slot_bytes=slot_bytes))

    def boosted(self, throughput_mib_s: float, level: Level) -> FillTime:
        """Return the time at this throughput. A burst ends after half an hour; the rest takes the sustained rates."""
        sustained = self.time(throughput_mib_s, self.sustained)
        if level == "sustained":
            return sustained
        burst = self.time(throughput_mib_s, self.burst)
        slow_fraction = max(0.0, 1 - BURST_SECONDS / burst.seconds) if burst.seconds else 0.0
        return replace(burst, seconds=min(burst.seconds, BURST_SECONDS) + slow_fraction * sustained.seconds)

    def course(self, throughput_mib_s: float, level: Level) -> tuple[tuple[float, float], ...]:
        """Return (seconds, fraction that is filled): at the start, at the end of the burst, and when the cache is full.

        The fill has a constant speed between them.
        """
        end = self.boosted(throughput_mib_s, level).seconds
        burst = self.time(throughput_mib_s, self.burst).seconds
        if level == "sustained" or burst <= BURST_SECONDS:
            return (0.0, 0.0), (end, 1.0)
        return (0.0, 0.0), (BURST_SECONDS, BURST_SECONDS / burst), (end, 1.0)

    def raised(self, level: Level) -> gp3.Provision:
        """Return the throughput and IOPS up to which the fill gets faster; at least those of the volume."""
        rates = self.sustained if level == "sustained" else self.burst
        others = self.time(MOST_MIB_S, rates)
        slowest = max(term for name, term in others.terms.items() if name != "volume")
        useful = self.fill.slot_bytes / slowest + self.written_bytes_per_second if slowest else 0.0
        step = gp3.THROUGHPUT_STEP_MIB_S
        return self.provision(math.ceil(useful / MIB / step) * step)

    def provision(self, throughput_mib_s: int) -> gp3.Provision:
        """Return this throughput with the IOPS that it needs, within what gp3 allows; never less than the volume's."""
        most_iops = min(MOST_IOPS, gp3.most_iops(self.volume.size_gib))
        most_mib_s = min(MOST_MIB_S, most_iops // gp3.IOPS_PER_MIB_S)
        throughput = max(self.volume.throughput_mib_s, min(throughput_mib_s, most_mib_s))
        return throughput, max(self.volume.iops, gp3.IOPS_PER_MIB_S * throughput)


class Boost(Struct, frozen=True, kw_only=True):
    """Cache volumes raised to a provision: the time of a fill without reads, its next limits, and the extra price.

    `level` says which rates of the instance count: those that it sustains, or those of its daily burst.
    """

    level: Level
    throughput_mib_s: int
    iops: int
    seconds: float
    limits: tuple[FillLimit, ...]
    usd_per_hour: float


def boosts(fill: ServerFill, prices: PriceTable) -> tuple[Boost, ...]:
    """Return the boosts that shorten the fill noticeably, the smaller one first; empty where none does."""
    worthwhile: list[Boost] = []
    fastest = fill.boosted(fill.volume.throughput_mib_s, "sustained").seconds
    levels: tuple[Level, ...] = ("sustained", "burst")
    for level in levels:
        provision = fill.raised(level)
        time = fill.boosted(provision[0], level)
        if provision[0] > fill.volume.throughput_mib_s and time.seconds < (1 - LEAST_GAIN) * fastest:
            fastest = time.seconds
            worthwhile.append(
                Boost(
                    level=level,
                    throughput_mib_s=provision[0],
                    iops=provision[1],
                    seconds=time.seconds,
                    limits=time.limits,
                    usd_per_hour=fill.servers * extra_usd_per_hour(fill.volume, provision, prices),
                )
            )
    return tuple(worthwhile)


def extra_usd_per_hour(volume: Volume, provision: gp3.Provision, prices: PriceTable) -> float:
    """Return what one node's volumes of this kind cost more in an hour while they have this provision."""
    throughput_mib_s, iops = provision
    raised = replace(volume, throughput_mib_s=throughput_mib_s, iops=iops)
    return (gp3.usd_per_month(raised, prices) - gp3.usd_per_month(volume, prices)) / HOURS_PER_MONTH
