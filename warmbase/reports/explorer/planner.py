"""A process that computes the answers for the pages, one at a time, and can be interrupted.

In a thread of the server, a plan that no page waits for could not be interrupted, and would slow the next one.
"""

from __future__ import annotations

import gc
import json
import os
import pickle
import signal
import subprocess
import sys
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from select import select
from threading import Lock
from typing import IO, Final, cast

from msgspec import Struct
from msgspec.json import decode, encode

from warmbase.reports.explorer.answer import answer
from warmbase.reports.explorer.subject import State, Subject

PROGRAM: Final = (
    "import pickle, sys; from warmbase.reports.explorer.planner import answer_questions; "
    "answer_questions(*pickle.load(sys.stdin.buffer))"
)
INTERRUPTION: Final = signal.SIGURG
"""By default, a process ignores this signal, so that it does not end a planner that is still starting."""
END: Final = b"\n"
IDLE_SECONDS: Final = 0.2  # judgement: a moving slider sends its next request sooner
YOUNGEST: Final = 0
"""The generation of the garbage collector with the objects of the last plan."""
MOST_PAGES: Final = 64
"""The number of pages that are remembered; the page whose last request is the oldest is forgotten first."""


class Superseded(Exception):
    """The page has sent a newer request, so it no longer waits for this answer."""


class Interruption(BaseException):
    """The signal that ends a computation; no handler of errors may catch it."""


class Question(Struct, frozen=True, kw_only=True):
    """The answer that a page asks for: its kind, the state of the page, and a column of `warmbase compare`."""

    kind: str
    values: Mapping[str, str]
    column: str = ""


class Planner:
    """One process, and the order of the requests for it. Only the newest request of each page is answered.

    Each page numbers its requests, and the number rises with every change on the page. The operating system prefers
    other processes to a planner with a high `niceness`.
    """

    def __init__(self, subject: Subject, niceness: int = 0) -> None:
        self._subject, self._niceness = subject, niceness
        self._newest: OrderedDict[str, int] = OrderedDict()
        self._registering, self._computing = Lock(), Lock()
        self._current: tuple[str, int] | None = None
        self._has_ended = False
        self._process = self._start()

    def register(self, page: str, number: int) -> None:
        """Remember the newest request of a page, and interrupt the computation for an older one."""
        with self._registering:
            self._newest[page] = max(number, self._newest.pop(page, number))
            while len(self._newest) > MOST_PAGES:
                self._newest.popitem(last=False)
            if self._current and self._current[0] == page and self._current[1] < number:
                self._process.send_signal(INTERRUPTION)

    @contextmanager
    def turn(self, page: str, number: int) -> Iterator[None]:
        """Wait for the turn of a request. Raises Superseded if the page has registered a newer one by then."""
        with self._computing:
            with self._registering:
                if number < self._newest.get(page, number):
                    raise Superseded
                self._current = page, number
            try:
                yield
            finally:
                with self._registering:
                    self._current = None

    def answer(self, question: Question) -> bytes:
        """Return an answer as JSON, when its turn comes.

        Raises Superseded if the answer is interrupted or the planner has ended.
        """
        if self._has_ended:
            raise Superseded
        if self._process.poll() is not None:
            self._process = self._start()
        _send(self._process.stdin, encode(question) + END)
        line = cast("IO[bytes]", self._process.stdout).readline()
        if not line and not self._has_ended:
            raise ChildProcessError(f"the planner ended with {self._process.wait()}")
        if line.removesuffix(END) == b"":
            raise Superseded
        return line.removesuffix(END)

    def end(self) -> None:
        """End the process."""
        self._has_ended = True
        self._process.kill()
        # A thread that waits for an answer must read the end of the output before this one closes the pipe.
        with self._computing:
            self._process.communicate()

    def _start(self) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            # Ctrl-C in the terminal is for the server, which then ends this process.
            start_new_session=True,
        )
        _send(process.stdin, pickle.dumps((self._subject, self._niceness)))
        return process


def _send(pipe: IO[bytes] | None, message: bytes) -> None:
    stream = cast("IO[bytes]", pipe)
    stream.write(message)
    stream.flush()


def answer_questions(subject: Subject, niceness: int) -> None:
    """Answer each line of standard input with a line, which is empty if it was interrupted.

    The garbage collector runs after an answer, because a plan takes a quarter longer if the collector runs meanwhile.
    """
    is_computing = False
    state = State(subject=subject, values={})

    def interrupt(*_: object) -> None:
        if is_computing:
            raise Interruption

    os.nice(niceness)
    signal.signal(INTERRUPTION, interrupt)
    gc.freeze()
    gc.disable()
    while line := _line():
        content = b""
        try:
            is_computing = True
            question = decode(line, type=Question)
            state = _state(question, state)
            content = json.dumps(answer(question.kind, state)).encode()
        except Interruption:
            pass
        finally:
            is_computing = False
        _send(sys.stdout.buffer, content + END)
        gc.collect(YOUNGEST)


def _line() -> bytes:
    """Wait for the next line, and return nothing at the end."""
    if not select([sys.stdin], [], [], IDLE_SECONDS)[0]:
        gc.collect()
    return sys.stdin.buffer.readline()


def _state(question: Question, last: State) -> State:
    """Return the state of a question. The last one is used again, because it has part of the next answer about it."""
    if (question.values, question.column) == (last.values, last.column):
        return last
    return State(subject=last.subject, values=question.values, column=question.column)
