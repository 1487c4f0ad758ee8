"""One client's connection through the proxy, whose requests are forwarded or refused one after another."""

from __future__ import annotations

import asyncio
from asyncio import LimitOverrunError, StreamReader, StreamWriter
from collections.abc import AsyncIterator
from typing import Final, NamedTuple

from msgspec import Struct, field

from lab.hbase.store.client import Tally
from lab.hbase.store.framing import END_OF_HEAD, HEAD_BYTES, Malformed, RequestHead, Response, body
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
ENDED: Final = (OSError, EOFError, LimitOverrunError, Malformed)
"""The errors that end a connection: either side left, or sent what is not HTTP/1.1."""
# judgement: a throttled connection wakes a hundred times a second, which is cheap and smooth
SLICE_SECONDS: Final = 0.01


class Stream(NamedTuple):
    """The two directions of one side of the proxy."""

    reader: StreamReader
    writer: StreamWriter


class Proxied(Struct):
    """The state that all connections share: the server's address, the counters, and the current conditions."""

    host: str
    port: int
    conditions: Conditions
    tally: Tally = field(default_factory=Tally)

    async def serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        """Answer one client's requests until either side ends its connection."""
        self.tally.add("open_connections", 1)
        connection = Connection(self, Stream(reader, writer))
        try:
            while await connection.exchange():
                pass
        except ENDED:
            pass
        finally:
            self.tally.add("open_connections", -1)
            connection.close()


class Connection:
    """A client's connection, and the one to the server that serves it.

    Pipelined requests wait, unread, until the request before them is answered, because each answer has its own delay.
    """

    def __init__(self, proxied: Proxied, client: Stream) -> None:
        self._proxied = proxied
        self._client = client
        self._server: Stream | None = None
        self._is_continued = False
        """True once the client may send the body of the current request, or has begun to."""

    def close(self) -> None:
        """Close both sides; what was written before is still sent."""
        self._client.writer.close()
        if self._server:
            self._server.writer.close()

    async def exchange(self) -> bool:
        """Forward or refuse one request, and return whether another may follow. Raises one of ENDED."""
        head = await self._client.reader.readuntil(END_OF_HEAD)
        request = RequestHead.of(head)
        self._proxied.tally.request(request.method, request.target)
        self._proxied.tally.add("bytes_up", len(head))
        self._is_continued = False
        if self._proxied.conditions.refuses(asyncio.get_running_loop().time()):
            return await self._refuse(request)
        server = await self._connected()
        server.writer.write(head)
        upload = asyncio.create_task(self._upload(request, server)) if request.body_length else None
        try:
            has_ended = await self._answer(request, server) or request.ends_connection
            if has_ended or upload is None:
                return not has_ended
            # A client that got no 100 may send its body or not, so the next bytes are ambiguous.
            return (self._is_continued or not request.expects_continue) and await upload
        finally:
            if upload:
                upload.cancel()

    async def _connected(self) -> Stream:
        if self._server is None or self._server.reader.at_eof():
            if self._server:
                self._server.writer.close()
            host, port = self._proxied.host, self._proxied.port
            self._server = Stream(*await asyncio.open_connection(host, port, limit=HEAD_BYTES))
        return self._server

    async def _refuse(self, request: RequestHead) -> bool:
        if request.expects_continue:
            # Its body is read, so that the next request begins where this one ends.
            self._send(CONTINUE)
        async for _ in self._uploaded(request):
            pass
        self._proxied.tally.add("slowed", 1)
        await asyncio.sleep(self._proxied.conditions.latency_seconds())
        self._send(REFUSAL if request.method == b"HEAD" else REFUSAL + SLOW_DOWN)
        await self._client.writer.drain()
        return not request.ends_connection

    async def _answer(self, request: RequestHead, server: Stream) -> bool:
        """Pass on the answer to a request, and return whether it ends the connection."""
        while True:
            head = await server.reader.readuntil(END_OF_HEAD)
            response = Response.of(head, request.method)
            if response.is_final:
                break
            self._is_continued = True
            self._send(head)
        await asyncio.sleep(self._proxied.conditions.latency_seconds())
        self._send(head)
        async for piece in self._paced(body(server.reader, response.body_length)):
            self._send(piece)
            await self._client.writer.drain()
        return response.ends_connection

    def _send(self, data: bytes) -> None:
        self._proxied.tally.add("bytes_down", len(data))
        self._client.writer.write(data)

    async def _upload(self, request: RequestHead, server: Stream) -> bool:
        """Forward the body of a request, and return whether all of it has gone."""
        try:
            async for piece in self._paced(self._uploaded(request)):
                server.writer.write(piece)
                await server.writer.drain()
        except ENDED:
            # The server then ends its answer, too.
            server.writer.close()
            return False
        return True

    async def _uploaded(self, request: RequestHead) -> AsyncIterator[bytes]:
        async for piece in body(self._client.reader, request.body_length):
            self._is_continued = True
            self._proxied.tally.add("bytes_up", len(piece))
            yield piece

    def _paced(self, pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        rate = self._proxied.conditions.settings.stream_bytes_per_second
        return pieces if rate is None else _slices(pieces, rate)


async def _slices(pieces: AsyncIterator[bytes], rate: float) -> AsyncIterator[bytes]:
    """Yield the bytes in slices, each when its time on the line is over, so that the last byte is on time."""
    clock, size = asyncio.get_running_loop().time, max(1, int(rate * SLICE_SECONDS))
    due = clock()
    async for piece in pieces:
        for start in range(0, len(piece), size):
            data = piece[start : start + size]
            # The next slice makes up for a late wake-up, but not for a pause of the sender.
            due = max(due, clock() - SLICE_SECONDS) + len(data) / rate
            await asyncio.sleep(due - clock())
            yield data
