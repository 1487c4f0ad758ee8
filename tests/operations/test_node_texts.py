"""The texts that Systems Manager runs on a node as root: every value in them is one word of data."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from tests.hostile import TRACE, UNSTOPPABLE
from tests.patience import HANG_SECONDS
from warmbase.operations.hbase.emr_hbase import CacheIndex
from warmbase.operations.verify.probe import ON_NODE, SHARED, NodeProgram


def probe_text(name: str) -> str:
    return NodeProgram(name, ("first", UNSTOPPABLE)).text


INDEX = CacheIndex(file=UNSTOPPABLE, format=UNSTOPPABLE, longest_seconds=1)
PROBES = ("probe_hbase.py", "probe_settings.py", "probe_trino.py")
TEXTS: Final[Mapping[str, Callable[[], str]]] = {
    "cache-readiness.sh": INDEX.check,
    "cached-files.sh": lambda: INDEX.reading(UNSTOPPABLE),
    **{name: partial(probe_text, name) for name in PROBES},
}
RECORDER = f"""#!{sys.executable} -I
import json, pathlib, sys
with pathlib.Path(__file__).with_name("record").open("a") as record:
    print(json.dumps(sys.argv[1:]), file=record)
"""


@pytest.mark.parametrize("name", TEXTS)
def test_a_value_reaches_its_program_whole_and_runs_nothing(name: str, tmp_path: Path) -> None:
    text = TEXTS[name]()
    # The files that a text looks for exist only on a node.
    for command in ("/usr/bin/python3", "aws", "systemctl", "nice", "stat"):
        (stub := tmp_path / "stubs" / Path(command).name).parent.mkdir(exist_ok=True)
        stub.write_text(RECORDER)
        stub.chmod(0o755)
        text = text.replace(command, str(stub)) if command.startswith("/") else text
    text = text.replace('[ -s "$', '[ -n "$').replace('[ -e "$D', '[ -n "$D').replace('[ -e "$P', '[ -n "$P')
    subprocess.run(
        ["sh", "-c", text],
        env={"PATH": f"{tmp_path / 'stubs'}:/usr/bin:/bin"},
        cwd=tmp_path,
        capture_output=True,
        check=False,
        timeout=HANG_SECONDS,
    )
    calls = [json.loads(line) for line in (tmp_path / "stubs" / "record").read_text().splitlines()]
    assert any(UNSTOPPABLE in word for call in calls for word in call), calls
    assert not list(tmp_path.rglob(TRACE))


def test_every_program_of_a_node_has_a_case() -> None:
    without_values = {"stop-units.sh", SHARED, "__init__.py"}
    assert {file.name for file in ON_NODE.iterdir() if file.is_file()} - without_values <= TEXTS.keys()


def test_every_module_that_runs_a_text_on_a_node_is_known() -> None:
    """A new one belongs into the table above, unless its text is constant, or made by shlex.join."""
    package = ON_NODE.parents[1]
    users = {
        str(file.relative_to(package))
        for file in (package / "operations").rglob("*.py")
        if re.search(r"\b(run_on_nodes?|send)\(", file.read_text())
    }
    assert users == {
        "operations/aws/node_command.py",
        "operations/canary/exercise.py",  # KILL, a constant
        "operations/canary/launch.py",  # shlex.join
        "operations/deploy/teardown.py",  # stop-units.sh
        "operations/hbase/emr_hbase.py",
        "operations/verify/probe.py",
    }
