"""`warmbase explore` serves a page on which you change the inputs of a plan."""

from __future__ import annotations

import os
import signal
import sys
import webbrowser
from typing import Final

import click

from warmbase.cli.options import chosen_name, cluster_option, complete_environment
from warmbase.cli.signals import Stopped
from warmbase.cli.terminal import echo
from warmbase.environments.reader.assignment import Assignment
from warmbase.environments.reader.read import middle_environment, read_ranges
from warmbase.ground.errors import OperationFailed
from warmbase.reports.explorer.server import ExplorerServer
from warmbase.reports.explorer.subject import Subject

DEFAULT: Final = "prod"
SCREENS: Final = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
"""A browser with a window can start if one of these variables is set; macOS and Windows need none of them."""
OTHER_SYSTEMS: Final = ("darwin", "win32")


@click.command()
@click.argument("environment", metavar="[ENV]", default=DEFAULT, shell_complete=complete_environment)
@click.option(
    "--set",
    "assignments",
    multiple=True,
    metavar="PATH=VALUE",
    help="Start with another value of a key, which is not written to the file. May be repeated; VALUE is YAML.",
)
@cluster_option
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="The port to listen on.  [default: a free one]")
@click.option("--no-browser", is_flag=True, help="Print the address without opening a browser.")
def explore(
    environment: str, assignments: tuple[str, ...], cluster: str | None, port: int, *, no_browser: bool
) -> None:
    """Change the inputs of a plan in a browser.

    The page shows the price, the nodes, the latency and plots of an HBase cluster or a Trino cluster. Move a slider or
    type a value, and the page shows the plan for it. The environment file does not change: copy or save the changed
    file from the page. Without ENV, the page shows the environment prod.

    If inputs are ranges, the page shows the plan for the middle of each range, and the cluster that suits all values
    best.

    Only this machine can reach the server, and only the printed address opens the page. Press Ctrl-C to stop the
    server. No request leaves the machine, and you need no AWS account.

    \b
    Example:
      warmbase explore prod
      warmbase explore prod --set workload.stored=12TiB
      warmbase explore prod --no-browser --port 8080
      warmbase explore docs/analytics.yaml --cluster lake
    """
    values = [Assignment.parse(text) for text in assignments]
    read = middle_environment(read_ranges(environment, values))
    subject = Subject.read(environment, chosen_name(read, cluster), values)
    try:
        server = ExplorerServer(subject, port)
    except OSError as error:
        raise _occupied(port, error) from None
    with server:
        echo(server.url)
        started = not no_browser and _start_browser(server.url)
        echo(f"{'' if started else 'Open this address in a browser. '}Press Ctrl-C to stop the server.", err=True)
        # Ctrl-C is a success; another signal ends the command as it ends any other.
        try:
            server.serve_forever()
        except Stopped as stopped:
            if stopped.number != signal.SIGINT:
                raise


def _start_browser(url: str) -> bool:
    """Open the address in a browser with a window, and return whether one started; a text browser would hide output."""
    has_screen = sys.platform in OTHER_SYSTEMS or any(os.environ.get(name) for name in SCREENS)
    return has_screen and webbrowser.open(url)


def _occupied(port: int, error: OSError) -> OperationFailed:
    return OperationFailed.of(
        where=f"--port {port}",
        what="warmbase cannot listen on this port",
        why=error.strerror or str(error),
        fix="choose another port, or leave out --port",
    )
