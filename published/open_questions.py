"""Figures that the sources leave to the reader: the list of bucket sizes, and the worth of the GETs saved."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from published.benchmark import Benchmark
from published.benchmark_numbers import COLD_GETS, PEAK_GETS, WARM_GETS
from sizing import gp3
from sizing.allocator import DEFAULT_BUCKET_SIZES, BucketAllocator
from sizing.block import block_lengths
from sizing.bucket_sizes import bucket_sizes
from sizing.units import HOURS_PER_MONTH, KIB, TIB

BLOCK_BYTES: Final = 64 * KIB
CELLS_BYTES: Final = (100, 480, 1_536, 2_048, 10_240)  # as serialised; 480 is the benchmark's


class Slots(Struct, frozen=True, kw_only=True):
    """Payload over slot bytes and blocks held, under HBase's default list of sizes and under ours."""

    cell_bytes: int
    default_fraction: float
    ours_fraction: float
    more_blocks_fraction: float
    sizes: tuple[int, ...]


class Worth(Struct, frozen=True, kw_only=True):
    """GETs saved in an hour, what they would cost in a month, and what the volumes of the cache cost."""

    gets_per_hour: int
    usd_per_month: float
    cache_usd_per_month: float


def slots() -> tuple[Slots, ...]:
    """Return how many blocks of 64 KiB a TiB of cache holds, for cells from small to large."""
    return tuple(_slots(cell_bytes) for cell_bytes in CELLS_BYTES)


def _slots(cell_bytes: int) -> Slots:
    lengths = block_lengths(BLOCK_BYTES, cell_bytes)
    ours = bucket_sizes(lengths, must_fit_bytes=lengths.largest_bytes)
    default, chosen = (BucketAllocator(capacity_bytes=TIB, sizes=sizes) for sizes in (DEFAULT_BUCKET_SIZES, ours))
    return Slots(
        cell_bytes=cell_bytes,
        default_fraction=default.slot_efficiency_fraction(lengths),
        ours_fraction=chosen.slot_efficiency_fraction(lengths),
        more_blocks_fraction=chosen.block_capacity(lengths) / default.block_capacity(lengths) - 1,
        sizes=ours,
    )


def worth(benchmark: Benchmark) -> tuple[Worth, ...]:
    """By the GETs of the source's table, and by those of its figure 4."""
    prices = benchmark.world.prices
    cache = benchmark.plan.core.count * gp3.usd_per_month(benchmark.cache_volume, prices)
    return tuple(
        Worth(
            gets_per_hour=gets,
            usd_per_month=gets * HOURS_PER_MONTH * prices.usd("s3-get"),
            cache_usd_per_month=cache,
        )
        for gets in (COLD_GETS - WARM_GETS, PEAK_GETS - WARM_GETS)
    )
