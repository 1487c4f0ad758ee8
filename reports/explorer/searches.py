"""The searches for the clusters that suit ranges: each is a process of its own, which can be ended.

A search computes for seconds. In the process of the server, it would slow every headline meanwhile.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from threading import Lock
from typing import Final

from reports.explorer.answer import State
from reports.explorer.turns import Superseded

PROGRAM: Final = (
    "import json, pickle, sys; from reports.explorer.answer import answer; "
    "sys.stdout.write(json.dumps(answer('ranges', pickle.load(sys.stdin.buffer))))"
)


class Searches:
    """The search that runs for each page."""

    def __init__(self) -> None:
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._registering = Lock()

    def answer(self, page: str, state: State) -> bytes:
        """Return the answer as JSON, and end the page's earlier search. Raises Superseded if this one is ended."""
        self.end(page)
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            start_new_session=True,
        )
        with self._registering:
            self._running[page] = process
        content, _ = process.communicate(pickle.dumps(state))
        with self._registering:
            if self._running.get(page) is process:
                del self._running[page]
        if process.returncode < 0:
            raise Superseded
        if process.returncode:
            raise ChildProcessError(f"the search for the cluster ended with {process.returncode}")
        return content

    def end(self, page: str) -> None:
        """End the search of a page, with the processes that it has started."""
        with self._registering:
            process = self._running.pop(page, None)
        if process is not None and process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)

    def end_all(self) -> None:
        """End all searches."""
        for page in list(self._running):
            self.end(page)
