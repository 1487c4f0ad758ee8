"""Serves the local AWS on a loopback address until a signal ends it, and prints the endpoint."""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
from threading import Thread
from typing import Final

from moto import mock_aws
from moto.server import ThreadedMotoServer

from local_aws.controls import set_worse
from local_aws.emr.nodes import serve_at
from local_aws.extension import install
from local_aws.server import HOST, STAY

ENDING: Final = (signal.SIGTERM, signal.SIGINT)


def main() -> None:
    """Serve until SIGTERM, SIGINT or, with the option, the end of standard input."""
    parser = argparse.ArgumentParser(prog="python -m local_aws", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="loopback port; 0, the default, chooses a free one")
    parser.add_argument(
        "--until-stdin-closes",
        action="store_true",
        help=f"also stop when standard input ends without {STAY!r}, so that a killed parent leaves nothing running",
    )
    parser.add_argument(
        "--readings",
        choices=("usual", "worse"),
        default="usual",
        help="where a document of AWS can be read in two ways, play the usual or the worse one (local_aws/controls.py)",
    )
    parser.add_argument("--verbose", action="store_true", help="log each request on stderr")
    options = parser.parse_args()
    # Signals are blocked in every thread and wait for sigwait, so that no serving thread can swallow one.
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    logging.getLogger("werkzeug").setLevel(logging.INFO if options.verbose else logging.ERROR)
    install()
    if options.readings == "worse":
        set_worse()
    # Resources are created through the services' own APIs; this answers those calls inside the process.
    mock_aws().start()
    server = ThreadedMotoServer(ip_address=HOST, port=options.port, verbose=False)
    server.start()
    endpoint = "http://{}:{}".format(*server.get_host_and_port())
    serve_at(endpoint)
    sys.stdout.write(f"{endpoint}\n")
    sys.stdout.flush()
    if options.until_stdin_closes:
        Thread(target=_watch_stdin, daemon=True).start()
    signal.sigwait(ENDING)
    server.stop()


def _watch_stdin() -> None:
    if sys.stdin.read() != STAY:
        os.kill(os.getpid(), signal.SIGTERM)
        return
    # Close the inherited output, whose readers must see its end when the caller ends.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        os.dup2(nowhere, stream.fileno())


if __name__ == "__main__":
    main()
