"""The inspection of nodes by a program that Systems Manager runs there, and of the first primary node by an EMR step.

The settings in force that are neither rendered nor the default of HBase or Hadoop are read, too. EMR has defaults of
its own, which no page lists completely. They, and edits by hand, show in the pages on which each server says what it
has read, with the source of each value.
"""

from __future__ import annotations

import base64
import io
import json
import re
import shlex
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Literal
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from msgspec import Struct
from msgspec.structs import asdict, replace

from warmbase.changes.change import is_equivalent
from warmbase.changes.plan_comparison import PlanFigures
from warmbase.changes.planned_cluster import deployable_cluster
from warmbase.configurations.launch import Launch
from warmbase.configurations.properties import CATALOGUE, HBaseProperty, PropertyScope
from warmbase.emr.cluster_spec import flattened
from warmbase.environments.environment import PINNED, Override
from warmbase.facts.keys import current_key, deprecated_keys, emr_keys, hadoop_keys, hbase_keys
from warmbase.facts.releases import releases
from warmbase.ground.errors import Infeasible, InvalidInput, OperationFailed
from warmbase.ground.release import Release
from warmbase.ground.secret import redacted
from warmbase.operations.aws.clients import Aws
from warmbase.operations.aws.node_command import PrimaryShell, outcome, send
from warmbase.operations.aws.progress import Say
from warmbase.operations.cluster.hbase_control import CacheContents
from warmbase.operations.cluster.stack import running_nodes
from warmbase.operations.hbase.emr_hbase import CacheIndex
from warmbase.operations.verify.check import (
    Check,
    CheckResult,
    Effective,
    Facts,
    HBaseContext,
    Nodes,
    Rank,
    Server,
    SettingDifference,
)
from warmbase.sizing.explanation import figure_at
from warmbase.sizing.server.writes import FEWEST_FILES, more_store_files

GroupType = Literal["CORE", "MASTER"]
"""The name that EMR gives an instance group."""
NAMES: Final = {"CORE": "core", "MASTER": "primary"}
ON_NODE: Final = Path(__file__).parents[1] / "on_node"
PACKAGES: Final = ("warmbase", "warmbase/operations", "warmbase/operations/on_node")
SHARED: Final = "node_facts.py"
RUN: Final = (
    'program=$(mktemp) && trap \'rm -f "$program"\' EXIT && echo {packed} | base64 -d >"$program"'
    ' && /usr/bin/python3 "$program" {arguments}'
)
# judgement: Systems Manager delivers within seconds; a program runs for two seconds, or a minute if it counts pages.
ANSWER_SECONDS: Final = 120.0


class NodeProgram(Struct, frozen=True):
    """A program of `on_node` with its arguments."""

    name: str
    arguments: Sequence[str]

    @property
    def packed(self) -> bytes:
        """Return the program with the module that all of them import, as a zip that Python runs."""
        files = {f"{package}/__init__.py": b"" for package in PACKAGES}
        files[f"{PACKAGES[-1]}/{SHARED}"] = (ON_NODE / SHARED).read_bytes()
        files["__main__.py"] = (ON_NODE / self.name).read_bytes()
        packed = io.BytesIO()
        with ZipFile(packed, "w") as archive:
            for path, content in files.items():
                archive.writestr(ZipInfo(path), content, ZIP_DEFLATED)
        return packed.getvalue()

    @property
    def text(self) -> str:
        """Return the shell text that runs it on a node."""
        return RUN.format(packed=base64.b64encode(self.packed).decode(), arguments=shlex.join(self.arguments))


