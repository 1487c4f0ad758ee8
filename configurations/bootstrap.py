"""The bootstrap actions of a cluster: scripts as they are uploaded, their arguments from the plan, and their programs.

EMR fetches each script alone, so the common parts are inserted into each. CloudFormation requires the arguments of a
bootstrap action to be unique, so a key and its value are one argument.
"""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct, field

from warmbase.configurations import node_files
from warmbase.configurations.launch import Launch
from warmbase.configurations.metrics import MISSES_FOR_ONE
from warmbase.configurations.node_files import exported, region_server_flags
from warmbase.environments.names import CANARY_TAG
from warmbase.facts.releases import releases
from warmbase.ground.files import PACKAGE
from warmbase.ground.units import MIB
from warmbase.sizing.plan import CoreGroup, Plan

DIRECTORY: Final = PACKAGE / "bootstrap-actions"
PART: Final = re.compile(
    r'^# shellcheck source=bootstrap-actions/(?P<part>\w+\.sh)\nsource "\$\(dirname .*\)/(?P=part)"\n', re.MULTILINE
)
"""The lines by which a script includes a shared part."""
DIRECTIVE: Final = "# shellcheck shell=bash\n"
# judgement: a RegionServer has thousands of threads at most (handlers, prefetch, S3 connections); this leaves a
# factor of ten and still stops a leak before the node runs out of process ids.
PROCESSES: Final = 65_536
# Twice the 65,536 that HBase wants for store files, S3 connections and WAL streams; an unused descriptor costs nothing.
OPEN_FILES: Final = 131_072
KILLED_SECONDS: Final = 60  # judgement: hbase-daemon.sh kills at HBASE_STOP_TIMEOUT, and ends within this time
# judgement: systemd's default of 90 s for a start, and time for a volume that mounts slowly.
START_SECONDS: Final = 300
INDEX_CHECK_SECONDS_PER_GIB: Final = 1.0  # judgement: reading a few bytes of each chunk takes far less
REQUESTS: Final = "role_requests.py"
OF_THE_LAUNCH: Final = ("--flags=", "--cache-mib=", "--index-mib=", "--cache-gib=", "--least-hit-rate=")
"""Arguments that a running cluster does not depend on: flags are only tried at the launch, a node takes the sizes of
its cache and index from hbase-site.xml or the catalog's file, and a hit rate only decides when an alarm is raised."""
STOP: Final = "--stop-seconds="


class Action(Struct, frozen=True, kw_only=True):
    """One bootstrap action. `programs` are the files that it fetches, by the argument that gives their location."""

    name: str
    arguments: tuple[str, ...]
    programs: Mapping[str, str] = field(default_factory=dict)


def actions(launch: Launch) -> tuple[Action, ...]:
    """Return the actions in a node's order: the claim first, because a cluster that may not write ends there.

    A canary collects what EMR made of the node even before that.
    """
    environment, plan, root = launch.environment, launch.plan, launch.environment.root
    writes = environment.clusters[plan.cluster].role == "active"
    # Only a root in S3 can be reached by another cluster, so only such a root is claimed.
    in_s3, has_cache = plan.mode.keeps_data_in_s3, plan.mode.has_bucket_cache
    claim = (f"--bucket={root.bucket}", f"--key={root.claim_key}")
    planned: list[Action] = []
    arguments: tuple[str, ...]
    if CANARY_TAG in environment.tags:
        planned.append(Action(name="harvest-node", arguments=(f"--log-bucket={environment.log_bucket}",)))
    if writes and in_s3:
        arguments = (*claim, f"--kms-key={root.key}") if root.key else claim
        programs = {"program": "claim_root.py", "requests": REQUESTS}
        planned.append(Action(name="claim-root", arguments=arguments, programs=programs))
    planned.append(Action(name="start-agent", arguments=()))
    variables = exported(launch.settings.core)
    if home := variables.get("JAVA_HOME"):
        flags = encoded(region_server_flags(variables))
        planned.append(Action(name="prepare-java", arguments=(f"--java-home={home}", f"--flags={flags}")))
    limits = (f"--open-files={OPEN_FILES}", f"--processes={PROCESSES}")
    planned.append(Action(name="tune-kernel", arguments=limits))
    planned.append(Action(name="mount-volumes", arguments=tuple(volume_arguments(plan.core))))
    times = (f"--start-seconds={start_seconds(plan)}", f"--stop-seconds={stop_seconds(plan)}")
    guard = Action(
        name="guard-regionserver",
        arguments=(*(_guarded_cache(plan) if has_cache else ()), *times, *limits),
        programs={"program": "before_regionserver.py"} if has_cache else {},
    )
    planned.append(guard)
    if has_cache:
        arguments = (f"--misses-for-one={MISSES_FOR_ONE}",)
        programs = {"program": "publish_cache_metrics.py", "requests": REQUESTS}
        planned.append(Action(name="publish-cache-metrics", arguments=arguments, programs=programs))
    if in_s3:
        role = "active" if writes else "replica"
        arguments = (*claim, f"--role={role}", f"--fencing={environment.fencing}")
        programs = {"program": "watch_claim.py", "requests": REQUESTS}
        planned.append(Action(name="watch-claim", arguments=arguments, programs=programs))
    return tuple(planned)


