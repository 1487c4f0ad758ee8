"""The bounds between which each number of an environment file makes sense, with their reasons.

Without them, a slip of a few zeros would become a plan, or an arithmetic error far from the file.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from msgspec import Struct
from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

from warmbase.environments.reader.messages import quoted
from warmbase.environments.reader.section import refuse
from warmbase.ground.units import GIB, KIB, MIB, SECONDS_PER_HOUR, TIB, exact_size
from warmbase.sizing import gp3

PRINTED: Final = 10**24
"""Beyond it a number is not worth the digits; NaN is not below it either."""


def size_text(size_bytes: float) -> str:
    """A bound as one would write it."""
    return exact_size(int(size_bytes))


class Bounds(Struct, frozen=True, kw_only=True):
    """Bounds of a number, with their reason. NaN and infinity lie outside any; `above` is itself outside."""

    reason: str
    most: float
    least: float | None = None
    above: float = 0
    text: Callable[[float], str] = "{:,}".format

    def __get_pydantic_core_schema__(self, source: type, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return what there is, then the bounds."""
        return core_schema.no_info_after_validator_function(self._checked, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """The bounds, for a number that is written as one."""
        described = handler(schema)
        if described.get("type") in {"integer", "number"}:
            lower = {"exclusiveMinimum": self.above} if self.least is None else {"minimum": self.least}
            described |= {**lower, "maximum": self.most}
        return described

    def _checked(self, value: float | None) -> float | None:
        if value is None or self._holds(value):
            return value
        lower = f"above {self.text(self.above)}" if self.least is None else f"at least {self.text(self.least)}"
        most = self.text(self.most)
        number_text = self.text(value) if -PRINTED < value < PRINTED else quoted(value)
        mend = f"use {most} or less" if value > self.most else f"use a value {lower}"
        raise refuse(f"must be {lower} and at most {most}, not {number_text}: {self.reason}", mend.replace(",", ""))

    def _holds(self, value: float) -> bool:
        return (value > self.above if self.least is None else value >= self.least) and value <= self.most


PIB: Final = 2**50

STORED = Bounds(most=100 * PIB, text=size_text, reason="no known HBase on S3 holds more")  # judgement
BLOCK = Bounds(least=KIB, most=16 * MIB, text=size_text, reason="hbase.lru.max.block.size, and it is a mean")
ROW = Bounds(most=GIB, text=size_text, reason="a RegionServer builds an answer in its heap")  # judgement: of 31 GiB
CELL = Bounds(most=16 * MIB, text=size_text, reason="the cell's block has to fit hbase.lru.max.block.size")
WRITES = Bounds(least=0, most=100 * GIB, text=size_text, reason="no EMR cluster takes in more")  # judgement
CELLS_PER_PUT = Bounds(least=1, most=100_000, reason="a client sends no larger batch to one region")  # judgement
RATIO = Bounds(least=1, most=1_000, reason="no codec does better on data worth keeping")  # judgement: zstd's is 3 to 30
PER_SECOND = Bounds(most=100_000_000, reason="1,000 RegionServers serve 100,000 each")  # judgement
CONCURRENCY = Bounds(least=1, most=100_000, reason="each request in flight is a thread of some client")  # judgement
ROWS = Bounds(least=1, most=100_000, reason="one request's rows are answered together")  # judgement
ZIPF = Bounds(most=3, reason="at 3 the hottest row already gets four fifths of all reads")
REGIONS = Bounds(
    least=1, most=1_000_000, reason="one HBase master assigns them all"
)  # HBase reference guide, HBASE-11165
PEAK = Bounds(
    least=1,
    most=1_000,
    text=lambda times: f"{times:g}x",
    reason="a peak is not below the mean, and at 1,000x all reads of a day fit into 86.4 seconds",
)  # judgement: no real load peaks higher
PEAK_HOURS = Bounds(
    most=23,
    text=lambda hours: f"{hours:g} hours",
    reason="a peak lasts longer than 0 hours, and leaves at least one other hour of the day",
)
GROWTH = Bounds(
    least=0, most=1, reason="data that doubles every month is 4,096 times as much after a year"
)  # judgement
HIT_RATIO = Bounds(most=1, reason="a cluster without a target hit ratio needs no cache (storage: {mode: s3-plain})")
DISCOUNT = Bounds(most=0.9, least=0, reason="savings plans and private pricing leave a part to pay")
HOT = Bounds(most=1, reason="an empty hot set gets no reads")
TIME = Bounds(
    most=8_760 * SECONDS_PER_HOUR,
    text=lambda seconds: f"{seconds:,.0f} s",
    reason="a limit above one year has no effect",
)
LOST_NODES = Bounds(
    least=0, most=10, reason="if more nodes fail at once, the zone has failed, and more nodes do not help"
)  # judgement
BUDGET = Bounds(least=1, most=1_000_000_000, reason="the value is in US dollars per month")
MAPPERS = Bounds(least=1, most=10_000, reason="each mapper is a YARN container on a core node")  # judgement
NODES = Bounds(least=2, most=10_000, reason="no EMR cluster has more core nodes")  # judgement
VOLUME = Bounds(
    least=5 * GIB,
    most=64 * TIB,
    text=size_text,
    reason="EMR offers no smaller volume for core nodes, and EBS no larger one",
)
VOLUMES = Bounds(least=1, most=gp3.EMR_MOST_VOLUMES, reason="a core node has at most 12 volumes for one purpose")
IOPS = Bounds(least=gp3.INCLUDED_IOPS, most=80_000, reason="gp3 includes 3,000 IOPS and takes no more than 80,000")
THROUGHPUT = Bounds(
    least=gp3.INCLUDED_MIB_S * MIB,
    most=2_000 * MIB,
    text=lambda rate: f"{size_text(rate)}/s",
    reason="gp3 includes 125 MiB/s and takes no more than 2,000",
)
