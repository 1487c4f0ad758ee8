"""`python -m tests.bootstrap_actions.uploaded DIRECTORY`: what nodes fetch, and what the plan of prod gives them.

Each action in one file as it is uploaded, each program, `flags` of the RegionServer's JVM (one on a line), these and
others as arguments in `*.base64`, and `java-home` of a real Java 21 where the lab has brought one.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import warmbase.engines.trino.rendering as of_trino
from lab.hbase.software.setup import runtime
from tests.configurations.engines.trino.launches import trino_launch
from tests.conftest import launch_of
from warmbase.configurations.bootstrap import actions, encoded, program, script
from warmbase.configurations.node_files import exported, region_server_flags

# Each is one word of the JVM's command line, and none would survive another shell.
QUOTED = ("-Da=it's", '-Db="c d"', "-De=$HOME`id`", "-Df=a;b|c&d", "-Dg=*", "-Dh=ü\\n", "-Xmx64m")


def main(directory: Path) -> None:
    prod = launch_of("prod")
    for action in (*actions(prod), *of_trino.actions(trino_launch())):
        (directory / f"{action.name}.sh").write_text(script(action.name), encoding="utf-8")
        for name in action.programs.values():
            shutil.copy(program(name), directory)
    # Only the cluster of a canary has this action.
    (directory / "harvest-node.sh").write_text(script("harvest-node"), encoding="utf-8")
    flags = region_server_flags(exported(prod.settings.core))
    (directory / "flags").write_text("\n".join(flags), encoding="utf-8")
    for name, words in {"prod": flags, "unknown": (*flags, "-XX:+UseNoSuchCollector"), "quoted": QUOTED}.items():
        (directory / f"{name}.base64").write_text(encoded(words), encoding="utf-8")
    if found := runtime():
        (directory / "java-home").write_text(str(Path(found.java).parents[1]), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