def script(action: str) -> str:
    """Return the whole text of an action, as it is uploaded."""

    def part(include: re.Match[str]) -> str:
        return (DIRECTORY / include["part"]).read_text(encoding="utf-8").removeprefix(DIRECTIVE)

    return PART.sub(part, (DIRECTORY / f"{action}.sh").read_text(encoding="utf-8"))


def program(name: str) -> Path:
    """Return the file of a program that an action fetches."""
    return DIRECTORY / "programs" / name


def start_seconds(plan: Plan) -> int:
    """Return the time after which systemd gives up the start of a RegionServer and the check of its index."""
    return START_SECONDS + math.ceil(INDEX_CHECK_SECONDS_PER_GIB * plan.persistence.index_bytes / 2**30)


def lasting_arguments(arguments: Sequence[str], at_launch: Sequence[str]) -> tuple[str, ...]:
    """Return those of an action's arguments that a cluster depends on that was launched with others.

    The time that systemd leaves a RegionServer to stop is one of them only if it is too short: HBase's own time, which
    is set in place, must end before it.
    """
    limit = max((int(argument.removeprefix(STOP)) for argument in at_launch if argument.startswith(STOP)), default=0)
    return tuple(
        argument
        for argument in arguments
        if not argument.startswith(OF_THE_LAUNCH)
        and not (argument.startswith(STOP) and int(argument.removeprefix(STOP)) - KILLED_SECONDS <= limit)
    )


def stop_seconds(plan: Plan) -> int:
    """Return the time after which systemd kills a RegionServer that is stopping."""
    return plan.persistence.stop_timeout_seconds + KILLED_SECONDS


def encoded(words: Sequence[str]) -> str:
    """Return the words as a JSON list in Base64: no shell on the way to the action can change a quote or a blank."""
    return base64.b64encode(json.dumps(list(words)).encode()).decode()


def volume_arguments(group: CoreGroup) -> Iterator[str]:
    """Yield the arguments by which mount-volumes tells the volumes of a node apart."""
    for volume in group.volumes:
        yield f"--{volume.purpose}-volume-gib={volume.size_gib}"
        if volume.purpose == "data" or volume.count > 1:
            yield f"--{volume.purpose}-volumes={volume.count}"


def _guarded_cache(plan: Plan) -> Iterator[str]:
    streamed = releases()[plan.release].index_restored_in_background
    yield f"--cache-volume-gib={plan.core.volume('cache').size_gib}"
    yield f"--cache-mib={plan.cache.size_mib}"
    yield f"--index-mib={math.ceil(plan.persistence.index_bytes / MIB)}"
    yield f"--index-format={'streamed' if streamed else 'chunked'}"
    yield f"--cache-file={node_files.cache_files(plan.core)}"
    yield f"--index-file={node_files.INDEX_FILE}"
