"""One client's connection through the proxy, whose requests are forwarded or refused one after another."""

from __future__ import annotations

import asyncio
from asyncio import AbstractEventLoop, BaseTransport, Protocol, Transport
from collections.abc import Callable
from contextlib import suppress
from typing import Final, cast

from lab.hbase.store.client import Tally
from lab.hbase.store.flow import Flow, ReadGate
from lab.hbase.store.framing import HEAD_BYTES, Malformed, RequestHead, Response
from lab.hbase.store.settings import Conditions

CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"
SLOW_DOWN: Final = (
    b'<?xml version="1.0" encoding="UTF-8"?>\n'
    b"<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message>"
    b"<RequestId>LAB</RequestId><HostId>lab</HostId></Error>"
)
REFUSAL: Final = (
    b"HTTP/1.1 503 Slow Down\r\nx-amz-request-id: LAB\r\nContent-Type: application/xml\r\nContent-Length: %d\r\n\r\n"
    % len(SLOW_DOWN)
)


class Proxied:
    """The state that all connections share: the server's address, the counters, and the current conditions."""

    __slots__ = ("conditions", "host", "loop", "port", "tally")

    def __init__(self, loop: AbstractEventLoop, host: str, port: int, conditions: Conditions) -> None:
        self.loop = loop
        self.host = host
        self.port = port
        self.conditions = conditions
        self.tally = Tally()


