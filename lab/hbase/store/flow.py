"""One direction of a connection, which forwards bytes with a delay and at most at a given rate."""

from __future__ import annotations

from asyncio import AbstractEventLoop, TimerHandle, Transport
from collections import deque
from collections.abc import Callable
from typing import Final

# judgement: a few answers of 64 KiB; a connection holds at most this and one read of its socket.
QUEUED_BYTES: Final = 256 * 1024
SLICE_SECONDS: Final = (
    0.01  # judgement: a throttled connection wakes a hundred times a second, which is cheap and smooth
)


class ReadGate:
    """A gate on a transport, which is read only while nobody has a reason against it."""

    __slots__ = ("_reasons", "_transport")

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._reasons: set[str] = set()

    def hold(self, reason: str) -> None:
        """Stop reading until every reason is released."""
        if not self._reasons:
            self._transport.pause_reading()
        self._reasons.add(reason)

    def release(self, reason: str) -> None:
        """Release one reason."""
        if reason in self._reasons:
            self._reasons.remove(reason)
            if not self._reasons and not self._transport.is_closing():
                self._transport.resume_reading()


class Flow:
    """Bytes on their way to `sink`, which may not be connected yet; holds `source` while too many wait."""

    __slots__ = (
        "_began", "_count", "_due", "_is_full", "_loop", "_not_before", "_queue", "_queued", "_timer", "_when_empty",
        "rate", "sink", "source",
    )  # fmt: skip

    def __init__(self, loop: AbstractEventLoop, count: Callable[[int], None] = lambda _: None) -> None:
        self._loop = loop
        self._count = count
        self._queue: deque[memoryview] = deque()
        self._queued = 0
        self._is_full = False
        self._not_before = 0.0
        self._began = 0.0
        self._due = 0.0
        self._timer: TimerHandle | None = None
        self._when_empty: Callable[[], None] | None = None
        self.rate: float | None = None
        """Bytes per second; None sets no limit."""
        self.sink: Transport | None = None
        self.source: ReadGate | None = None

    def send(self, data: memoryview) -> None:
        """Send the data after everything that waits."""
        if not self._queue and self.rate is None and self.sink and self._not_before <= self._loop.time():
            self.sink.write(data)
            self._count(len(data))
            return
        if not self._queue:
            self._began = max(self._loop.time(), self._not_before)
        self._queue.append(data)
        self._queued += len(data)
        if self._timer is None:
            self.drain()
        else:
            self._balance()

    def hold(self, seconds: float) -> None:
        """Send nothing for so many seconds. Nothing may be waiting."""
        if seconds:
            self._not_before = self._loop.time() + seconds

    def finish(self, callback: Callable[[], None]) -> None:
        """Call `callback` once, when nothing waits any more."""
        if self._queue:
            self._when_empty = callback
        else:
            callback()

    def fill(self, *, is_full: bool) -> None:
        """Record whether the sink accepts more data."""
        self._is_full = is_full
        if not is_full:
            self._began = self._loop.time()
            if self._queue and self._timer is None:
                self.drain()
        self._balance()

    def drain(self) -> None:
        """Send the data that may go now, and schedule the rest."""
        self._timer = None
        now = self._loop.time()
        if self.sink is None:
            pass
        elif now < self._not_before:
            self._timer = self._loop.call_at(self._not_before, self.drain)
        elif self.rate is None:
            self._write_all(self.sink)
        else:
            self._write_paced(self.sink, now, self.rate)
        self._balance()
        if self._when_empty and not self._queue:
            callback, self._when_empty = self._when_empty, None
            callback()

    def stop(self) -> None:
        """Discard everything that waits."""
        if self._timer:
            self._timer.cancel()
        self._timer = self._when_empty = self.sink = self.source = None
        self._queue.clear()
        self._queued = 0
        self._is_full = False

    def _write_all(self, sink: Transport) -> None:
        sink.writelines(self._queue)
        self._count(self._queued)
        self._queue.clear()
        self._queued = 0

    def _write_paced(self, sink: Transport, now: float, rate: float) -> None:
        """Send slices at the given rate, each when its time on the line is over, so that its last byte is on time."""
        while self._queue and not self._is_full:
            size = min(len(self._queue[0]), max(1, int(rate * SLICE_SECONDS)))
            due = max(self._due, self._began) + size / rate
            if now < due:
                self._timer = self._loop.call_at(due, self.drain)
                return
            self._due = due
            piece = self._queue[0][:size]
            if size == len(self._queue[0]):
                self._queue.popleft()
            else:
                self._queue[0] = self._queue[0][size:]
            self._queued -= size
            sink.write(piece)
            self._count(size)

    def _balance(self) -> None:
        if self.source is None:
            return
        if self._is_full or self._queued > QUEUED_BYTES:
            self.source.hold("flow")
        else:
            self.source.release("flow")