def probe_nodes(aws: Aws, cluster_id: str, group: GroupType, program: NodeProgram, say: Say) -> Nodes:
    """Return the facts of each node of an instance group, as the program prints them. Raises botocore's errors."""
    instances = running_nodes(aws, cluster_id, group)
    text = program.text
    facts: dict[str, Facts | None] = dict.fromkeys(instances)
    sent: dict[str, str] = {}
    nodes = "node" if len(instances) == 1 else "nodes"
    say(f"inspecting {len(instances)} {NAMES[group]} {nodes} through Systems Manager")
    for instance in instances:
        # One command for each instance: an instance that Systems Manager does not know would fail the command for all.
        identity = send(aws, instance, text, ANSWER_SECONDS)
        if identity is not None:
            sent[instance] = identity
    for instance, identity in sent.items():
        ended = outcome(aws, identity, instance, ANSWER_SECONDS)
        with suppress(ValueError):
            answer = json.loads(ended.output) if ended else None
            facts[instance] = answer if isinstance(answer, dict) else None
    return facts


def probe_primary(primary: PrimaryShell, say: Say) -> Facts | str:
    """Return the facts of the first primary node; the reason where it does not answer."""
    try:
        return primary.run("inspect-primary", say)
    except OperationFailed as failed:
        return failed.summary


def probe_caches(primary: PrimaryShell, launch: Launch, nodes: Nodes, say: Say) -> Mapping[str, CacheContents] | str:
    """Return the contents of the cache of each node that answered; the reason where an index cannot be read."""
    instances = {instance: instance for instance, facts in nodes.items() if facts is not None}
    if not (launch.plan.mode.has_bucket_cache and instances):
        return {}
    say(f"reading the indexes of {len(instances)} caches through Systems Manager")
    try:
        return CacheIndex.of(launch).read_contents(primary, instances)
    except OperationFailed as failed:
        return failed.summary


