"""After a launch, whatever is changed in the environment file: nothing that the cluster stands on is replaced."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, seed, settings
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace

from local_aws.cloudformation.stack_update import Recreation, property_changes
from tests.stacks.recorded import ACCOUNT, launch_record_of
from tests.tiers import quick_where
from warmbase import app
from warmbase.emr.cloudformation import CLUSTER_TYPE, resolved
from warmbase.environments.launch_record import LaunchRecord, RecordedResource, write_record
from warmbase.ground.errors import Infeasible, InvalidInput, Refused
from warmbase.stacks.pinned import apply_record, check_not_replaced, read_templates
from warmbase.stacks.references import Templates, exports_of, recorded_resource, references

PROJECT = Path(__file__).parents[2]
KEY = "arn:aws:kms:us-east-1:123456789012:key/11111111-2222-3333-4444-555555555555"
BASE: dict[str, Any] = {
    "name": "kept",
    "region": "us-east-1",
    "release": "emr-7.12.0",
    "storage": {"root": "s3://our-data/hbase/", "key": KEY},
    "network": {"availability_zone": "us-east-1a"},
    "access": {"cidrs": ["10.0.0.0/16"]},
    "tags": {"team": "data"},
    "workload": {"stored": "200 GiB", "cell": "1 KiB", "row": "10 KiB", "reads": {"per_second": 200}, "regions": 40},
    "targets": {"hit_ratio": 0.9, "lost_nodes": 0},
    "clusters": {"blue": {"role": "active", "primaries": 1, "core": {"families": ["m8g", "r8g", "m7g"]}}},
    "alarms": {"email": "on-call@example.com"},
}
# An inspection says what else the workload would.
INSPECTED: dict[str, object] = {
    "workload": {
        "inspection": str(PROJECT / "tests/environments/inspection.json"),
        "cell": "1 KiB",
        "row": "10 KiB",
        "reads": {"per_second": 200},
        "regions": 40,
    }
}
TABLE: dict[str, object] = {
    "stored": "50 GiB",
    "cell": "400 B",
    "row": "4 KiB",
    "reads": {"per_second": 100},
    "regions": 20,
}
VOLUMES: list[dict[str, object]] = [
    {"purpose": "cache", "size": "300 GiB", "iops": 4000, "throughput": "250 MiB/s"},
    {"purpose": "system", "size": "120 GiB"},
]
PINNED: dict[str, object] = {"type": "r8g.2xlarge", "count": 4, "volumes": VOLUMES}
BLUE = "clusters.blue"
CORE = "clusters.blue.core"
KERBEROS = {"kdc": "cluster", "realm": "EC2.INTERNAL", "admin_password": "{{resolve:secretsmanager:hbase/kdc}}"}
EXISTING = {
    "availability_zone": "us-east-1a",
    "vpc": "vpc-0123456789abcdef0",
    "subnet": "subnet-0123456789abcdef0",
    "route_table": "rtb-0123456789abcdef0",
}


def pinned(change: Mapping[str, object], of: int = 0) -> dict[str, object]:
    """Return the core stated in full, one thing of one volume otherwise."""
    volumes = [{**each, **(change if number == of else {})} for number, each in enumerate(VOLUMES)]
    return {CORE: {**PINNED, "volumes": volumes}}


def lake(change: Mapping[str, object]) -> list[dict[str, object]]:
    """Return an analytics cluster beside the recorded one, with these values in its sections."""
    section: dict[str, Any] = {
        "engine": "trino",
        "data": ["s3://our-lake/tables/"],
        "workload": {"working_set": "1 TiB", "scanned": "10 GiB", "queries": {"per_hour": 30}},
        "workers": {"families": ["i8g"]},
    }
    for path, value in change.items():
        *within, key = path.split(".")
        inner = section
        for step in within:
            inner = inner.setdefault(step, {})
        inner[key] = value
    return [{"clusters.lake": section}]


# Field of the schema → changes of the file, each a set of values by path. None takes a key away.
CHANGES: dict[str, list[dict[str, object]]] = {
    "access.cidrs.[]": [{"access.cidrs": value} for value in ([], ["10.1.0.0/16"], ["10.0.0.0/16", "10.9.0.0/16"])],
    "access.security_groups.[]": [{"access.security_groups": ["sg-0123456789abcdef0"]}, {"access.security_groups": []}],
    "account": [{"account": ACCOUNT}, {"account": "210987654321"}],
    "alarms.email": [{"alarms.email": "other@example.com"}, {"alarms": None}],
    "clusters.*.core.count": [{CORE: {**PINNED, "count": count}} for count in (2, 3, 5, 12)],
    "clusters.*.core.families.[]": [{f"{CORE}.families": value} for value in (["r8g"], ["m7g"], ["r7g", "r8g"], None)],
    "clusters.*.core.type": [
        {CORE: {**PINNED, "type": each}} for each in ("r8g.4xlarge", "r7g.2xlarge", "m8g.4xlarge")
    ],
    "clusters.*.core.volumes.[].count": [pinned({"count": count}) for count in (1, 2)],
    "clusters.*.core.volumes.[].iops": [pinned({"iops": iops}) for iops in (3000, 6000, 12000)],
    "clusters.*.core.volumes.[].purpose": [pinned({"purpose": "system"}), pinned({"purpose": "cache"}, of=1)],
    "clusters.*.core.volumes.[].size": [pinned({"size": size}) for size in ("256 GiB", "512 GiB", "2 TiB")],
    "clusters.*.core.volumes.[].throughput": [pinned({"throughput": f"{each} MiB/s"}) for each in (125, 500, 1000)],
    "clusters.*.core.volumes.[].type": [pinned({"type": each}) for each in ("gp3", "nvme", "io2")],
    "clusters.*.data.[]": lake({"data": ["s3://other-lake/tables/"]}),
    "clusters.*.engine": [{"clusters.blue.engine": "hbase"}, {"clusters.blue.engine": "trino"}],
    "clusters.*.catalog": lake({"catalog": "iceberg"}),
    "clusters.*.coordinator.type": lake({"coordinator.type": "r8g.2xlarge"}),
    "clusters.*.preferred_hosts": lake({"preferred_hosts": 2}),
    "clusters.*.targets.query_time": lake({"targets.query_time": "60 s"}),
    "clusters.*.workers.count": lake({"workers.count": 9}),
    "clusters.*.workers.type": lake({"workers.type": "i8g.2xlarge"}),
    "clusters.*.workload.cpu_seconds_per_gib": lake({"workload.cpu_seconds_per_gib": 20}),
    "clusters.*.workload.growth": lake({"workload.growth": "3 % a month"}),
    "clusters.*.workload.file": lake({"workload.file": "64 MiB"}),
    "clusters.*.workload.file_format": lake({"workload.file_format": "orc"}),
    "clusters.*.workload.read": lake({"workload.read": "1 MiB"}),
    "clusters.*.workload.queries.per_hour": lake({"workload.queries.per_hour": 60}),
    "clusters.*.workload.queries.peak_per_hour": lake({"workload.queries.peak_per_hour": 90}),
    "clusters.*.workload.scanned": lake({"workload.scanned": "20 GiB"}),
    "clusters.*.workload.working_set": lake({"workload.working_set": "2 TiB"}),
    "clusters.*.workers.families.[]": lake({"workers.families": ["r8g", "m8g"]}),
    "clusters.*.workload.popularity.zipf": lake({"workload.popularity": {"zipf": 0.8}}),
    "clusters.*.workload.popularity.hot": lake({"workload.popularity": {"hot": "5 %", "of_reads": "90 %"}}),
    "clusters.*.workload.popularity.of_reads": lake({"workload.popularity": {"hot": "5 %", "of_reads": "60 %"}}),
    "clusters.*.workload.popularity.curve": lake({"workload.popularity": {"curve": "curve.csv"}}),
    "clusters.*.workers.volumes.[].count": lake({"workers": {"type": "r8g.2xlarge", "count": 9, "volumes": VOLUMES}}),
    "clusters.*.workers.volumes.[].iops": lake({"workers": {"type": "r8g.2xlarge", "count": 9, "volumes": VOLUMES}}),
    "clusters.*.workers.volumes.[].purpose": lake({"workers": {"type": "r8g.2xlarge", "count": 9, "volumes": VOLUMES}}),
    "clusters.*.workers.volumes.[].size": lake({"workers": {"type": "r8g.2xlarge", "count": 9, "volumes": VOLUMES}}),
    "clusters.*.workers.volumes.[].throughput": lake(
        {"workers": {"type": "r8g.2xlarge", "count": 9, "volumes": VOLUMES}}
    ),
    "clusters.*.workers.volumes.[].type": lake({"workers": {"type": "r8g.2xlarge", "count": 9, "volumes": VOLUMES}}),
    "clusters.*.primaries": [{"clusters.blue.primaries": 3}, {"clusters.blue.primaries": None}],
    "clusters.*.primary.type": [{"clusters.blue.primary": {"type": each}} for each in ("m8g.xlarge", "r8g.2xlarge")],
    "clusters.*.role": [
        {"clusters.blue.role": "replica"},
        {"clusters": {"green": BASE["clusters"]["blue"]}},
        {"clusters.green": {"role": "replica"}},
    ],
    "fencing": [{"fencing": "stop"}],
    "discount": [{"discount": 0.3}, {"discount": "28 %"}],
    "clusters.*.targets.budget_usd_per_month": [{f"{BLUE}.targets": {"budget_usd_per_month": 5000}}],
    "clusters.*.targets.carries_load_within": [{f"{BLUE}.targets": {"carries_load_within": "2 h"}}],
    "clusters.*.targets.hit_ratio": [{f"{BLUE}.targets": {"hit_ratio": each}} for each in (0.5, 0.8)],
    "clusters.*.targets.lost_nodes": [{f"{BLUE}.targets": {"lost_nodes": 1}}],
    "clusters.*.targets.offline_after_crash": [{f"{BLUE}.targets": {"offline_after_crash": "30 min"}}],
    "clusters.*.targets.p99": [{f"{BLUE}.targets": {"p99": "1 s"}}],
    "clusters.*.targets.warm_up": [{f"{BLUE}.targets": {"warm_up": "12 h"}}],
    "clusters.*.workload.reads.concurrency": [{f"{BLUE}.workload": {"reads": {"concurrency": 10}}}],
    "clusters.*.workload.reads.kind": [{f"{BLUE}.workload": {"reads": {"per_second": 50, "kind": "scan", "rows": 20}}}],
    "clusters.*.workload.reads.per_second": [{f"{BLUE}.workload": {"reads": {"per_second": 20}}}],
    "clusters.*.workload.reads.seasons.peak": [
        {f"{BLUE}.workload": {"reads": {"per_second": 50, "seasons": {"peak": "3x", "hours": 2}}}}
    ],
    "clusters.*.workload.reads.seasons.hours": [
        {f"{BLUE}.workload": {"reads": {"per_second": 50, "seasons": {"peak": "2x", "hours": 4}}}}
    ],
    "clusters.*.workload.reads.peak_per_second": [
        {f"{BLUE}.workload": {"reads": {"per_second": 20, "peak_per_second": 60}}}
    ],
    "clusters.*.workload.reads.rows": [
        {f"{BLUE}.workload": {"reads": {"per_second": 50, "kind": "multi-get", "rows": 2}}}
    ],
    "name": [{"name": "other"}, {"name": "kept2"}],
    "network.availability_zone": [{"network.availability_zone": f"us-east-1{each}"} for each in "bcdf"],
    "network.endpoint_policies": [{"network.endpoint_policies": False}],
    "network.route_table": [{"network.route_table": "rtb-0123456789abcdef0"}, {"network": EXISTING}],
    "network.subnet": [{"network.subnet": "subnet-0123456789abcdef0"}],
    "network.vpc": [{"network.vpc": "vpc-0123456789abcdef0"}],
    "os_release": [{"os_release": "2023.9.20251117.1"}, {"os_release": "2023.8.20250915.0"}],
    "overrides.*.*": [
        {"overrides": {"hbase-site": {"hbase.regionserver.handler.count": "60"}}},
        {"overrides": {"hbase-site": {"hbase.rpc.timeout": "90000"}}},
        {"overrides": {"hbase-site": {"hbase.rootdir": "s3://elsewhere/hbase/"}}},
    ],
    "region": [{"region": "sa-east-1"}],
    "release": [{"release": f"emr-7.{each}.0"} for each in (10, 11, 13, 14)],
    "security.in_transit.pem": [{"security.in_transit": {"pem": "s3://our-data/certificates.zip"}}],
    "security.kerberos.admin_password": [{"security.kerberos": KERBEROS}],
    "security.kerberos.admin_server": [{"security.kerberos": {**KERBEROS, "admin_server": "kdc:749"}}],
    "security.kerberos.kdc": [{"security.kerberos": {**KERBEROS, "kdc": "kdc:88", "admin_server": "kdc:749"}}],
    "security.kerberos.realm": [{"security.kerberos": {**KERBEROS, "realm": "OTHER.REALM"}}],
    "security.local_disks": [{"security.local_disks": False}],
    "snapshots.mappers": [{"snapshots": {"mappers": 20}}],
    "storage.key": [{"storage.key": None}, {"storage.key": KEY.replace("1111", "9999")}],
    "storage.mode": [{"storage.mode": "s3-plain"}, {"storage.mode": "hdfs"}],
    "storage.owner": [{"storage.owner": "210987654321"}],
    "storage.root": [
        {"storage": None},
        {"storage.root": "s3://our-data/other/"},
        {"storage.root": "s3://other/hbase/"},
    ],
    "storage.wal": [{"storage.wal": "emr-wal"}],
    "tags.*": [{"tags.team": "other"}, {"tags.cost": "1"}, {"tags": None}],
    "targets.budget_usd_per_month": [{"targets.budget_usd_per_month": each} for each in (100, 5000)],
    "targets.carries_load_within": [{"targets.carries_load_within": each} for each in ("30 min", "2 h")],
    "targets.hit_ratio": [{"targets.hit_ratio": each} for each in (0.5, 0.8, 0.95, 0.99)],
    "targets.lost_nodes": [{"targets.lost_nodes": each} for each in (1, 2)],
    "targets.offline_after_crash": [{"targets.offline_after_crash": each} for each in ("10 min", "1 h")],
    "targets.p99": [{"targets.p99": each} for each in ("200 ms", "1 s")],
    "targets.warm_up": [{"targets.warm_up": each} for each in ("1 h", "12 h")],
    "workload.block_size": [{"workload.block_size": each} for each in ("16 KiB", "32 KiB", "128 KiB")],
    "workload.cache": [{"workload.cache": False}],
    "workload.cell": [{"workload.cell": each} for each in ("200 B", "4 KiB")],
    "workload.compression.codec": [
        {"workload.compression": {"codec": each, "ratio": 2.0}} for each in ("zstd", "snappy")
    ],
    "workload.compression.ratio": [{"workload.compression": {"codec": "lz4", "ratio": each}} for each in (1.5, 4.0)],
    "workload.encoding": [{"workload.encoding": each} for each in ("FAST_DIFF", "ROW_INDEX_V1")],
    "workload.growth": [{"workload.growth": "3 % a month"}],
    "workload.inspection": [INSPECTED],
    "workload.popularity.curve": [{"workload.popularity": {"curve": "curve.csv"}}],
    "workload.popularity.hot": [{"workload.popularity": {"hot": each, "of_reads": "90 %"}} for each in ("5 %", "20 %")],
    "workload.popularity.of_reads": [{"workload.popularity": {"hot": "10 %", "of_reads": each}} for each in ("60 %",)],
    "workload.popularity.zipf": [{"workload.popularity": {"zipf": each}} for each in (0.5, 0.99, 1.2)],
    "workload.reads.concurrency": [{"workload.reads": {"concurrency": each}} for each in (10, 200)],
    "workload.reads.kind": [{"workload.reads": {"per_second": 50, "kind": "scan", "rows": 20}}],
    "workload.reads.per_second": [{"workload.reads.per_second": each} for each in (20, 1000, 5000)],
    "workload.reads.seasons.peak": [{"workload.reads": {"per_second": 200, "seasons": {"peak": "3x", "hours": 2}}}],
    "workload.reads.seasons.hours": [{"workload.reads": {"per_second": 200, "seasons": {"peak": "2x", "hours": 4}}}],
    "workload.reads.peak_per_second": [{"workload.reads": {"per_second": 200, "peak_per_second": 600}}],
    "workload.reads.rows": [
        {"workload.reads": {"per_second": 50, "kind": "multi-get", "rows": each}} for each in (2, 50)
    ],
    "workload.regions": [{"workload.regions": each} for each in (20, 400)],
    "workload.row": [{"workload.row": each} for each in ("1 KiB", "100 KiB")],
    "workload.spread.zipf": [{"workload.spread": {"zipf": 0.5}}, {"workload.spread": "even"}],
    "workload.stored": [{"workload.stored": each} for each in ("50 GiB", "900 GiB", "4 TiB")],
    "workload.tables": [
        {"workload": {"tables": {"users": TABLE}}},
        {"workload": {"tables": {"users": TABLE, "events/d": {**TABLE, "stored": "900 GiB", "block_size": "128 KiB"}}}},
    ],
    "workload.writes.cells_per_put": [{"workload.writes": {"bytes_per_second": "1 MiB", "cells_per_put": 100}}],
    "workload.writes.bytes_per_second": [
        {"workload.writes": {"bytes_per_second": each}} for each in ("1 MiB", "30 MiB")
    ],
}
# What may be refused, by field and number of its change, and by what; every other change must be synthesised.
REFUSED_CHANGES = {
    ("access.security_groups.[]", 0): "a security group belongs to a VPC",
    ("account", 1): "cannot be changed on a running cluster",
    ("clusters.*.core.volumes.[].purpose", 0): "one cache volume and one system volume",
    ("clusters.*.core.volumes.[].purpose", 1): "one cache volume and one system volume",
    ("clusters.*.core.volumes.[].type", 1): "r8g.2xlarge has 0",
    ("clusters.*.core.volumes.[].type", 2): "not one of the choices",
    ("clusters.*.engine", 1): "unknown key",
    ("clusters.*.role", 0): "nothing would write to the root",
    ("clusters.*.role", 1): "the file has no such cluster",
    ("name", 0): "cannot be changed on a running cluster",
    ("name", 1): "cannot be changed on a running cluster",
    ("network.route_table", 0): "the VPC is new",
    ("network.route_table", 1): "cannot be changed on a running cluster",
    ("network.subnet", 0): "the VPC is new",
    ("network.vpc", 0): "nodes need one of its private subnets",
    ("overrides.*.*", 2): "and not tuning",
    ("region", 0): "no prices",
    ("security.kerberos.admin_password", 0): "EMR sets up Kerberos only at launch",
    ("security.kerberos.admin_server", 0): "has its own admin server",
    ("security.kerberos.kdc", 0): "no route leads from it to a KDC",
    ("security.kerberos.realm", 0): "EMR sets up Kerberos only at launch",
    ("storage.key", 0): "cannot be changed on a running cluster",
    ("storage.key", 1): "cannot be changed on a running cluster",
    ("storage.mode", 0): "cannot be changed on a running cluster",
    ("storage.mode", 1): "the data is on the nodes",
    ("storage.root", 0): "cannot be changed on a running cluster",
    ("storage.root", 1): "cannot be changed on a running cluster",
    ("storage.root", 2): "cannot be changed on a running cluster",
    ("workload.cache", 0): "no table is cached",
    ("storage.wal", 0): "cannot be changed on a running cluster",
}
SINGLE = [(field, number) for field, changes in CHANGES.items() for number in range(len(changes))]
PLANNED = ("workload.", "targets.", "clusters.*.workload.", "clusters.*.targets.")
"""Sections whose fields move the plan alone: the record holds what of it a launch has fixed, whichever field it is."""
QUICK_PLANNED = {
    "workload.stored",
    "workload.block_size",
    "workload.reads.per_second",
    "targets.hit_ratio",
    "targets.lost_nodes",
    "clusters.*.workload.reads.per_second",
    "clusters.*.targets.hit_ratio",
}
SHARDS, QUICK_SHARDS, OF_A_SHARD = 16, 1, 10
TOGETHER = 4


class RecordedEnvironment(Struct, frozen=True):
    """A launched cluster: its file, its record, the templates it was made of."""

    file: Path
    record: LaunchRecord
    templates: Templates

    def changed(self, directory: Path, *changes: Mapping[str, object]) -> set[str]:
        """Return what CloudFormation would replace of what the cluster stands on; raises where it is refused."""
        file = directory / self.file.name
        file.write_text(yaml.safe_dump(edited(BASE, *changes)))
        (directory / "curve.csv").write_text("rows,reads\n0.1,0.6\n0.5,0.9\n1,1\n")
        (directory / "kept.launch").symlink_to(self.file.with_suffix(".launch"))
        try:
            assembly = app.synthesise(str(file), str(directory / "cdk.out")).assembly
            return set(replaced(self.templates, read_templates(assembly), self.record))
        finally:
            (directory / "kept.launch").unlink()


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> RecordedEnvironment:
    directory = tmp_path_factory.mktemp("launch")
    file = directory / "kept.yaml"
    file.write_text(yaml.safe_dump(BASE))
    assembly = app.synthesise(str(file), str(directory / "cdk.out")).assembly
    return RecordedEnvironment(file, launch_record_of(file, assembly), read_templates(assembly))


def edited(base: Mapping[str, Any], *changes: Mapping[str, object]) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(json.dumps(base))
    for change in changes:
        for path, value in change.items():
            *outer, last = path.split(".")
            inner = document
            for key in outer:
                inner = inner.setdefault(key, {})
            if value is None:
                inner.pop(last, None)
            else:
                inner[last] = json.loads(json.dumps(value))
    return document


def replaced(old: Templates, new: Templates, record: LaunchRecord) -> Iterator[str]:
    """Yield each resource that is replaced or removed and that is recorded or holds data."""
    every = [(stack, name) for stack, template in old.items() for name in template["Resources"]]
    at = {each for each in every if _goes(old, new, *each)}
    exports = dict(exports_of(old))
    while more := {
        (stack, name)
        for stack, name in every
        if (stack, name) not in at
        and at & set(references(recorded_resource(old[stack]["Resources"][name]).properties, stack, exports))
    }:
        at |= more
    for stack, name in sorted(at):
        kind = old[stack]["Resources"][name]["Type"]
        if name in record.resources.get(stack, {}) or kind in {"AWS::KMS::Key", "AWS::S3::Bucket"}:
            yield f"{stack} {name}"


def _goes(old: Templates, new: Templates, stack: str, name: str) -> bool:
    if stack not in new:
        return False  # a stack that is not named is left alone
    was, now = old[stack]["Resources"][name], new[stack]["Resources"].get(name)
    if now is None or now["Type"] != was["Type"]:
        return True
    properties = [resolved(each.get("Properties", {}), ACCOUNT, "us-east-1") for each in (was, now)]
    return any(change.recreation is not Recreation.NEVER for change in property_changes(was["Type"], *properties))


def fields(schema: Mapping[str, Any]) -> Iterator[str]:
    """Every field that a person may write, by its path; `*` is a name, `[]` one of a list."""

    def inside(node: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[str]:
        # A table has the fields of the workload.
        below = [] if path[-1:] == ("tables",) else list(_below(schema, node))
        if not below:
            yield ".".join(path)
        for key, inner in below:
            yield from inside(inner, (*path, key))

    yield from inside(schema, ())


def _below(schema: Mapping[str, Any], node: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for each in (node, *node.get("anyOf", ()), *node.get("oneOf", ())):
        found = schema["$defs"][each["$ref"].rpartition("/")[2]] if "$ref" in each else each
        if found is not node and "$ref" in each:
            yield from _below(schema, found)
            continue
        yield from found.get("properties", {}).items()
        for key, inner in (("*", found.get("additionalProperties")), ("[]", found.get("items"))):
            if isinstance(inner, dict):
                yield key, inner
        yield from (("*", inner) for inner in found.get("patternProperties", {}).values())


def test_every_field_of_the_schema_is_changed() -> None:
    schema = json.loads((PROJECT / "environments/schema.json").read_text())
    assert set(fields(schema)) == set(CHANGES)
    assert len(SINGLE) + SHARDS * OF_A_SHARD >= 300
    assert set(CHANGES) >= QUICK_PLANNED


def is_quick(case: tuple[str, int]) -> bool:
    field, number = case
    return number == 0 and (field in QUICK_PLANNED or not field.startswith(PLANNED))


@pytest.mark.parametrize(("field", "number"), quick_where(is_quick, SINGLE))
def test_no_change_replaces_what_runs(field: str, number: int, recorded: RecordedEnvironment, tmp_path: Path) -> None:
    refusal = REFUSED_CHANGES.get((field, number))
    if refusal is None:
        assert recorded.changed(tmp_path, CHANGES[field][number]) == set()
        return
    with pytest.raises((InvalidInput, Infeasible), match=refusal):
        recorded.changed(tmp_path, CHANGES[field][number])


@pytest.mark.parametrize(
    "shard", [pytest.param(shard, marks=[pytest.mark.thorough] * (shard >= QUICK_SHARDS)) for shard in range(SHARDS)]
)
def test_no_changes_together_replace_what_runs(
    shard: int, recorded: RecordedEnvironment, tmp_path_factory: pytest.TempPathFactory
) -> None:
    deployed = 0

    @seed(shard)
    @settings(max_examples=OF_A_SHARD, database=None, deadline=None)
    @given(st.lists(st.sampled_from(SINGLE), min_size=2, max_size=TOGETHER, unique=True))
    def law(chosen: list[tuple[str, int]]) -> None:
        nonlocal deployed
        changes = [CHANGES[field][at] for field, at in chosen]
        with suppress(InvalidInput, Infeasible):
            assert recorded.changed(tmp_path_factory.mktemp("together"), *changes) == set(), changes
            deployed += 1

    law()
    assert deployed


UNPINNED = [
    ("ReleaseLabel", {"release": "emr-7.13.0"}),
    ("Instances", {"workload.stored": "900 GiB"}),
    ("BootstrapActions", {"workload.stored": "900 GiB"}),
]


@pytest.mark.parametrize(("unpinned", "change"), UNPINNED)
def test_a_property_that_is_not_pinned_is_refused(
    unpinned: str,
    change: dict[str, object],
    recorded: RecordedEnvironment,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Synthesis itself notices the change, and so does the check of these tests."""

    def careless(cluster: Any, was: RecordedResource) -> None:
        properties = {name: value for name, value in was.properties.items() if name != unpinned}
        apply_record(cluster, RecordedResource(type=was.type, properties=properties))

    monkeypatch.setattr("warmbase.stacks.emr_cluster.apply_record", careless)
    with pytest.raises(Refused, match=f"cluster j-TEST  would be replaced by (.|\n)*{unpinned} differs"):
        recorded.changed(tmp_path, change)
    monkeypatch.setattr(app, "check_not_replaced", lambda *_: None)
    other = tmp_path / "other"
    other.mkdir()
    assert "warmbase-kept-blue-cluster Cluster" in recorded.changed(other, change)


