"""JRuby, which the HBase shell is, reads every name as the name: in a rendered script, and as an argument of a step."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from lab.hbase.software.setup import jars_directory
from tests.hostile import NAMES, TRACE, UNSTOPPABLE
from tests.patience import HANG_SECONDS
from warmbase.configurations.table_ddl import quoted
from warmbase.operations.aws.node_command import DIRECTORY

pytestmark = pytest.mark.lab

TEXTS = [*(name for name in NAMES if name != "\ud800"), UNSTOPPABLE]
"""Without the lone surrogate, which neither UTF-8 nor a name of HBase has."""


def test_ruby_reads_each_name_and_runs_none(tmp_path: Path) -> None:
    jars = sorted(jars_directory().rglob("jruby-complete-*.jar"))
    if not jars:
        pytest.skip("the lab is not set up: no JRuby")
    split = re.search(r"word\.match\((.*?)\)\.captures", (DIRECTORY / "tables.rb").read_text())
    assert split
    names = [re.sub("[:\0]", "", text) for text in TEXTS]
    words = [f"{name}:BLOCKSIZE=a:b=\n{name}" for name in names]
    script = tmp_path / "names.rb"
    script.write_text(
        f"literals = [{', '.join(map(quoted, TEXTS))}]\n"
        f"words = JSON.parse(ENV['ARGUMENTS']).map {{ |word| word.match({split[1]}).captures }}\n"
        "puts JSON.generate([literals, words], ascii_only: true)\n"
    )
    ended = subprocess.run(
        ["java", "-jar", str(jars[-1]), "-rjson", str(script)],
        env={"PATH": "/usr/bin:/bin", "ARGUMENTS": json.dumps(words)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=HANG_SECONDS,
    )
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout) == [TEXTS, [[name, "BLOCKSIZE", f"a:b=\n{name}"] for name in names]]
    assert not (tmp_path / TRACE).exists()