RANKS: Final[Mapping[Rank, str]] = {
    "figure": "every property that a figure of the plan depends on is rendered or has the default of the release",
    "operation": "every property that an operation depends on is rendered or has the default of the release",
    "other": "every other property, on which nothing depends as far as we know, has the default of the release",
    "expected": "EMR or the server has to set some properties itself, which need not have a default",
}
SERIOUS: Final[Mapping[Rank, bool]] = {"figure": False, "operation": False, "expected": True}
"""The verdict on properties of a rank; it is unknown for the others."""
SERVERS: Final[tuple[Server, ...]] = ("RegionServer", "master")
"""The servers that have to answer."""
PROGRAM: Final = "probe_settings.py"
PAGES: Final[Mapping[GroupType, str]] = {
    "CORE": "--page=RegionServer=http://127.0.0.1:16030",
    "MASTER": "--page=master=http://127.0.0.1:16010",
}
YARN: Final = "--file=yarn=/etc/hadoop/conf/yarn-site.xml"
FILES: Final = ("core-site", "hdfs-site", "hbase-site")
"""The files that a server of HBase reads, in this order."""
ITSELF: Final = "programmatically"
"""The source of what a server sets itself, when it starts."""
EXPECTED: Final[Mapping[re.Pattern[str], str]] = {
    re.compile(r"\.(address|bind-host|hosts?|hostname|quorum|port|nameservices)(\.|$)"): "a name or a port of a node",
    re.compile(r"\.(dirs?|path|file|location|rootdir|log-dir)$|defaultFS$"): "a place on a node, in HDFS or in S3",
    re.compile(r"principal|keytab|kerberos|proxyuser|^hadoop\.security\.|\.ssl\."): "users and their authentication",
    re.compile(r"^hbase\.cluster\.distributed$|^hbase\.emr\.|^fs\.s3n?\."): "what makes it a cluster of EMR",
}
"""Keys that EMR must set on each cluster, with the reason; only those that the plan needs count as differences."""
OPERATIONS: Final = re.compile(
    r"restart|heal|outage|wave|load of|balancer|verify|command|node has regions|groups|pages"
)
"""Words in `needed_by` that name an operation instead of a figure."""
COMPACTION: Final = "hbase.hstore.compaction.min"
"""A property that states no figure of the plan itself, but from which figures follow."""
SIZES: Final = {"k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
TIMES_MS: Final = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
AMOUNT: Final = re.compile(r"(-?\d+(?:\.\d+)?)\s*([a-z]{0,2})")


def read_effective_settings(aws: Aws, cluster_id: str, say: Say) -> Effective:
    """Return the settings in force on every core node and every primary node. Raises botocore's errors."""
    keys = sorted({key for file, key in CATALOGUE if file in FILES})
    servers: dict[Any, dict[str, Any]] = {}
    for group, page in PAGES.items():
        program = NodeProgram(PROGRAM, (page, *((YARN,) if group == "CORE" else ()), *keys))
        for instance, facts in probe_nodes(aws, cluster_id, group, program, say).items():
            answers = json.loads(zlib.decompress(base64.b64decode(facts["packed"]))) if facts else {}
            for server in (entry.split("=")[1] for entry in program.arguments if entry.startswith("--")):
                servers.setdefault(server, {})[instance] = answers.get(server)
    return servers


def setting_differences(launch: Launch, account: str, effective: Effective) -> tuple[SettingDifference, ...]:
    """Return every difference, first those on which figures of the plan depend, then operations, then the rest."""
    release, ranks = releases()[launch.plan.release], list(RANKS)
    differences: dict[tuple[Server, str, str], SettingDifference] = {}
    for server, instances in effective.items():
        group = "primary" if server == "master" else "core"
        files = ("yarn-site",) if server == "yarn" else FILES
        entries = [entry for entry in flattened(launch.settings.effective(group)) if entry[0] in files]
        rendered: dict[str, tuple[str, str]] = {
            key: (file, launch.environment.in_account(value, account))
            for file, key, value in sorted(entries, key=lambda entry: files.index(entry[0]))
        }
        for instance, has in sorted(instances.items()):
            settings = has or {}
            for key, (value, source) in settings.items():
                current = current_key(key)
                if current != key and current in settings:
                    continue  # the server reads the old name only where the current one is missing
                file, expected = rendered.get(key) or rendered.get(current) or ("", None)
                entry = _catalogued(current, server) or _catalogued(key, server)
                if expected is None:
                    expected = _default(key, release)
                elif is_equivalent(CATALOGUE.get((file, key)), expected, value):
                    continue
                if expected is not None and is_same(expected, value):
                    continue
                shown = redacted(key, value)
                before = differences.get((server, key, shown))
                differences[server, key, shown] = SettingDifference(
                    key=key,
                    value=shown,
                    expected=None if expected is None else redacted(key, expected),
                    source=source,
                    server=server,
                    instances=(*(before.instances if before else ()), instance),
                    rank=_rank(key, source, entry),
                    effects=(),
                )
    ordered = sorted(differences.values(), key=lambda one: (ranks.index(one.rank), one.key, one.server, one.value))
    return tuple(replace(one, effects=tuple(_effects(launch, one))) for one in ordered)


def _default(key: str, release: Release) -> str | None:
    """Return the default under any name of the key, preferring one that is not empty; None where there is none."""
    current = current_key(key)
    names = (key, current, *(old for old, new in deprecated_keys().items() if new == current))
    tables = ((hbase_keys(), release.hbase), (hadoop_keys(), release.hadoop))
    defaults = [keys[name].default_in(version) for name in names for keys, version in tables if name in keys]
    return next(filter(None, defaults), "" if "" in defaults else None)


def _catalogued(key: str, server: Server) -> HBaseProperty | None:
    """Return the entry of a key that the servers of this kind read; None for another key, and where only others do."""
    group = PropertyScope.PRIMARY if server == "master" else PropertyScope.CORE
    readers = {group, PropertyScope.CLUSTER}
    named = (entry for (_, name), entry in CATALOGUE.items() if name == key)
    return next((entry for entry in named if entry.groups & readers), None)


def _rank(key: str, source: str, entry: HBaseProperty | None) -> Rank:
    if source == ITSELF:
        return "expected"
    if entry is not None and (entry.figure or entry.needed_by or current_key(key) == COMPACTION):
        return "operation" if OPERATIONS.search(entry.needed_by) else "figure"
    if key in emr_keys() or any(pattern.search(key) for pattern in EXPECTED):
        return "expected"
    return "other" if entry is None else "operation"


def is_same(one: str, other: str) -> bool:
    """Return whether two texts of a site file mean the same; the table of defaults cuts long ones short."""
    one, other = (",".join(part.strip() for part in " ".join(text.split()).split(",")) for text in (one, other))
    if one.endswith("..."):
        return other.startswith(one[:-3])
    return one == other or bool(_meanings(one) & _meanings(other))


def _meanings(text: str) -> set[tuple[str, object]]:
    """Return what a text may mean: a number, bytes or milliseconds; a switch in any case."""
    text = text.lower()
    amount = AMOUNT.fullmatch(text)
    if amount is None:
        return {("text", text)} if text in {"true", "false"} else set()
    number, unit = float(amount[1]), amount[2]
    meanings = {("number", number)} if unit in {"", "f", "d", "l"} else set()
    meanings |= {("bytes", number * SIZES.get(unit, 1))} if unit in {"", *SIZES} else set()
    return meanings | ({("ms", number * TIMES_MS.get(unit, 1))} if unit in {"", *TIMES_MS} else set())


def _effects(launch: Launch, difference: SettingDifference) -> Iterator[str]:
    """Yield what the value changes in the plan, and by how much where the calculator takes the value."""
    key = current_key(difference.key)
    entry = _catalogued(key, difference.server)
    release = releases()[launch.plan.release]
    name, tables = difference.key, ((hbase_keys(), release.hbase), (hadoop_keys(), release.hadoop))
    is_known = any(name in keys and keys[name].exists_in(version) for keys, version in tables)
    if difference.rank == "other" and not is_known:
        yield f"neither HBase {'.'.join(map(str, release.hbase))} nor its Hadoop reads such a key"
    if difference.rank not in {"figure", "operation"}:
        return
    if entry is not None and entry.needed_by:
        yield f"needed by {entry.needed_by}"
    if key == COMPACTION and difference.value.isdecimal():
        files = more_store_files(int(difference.value))
        yield (
            f"compared with {FEWEST_FILES}, a store has {files:+.1f} files on average, so a read asks {files:+.1f}"
            " Bloom filters; a store reaches writes.settings.blocking_store_files sooner"
        )
    if entry is not None and entry.figure:
        try:
            yield f"the plan's figure {entry.figure} is {figure_at(launch.plan, entry.figure)}"
        except LookupError:
            yield f"it states the figure {entry.figure}"
    if (at := ("hbase-site", key)) in PINNED and PINNED[at].refusal(difference.value) is None:
        # These figures differ in a plan with this value.
        override = Override(classification=at[0], key=key, value=difference.value, where="verify")
        environment = replace(launch.environment, overrides=(*launch.environment.overrides, override))
        try:
            other = deployable_cluster(environment, launch.plan.cluster).launch.plan
        except (Infeasible, InvalidInput) as error:
            yield f"with this value the plan fails: {error.summary}"
            return
        after = asdict(PlanFigures.of(other))
        for field, figure in asdict(PlanFigures.of(launch.plan)).items():
            if isinstance(figure, (int, float)) and figure != after[field]:
                yield f"{field} {figure:,.6g} -> {after[field]:,.6g}"


def settings_in_force(context: HBaseContext) -> Iterator[CheckResult]:
    """Check that each server has only rendered properties, defaults of the release, and what EMR must set."""
    effective = context.effective
    answers = [settings for server in SERVERS for settings in effective.get(server, {}).values()]
    differences = setting_differences(context.launch, context.aws.account, effective)
    for rank, meaning in RANKS.items():
        chosen = tuple(difference for difference in differences if difference.rank == rank)
        keys = sorted({difference.key for difference in chosen})
        is_complete = bool(answers) and None not in answers
        result = Check(
            f"settings in force: {rank}",
            "EMR sets no property of HBase" if rank == "figure" else "",
            meaning,
            "set each property under `overrides` of the environment file to the value that you want, and tell us",
        ).result(
            f"{len(keys)}: {', '.join(keys)}" if chosen else "none" if is_complete else "a server did not answer",
            good=SERIOUS.get(rank) if chosen else is_complete or None,
        )
        yield replace(result, settings=chosen)