def test_a_cluster_whose_subnet_is_in_a_list_keeps_its_bytes(recorded: RecordedEnvironment, tmp_path: Path) -> None:
    """Earlier versions launched clusters with Ec2SubnetIds: another form of the same subnet would replace them."""
    record, stack = recorded.record, "warmbase-kept-blue-cluster"
    [name] = [name for name, each in record.resources[stack].items() if each.type == CLUSTER_TYPE]
    launched = record.resources[stack][name]
    nodes = dict(launched.properties["Instances"])
    listed = {"Ec2SubnetIds": [nodes.pop("Ec2SubnetId")], **nodes}
    was = RecordedResource(type=CLUSTER_TYPE, properties={**launched.properties, "Instances": listed})
    earlier = replace(record, resources={**record.resources, stack: {**record.resources[stack], name: was}})
    files = {file.name: file.read_bytes() for file in (record.directory / "bootstrap").iterdir()}
    write_record(earlier, files)
    try:
        assembly = app.synthesise(str(recorded.file), str(tmp_path / "out")).assembly
    finally:
        write_record(record, files)
    check_not_replaced(assembly, earlier)
    synthesised = read_templates(assembly)[stack]["Resources"][name]["Properties"]["Instances"]
    assert {key: synthesised[key] for key in synthesised if key != "UnhealthyNodeReplacement"} == listed


