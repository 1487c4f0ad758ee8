"""A draft of an environment file: what a person states, and what warmbase assumes because nobody stated it.

Its text is checked as if a person had written it, and it is written only where no file exists. Each key has a comment,
and each assumption has its reason and is marked as one. For a key whose value a person has to find out, the comment
says how to measure it on a running cluster. Names of options, counters and printed lines were read from HBase 2.6.4 and
2.6.5 (`HFilePrettyPrinter`, `MetricsRegionServerSource`, `MetricsRegionSource`, `MetricsWALSource`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from textwrap import wrap
from typing import Final

import yaml
from msgspec import Struct, field
from msgspec.structs import replace

from warmbase.environments.environment import Environment
from warmbase.environments.reader.assignment import Assignment, assigned
from warmbase.environments.reader.cluster_schema import GRAVITON_MEMORY_FAMILIES
from warmbase.environments.reader.document import parse_document, path_text
from warmbase.environments.reader.read import environment_of, new_path, quoted_path, shared_roots
from warmbase.environments.reader.schema_keys import ANY_NAME, TABLES, SchemaKey, schema_keys
from warmbase.environments.reader.workload_schema import CELL, REGIONS
from warmbase.facts.releases import newest_release
from warmbase.ground.errors import InvalidInput, Problem
from warmbase.ground.units import exact_size, format_size, parse_size
from warmbase.ground.whole_file import written_beside
from warmbase.sizing.modes import MODES, S3_CACHED
from warmbase.sizing.workload.workload import DEFAULT_SPLIT_BYTES, usual_regions

CLUSTER: Final = "blue"
"""The name of the one cluster of a draft."""
REQUIRED: Final = ("workload.stored", "workload.reads.per_second", "workload.row", "region")
"""Keys for which no assumption would be near the truth."""


class Answer(Struct, frozen=True, kw_only=True):
    """The value of one key, as YAML holds it. `assumed` is the reason for it; empty where a person stated the value."""

    value: object
    assumed: str = ""


class Draft(Struct, frozen=True, kw_only=True):
    """The values that a person states, by path, such as `workload.stored`.

    `remarks` are comments on keys, also by path: where a value comes from, or why the value of a file is not used.
    """

    name: str
    values: Mapping[str, object]
    remarks: Mapping[str, str] = field(default_factory=dict)

    def answer(self, key: SchemaKey) -> Answer | None:
        """Return the stated value of a key, else an assumption, else its default; None for a key without a value."""
        path = key.path.replace(ANY_NAME, CLUSTER)
        if path == "name":
            return Answer(value=self.name)
        if path in self.values:
            return Answer(value=self.values[path])
        if self._is_refused(path):
            return None
        if (assumption := ASSUMPTIONS.get(path)) is not None:
            return Answer(value=assumption.value(self.values), assumed=assumption.why)
        return None if key.default is None else Answer(value=key.default, assumed=key.key.assumed or "the default.")

    def example(self, key: SchemaKey) -> object:
        """Return an example of a key; that of a busiest hour is twice the stated mean, because less is refused."""
        mean = self.values.get("workload.reads.per_second")
        if key.path == "workload.reads.peak_per_second" and isinstance(mean, int | float):
            return 2 * mean
        return key.example

    def _is_refused(self, path: str) -> bool:
        """Return whether a key has no meaning beside the stated values, so that a file may not or need not have it."""
        if path == "network.endpoint_policies":
            return self.values.get("network.vpc", "new") != "new"
        if path in {"storage.root", "storage.wal", "fencing"}:
            mode = MODES.get(str(self.values.get("storage.mode")), S3_CACHED)
            return not mode.keeps_data_in_s3
        return path == "workload.reads.per_second" and "workload.reads.concurrency" in self.values


KeyValues = Mapping[str, object]
"""Values by path, as a person states them: any of them may be invalid."""

LEAST_SERVERS: Final = 2
"""The calculator chooses no fewer core nodes, because HDFS keeps the write-ahead log twice."""
# judgement: between evenly read rows, which need the largest cache, and YCSB's 0.99, with which a plan buys too small a
# cache if the reads are less skewed. Web requests at proxies had 0.64 to 0.83 (Breslau et al., INFOCOM 1999).
MIDDLE_ZIPF: Final = 0.8
AUTO: Final = "auto"


class Assumption(Struct, frozen=True, kw_only=True):
    """A value for a key that nobody states, computed from stated ones, with its reason as a whole sentence."""

    value: Callable[[KeyValues], object]
    why: str


def _constant(value: object, why: str) -> Assumption:
    return Assumption(value=lambda _: value, why=why)


def _bytes(values: KeyValues, path: str) -> int | None:
    """Return a stated size, None where it is not stated or not a size."""
    try:
        return parse_size(str(values.get(path)))
    except (ValueError, OverflowError):
        return None


def _cell(values: KeyValues) -> str:
    """Return the size of the row, or the largest size that a cell may have."""
    row_bytes = _bytes(values, "workload.row") or 1
    return exact_size(min(row_bytes, int(CELL.most)))


def _regions(values: KeyValues) -> int:
    count = values.get("clusters.blue.core.count")
    servers = count if isinstance(count, int) else LEAST_SERVERS
    usual = usual_regions(_bytes(values, "workload.stored") or 1, max(servers, LEAST_SERVERS))
    return min(usual, int(REGIONS.most))


ASSUMPTIONS: Final[Mapping[str, Assumption]] = {
    "release": Assumption(
        value=lambda _: newest_release().label,
        why="the newest release that warmbase has facts about. `aws emr describe-cluster` prints the release"
        " of a running cluster.",
    ),
    "network.availability_zone": Assumption(
        value=lambda values: f"{values.get('region', '')}a",
        why="the Region's first zone. Confirm it: `aws ec2 describe-availability-zones` lists the zones of your"
        " account, and `aws ec2 describe-subnets` prints the zone of each subnet.",
    ),
    "workload.cell": Assumption(value=_cell, why="a row is one cell."),
    "workload.popularity": _constant(
        {"zipf": MIDDLE_ZIPF},
        "a mild skew, like that of web requests (0.64 to 0.83, Breslau et al. 1999). It lies between `uniform`,"
        " which needs the largest cache, and YCSB's {zipf: 0.99}.",
    ),
    "workload.regions": Assumption(
        value=_regions,
        why=f"one region for each {format_size(DEFAULT_SPLIT_BYTES)}, at which HBase splits a region by default, and"
        " at least five for each core node.",
    ),
    "clusters.blue.primary.type": _constant(AUTO, "warmbase chooses."),
    "clusters.blue.core.type": _constant(AUTO, "warmbase chooses."),
    "clusters.blue.core.count": _constant(AUTO, "warmbase chooses."),
    "clusters.blue.core.families": _constant(
        list(GRAVITON_MEMORY_FAMILIES), "the default, Graviton families with much memory for each vCPU."
    ),
    "clusters.blue.core.volumes": _constant(AUTO, "warmbase chooses."),
}
"""Each key whose assumption is not its default."""


SCHEMA: Final = "schema.json"
SIZE: Final = re.compile(r"^([0-9._]+)([KMGTP]?i?B)$")
STAND_INS: Final[Mapping[str, object]] = dict(zip(REQUIRED, ("1 TiB", 1, "1 KiB", "us-east-1"), strict=True))
"""Values for required keys while a person has not answered yet, so that the other answers can be checked."""


class DraftFile(Struct, frozen=True, kw_only=True):
    """The text of a new environment file and the environment that it describes."""

    path: Path
    text: str
    environment: Environment

    @property
    def source(self) -> str:
        """Return the path as messages name it."""
        return self.environment.source

    @property
    def assumed(self) -> int:
        """Return how many values nobody stated."""
        return self.text.count(f"# {MARK}")

    def write(self) -> None:
        """Write the whole file, or nothing. Raises InvalidInput where a file exists."""
        self.path.parent.mkdir(exist_ok=True)
        with written_beside(self.path, self.text.encode()) as new:
            try:
                os.link(new, self.path)
            except FileExistsError:
                raise already_there(self.path) from None


def draft_file(path: Path, assignments: Sequence[Assignment], remarks: Mapping[str, str]) -> DraftFile:
    """Return the file that states these values and assumes all others.

    Raises InvalidInput for each value that is refused, and for a file or a root that another environment has.
    """
    if os.path.lexists(path):
        raise already_there(path)
    if not path.parent.is_dir() and path != new_path(path.stem):
        why = f"there is no directory {path.parent}"
        raise InvalidInput.of(where=str(path), what="cannot be written", why=why, fix="create it, or give a name")
    source = quoted_path(path)
    name = Assignment.at(("name",), yaml_text(path.stem), "NAME")
    schema = SCHEMA if (path.parent / SCHEMA).exists() else None
    text = draft_text(_draft(path.stem, assignments, remarks), schema)
    environment = _environment(text, (name, *assignments), source)
    problems = shared_roots(environment)
    if problems:
        raise InvalidInput(problems)
    return DraftFile(path=path, text=text, environment=environment)


def refusals(assignments: Sequence[Assignment], where: str) -> tuple[Problem, ...]:
    """Return what is wrong with the values that have this place, while others are not yet known."""
    known = _draft("draft", assignments, {})
    draft = replace(known, values={**STAND_INS, **known.values})
    try:
        _environment(draft_text(draft), assignments, "draft")
    except InvalidInput as error:
        return tuple(problem for problem in error.problems if problem.where == where)
    return ()


def already_there(path: Path) -> InvalidInput:
    """Return the error of a path at which there is something already."""
    return InvalidInput.of(
        where=quoted_path(path),
        what="exists already",
        why="warmbase does not overwrite an environment file",
        fix=f"edit it, run `warmbase plan {path.stem}`, or choose another name",
    )


def _draft(name: str, assignments: Sequence[Assignment], remarks: Mapping[str, str]) -> Draft:
    values: dict[str, object] = {}
    for assignment in assignments:
        value = assignment.value.values
        # A size is written with a space before its unit, as everywhere in the file.
        values[path_text(assignment.path)] = SIZE.sub(r"\1 \2", value) if isinstance(value, str) else value
    return Draft(name=name, values=values, remarks=remarks)


def _environment(text: str, assignments: Sequence[Assignment], source: str) -> Environment:
    """Return the environment of a text. Problems of assumptions are left out where a stated value causes them."""
    document = assigned(parse_document(text.encode(), source, Path(source).parent), assignments)
    try:
        return environment_of(document)
    except InvalidInput as error:
        places = {assignment.where for assignment in assignments}
        raise InvalidInput(
            [problem for problem in error.problems if problem.where in places] or error.problems
        ) from None


WIDTH: Final = 110
INDENT: Final = "  "
MARK: Final = "assumed:"
"""Begins the comment of each value that nobody stated."""
MEASURE: Final = "on your cluster:"
LISTED_UNSET: Final = ("account", "tags", "discount", "workload.", "targets.", "alarms")
"""Keys without a value that a file lists as comments. The others are on the environment page alone."""
HEAD: Final = (
    f"The word `{MARK}` in a comment marks a value that you did not state. Check these values first.",
    "docs/environment.md explains every key.",
)


def draft_text(draft: Draft, schema: str | None = None) -> str:
    """Return the file; `schema` is the address of the JSON schema for editors, if there is one."""
    lines = [f"# yaml-language-server: $schema={schema}"] if schema else []
    lines += [f"# {line}" for line in HEAD]
    for key in (key for path, key in schema_keys().items() if "." not in path):
        block = _key_lines(draft, key, "")
        lines += ["", *block] if block else []
    return "\n".join(lines) + "\n"


def _key_lines(draft: Draft, key: SchemaKey, indent: str) -> list[str]:
    """Return the lines of a key: its comment and value, or the keys within; nothing for a key that is left out."""
    path = key.path.replace(ANY_NAME, CLUSTER)
    name = path.rpartition(".")[2]
    is_clusters = path == "clusters"
    inner: list[str] = []
    for within in key.sections if key.is_section or is_clusters else ():
        # Tables replace all other keys of the workload, and a draft has only a cluster of HBase.
        if within.path != TABLES and (ANY_NAME in within.path or not is_clusters):
            inner += _key_lines(draft, within, indent + (2 * INDENT if is_clusters else INDENT))
    if is_clusters:
        return [f"{indent}{name}:", f"{indent}{INDENT}{CLUSTER}:", *inner]
    if any(not line.lstrip().startswith("#") for line in inner):
        return [f"{indent}{name}:", *inner]
    answer = None if key.is_section else draft.answer(key)
    paragraphs = [key.key.text, draft.remarks.get(path, "")]
    last = []
    if answer is not None:
        value, text = answer.value, f" {yaml_text(answer.value)}"
        if isinstance(value, dict) and any(isinstance(within, dict) for within in value.values()):
            # Each property has a line of its own below its classification.
            block = yaml.safe_dump(
                value, default_flow_style=False, width=float("inf"), allow_unicode=True, sort_keys=False
            )
            text = "".join(f"\n{indent}{INDENT}{line}" for line in block.splitlines())
        line, measurement = f"{indent}{name}:{text}", MEASUREMENTS.get(key.path, "")
        # The reason of an assumption stands behind the value where there is room, else above it.
        marked = f"{line} # {MARK} {answer.assumed.rstrip('.')}"
        if answer.assumed and not measurement and len(marked) <= WIDTH:
            line = marked
        elif answer.assumed:
            paragraphs += [f"{MARK} {answer.assumed}", f"{MEASURE} {measurement}" if measurement else ""]
        last = [line]
    elif path.startswith(LISTED_UNSET) or path in draft.remarks:
        last = [f"{indent}# {name}: {yaml_text(draft.example(key))}"]
    comments = [line for text in paragraphs for line in wrap(text, WIDTH - len(indent), break_on_hyphens=False)]
    return [*(f"{indent}# {line}" for line in comments), *last] if last else []


def yaml_text(value: object) -> str:
    """Return a value as YAML on one line, in quotes where it needs them."""
    text = yaml.safe_dump(value, default_flow_style=True, width=float("inf"), allow_unicode=True, sort_keys=False)
    return text.strip().removesuffix("...").strip()


SERVER_BEAN: Final = "Hadoop:service=HBase,name=RegionServer,sub=Server"
REGION_BEAN: Final = "Hadoop:service=HBase,name=RegionServer,sub=Regions"
LOG_BEAN: Final = "Hadoop:service=HBase,name=RegionServer,sub=WAL"
COUNTERS: Final = (
    "Counters are on each RegionServer at `http://SERVER:16030/jmx?qry=BEAN`, and count from its start. Take the"
    " difference between two readings, an hour apart, and add up all RegionServers."
)

MEASUREMENTS: Final[Mapping[str, str]] = {
    "workload.stored": "`hdfs dfs -du -s -h s3://BUCKET/PREFIX/data` (or `/user/hbase/data` on HDFS) prints it in the"
    " first column; `warmbase inspect s3://BUCKET/PREFIX/` measures it.",
    "workload.inspection": "`warmbase inspect s3://BUCKET/PREFIX/` writes the file.",
    "workload.reads.per_second": f"The growth of `readRequestCount` in the JMX bean `{SERVER_BEAN}`, divided by the"
    " seconds between two readings and summed over RegionServers. It counts rows: divide it by `rows`.",
    "workload.reads.peak_per_second": "The same as `per_second`, in the busiest hour of a week.",
    "workload.reads.seasons.peak": "Measure the rate in the busiest hours of a day in the same way as `per_second`, and"
    " divide it by the mean rate.",
    "workload.reads.seasons.hours": "The number of hours a day in which the rate is close to that of the busiest"
    " hours.",
    "workload.reads.concurrency": "The number of threads of your benchmark that wait for an answer.",
    "workload.reads.kind": "`rpcGetRequestCount`, `rpcMultiRequestCount` or `rpcScanRequestCount`, whichever grows most"
    f" in the JMX bean `{SERVER_BEAN}`.",
    "workload.reads.rows": "The growth of `readRequestCount`, divided by that of `rpcScanRequestCount` or"
    f" `rpcMultiRequestCount`, in the JMX bean `{SERVER_BEAN}`.",
    "workload.row": "`hbase hfile -s -f FILE` prints the mean under `Row size (bytes)`, for a store file of the table."
    " If you read only some columns, count only those.",
    "workload.cell": "`hbase hfile -m -f FILE` prints it as `avgValueLen`; `warmbase inspect` prints it as mean value.",
    "workload.block_size": "`describe 'TABLE'` in `hbase shell` prints it as BLOCKSIZE.",
    "workload.compression.codec": "`describe 'TABLE'` in `hbase shell` prints it as COMPRESSION.",
    "workload.compression.ratio": "`hbase hfile -m -f FILE`: `totalUncomressedBytes` (HBase's spelling) divided by"
    " `length`.",
    "workload.encoding": "`describe 'TABLE'` in `hbase shell` prints it as DATA_BLOCK_ENCODING.",
    "workload.writes.bytes_per_second": f"The growth of `writtenBytes` in the JMX bean `{LOG_BEAN}`, divided by the"
    " seconds between two readings and summed over RegionServers; it includes keys, so it is a little too high.",
    "workload.writes.cells_per_put": "The batch size of your clients, divided by the number of regions that a batch"
    " goes to.",
    "workload.popularity": "HBase does not count how often a row is read. Count the row keys in a sample of your"
    " clients' requests, and write the cumulative shares into a CSV file: {curve: FILE}.",
    "workload.regions": f"The sum of `regionCount` in the JMX bean `{SERVER_BEAN}` over RegionServers; `status` in"
    " `hbase shell` prints the mean for a server as average load.",
    "workload.spread": "Compare the regions' `readRequestCount`: attributes"
    f" `Namespace_NS_table_TABLE_region_REGION_metric_readRequestCount` in the JMX bean `{REGION_BEAN}`.",
}
"""Each key, and how to find its value. The table of the environment page and the drafts of `warmbase new` show it."""
