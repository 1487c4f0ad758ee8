from collections.abc import Callable, Iterable
from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.speed import loops
from warmbase.ground.units import MIB
from warmbase.sizing.service.queueing import (
    Handlers,
    LoadResult,
    Overloaded,
    QueueingNetwork,
    Station,
    _limited_throughput,
    closed_load,
    erlang_c,
    network,
    open_load,
)
from warmbase.sizing.service.resource import (
    Rates,
    Resource,
    ServingCluster,
    bottleneck,
    delay_seconds,
    ebs_disk,
    resources,
    seconds_alone,
)
from warmbase.sizing.workload.read import Hits, Read, Timings, blocks_per_row


@st.composite
def clusters(draw: st.DrawFn) -> tuple[QueueingNetwork, int]:
    """A network whose stations every one of n servers has, or all share; and n."""
    servers = draw(st.integers(1, 40))

    def station(copies: list[int]) -> st.SearchStrategy[Station]:
        return st.builds(
            Station,
            name=st.sampled_from(["cpu", "ebs-throughput", "s3-requests"]),
            demand_seconds=st.floats(1e-5, 1.0),
            copies=st.sampled_from(copies),
            channels=st.integers(1, 64),
        )

    net = QueueingNetwork(
        stations=(draw(station([servers])), *draw(st.lists(station([servers, 1]), max_size=3))),
        delay_seconds=draw(st.floats(0, 2)),
        think_seconds=draw(st.floats(0, 2)),
    )
    return net, servers


networks = clusters().map(lambda cluster: cluster[0])
limits = st.one_of(st.none(), st.integers(1, 60))


def limited_to(servers: int, per_server: int | None) -> Handlers | None:
    return None if per_server is None else Handlers(servers=servers, per_server=per_server)


State = tuple[int, ...]
Moves = Callable[[State], Iterable[tuple[State, float]]]


def chain_mean(start: State, moves: Moves, measure: Callable[[State], float]) -> float:
    """Mean of `measure` over the stationary states of a Markov chain, solved by brute force."""
    index = {start: 0}
    todo = [start]
    while todo:
        for after, _ in moves(todo.pop()):
            if after not in index:
                index[after] = len(index)
                todo.append(after)
    balance = np.zeros((len(index) + 1, len(index)))
    balance[-1] = 1.0
    for state, column in index.items():
        for after, rate in moves(state):
            balance[index[after], column] += rate
            balance[column, column] -= rate
    chances = np.linalg.lstsq(balance, np.append(np.zeros(len(index)), 1.0), rcond=None)[0]
    return float(sum(chances[column] * measure(state) for state, column in index.items()))


def moved(state: State, origin: int | None, to: int | None) -> State:
    counts = list(state)
    if origin is not None:
        counts[origin] -= 1
    if to is not None:
        counts[to] += 1
    return tuple(counts)


def most(net: QueueingNetwork) -> float:
    return min(station.max_reads_per_second for station in net.stations)


# -- laws


@given(clusters(), st.integers(1, 400), limits)
def test_littles_law_holds_for_a_closed_load(
    cluster: tuple[QueueingNetwork, int], requests: int, limit: int | None
) -> None:
    net, servers = cluster
    assert closed_load(net, requests, limited_to(servers, limit)).concurrency == pytest.approx(requests, rel=1e-9)


@given(networks, st.integers(1, 400))
def test_a_closed_load_stays_under_both_bounds(net: QueueingNetwork, requests: int) -> None:
    load = closed_load(net, requests)
    assert load.reads_per_second <= requests / (net.seconds_alone + net.think_seconds) * (1 + 1e-9)
    assert load.reads_per_second <= most(net) * (1 + 1e-9)
    assert all(0 <= busy <= 1 + 1e-9 for _, busy in load.utilisation)


@given(clusters(), st.integers(1, 300), limits)
def test_more_requests_never_lower_throughput(
    cluster: tuple[QueueingNetwork, int], requests: int, limit: int | None
) -> None:
    net, servers = cluster
    fewer, more = (closed_load(net, count, limited_to(servers, limit)) for count in (requests, requests + 1))
    assert more.reads_per_second >= fewer.reads_per_second * (1 - 1e-9)


@given(networks, st.integers(1, 300))
def test_more_requests_never_answer_sooner(net: QueueingNetwork, requests: int) -> None:
    fewer, more = closed_load(net, requests), closed_load(net, requests + 1)
    assert more.latency_seconds >= fewer.latency_seconds * (1 - 1e-9)


