"""The entry of the command line.

Until a command begins, a signal ends the process by its default action: there is nothing to clean up, and an exception
would break an import. So this module imports little, and imports the commands only once that action is set.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found] # `signal` imports other modules, in which Ctrl-C prints a traceback
import gc
import os
import sys

GARBAGE_THRESHOLD = 2_000_000  # judgement: objects; a hundred MB or two, and Python's own is 700


def main() -> None:
    """Run a command, and end with its exit code."""
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
    # The matrices of a plan are small: the threads that numpy's OpenBLAS starts at import never have work.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # No plugin of pydantic is ours, and pydantic would search the metadata of every installed package for one.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    # The many small objects of a command live until it ends; Python would look through them again and again.
    gc.set_threshold(GARBAGE_THRESHOLD)
    from warmbase.cli.commands import run  # noqa: PLC0415 - it imports click, after which a signal is no longer quiet

    sys.exit(run())
