"""The framing of HTTP/1.1 messages in a stream of bytes: heads, and bodies by length, in chunks, or until the end.

Nothing is changed. `aws-chunked` is an encoding of the content inside these frames, so it
needs no rule here. Source: RFC 9112, sections 2, 6 and 7.
"""

from __future__ import annotations

from asyncio import IncompleteReadError, StreamReader
from collections.abc import AsyncIterator
from typing import Final, Literal, TypeAlias

from msgspec import Struct

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
