"""Other block sizes and a codec that would save money, as advice in addition to the plan for the table as it is.

Each trial is a search of its own, limited to clusters that are cheaper than the plan's, so it ends early where none is.
A longer search is cut short; what it has found is advice, too, although a cheaper cluster may exist.
The blocks of inspected store files are known, so nothing else is tried for them. Nothing else is tried for several
tables either, because each of them could have its own setting.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from sizing.evaluation import Evaluation
from sizing.inputs import SizingInputs
from sizing.memory import NotEnoughMemory
from sizing.plan import Alternative, Plan
from sizing.requirements import Requirements, World
from sizing.search import cheapest_serving
from sizing.units import KIB
from sizing.workload import Workload

BLOCK_SIZES: Final = tuple(kibibytes * KIB for kibibytes in (8, 16, 32, 64, 128))
WORTHWHILE_FRACTION: Final = 0.05  # judgement: less than 5 % of the bill is not worth a major compaction of every table
# judgement: the ratio is not known before a table is compressed; text and JSON shrink to half their size or less.
ASSUMED_RATIO: Final = 2.0
ASSUMED_CODEC: Final = "zstd"
CANDIDATES: Final = 900  # judgement: about 0.2 s; nine in ten searches end sooner, and others return their best so far


def alternatives(requirements: Requirements, world: World, sized: Plan) -> tuple[Alternative, ...]:
    """Return the settings that save at least 5 % of the bill, the cheapest first; none for a pinned cluster."""
    if requirements.cluster.core.pinned or not sized.feasible or requirements.workload.has_names:
        return ()
    limit_usd = sized.cost.usd_per_month * (1 - WORTHWHILE_FRACTION)
    targets = replace(requirements.targets, budget_usd_per_month=limit_usd)
    cheaper = []
    for setting, workload in _trials(requirements.workload):
        best = _cheapest(replace(requirements, workload=workload, targets=targets), world)
        if best is not None:
            cheaper.append(_alternative(setting, workload, best, sized.cost.usd_per_month))
    return tuple(sorted(cheaper, key=lambda alternative: alternative.usd_per_month))


def _trials(workload: Workload) -> Iterator[tuple[str, Workload]]:
    """Yield the attribute and the workload for block sizes of more than one cell, and for a codec."""
    for block_bytes in BLOCK_SIZES:
        if block_bytes != workload.block_bytes and block_bytes > workload.cell_bytes:
            yield "BLOCKSIZE", replace(workload, block_bytes=block_bytes)
    if not workload.compressed:
        stored_bytes = round(workload.stored_bytes / ASSUMED_RATIO)
        compressed = replace(workload, codec=ASSUMED_CODEC, compression_ratio=ASSUMED_RATIO, stored_bytes=stored_bytes)
        yield "COMPRESSION", compressed


def _cheapest(requirements: Requirements, world: World) -> Evaluation | None:
    try:
        return cheapest_serving(SizingInputs.new(requirements, world), CANDIDATES)
    except NotEnoughMemory:
        return None


def _alternative(setting: str, workload: Workload, best: Evaluation, usd_per_month: float) -> Alternative:
    server = best.candidate.region_server
    return Alternative(
        setting=setting,
        block_bytes=workload.block_bytes,
        codec=workload.codec,
        compression_ratio=workload.compression_ratio,
        instance_type=best.candidate.instance.name,
        count=best.candidate.count,
        heap_mib=server.heap.xmx_mib,
        restart_seconds=server.restart.seconds,
        usd_per_month=best.usd_per_month,
        saving_usd_per_month=usd_per_month - best.usd_per_month,
    )
