"""One client's connection through the proxy, whose HTTP/1.1 requests are forwarded or refused one after another.

Bodies are framed by length, in chunks, or by the end of the stream. Nothing is changed: `aws-chunked` is an encoding of
the content inside these frames, so it needs no rule here. Source: RFC 9112, sections 2, 6 and 7.
"""

from __future__ import annotations

import asyncio
from asyncio import IncompleteReadError, LimitOverrunError, StreamReader, StreamWriter
from collections.abc import AsyncIterator
from typing import Final, Literal, NamedTuple, TypeAlias

from msgspec import Struct, field

from lab.hbase.store import Conditions, Tally

# judgement: Jetty accepts heads of 8 KiB, S3 8 KB of its own headers; anything longer is not a head.
HEAD_BYTES: Final = 64 * 1024
END_OF_HEAD: Final = b"\r\n\r\n"
PIECE_BYTES: Final = 64 * 1024  # judgement: a block of a store file, in one piece
HTTP_1_0: Final = b"HTTP/1.0"
BodyLength: TypeAlias = int | Literal["chunked", "until closed"]
"""The bytes of a body, or how its end is found."""


class Malformed(Exception):
    """A message that is not valid HTTP/1.1; it ends only its own connection."""


async def body(reader: StreamReader, length: BodyLength) -> AsyncIterator[bytes]:
    """Yield a body as it comes, with its frames. Raises Malformed, or IncompleteReadError where it breaks off."""
    if length == "chunked":
        size = 1
        while size:
            line = await reader.readuntil(b"\n")
            yield line
            size = _chunk_size(line)
            async for piece in _sized(reader, size + len(b"\r\n") if size else 0):
                yield piece
        while line.strip():
            line = await reader.readuntil(b"\n")
            yield line
    elif length == "until closed":
        while piece := await reader.read(PIECE_BYTES):
            yield piece
    else:
        async for piece in _sized(reader, length):
            yield piece


async def _sized(reader: StreamReader, length: int) -> AsyncIterator[bytes]:
    while length:
        piece = await reader.read(min(length, PIECE_BYTES))
        if not piece:
            raise IncompleteReadError(b"", length)
        length -= len(piece)
        yield piece


def _chunk_size(line: bytes) -> int:
    digits = line.partition(b";")[0].strip()
    if not digits or digits.strip(b"0123456789abcdefABCDEF"):
        raise Malformed(f"{line[:40]!r} is no size of a chunk")
    return int(digits, 16)


class RequestHead(Struct, frozen=True):
    """The head of a request, with the body that follows."""

    method: bytes
    target: bytes
    expects_continue: bool
    ends_connection: bool
    body_length: BodyLength

    @classmethod
    def of(cls, head: bytes) -> RequestHead:
        """Return the request that a complete head describes. Raises Malformed."""
        line, fields = _split(head)
        method, _, rest = line.partition(b" ")
        target, _, version = rest.partition(b" ")
        if not version.startswith(b"HTTP/1."):
            raise Malformed(f"{line[:40]!r} is no request")
        return cls(
            method=method,
            target=target,
            expects_continue=_field(fields, b"expect") == b"100-continue",
            ends_connection=_ends(fields, version),
            body_length=_body_length(fields) or 0,
        )


class Response(Struct, frozen=True):
    """The head of a response; a 1xx has no body and is followed by another head."""

    status: int
    ends_connection: bool
    body_length: BodyLength

    @property
    def is_final(self) -> bool:
        """Return whether it answers the request."""
        return self.status >= 200  # noqa: PLR2004 - 1xx are interim

    @classmethod
    def of(cls, head: bytes, method: bytes) -> Response:
        """Return the response to a request of that method. Raises Malformed."""
        line, fields = _split(head)
        version, _, rest = line.partition(b" ")
        if not version.startswith(b"HTTP/1.") or not rest[:3].isdigit():
            raise Malformed(f"{line[:40]!r} is no response")
        status = int(rest[:3])
        without = method == b"HEAD" or status < 200 or status in {204, 304}  # noqa: PLR2004 - RFC 9112, 6.3
        size = 0 if without else _body_length(fields)
        length: BodyLength = "until closed" if size is None else size
        ends = _ends(fields, version) or size is None
        return cls(status=status, ends_connection=ends, body_length=length)


def _split(head: bytes) -> tuple[bytes, bytes]:
    """Return the first line, and all fields in lower case, each after a line break."""
    line, _, _ = head.partition(b"\r\n")
    return line, head[len(line) :].lower()


def _field(fields: bytes, name: bytes) -> bytes | None:
    start = fields.find(b"\r\n" + name + b":")
    if start < 0:
        return None
    start += len(name) + 3
    return fields[start : fields.find(b"\r\n", start)].strip()


def _body_length(fields: bytes) -> BodyLength | None:
    coding = _field(fields, b"transfer-encoding")
    if coding is not None:
        if not coding.endswith(b"chunked"):
            raise Malformed(f"transfer coding {coding!r}")
        return "chunked"
    length = _field(fields, b"content-length")
    if length is None:
        return None
    if not length.isdigit():
        raise Malformed(f"content length {length!r}")
    return int(length)


def _ends(fields: bytes, version: bytes) -> bool:
    options = _field(fields, b"connection") or b""
    return b"close" in options or (version == HTTP_1_0 and b"keep-alive" not in options)


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
