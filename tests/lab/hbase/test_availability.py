"""The outages of regions come from the prober's answer, and their chart ends when probing ends."""

from __future__ import annotations

from itertools import pairwise
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.hbase.admin import Admin
from lab.hbase.result import Outage
from lab.hbase.scenarios.crash import INTERVAL_SECONDS, offline_regions, probed


class Answers:
    """An admin process that answers with what it is told, and notes the calls."""

    def __init__(self) -> None:
        self.calls: list[tuple[object, ...]] = []

    def probe(self, *call: object) -> None:
        """Note the call."""
        self.calls.append(call)

    def probed(self) -> object:
        """Return two regions; one of them was offline twice, the second time until the end."""
        return {
            "seconds": 60.0,
            "regions": [
                {"region": "a", "server": "localhost,20001,1", "reads": 120, "outages": [[10.0, 31.5], [50.0, None]]},
                {"region": "b", "server": "localhost,20002,1", "reads": 120, "outages": []},
            ],
        }


def test_an_outage_is_of_the_server_that_had_the_region() -> None:
    admin = Answers()
    with pytest.raises(KeyError), probed(cast("Admin", admin), "t", "crash", (20001, 20002)) as probes:
        raise KeyError
    assert admin.calls == [("t", INTERVAL_SECONDS)]
    first = Outage(case="crash", region="a", server=0, begin_seconds=10.0, seconds=21.5)
    assert probes.of_server(0) == (first, Outage(case="crash", region="a", server=0, begin_seconds=50.0, seconds=None))
    assert probes.of_server(1) == ()
    assert (probes.regions, probes.seconds) == ({"a": 0, "b": 1}, 60.0)


outages = st.builds(
    Outage,
    case=st.just(""),
    region=st.just("a"),
    server=st.just(0),
    begin_seconds=st.floats(0, 40),
    seconds=st.none() | st.floats(0.1, 10),
)


@given(st.lists(outages, max_size=6))
def test_the_area_under_the_curve_is_the_time_offline(series: list[Outage]) -> None:
    points = offline_regions(series, 60.0)
    area = sum((after[0] - before[0]) * before[1] for before, after in pairwise(points))
    until_the_end = sum(60.0 - one.begin_seconds if one.seconds is None else one.seconds for one in series)
    assert area == pytest.approx(until_the_end)
    assert points[-1] == (60.0, sum(one.seconds is None for one in series))