@given(clusters(), st.integers(1, 300), st.integers(1, 60))
def test_more_handlers_never_lower_throughput(
    cluster: tuple[QueueingNetwork, int], requests: int, per_server: int
) -> None:
    net, servers = cluster
    fewer, more = (closed_load(net, requests, limited_to(servers, limit)) for limit in (per_server, per_server + 1))
    assert more.reads_per_second >= fewer.reads_per_second * (1 - 1e-9)


@given(networks, st.floats(0.01, 0.98))
def test_littles_law_holds_for_an_open_load(net: QueueingNetwork, share: float) -> None:
    offered = share * most(net)
    load = open_load(net, offered)
    assert load.concurrency == pytest.approx(offered * (load.latency_seconds + load.think_seconds))
    assert load.latency_seconds >= net.seconds_alone * (1 - 1e-12)


@given(networks, st.floats(0.01, 0.97), st.floats(1.001, 1.02))
def test_a_higher_open_load_never_answers_sooner(net: QueueingNetwork, share: float, more: float) -> None:
    offered = share * most(net)
    assert open_load(net, offered * more).latency_seconds >= open_load(net, offered).latency_seconds * (1 - 1e-9)


# -- against closed forms


@pytest.mark.parametrize("requests", [1, 2, 7, 1_000])
def test_one_station_alone_is_always_busy(requests: int) -> None:
    load = closed_load(QueueingNetwork(stations=(Station(name="disk", demand_seconds=0.02),)), requests)
    assert load.reads_per_second == pytest.approx(50)
    assert load.latency_seconds == pytest.approx(requests / 50)


@pytest.mark.parametrize(("copies", "requests"), [(2, 3), (6, 1_000), (40, 7)])
def test_equal_stations_follow_their_closed_form(copies: int, requests: int) -> None:
    load = closed_load(QueueingNetwork(stations=(Station(name="disk", demand_seconds=0.02, copies=copies),)), requests)
    assert load.reads_per_second == pytest.approx(copies / 0.02 * requests / (requests + copies - 1))


@pytest.mark.parametrize("requests", [1, 5, 30])
def test_a_station_with_think_time_is_the_machine_repairman(requests: int) -> None:
    service, think = 0.05, 0.4
    terms = [1.0]
    for waiting in range(1, requests + 1):
        terms.append(terms[-1] * (requests - waiting + 1) * service / think)
    net = QueueingNetwork(stations=(Station(name="disk", demand_seconds=service),), think_seconds=think)
    expected = (1 - 1 / sum(terms)) / service
    assert closed_load(net, requests).reads_per_second == pytest.approx(expected)


def test_an_open_single_server_is_m_m_1() -> None:
    load = open_load(QueueingNetwork(stations=(Station(name="disk", demand_seconds=0.01),)), 80)
    assert load.latency_seconds == pytest.approx(0.01 / (1 - 0.8))
    assert load.waiting_seconds == pytest.approx(0.04)


@pytest.mark.parametrize(("channels", "offered", "waits"), [(1, 0.5, 0.5), (2, 1.0, 1 / 3), (3, 2.0, 4 / 9)])
def test_erlang_c_is_the_textbook_value(channels: int, offered: float, waits: float) -> None:
    assert erlang_c(channels, offered) == pytest.approx(waits)


# -- against brute force

DISK, CPU, S3, THINK = 0.03, 0.02, 0.15, 0.05


def test_mean_value_analysis_equals_the_markov_chain() -> None:
    """The network has three requests, two disks (state 0, 1), one CPU (2), S3 (3) and thinking (4)."""

    def moves(state: State) -> list[tuple[State, float]]:
        result = [(moved(state, disk, 2), 1 / DISK) for disk in (0, 1) if state[disk]]
        if state[2]:
            result.append((moved(state, 2, 3), 1 / CPU))
        if state[3]:
            result.append((moved(state, 3, 4), state[3] / S3))
        if state[4]:
            result += [(moved(state, 4, disk), state[4] / THINK / 2) for disk in (0, 1)]
        return result

    expected = chain_mean((0, 0, 0, 0, 3), moves, lambda state: state[4] / THINK)
    net = QueueingNetwork(
        stations=(
            Station(name="disk", demand_seconds=DISK, copies=2),
            Station(name="cpu", demand_seconds=CPU),
        ),
        delay_seconds=S3,
        think_seconds=THINK,
    )
    assert closed_load(net, 3).reads_per_second == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("requests", [1, 2, 3, 5, 20])
