"""The figures that a cluster's dashboards draw, recorded once a second while something happens to its servers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, Self

from msgspec import Struct

DRAWN_SECONDS: Final = 12
"""The drawn seconds for each recorded second; intervals in HBase's configuration are shortened by the same factor."""

Figures = Mapping[str, float]
"""Figures by the attribute of JMX, or by the name of the metric where no bean has the figure."""


class ClusterSample(Struct, frozen=True, kw_only=True):
    """All figures at one moment, in `seconds` since the recording began. A server that did not answer has None."""

    seconds: float
    cluster: Figures
    """The figures of the master, of S3, and of the machine on which all servers run."""
    servers: tuple[Figures | None, ...]


class ServerEvent(Struct, frozen=True, kw_only=True):
    """An event of one server, such as `kill`, at a second of the recording."""

    seconds: float
    server: int
    what: str


class ClusterRecording(Struct, frozen=True, kw_only=True):
    """The samples and events, and the limits of the recorded servers by name, such as `heap_mib`."""

    limits: Figures
    events: tuple[ServerEvent, ...]
    samples: tuple[ClusterSample, ...]

    def to_json(self) -> str:
        """Return the recording as JSON, one sample on each line, its figures in the order of `figures`."""
        cluster = list(self.samples[0].cluster)
        server = list(next(figures for sample in self.samples for figures in sample.servers if figures))
        head = {
            "limits": dict(self.limits),
            "events": [[event.seconds, event.server, event.what] for event in self.events],
            "figures": {"cluster": cluster, "server": server},
        }
        rows = ",\n  ".join(json.dumps(_row(sample, cluster, server), separators=(",", ":")) for sample in self.samples)
        return f'{json.dumps(head)[:-1]},\n "samples": [\n  {rows}]}}\n'

    @classmethod
    def of_json(cls, text: str) -> Self:
        """Return the recording in the text."""
        value = json.loads(text)
        names = value["figures"]
        return cls(
            limits=value["limits"],
            events=tuple(
                ServerEvent(seconds=seconds, server=server, what=what) for seconds, server, what in value["events"]
            ),
            samples=tuple(
                ClusterSample(
                    seconds=seconds,
                    cluster=_named(names["cluster"], cluster),
                    servers=tuple(row and _named(names["server"], row) for row in servers),
                )
                for seconds, cluster, *servers in value["samples"]
            ),
        )


def _row(sample: ClusterSample, cluster: Sequence[str], server: Sequence[str]) -> list[Any]:
    servers = ([_short(figures[name]) for name in server] if figures else None for figures in sample.servers)
    return [_short(sample.seconds), [_short(sample.cluster[name]) for name in cluster], *servers]


def _short(value: float) -> float:
    """Return a count as it is, and any other figure with three decimals."""
    return value if isinstance(value, int) else round(value, 3)


def _named(names: Sequence[str], values: Sequence[float]) -> Figures:
    return dict(zip(names, values, strict=True))