def test_a_resource_that_later_stacks_no_longer_make_is_named(recorded: RecordedEnvironment, tmp_path: Path) -> None:
    stack = "warmbase-kept-blue-cluster"
    assembly = app.synthesise(str(recorded.file), str(tmp_path / "out")).assembly
    check_not_replaced(assembly, recorded.record)
    was = recorded.record.resources[stack]
    other = {f"{name}Old" if each.type == CLUSTER_TYPE else name: each for name, each in was.items()}
    with pytest.raises(Refused, match=f"{stack} has no ClusterOld"):
        check_not_replaced(assembly, replace(recorded.record, resources={**recorded.record.resources, stack: other}))
    more = {**was, "Gone": RecordedResource(type="AWS::IAM::Role", properties={})}
    with pytest.raises(Refused, match=f"{stack}: Gone, AWS::IAM::Role, is gone"):
        check_not_replaced(assembly, replace(recorded.record, resources={**recorded.record.resources, stack: more}))
    for file in assembly.glob("asset.*.sh"):
        file.unlink()
    with pytest.raises(Refused, match="a bootstrap file is no longer uploaded"):
        check_not_replaced(assembly, recorded.record)


REFUSED = [
    ({"name": "other"}, "name"),
    ({"account": "210987654321"}, "account"),
    ({"storage.root": "s3://our-data/other/"}, "storage.root"),
    ({"storage.key": None}, "storage.key"),
    ({"clusters": {"green": {}}}, "clusters.blue"),
]


@pytest.mark.parametrize(("change", "what"), REFUSED)
def test_what_makes_it_this_cluster_is_refused_by_name(
    change: dict[str, object], what: str, recorded: RecordedEnvironment, tmp_path: Path
) -> None:
    with pytest.raises(InvalidInput) as caught:
        recorded.changed(tmp_path, change)
    assert what in [problem.what for problem in caught.value.problems]
    assert "j-TEST" in str(caught.value)