def test_several_channels_are_within_a_tenth_of_the_markov_chain(requests: int) -> None:
    """Seidmann's approximation is on the slow side: a CPU of 3 cores (0) and thinking (1)."""

    def moves(state: State) -> list[tuple[State, float]]:
        result = [(moved(state, 0, 1), min(state[0], 3) / CPU)] if state[0] else []
        return [*result, (moved(state, 1, 0), state[1] / THINK)] if state[1] else result

    expected = chain_mean((0, requests), moves, lambda state: state[1] / THINK)
    net = QueueingNetwork(stations=(Station(name="cpu", demand_seconds=CPU, channels=3),), think_seconds=THINK)
    assert 0.9 * expected <= closed_load(net, requests).reads_per_second <= expected * (1 + 1e-9)


@pytest.mark.parametrize("think", [0.02, 0.1, 0.5])
@pytest.mark.parametrize("per_server", [1, 2])
def test_a_handler_limit_is_within_three_percent_of_the_markov_chain(think: float, per_server: int) -> None:
    """The network has five requests; each of two servers: call queue (0, 3), disk (1, 4), S3 (2, 5); thinking (6)."""

    def admitted(state: State) -> State:
        for queue in (0, 3):
            while state[queue] and state[queue + 1] + state[queue + 2] < per_server:
                state = moved(state, queue, queue + 1)
        return state

    def moves(state: State) -> list[tuple[State, float]]:
        result = []
        for queue in (0, 3):
            if state[queue + 1]:
                result.append((moved(state, queue + 1, queue + 2), 1 / DISK))
            if state[queue + 2]:
                result.append((admitted(moved(state, queue + 2, 6)), state[queue + 2] / S3))
            if state[6]:
                result.append((admitted(moved(state, 6, queue)), state[6] / think / 2))
        return result

    expected = chain_mean((0, 0, 0, 0, 0, 0, 5), moves, lambda state: state[6] / think)
    net = QueueingNetwork(
        stations=(Station(name="disk", demand_seconds=DISK, copies=2),), delay_seconds=S3, think_seconds=think
    )
    load = closed_load(net, 5, Handlers(servers=2, per_server=per_server))
    assert load.reads_per_second == pytest.approx(expected, rel=0.03)


@given(clusters(), st.integers(1, 300))
def test_a_handler_limit_that_never_binds_changes_nothing(cluster: tuple[QueueingNetwork, int], requests: int) -> None:
    """One side is computed by convolution, the other by mean-value analysis."""
    net, servers = cluster
    limited = _limited_throughput(net, requests, Handlers(servers=servers, per_server=requests))
    assert limited == pytest.approx(closed_load(net, requests).reads_per_second, rel=1e-8)


@pytest.mark.parametrize("servers", [1, 6, 300])
def test_handlers_bound_a_load_that_waits(servers: int) -> None:
    net = QueueingNetwork(stations=(Station(name="disk", demand_seconds=1e-6, copies=servers),), delay_seconds=2.0)
    load = closed_load(net, 100 * servers, Handlers(servers=servers, per_server=10))
    assert load.reads_per_second == pytest.approx(servers * 10 / 2.0, rel=0.015)


# -- edges


def test_an_open_load_over_the_bottleneck_says_which() -> None:
    net = QueueingNetwork(stations=(Station(name="ebs-throughput", demand_seconds=0.01, copies=6),))
    with pytest.raises(Overloaded, match=r"ebs-throughput would be 1\.50 times"):
        open_load(net, 900)


def test_an_open_load_can_run_out_of_handlers() -> None:
    net = QueueingNetwork(stations=(Station(name="cpu", demand_seconds=1e-3, copies=2, channels=8),), delay_seconds=1.0)
    assert open_load(net, 10, Handlers(servers=2, per_server=30)).waiting_seconds < 1e-3
    with pytest.raises(Overloaded, match="handlers"):
        open_load(net, 61, Handlers(servers=2, per_server=30))


def test_no_requests_is_no_closed_load() -> None:
    with pytest.raises(ValueError, match="at least one request"):
        closed_load(QueueingNetwork(stations=()), 0)


