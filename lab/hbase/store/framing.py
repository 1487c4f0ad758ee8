"""The framing of HTTP/1.1 messages in a stream of bytes: heads, and bodies by length, in chunks, or until the end.

Nothing is changed or kept but unfinished lines. `aws-chunked` is an encoding of the content inside these frames, so it
needs no rule here. Source: RFC 9112, sections 2, 6 and 7.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

# judgement: Jetty accepts heads of 8 KiB, S3 8 KB of its own headers; anything longer is not a head.
HEAD_BYTES: Final = 64 * 1024
LINE_BYTES: Final = 4096  # judgement: a chunk's size with its signature takes about 100 bytes
HTTP_1_0: Final = b"HTTP/1.0"


class Malformed(Exception):
    """A message that is not valid HTTP/1.1; it ends only its own connection."""


class Body(Protocol):
    """The body of one message."""

    @property
    def is_complete(self) -> bool:
        """Return whether all of the body has arrived."""

    def take(self, data: memoryview) -> int:
        """Return how many of these bytes, from the first, belong to the body. Raises Malformed."""


class Sized:
    """A body of a known length; of none where a message has no body."""

    __slots__ = ("_remaining",)

    def __init__(self, length: int) -> None:
        self._remaining = length

    @property
    def is_complete(self) -> bool:
        """Return whether nothing is left."""
        return not self._remaining

    def take(self, data: memoryview) -> int:
        """Take at most the bytes that remain."""
        size = min(self._remaining, len(data))
        self._remaining -= size
        return size


class UntilClosed:
    """A response without a length: it ends with its connection."""

    __slots__ = ()
    is_complete: Final = False

    def take(self, data: memoryview) -> int:
        """Take every byte."""
        return len(data)


class Chunked:
    """`Transfer-Encoding: chunked`: chunks, each with its size in a line before and an empty line after; trailers."""

    __slots__ = ("_in_trailer", "_line", "_remaining", "is_complete")

    def __init__(self) -> None:
        self._remaining = 0
        self._line = b""
        self._in_trailer = False
        self.is_complete = False

    def take(self, data: memoryview) -> int:
        """Take bytes up to the line that ends the trailers."""
        at = 0
        while at < len(data) and not self.is_complete:
            if self._remaining:
                skipped = min(self._remaining, len(data) - at)
                self._remaining -= skipped
                at += skipped
            else:
                at += self._take_line(bytes(data[at : at + LINE_BYTES]))
        return at

    def _take_line(self, data: bytes) -> int:
        end = data.find(b"\n") + 1
        self._line += data[:end] if end else data
        if end:
            line, self._line = self._line.rstrip(b"\r\n"), b""
            self._end_line(line)
        elif len(self._line) > LINE_BYTES:
            raise Malformed("a line between chunks does not end")
        return end or len(data)

    def _end_line(self, line: bytes) -> None:
        if self._in_trailer:
            self.is_complete = not line
            return
        digits = line.partition(b";")[0].strip()
        if not digits or digits.strip(b"0123456789abcdefABCDEF"):
            raise Malformed(f"{line[:40]!r} is no size of a chunk")
        size = int(digits, 16)
        self._in_trailer = not size
        self._remaining = size + len(b"\r\n") if size else 0


@dataclass(frozen=True, slots=True)
class RequestHead:
    """The head of a request, with the body that follows."""

    method: bytes
    target: bytes
    expects_continue: bool
    ends_connection: bool
    body: Body

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
            body=_body(fields) or Sized(0),
        )


@dataclass(frozen=True, slots=True)
class Response:
    """The head of a response; a 1xx has no body and is followed by another head."""

    status: int
    ends_connection: bool
    body: Body

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
        body = Sized(0) if without else _body(fields) or UntilClosed()
        ends = _ends(fields, version) or isinstance(body, UntilClosed)
        return cls(status=status, ends_connection=ends, body=body)


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


def _body(fields: bytes) -> Body | None:
    coding = _field(fields, b"transfer-encoding")
    if coding is not None:
        if not coding.endswith(b"chunked"):
            raise Malformed(f"transfer coding {coding!r}")
        return Chunked()
    length = _field(fields, b"content-length")
    if length is None:
        return None
    if not length.isdigit():
        raise Malformed(f"content length {length!r}")
    return Sized(int(length))


def _ends(fields: bytes, version: bytes) -> bool:
    options = _field(fields, b"connection") or b""
    return b"close" in options or (version == HTTP_1_0 and b"keep-alive" not in options)