class Client(Protocol):
    """The client's side of a connection, which drives the server's side.

    Pipelined requests wait, unread, until the one before is answered: an answer has its own delay.
    """

    def __init__(self, proxied: Proxied) -> None:
        self._proxied = proxied
        self._up = Flow(proxied.loop)
        self._down = Flow(proxied.loop, self._count_down)
        self._transport: Transport | None = None
        self._reading: ReadGate | None = None
        self._upstream: _Upstream | None = None
        self._connecting: asyncio.Task[object] | None = None
        self._pending = b""
        """Bytes from the client: an unfinished head, or requests before their turn."""
        self._answered = b""
        """Bytes from the server: an unfinished head."""
        self._request: RequestHead | None = None
        self._response: Response | None = None
        self._is_refused = False
        self._is_continued = False
        """True once the client may send the body, or has sent it."""
        self._is_over = False
        """True once the whole answer has been sent."""

    def connection_made(self, transport: BaseTransport) -> None:
        """Accept a client."""
        self._transport = cast("Transport", transport)
        self._reading = ReadGate(self._transport)
        self._up.source = self._reading
        self._down.sink = self._transport
        self._proxied.tally.counts["open_connections"] += 1

    def connection_lost(self, _: Exception | None) -> None:
        """Close the connection to the server, because the client's has ended."""
        self._proxied.tally.counts["open_connections"] -= 1
        self._transport = None
        self._down.stop()
        self._leave_upstream()

    def pause_writing(self) -> None:
        """Pause, because the client reads more slowly than the server answers."""
        self._down.fill(is_full=True)

    def resume_writing(self) -> None:
        """Resume, because the client has caught up."""
        self._down.fill(is_full=False)

    def data_received(self, data: bytes) -> None:
        """Take bytes from the client."""
        self._proxied.tally.counts["bytes_up"] += len(data)
        self._pending = self._pending + data if self._pending else data
        if self._request and self._request.body.is_complete:
            self._wait_for_turn()
        else:
            self._guarded(self._take_requests)

    def _wait_for_turn(self) -> None:
        if self._pending and self._reading:
            self._reading.hold("turn")

    def _take_requests(self) -> None:
        data, self._pending = self._pending, b""
        at = 0
        if self._request is None:
            at = _end_of_head(data)
            if not at:
                self._pending = data
                return
            self._begin(RequestHead.of(data[:at]))
        request = cast("RequestHead", self._request)
        rest = memoryview(data)[at:]
        size = request.body.take(rest)
        self._is_continued |= size > 0
        self._pending = bytes(rest[size:])
        if not self._is_refused:
            self._up.send(memoryview(data)[: at + size])
        if request.body.is_complete:
            self._wait_for_turn()
            if self._is_refused:
                self._refuse(request)
            elif self._is_over:
                self._go_on()

    def _begin(self, request: RequestHead) -> None:
        proxied = self._proxied
        self._request = request
        self._response = None
        self._is_over = self._is_continued = False
        self._up.rate = self._down.rate = proxied.conditions.settings.stream_bytes_per_second
        proxied.tally.request(request.method, request.target)
        self._is_refused = proxied.conditions.refuses(proxied.loop.time())
        if not self._is_refused:
            if self._upstream is None:
                self._connect()
        elif request.expects_continue:
            # Its body is read, so that the next request begins where this one ends.
            self._down.send(memoryview(CONTINUE))

    def _refuse(self, request: RequestHead) -> None:
        self._proxied.tally.counts["slowed"] += 1
        self._down.hold(self._proxied.conditions.latency_seconds())
        self._down.send(memoryview(REFUSAL if request.method == b"HEAD" else REFUSAL + SLOW_DOWN))
        self._down.finish(self._end_answer)

    def _take_answer(self, data: bytes) -> None:
        if self._answered:
            data, self._answered = self._answered + data, b""
        view = memoryview(data)
        start = at = 0
        while at < len(data):
            if self._request is None or self._is_refused or self._is_whole:
                raise Malformed("an answer that nobody asked for")
            if self._response is None:
                end = _end_of_head(data, at)
                if not end:
                    self._answered = data[at:]
                    break
                self._take_head(Response.of(data[at:end], self._request.method))
                at = end
            else:
                at += self._response.body.take(view[at:])
            if self._response is None or self._is_whole:
                self._down.send(view[start:at])
                start = at
        if self._response and start < at:
            self._down.send(view[start:at])
        if self._is_whole:
            self._down.finish(self._end_answer)

    def _take_head(self, response: Response) -> None:
        if response.is_final:
            self._response = response
            self._down.hold(self._proxied.conditions.latency_seconds())
        else:
            self._is_continued = True

    @property
    def _is_whole(self) -> bool:
        return self._response is not None and self._response.body.is_complete

    def _end_answer(self) -> None:
        self._is_over = True
        request = cast("RequestHead", self._request)
        ends = request.ends_connection or (self._response is not None and self._response.ends_connection)
        # A client that got no 100 may send its body or not, so the next bytes are ambiguous.
        if ends or (request.expects_continue and not self._is_continued and not request.body.is_complete):
            self._close()
        elif request.body.is_complete:
            self._go_on()

    def _go_on(self) -> None:
        self._request = None
        if self._pending:
            # A direct call would nest pipelined refusals as deep as there are requests.
            self._proxied.loop.call_soon(self._take_next)

    def _take_next(self) -> None:
        if self._transport and self._reading:
            self._reading.release("turn")
            if self._request is None:
                self._guarded(self._take_requests)

    def _guarded(self, take: Callable[[], None]) -> None:
        try:
            take()
        except Malformed:
            self._abort()

    def _connect(self) -> None:
        proxied = self._proxied
        self._upstream = upstream = _Upstream(self)
        self._connecting = proxied.loop.create_task(self._connected(upstream))

    async def _connected(self, upstream: _Upstream) -> None:
        with suppress(OSError):
            await self._proxied.loop.create_connection(lambda: upstream, self._proxied.host, self._proxied.port)
            return
        self._close()

    def upstream_connected(self, transport: Transport) -> None:
        """Send the waiting requests, because the server is connected."""
        self._down.source = ReadGate(transport)
        self._up.sink = transport
        self._up.drain()

    def upstream_received(self, data: bytes) -> None:
        """Take bytes from the server."""
        self._guarded(lambda: self._take_answer(data))

    def upstream_filled(self, *, is_full: bool) -> None:
        """Pause or resume the client, as the server reads more slowly or has caught up."""
        self._up.fill(is_full=is_full)

    def upstream_lost(self) -> None:
        """Finish or abort the answer, because the server has closed; between requests nothing happens."""
        self._leave_upstream()
        if self._request is None or self._is_refused:
            return
        if not (self._is_whole and self._request.body.is_complete):
            self._down.finish(self._close)

    def _leave_upstream(self) -> None:
        upstream, self._upstream = self._upstream, None
        if upstream and upstream.transport:
            upstream.transport.abort()
        elif self._connecting:
            self._connecting.cancel()
        self._up.stop()
        self._up.source = self._reading if self._transport else None
        self._down.source = None
        if self._reading and self._transport:
            self._reading.release("flow")

    def _close(self) -> None:
        if self._transport:
            self._transport.close()

    def _abort(self) -> None:
        if self._transport:
            self._transport.abort()

    def _count_down(self, count: int) -> None:
        self._proxied.tally.counts["bytes_down"] += count


class _Upstream(Protocol):
    """The server's side of one client's connection, while it belongs to that client."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.transport: Transport | None = None

    @property
    def _is_abandoned(self) -> bool:
        return self._client._upstream is not self  # noqa: SLF001 - two halves of one connection

    def connection_made(self, transport: BaseTransport) -> None:
        self.transport = cast("Transport", transport)
        if self._is_abandoned:
            self.transport.abort()
        else:
            self._client.upstream_connected(self.transport)

    def data_received(self, data: bytes) -> None:
        if not self._is_abandoned:
            self._client.upstream_received(data)

    def pause_writing(self) -> None:
        if not self._is_abandoned:
            self._client.upstream_filled(is_full=True)

    def resume_writing(self) -> None:
        if not self._is_abandoned:
            self._client.upstream_filled(is_full=False)

    def connection_lost(self, _: Exception | None) -> None:
        if not self._is_abandoned:
            self._client.upstream_lost()


def _end_of_head(data: bytes, start: int = 0) -> int:
    """Return where the head that begins at `start` ends, 0 while it is incomplete."""
    end = data.find(b"\r\n\r\n", start)
    if end < 0 and len(data) - start > HEAD_BYTES:
        raise Malformed("a head that does not end")
    return end + 4 if end >= 0 else 0
