"""The store's proxy, as a process, between raw sockets and a server that echoes; and the real S3 server behind it."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import threading
import time
import urllib.request
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator, Iterator
from contextlib import closing, contextmanager, suppress
from http import HTTPStatus
from http.client import HTTPConnection
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import parse_qsl, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace

from lab.hbase.software.jars import STORE, jar_sets
from lab.hbase.software.setup import jars_directory, runtime
from lab.hbase.store import (
    BUCKET,
    Conditions,
    Program,
    Settings,
    StoreClient,
    StoreCounters,
    start_proxy,
    start_store,
    store_at,
)
from lab.hbase.store.connection import HEAD_BYTES, BodyLength, Malformed, RequestHead, Response, body
from lab.machine.paths import HOST, LabPaths, free_ports
from lab.machine.process import RunningProcess
from tests.patience import HANG_SECONDS, wait_until
from warmbase.ground.errors import OperationFailed

SEED = 7
MIB = 1024 * 1024
WAITS = {"expect": "100-continue"}
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


class Stub(Struct, dict=True):
    """An HTTP server on loopback: answers with the very bytes that asked, framed as `?answer=` says."""

    port: int
    heads: int = 0
    """Requests that have begun to come."""
    lost: int = 0
    """Those of which not all has come, or whose answer did not go out."""

    def __post_init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.hears = asyncio.Event()
        self.listening = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        server = self.loop.run_until_complete(asyncio.start_server(self._serve, HOST, self.port))
        self.listening.set()
        self.loop.run_forever()
        server.close()

    async def _serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        try:
            while await self._exchange(reader, writer):
                pass
        except asyncio.IncompleteReadError as cut:
            self.lost += bool(cut.partial) or cut.expected != 0
        except ConnectionError:
            self.lost += 1
        finally:
            writer.close()

    async def _exchange(self, reader: StreamReader, writer: StreamWriter) -> bool:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError:
            return False
        self.heads += 1
        sent = sent_to(head)
        if sent.get("answer") == "deaf":
            await self.hears.wait()
            return False
        if sent.get("answer") == "early":
            writer.write(answer_of(head))
        elif WAITS["expect"].encode() in head:
            writer.write(CONTINUE)
        raw = head + await body_of(head, reader)
        if sent.get("answer") != "early":
            writer.write(answer_of(raw))
        await writer.drain()
        return sent.get("answer") not in {"until-close", "cut", "leave"}


def sent_to(head: bytes) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(head.split(b" ", 2)[1].decode()).query))


async def body_of(head: bytes, reader: StreamReader) -> bytes:
    fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:-2])
    if b"transfer-encoding" not in fields:
        return await reader.readexactly(int(fields.get(b"content-length", 0)))
    body = b""
    while not body.endswith(b"\r\n0\r\n"):
        size = await reader.readuntil(b"\r\n")
        body += size
        if int(size.partition(b";")[0], 16):
            body += await reader.readexactly(int(size.partition(b";")[0], 16) + 2)
        else:
            break
    while (line := await reader.readuntil(b"\r\n")) != b"\r\n":
        body += line
    return body + line


def answer_of(raw: bytes) -> bytes:
    """Return what the stub answers; `zeros` of them instead of an echo."""
    sent = sent_to(raw)
    echo = bytes(int(sent["zeros"])) if "zeros" in sent else raw
    sized = b"HTTP/1.1 200 OK\r\nETag: x\r\nContent-Length: %d\r\n\r\n" % len(echo)
    if raw.startswith(b"HEAD"):
        return sized
    answer = sent.get("answer", "sized")
    if answer == "chunked":
        return in_chunks(echo)
    if answer == "until-close":
        return b"HTTP/1.1 200 OK\r\n\r\n" + echo
    return ANSWERS.get(answer, sized + echo)


ANSWERS = {
    "cut": b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n0123456789",
    "none": b"HTTP/1.1 204 No Content\r\n\r\n",
    "same": b"HTTP/1.1 304 Not Modified\r\nContent-Length: 1000\r\n\r\n",
    "error": b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 4\r\n\r\noops",
    "early": b"HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno",
}


def in_chunks(echo: bytes) -> bytes:
    pieces = [echo[:1], echo[1:40], echo[40:]]
    chunks = b"".join(b"%X;x=y\r\n%s\r\n" % (len(piece), piece) for piece in pieces if piece)
    return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\nX-Sum: 1\r\n\r\n"


def request(method: str, target: str, body: bytes | None = None, **fields: str) -> bytes:
    length = {} if body is None else {"content-length": str(len(body))}
    lines = [f"{name.replace('_', '-')}: {value}\r\n" for name, value in {"host": "s3", **fields, **length}.items()]
    return f"{method} {target} HTTP/1.1\r\n{''.join(lines)}\r\n".encode() + (body or b"")


def chunked(target: str, *pieces: bytes) -> bytes:
    chunks = b"".join(b"%x;chunk-signature=%s\r\n%s\r\n" % (len(piece), b"0" * 64, piece) for piece in pieces if piece)
    return request("PUT", target, transfer_encoding="chunked") + chunks + b"0\r\nx-amz-sum: 1\r\n\r\n"


def read(connection: socket.socket, count: int) -> bytes:
    """Read so many bytes, or fewer at the end."""
    data = b""
    while len(data) < count and (piece := connection.recv(count - len(data))):
        data += piece
    return data


class Bench(Struct, frozen=True, dict=True):
    """The proxy between a client and the stub."""

    store: StoreClient
    stub: Stub
    proxy: RunningProcess

    @contextmanager
    def connection(self) -> Iterator[socket.socket]:
        """Return a client's connection."""
        with socket.create_connection((HOST, self.store.port), timeout=HANG_SECONDS) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            yield connection

    def answer(self, connection: socket.socket, sent: bytes) -> None:
        """Asks, and holds the answer against the stub's."""
        connection.sendall(sent)
        expected = answer_of(sent)
        assert read(connection, len(expected)) == expected

    def resident_bytes(self) -> int:
        """Return the proxy's resident bytes."""
        status = Path(f"/proc/{self.proxy.id}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) * 1024


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    place = LabPaths(root=tmp_path_factory.mktemp("store"), ports=free_ports())
    stub = Stub(place.ports.store)
    stub.thread.start()
    assert stub.listening.wait(HANG_SECONDS)
    proxy = start_proxy(place, seed=SEED)
    yield Bench(store=store_at(place.ports), stub=stub, proxy=proxy)
    proxy.stop(HANG_SECONDS)
    stub.loop.call_soon_threadsafe(stub.loop.stop)
    stub.thread.join(HANG_SECONDS)


@pytest.fixture
def bench(shared: Bench) -> Bench:
    shared.store.set(Settings())
    wait_until(lambda: shared.store.counters().open_connections == 0)
    shared.store.reset()
    return shared


TARGETS = st.sampled_from(
    [
        "/lab/hbase/data/t",
        "/lab/x?answer=chunked",
        "/lab/x?answer=none",
        "/lab/x?answer=same",
        "/lab/x?answer=error",
        "/lab/x?answer=leave",
        "/lab",
    ]
)
BODIES = st.binary(max_size=2000)
REQUESTS = st.one_of(
    st.builds(request, st.sampled_from(["GET", "HEAD", "DELETE"]), TARGETS),
    st.builds(request, st.sampled_from(["PUT", "POST"]), TARGETS, BODIES),
    st.builds(chunked, TARGETS, BODIES, BODIES),
)


@given(sent=st.lists(REQUESTS, min_size=1, max_size=6), cuts=st.lists(st.integers(0, 4000), max_size=12))
def test_bytes_pass_unchanged_however_they_are_split(shared: Bench, sent: list[bytes], cuts: list[int]) -> None:
    # A server that leaves does not read what was pipelined behind: only the last may make it.
    sent = [item for item in sent if b"answer=leave" not in item] + [item for item in sent if b"leave" in item][:1]
    stream, expected = b"".join(sent), b"".join(map(answer_of, sent))
    shared.store.set(Settings())
    with shared.connection() as connection:
        for start, end in pairwise([0, *sorted(cut for cut in cuts if 0 < cut < len(stream)), len(stream)]):
            connection.sendall(stream[start:end])
            time.sleep(0.001)
        assert read(connection, len(expected)) == expected


@given(pieces=st.lists(BODIES, max_size=4), cuts=st.lists(st.integers(0, 9000), max_size=30), rest=BODIES)
def test_chunks_end_where_they_end_however_they_are_split(pieces: list[bytes], cuts: list[int], rest: bytes) -> None:
    framed = chunked("/", *pieces).partition(b"\r\n\r\n")[2]
    stream = framed + rest

    async def framed_part() -> bytes:
        reader = StreamReader()
        ends = [0, *sorted(cut for cut in cuts if 0 < cut < len(stream)), len(stream)]
        frames = asyncio.create_task(joined(body(reader, "chunked")))
        for start, end in pairwise(ends):
            reader.feed_data(stream[start:end])
            await asyncio.sleep(0)
        return await frames

    assert asyncio.run(framed_part()) == framed


async def joined(pieces: AsyncIterator[bytes]) -> bytes:
    return b"".join([piece async for piece in pieces])


@pytest.mark.parametrize(
    "head",
    [
        b"PUT / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"PUT / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n",
        b"GET /\r\n\r\n",
        b"\x16\x03\x01 tls / \r\n\r\n",
    ],
)
def test_what_has_no_frame_is_refused(head: bytes) -> None:
    with pytest.raises(Malformed):
        RequestHead.of(head)


@pytest.mark.parametrize(
    ("method", "head", "length", "ends"),
    [
        (b"HEAD", b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", 0, False),
        (b"GET", b"HTTP/1.1 204 No Content\r\n\r\n", 0, False),
        (b"GET", b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", 0, False),
        (b"GET", b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", 5, False),
        (b"GET", b"HTTP/1.1 200 OK\r\ncontent-length:0\r\nConnection: close\r\n\r\n", 0, True),
        (b"GET", b"HTTP/1.0 200 OK\r\n\r\n", "until closed", True),
    ],
)
def test_a_head_says_where_its_answer_ends(method: bytes, head: bytes, length: BodyLength, *, ends: bool) -> None:
    response = Response.of(head, method)
    assert (response.body_length, response.ends_connection) == (length, ends)


@pytest.mark.parametrize("sent", [b"nobody speaks so\r\n\r\n", b"GET / HTTP/1.1\r\n" + b"x" * HEAD_BYTES * 2])
def test_what_is_no_request_ends_its_own_connection_only(bench: Bench, sent: bytes) -> None:
    with bench.connection() as good, bench.connection() as bad:
        bench.answer(good, request("GET", "/lab/x"))
        with suppress(ConnectionError):
            bad.sendall(sent)
            assert not read(bad, 1)
        bench.answer(good, request("GET", "/lab/x"))


COUNTED_REQUESTS = [
    (request("GET", "/lab/hbase/data/t/f", range="bytes=0-9"), StoreCounters(gets=1, store_file_gets=1)),
    (request("GET", "/lab/hbase/archive/data/t/f"), StoreCounters(gets=1, store_file_gets=1)),
    (request("GET", "/lab/hbase/hbase.id?x=/data/"), StoreCounters(gets=1)),
    (request("GET", "/lab?list-type=2&prefix=hbase/data/"), StoreCounters(lists=1)),
    (request("GET", "/lab/?uploads"), StoreCounters(lists=1)),
    (request("GET", "/"), StoreCounters(lists=1)),
    (request("GET", "/lab/hbase/data/f?uploadId=1"), StoreCounters(lists=1)),
    (request("HEAD", "/lab/hbase/data/t/f"), StoreCounters(heads=1)),
    (request("PUT", "/lab/hbase/data/t/f", b"12345"), StoreCounters(puts=1)),
    (request("POST", "/lab/hbase/data/t/f?uploads", b""), StoreCounters(posts=1)),
    (request("DELETE", "/lab/hbase/data/t/f"), StoreCounters(deletes=1)),
    (request("OPTIONS", "/lab"), StoreCounters(others=1)),
]


@pytest.mark.parametrize(("sent", "expected"), COUNTED_REQUESTS)
def test_every_request_is_counted_once_as_what_it_is(bench: Bench, sent: bytes, expected: StoreCounters) -> None:
    before = bench.store.counters()
    with bench.connection() as connection:
        bench.answer(connection, sent)
        counted_before = bench.store.counters() - before
    wire = replace(expected, bytes_up=len(sent), bytes_down=len(answer_of(sent)), open_connections=1)
    assert replace(counted_before, cpu_seconds=0.0) == wire
    assert counted_before.requests == 1
    assert counted_before.cpu_seconds > 0


def test_reset_counts_from_nothing_but_what_is_open(bench: Bench) -> None:
    with bench.connection() as connection:
        bench.answer(connection, request("GET", "/lab/x"))
        before = bench.store.counters()
        bench.store.reset()
        after = bench.store.counters()
    assert (after.requests, after.bytes_up, after.bytes_down, after.open_connections) == (0, 0, 0, 1)
    assert after.cpu_seconds < before.cpu_seconds


def test_first_byte_comes_no_sooner_than_the_latency_and_every_answer_has_its_own(bench: Bench) -> None:
    bench.store.set(Settings(latency_ms=60))
    with bench.connection() as connection:
        began = time.monotonic()
        connection.sendall(request("GET", "/lab/x") * 3)
        for number in (1, 2, 3):
            expected = answer_of(request("GET", "/lab/x"))
            assert read(connection, 1) == expected[:1]
            assert time.monotonic() - began >= 0.060 * number
            assert read(connection, len(expected) - 1) == expected[1:]


@pytest.mark.bench
def test_a_latency_of_60_ms_costs_not_much_more(bench: Bench) -> None:
    bench.store.set(Settings(latency_ms=60))
    with bench.connection() as connection:
        began = time.monotonic()
        connection.sendall(request("GET", "/lab/x") * 3)
        read(connection, 3 * len(answer_of(request("GET", "/lab/x"))))
        assert time.monotonic() - began < 0.5


def test_permission_to_send_a_body_does_not_wait(bench: Bench) -> None:
    """The latency is longer than a connection of these tests waits: permission that waited would not be read."""
    bench.store.set(Settings(latency_ms=10 * 1000 * HANG_SECONDS))
    sent = request("PUT", "/lab/x", b"body", **WAITS)
    with bench.connection() as connection:
        connection.sendall(sent[:-4])
        assert read(connection, len(CONTINUE)) == CONTINUE


def test_the_answer_to_a_body_waits(bench: Bench) -> None:
    bench.store.set(Settings(latency_ms=400))
    sent = request("PUT", "/lab/x", b"body", **WAITS)
    with bench.connection() as connection:
        began = time.monotonic()
        connection.sendall(sent[:-4])
        assert read(connection, len(CONTINUE)) == CONTINUE
        connection.sendall(sent[-4:])
        assert read(connection, len(answer_of(sent))) == answer_of(sent)
        assert time.monotonic() - began >= 0.4


def test_latency_has_the_median_and_the_percentile_that_were_set() -> None:
    conditions = Conditions(Settings(latency_ms=20, latency_p99_ms=80), SEED)
    drawn = sorted(conditions.latency_seconds() for _ in range(40_000))
    assert drawn[20_000] == pytest.approx(0.020, rel=0.03)
    assert drawn[39_600] == pytest.approx(0.080, rel=0.08)
    again = Conditions(Settings(latency_ms=20, latency_p99_ms=80), SEED)
    assert sorted(again.latency_seconds() for _ in range(40_000)) == drawn
    assert Conditions(Settings(latency_ms=20, latency_p99_ms=80), SEED + 1).latency_seconds() not in drawn


REFUSABLE = [
    request("GET", "/lab/x"),
    request("HEAD", "/lab/x"),
    request("PUT", "/lab/x", b"z" * 5000),
    chunked("/lab/x", b"one", b"two" * 3000),
]


def test_seed_says_which_requests_are_refused_and_the_connection_goes_on(bench: Bench) -> None:
    settings = Settings(slowed_fraction=0.3)
    drawn = Conditions(settings, SEED)
    expected = [drawn.refuses(0.0) for _ in range(200)]
    bench.store.set(settings)
    answered = []
    with bench.connection() as connection:
        for number in range(200):
            sent = REFUSABLE[number % len(REFUSABLE)]
            connection.sendall(sent)
            status = read(connection, 12)
            answered.append(status == b"HTTP/1.1 503")
            head = read_head(connection)
            body = read(connection, int(head["content-length"])) if not sent.startswith(b"HEAD") else b""
            assert (b"<Code>SlowDown</Code>" in body) == (answered[-1] and not sent.startswith(b"HEAD"))
    assert answered == expected
    assert 30 < sum(expected) < 90
    assert bench.store.counters().slowed == sum(expected)
    assert bench.store.counters().requests == 200


def read_head(connection: socket.socket) -> dict[str, str]:
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += read(connection, 1)
    return dict(line.lower().split(": ", 1) for line in head.decode().split("\r\n")[1:-2])


def test_refused_upload_is_requested_for_and_dropped(bench: Bench) -> None:
    bench.store.set(Settings(slowed_fraction=1))
    sent = request("PUT", "/lab/x", b"body", **WAITS)
    with bench.connection() as connection:
        connection.sendall(sent[:-4])
        assert read(connection, len(CONTINUE)) == CONTINUE
        connection.sendall(sent[-4:])
        assert read(connection, 12) == b"HTTP/1.1 503"
        read(connection, int(read_head(connection)["content-length"]))
        bench.store.set(Settings())
        bench.answer(connection, request("GET", "/lab/x"))


def test_refusals_of_many_pipelined_requests_do_not_nest(bench: Bench) -> None:
    bench.store.set(Settings(slowed_fraction=1))
    with bench.connection() as connection:
        connection.sendall(request("HEAD", "/lab/x") * 3000)
        wait_until(lambda: bench.store.counters().slowed == 3000)


def test_rate_allows_what_is_below_it() -> None:
    conditions = Conditions(Settings(allowed_requests_per_second=50), SEED)
    assert not any(conditions.refuses(number / 49) for number in range(1000))
    assert sum(not conditions.refuses(100 + number / 100) for number in range(1000)) == pytest.approx(500, abs=6)


def seconds_of_two(bench: Bench, rate: int, size: int, *, is_up: bool) -> list[float]:
    """Return how long two connections take side by side, each for so many bytes."""
    bench.store.set(Settings(stream_bytes_per_second=rate))
    sent = request("PUT", "/lab/x?zeros=1", bytes(size)) if is_up else request("GET", f"/lab/x?zeros={size}")
    with bench.connection() as one, bench.connection() as other:
        began = time.monotonic()
        ends: list[float] = []

        def exchange(connection: socket.socket) -> None:
            bench.answer(connection, sent)
            ends.append(time.monotonic() - began)

        threads = [threading.Thread(target=exchange, args=(item,)) for item in (one, other)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(HANG_SECONDS)
    assert len(ends) == 2
    return ends


@pytest.mark.parametrize("is_up", [False, True])
def test_every_connection_has_its_bandwidth_at_most(bench: Bench, *, is_up: bool) -> None:
    # Less by the heads at most.
    assert min(seconds_of_two(bench, 4 * MIB, 2 * MIB, is_up=is_up)) >= 0.95 * 0.5


@pytest.mark.bench
@pytest.mark.parametrize("is_up", [False, True])
def test_two_connections_do_not_share_a_bandwidth(bench: Bench, *, is_up: bool) -> None:
    assert max(seconds_of_two(bench, 4 * MIB, 2 * MIB, is_up=is_up)) < 1.8 * 0.5


def test_bandwidth_is_not_saved_up_while_idle(bench: Bench) -> None:
    bench.store.set(Settings(stream_bytes_per_second=MIB))
    with bench.connection() as connection:
        bench.answer(connection, request("GET", "/lab/x"))
        time.sleep(0.3)
        began = time.monotonic()
        bench.answer(connection, request("GET", f"/lab/x?zeros={MIB // 4}"))
        assert time.monotonic() - began >= 0.25


def test_client_that_leaves_takes_nobody_with_it(bench: Bench) -> None:
    lost, heads = bench.stub.lost, bench.stub.heads
    with bench.connection() as stays:
        with bench.connection() as uploads:
            uploads.sendall(request("PUT", "/lab/x", bytes(100_000))[:50_000])
            wait_until(lambda: bench.stub.heads == heads + 1)
        with bench.connection() as downloads:
            downloads.sendall(request("GET", f"/lab/x?zeros={32 * MIB}"))
            read(downloads, 1000)
        bench.answer(stays, request("GET", "/lab/x"))
        wait_until(lambda: bench.store.counters().open_connections == 1)
        wait_until(lambda: bench.stub.lost == lost + 2)
        bench.answer(stays, request("GET", "/lab/x"))


@pytest.mark.parametrize("answer", ["until-close", "cut"])
def test_answer_that_ends_only_with_its_connection_passes(bench: Bench, answer: str) -> None:
    bench.store.set(Settings(latency_ms=30))
    with bench.connection() as connection:
        bench.answer(connection, request("GET", f"/lab/x?answer={answer}"))
        assert not read(connection, 1)


def test_server_that_leaves_between_requests_is_requested_anew(bench: Bench) -> None:
    with bench.connection() as connection:
        for _ in range(3):
            bench.answer(connection, request("GET", "/lab/x?answer=leave"))
            time.sleep(0.05)


def test_answer_before_the_body_passes_and_the_next_request_too(bench: Bench) -> None:
    sent = request("PUT", "/lab/x?answer=early", bytes(1000))
    with bench.connection() as connection:
        connection.sendall(sent[:-500])
        assert read(connection, len(answer_of(sent))) == answer_of(sent)
        connection.sendall(sent[-500:])
        bench.answer(connection, request("GET", "/lab/x"))


def test_connection_ends_when_a_body_was_announced_and_not_wanted(bench: Bench) -> None:
    sent = request("PUT", "/lab/x?answer=early", bytes(1000), **WAITS)
    with bench.connection() as connection:
        connection.sendall(sent[:-1000])
        assert read(connection, len(answer_of(sent)) + 1) == answer_of(sent)


def test_nobody_reading_holds_the_other_side(bench: Bench) -> None:
    announced = request("PUT", "/lab/x?answer=deaf", b"")[:-5].replace(b"length: ", b"length: 9999999")
    with bench.connection() as downloads, bench.connection() as uploads:
        before = bench.resident_bytes()
        downloads.sendall(request("GET", f"/lab/x?zeros={64 * MIB}"))
        uploads.sendall(announced)
        uploads.settimeout(1.0)
        with pytest.raises(TimeoutError):
            uploads.sendall(b"\r\n\r\n" + bytes(64 * MIB))
        assert bench.resident_bytes() - before < 8 * MIB
    bench.stub.loop.call_soon_threadsafe(bench.stub.hears.set)


def test_no_server_ends_the_connection(tmp_path: Path) -> None:
    place = LabPaths(root=tmp_path, ports=free_ports())
    proxy = start_proxy(place)
    try:
        with socket.create_connection((HOST, place.ports.endpoint), timeout=HANG_SECONDS) as connection:
            connection.sendall(request("GET", "/lab/x"))
            assert not read(connection, 1)
        assert store_at(place.ports).counters().gets == 1
    finally:
        proxy.stop(HANG_SECONDS)
    assert not store_at(place.ports).is_up
    with pytest.raises(OperationFailed, match="does not answer GET /counters"):
        store_at(place.ports).counters()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"latency_ms": -1}, "latency_ms is -1; it must be a number that is not negative"),
        ({"latency_ms": "20"}, "latency_ms is '20'; it must be a number"),
        ({"latency_ms": float("inf")}, "latency_ms is inf; it must be a number"),
        ({"latency_ms": 20, "latency_p99_ms": 10}, "its median, 20, must be above 0 and at most as large"),
        ({"latency_p99_ms": 10}, "its median, 0.0, must be above 0"),
        ({"slowed_fraction": 1.5}, "it must be from 0 to 1"),
        ({"stream_bytes_per_second": 0}, "leave it out for no limit"),
        ({"latency": 20}, "latency; the proxy has no such setting"),
    ],
)
def test_settings_that_make_no_sense_are_refused(shared: Bench, values: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        Settings.of(values)
    url = f"http://{HOST}:{shared.store.control_port}/settings"
    earlier = shared.store.settings()
    with (
        pytest.raises(HTTPError) as refused,
        closing(urllib.request.urlopen(url, json.dumps(values).encode(), HANG_SECONDS)),
    ):
        pass
    assert refused.value.code == HTTPStatus.BAD_REQUEST
    assert message in json.load(refused.value)["error"]
    assert shared.store.settings() == earlier


def test_settings_are_stored_as_set(bench: Bench) -> None:
    settings = Settings(
        latency_ms=1,
        latency_p99_ms=2.5,
        stream_bytes_per_second=3e6,
        slowed_fraction=0.1,
        allowed_requests_per_second=9,
    )
    bench.store.set(settings)
    assert bench.store.settings() == settings


def program() -> Program:
    """The real server's, or a skip."""
    result = runtime()
    jars = [jars_directory() / jar.path for jar in jar_sets()[STORE]]
    if result is None or not all(jar.exists() for jar in jars):
        pytest.skip("the lab is not set up")
    return Program(java=result.java, class_path=[str(jar) for jar in jars])


@pytest.mark.lab
def test_objects_are_read_in_ranges_and_outlive_the_server(tmp_path: Path) -> None:
    place = LabPaths(root=tmp_path / "läb store", ports=free_ports())
    content, jars = os.urandom(20 * MIB), program()
    for is_first in (True, False):
        running = start_store(place, jars, seed=SEED)
        try:
            if is_first:
                assert s3(running.store, "PUT", "/hbase/data/f", content) == (HTTPStatus.OK, b"")
            for start in (0, 7 * MIB + 1, 20 * MIB - 65536):
                sent = {"range": f"bytes={start}-{start + 65535}"}
                status, got = s3(running.store, "GET", "/hbase/data/f", fields=sent)
                assert (status, got) == (HTTPStatus.PARTIAL_CONTENT, content[start : start + 65536])
            assert s3(running.store, "GET", "/missing")[0] == HTTPStatus.NOT_FOUND
            assert b"<Key>hbase/data/f</Key>" in s3(running.store, "GET", "?list-type=2")[1]
            counted = running.store.counters()
            assert (counted.gets, counted.lists, counted.puts) == (4, 1, int(is_first))
        finally:
            running.stop()
        assert not running.proxy.is_alive
        assert not running.server.is_alive


def s3(
    store: StoreClient, method: str, path: str, body: bytes = b"", fields: dict[str, str] | None = None
) -> tuple[int, bytes]:
    with closing(HTTPConnection(HOST, store.port, timeout=HANG_SECONDS)) as connection:
        connection.request(method, f"/{BUCKET}{path}", body=body or None, headers=fields or {})
        answer = connection.getresponse()
        return answer.status, answer.read()