def test_a_station_without_demand_is_never_the_bottleneck() -> None:
    assert Station(name="s3-requests", demand_seconds=0.0).max_reads_per_second == inf


def test_the_tighter_meter_of_a_disk_is_its_station() -> None:
    result = [
        Resource(name="cpu", capacity=48, unit="core", demand_per_read=0.01),
        Resource(name="ebs-throughput", capacity=6e8, unit="B/s", demand_per_read=1e6),
        Resource(name="ebs-iops", capacity=18_000, unit="IO/s", demand_per_read=60),
        Resource(name="s3-requests", capacity=5_500, unit="GET/s", demand_per_read=0.0),
        Resource(name="handlers", capacity=180, unit="handler", demand_per_read=0.2),
    ]
    net = network(result, servers=6, channels=8, delay_seconds=0.1)
    assert [station.name for station in net.stations] == ["cpu", "ebs-iops"]
    assert [station.max_reads_per_second for station in net.stations] == pytest.approx([4_800, 300])
    assert [station.demand_seconds for station in net.stations] == pytest.approx([0.01, 0.02])


# -- the published benchmark

VALUE_BYTES = 425
SERIALISED_BYTES = 470
PAYLOAD_BYTES = 65_536 + SERIALISED_BYTES // 2
ROW = Read(
    blocks=blocks_per_row(850_000, SERIALISED_BYTES, PAYLOAD_BYTES),
    cached_length_bytes=33 + PAYLOAD_BYTES + 13 + 8,
    on_disk_length_bytes=33 + PAYLOAD_BYTES + 20,
    answer_bytes=850_000,
)
WARM = Hits(ratio=1.0)


def six_servers(throughput_mib_per_second: float = 125, iops: float = 3_000) -> ServingCluster:
    """Return 6 x r8g.2xlarge (sustained: 3.75 Gbit/s, EBS 312.5 MB/s and 12,000 IOPS), one gp3 volume each."""
    disk = ebs_disk(
        Rates(bytes_per_second=throughput_mib_per_second * MIB, ios_per_second=iops),
        Rates(bytes_per_second=312_500_000, ios_per_second=12_000),
    )
    return ServingCluster(servers=6, vcpus=8, network_gbit_per_second=3.75, handlers=30, disk=disk)


def thousand_in_flight(cluster: ServingCluster, limit: Handlers | None = None) -> LoadResult:
    result = resources(cluster, ROW, WARM, Timings())
    net = network(result, 6, 8, delay_seconds(cluster, ROW, WARM, Timings()))
    return closed_load(net, 1_000, limit)


@pytest.mark.parametrize("limit", [None, Handlers(servers=6, per_server=30)])
def test_the_published_benchmark_is_predicted_within_five_percent(limit: Handlers | None) -> None:
    load = thousand_in_flight(six_servers(), limit)
    assert load.reads_per_second == pytest.approx(888.67, rel=0.05)
    assert load.latency_seconds == pytest.approx(1.127, rel=0.05)
    assert load.concurrency == pytest.approx(1_000)
    assert bottleneck(resources(six_servers(), ROW, WARM, Timings())).name == "ebs-throughput"


def test_more_throughput_than_its_iops_carry_helps_less() -> None:
    """At the instance's 312.5 MB/s, 3,000 IOPS of one 64 KiB block each bind first."""
    paid = resources(six_servers(throughput_mib_per_second=300), ROW, WARM, Timings())
    assert bottleneck(paid).name == "ebs-iops"
    both = thousand_in_flight(six_servers(throughput_mib_per_second=300, iops=6_000))
    assert both.reads_per_second == pytest.approx(850 * 312.5 / 131.072, rel=0.01)


def test_time_alone_is_the_same_from_resources_and_from_the_network() -> None:
    cluster = six_servers()
    result = resources(cluster, ROW, WARM, Timings())
    net = network(result, 6, 8, delay_seconds(cluster, ROW, WARM, Timings()))
    assert net.seconds_alone == pytest.approx(seconds_alone(cluster, ROW, WARM, Timings()))


@pytest.mark.bench
@pytest.mark.parametrize("limit", [None, Handlers(servers=6, per_server=30)])
def test_a_thousand_in_flight_are_quick(limit: Handlers | None) -> None:
    assert loops(lambda: thousand_in_flight(six_servers(), limit)) < 0.06
