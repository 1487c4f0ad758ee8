"""An environment file: what is read, and what is said about each thing that is wrong with it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import reduce
from pathlib import Path

import pytest
import yaml

from tests.shipped import ENVIRONMENTS
from warmbase.environments.planning import plan_of
from warmbase.environments.reader import locate, read_environment, shared_roots
from warmbase.environments.reader.inspection import inspection_schema_text
from warmbase.environments.reader.schema_keys import schema_text
from warmbase.facts.ec2 import instance_types
from warmbase.ground.errors import InvalidInput
from warmbase.ground.units import GIB, KIB, MIB, TIB
from warmbase.sizing.workload.popularity import UNIFORM, Curve, Zipf, hot_set
from warmbase.sizing.workload.workload import ClosedLoad, OpenLoad

HOME = Path(__file__).parents[2] / "environments"

EXISTING_VPC = "vpc: vpc-0123456789abcdef0, subnet: subnet-0123456789abcdef0"
GOOD = """\
name: try
region: us-east-1
release: emr-7.12.0
network: {availability_zone: us-east-1a}
workload:
  stored: 1 TiB
  cell: 1 KiB
  row: 10 KiB
  reads: {per_second: 100}
  regions: 40
clusters:
  blue: {role: active}
"""

WRONG: tuple[object, ...] = (None, True, 0, -1.5, "", "?", [], {}, [{}], {"a": {}}, 2**80)
# 3^20 entries by aliases of aliases.
LAUGHS = "[&a0 x" + "".join(f", &a{n} [*a{n - 1}, *a{n - 1}, *a{n - 1}]" for n in range(1, 21)) + "]"

KEY = "arn:aws:kms:us-east-1:123456789012:key/11111111-2222-3333-4444-555555555555"
Write = Callable[[str], str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def written(text: str) -> str:
        file = tmp_path / "try.yaml"
        file.write_text(text)
        return str(file)

    return written


def problems(path: str) -> list[str]:
    with pytest.raises(InvalidInput) as caught:
        read_environment(path)
    return [str(problem) for problem in caught.value.problems]


def test_a_good_file_becomes_the_domains_types(write: Write) -> None:
    environment = read_environment(write(GOOD))
    assert environment.workload.stored_bytes == TIB
    assert environment.workload.block_bytes == 64 * KIB
    assert environment.workload.load == OpenLoad(reads_per_second=100)
    assert environment.active.core.pinned is False
    assert environment.root.url == "s3://warmbase-try-root-${AWS::AccountId}-us-east-1/hbase/"


def test_an_existing_root_is_taken_as_it_is(write: Write) -> None:
    environment = read_environment(
        write(GOOD.replace("name: try", f"name: try\nstorage: {{root: s3://our.data/teams/a/, key: {KEY}}}"))
    )
    root = environment.root
    assert (root.bucket, root.prefix, root.existing, root.key) == ("our.data", "teams/a", True, KEY)
    assert root.url == "s3://our.data/teams/a/"
    assert root.claim_key == "teams/a.warmbase-claim"
    assert root.objects == ("teams/a", "teams_$folder$", "teams/a_$folder$", "teams/a/*")


@pytest.mark.parametrize(
    ("mine", "theirs", "shared"),
    [
        ("s3://bbb/a/", "s3://bbb/a/", True),
        ("s3://bbb/a/", "s3://bbb/a/deeper/", True),
        ("s3://bbb/a/deeper/", "s3://bbb/a/", True),
        ("s3://bbb/a/", "s3://bbb/ab/", False),
        ("s3://bbb/a/", "s3://ccc/a/", False),
        ("new", "new", False),
        ("new", "s3://bbb/a/", False),
        ("new", "s3://warmbase-try-root-123456789012-us-east-1/hbase/", True),
        ("s3://warmbase-other-root-123456789012-us-east-1/hbase/", "new", True),
        ("s3://warmbase-try-root-123456789012-us-east-1/hbase/", "new", False),  # `other` has another bucket
    ],
)
def test_two_files_over_one_root_are_refused(write: Write, mine: str, theirs: str, shared: bool) -> None:  # noqa: FBT001
    path = Path(write(GOOD.replace("name: try", f"name: try\nstorage: {{root: '{mine}'}}")))
    other = path.with_name("other.yaml")
    other.write_text(GOOD.replace("name: try", f"name: other\nstorage: {{root: '{theirs}'}}"))
    found = shared_roots(read_environment(str(path)))
    assert len(found) == shared
    if shared:
        assert str(other) in str(found[0])
        assert "two writers corrupt it" in str(found[0])


@pytest.mark.parametrize("theirs", ["", "\nstorage: {root: s3://bbb/a/}", "\nstorage: {mode: hdfs}"])
def test_two_files_of_one_name_are_refused_wherever_their_data_are(write: Write, theirs: str) -> None:
    path = Path(write(GOOD))
    path.with_name("other.yaml").write_text(GOOD.replace("name: try", f"name: try{theirs}"))
    [found] = shared_roots(read_environment(str(path)))
    assert found.what == "name"
    assert "both would be the same stacks" in str(found)
    elsewhere = GOOD.replace("name: try", 'name: try\naccount: "210987654321"')
    path.with_name("other.yaml").write_text(elsewhere)
    path.write_text(elsewhere.replace("2109", "1109"))
    assert shared_roots(read_environment(str(path))) == []


def test_a_faulty_file_and_data_on_nodes_share_no_root(write: Write) -> None:
    path = Path(write(GOOD))
    path.with_name("faulty.yaml").write_text(GOOD.replace("region:", "regoin:"))
    path.with_name("hdfs.yaml").write_text(GOOD.replace("name: try", "name: nodes\nstorage: {mode: hdfs}"))
    assert shared_roots(read_environment(str(path))) == []


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_environments_that_ship_are_good(name: str) -> None:
    assert read_environment(name).name == name


def test_the_published_cluster_is_pinned_as_published() -> None:
    environment = read_environment("published-emr")
    core = environment.active.core
    assert core.pinned
    assert environment.workload.load == ClosedLoad(concurrency=1000)
    assert core.volumes is not None
    cache = core.volumes[0]
    assert (core.type, core.count, cache.iops, cache.throughput_mib_s) == ("r8g.2xlarge", 6, 3000, 125)


# A line of the good file, its replacement (or with a `+` an addition below it), and the message: line, key, why, fix.
FAULTS = [
    ("name: try", "name: Try", ":1  name", "is not a name of at most 21 lower-case letters", "`name: prod`"),
    ("region: us-east-1", "region: mars-1", ":2  region", "no prices for 'mars-1'", "prices refresh --region mars-1"),
    ("region: us-east-1", "+account: 111122223333", ":3  account", "not text", '"111122223333"'),
    ("name: try", "+discount: 95 %", ":2  discount", "at least 0 and at most 0.9", "use 0.9 or less"),
    ("name: try", "+discount: half", ":2  discount", "'half'", "0.95 or 95 %"),
    ("release: emr-7.12.0", "release: emr-7.5.0", ":3  release", "ships an HBase before 2.6", "emr-7.6.0"),
    ("release: emr-7.12.0", "release: emr-7.15.0", ":3  release", "is newer than emr-7.14.0", "docs/add-a-release.md"),
    ("release: emr-7.12.0", "release: emr-spark-8.0.0", ":3  release", "for Apache Spark only", "emr-7.14.0"),
    ("release: emr-7.12.0", "release: emr-spark-8.1.0", ":3  release", "for Apache Spark only", "emr-7.14.0"),
    ("release: emr-7.12.0", "release: emr-7.12.1", ":3  release", "is not in the table of releases", "emr-7.12.0"),
    ("release: emr-7.12.0", "release: emr-8.0.0", ":3  release", "aws.api.REGION.emr-service-cell01", "use emr-7.14.0"),
    ("release: emr-7.12.0", "release: emr-7.12", ":3  release", "is not a release label", "emr-7.12.0"),
    (
        "  stored: 1 TiB",
        "  stored: 1 TB",
        ":6  workload.stored",
        "1 TB is 0.9095 TiB; did you mean",
        "write 0.9095 TiB, or 1 TiB",
    ),
    ("  stored: 1 TiB", "  stored: 12", ":6  workload.stored", "no unit", "64 KiB"),
    ("  stored: 1 TiB", "  stored: 0 B", ":6  workload.stored", "must be above 0 B", "above 0 B"),
    ("  cell: 1 KiB\n", "", ":5  workload.cell", "required", "add it"),
    ("  cell: 1 KiB", "+  regons: 4", ":8  workload.regons", "unknown key", "did you mean 'regions'?"),
    ("  row: 10 KiB", "  row: 1 B", ":8  workload.row", "cannot hold a cell of 1 KiB", "all its cells"),
    ("per_second: 100", "per_second: 100, peak_per_second: 90", "peak_per_second", "below the mean", "per_second is"),
    ("per_second: 100", "concurrency: 9, peak_per_second: 90", "peak_per_second", "has no peak", "remove peak"),
    (
        "per_second: 100",
        "per_second: 100, peak_per_second: 200, seasons: {peak: 2x, hours: 3}",
        "reads.seasons",
        "both are given",
        "keep seasons if",
    ),
    ("per_second: 100", "concurrency: 9, seasons: {peak: 2x, hours: 3}", "seasons", "has no peak", "remove seasons"),
    (
        "per_second: 100",
        "per_second: 100, seasons: {peak: 9x, hours: 3}",
        "seasons.hours",
        "have as many reads as 27 hours at the mean rate, but a day has only 24",
        "set hours to 2.6 or less",
    ),
    ("per_second: 100", "per_second: 100, seasons: {peak: 2, hours: 3}", "seasons.peak", "2 has no unit", "2.5x"),
    ("per_second: 100", "per_second: 100, seasons: {peak: 0.9x, hours: 3}", "seasons.peak", "at least 1x", "1x"),
    ("per_second: 100", "per_second: 100, seasons: {peak: 2x, hours: 24}", "seasons.hours", "at most 23 hours", "23"),
    ("per_second: 100", "per_second: 100, seasons: {peak: 2x}", "seasons.hours", "required", "`hours: 3`"),
    ("per_second: 100", "per_second: 100, concurrency: 9", ":9  workload.reads", "both are given", "keep per_second"),
    ("per_second: 100", "kind: get", ":9  workload.reads", "neither is given", "keep per_second"),
    ("per_second: 100", "per_second: 100, rows: 5", ":9  workload.reads", "a get of 5 rows", "multi-get"),
    ("per_second: 100", "per_second: .nan", "reads.per_second", "not nan", "a value above 0"),
    ("  stored: 1 TiB\n", "", ":5  workload", "neither is given", "stored: 7 TiB"),
    ("  stored: 1 TiB", "+  inspection: a.json", ":5  workload", "both are given", "keep one"),
    ("  stored: 1 TiB", "+  compression: {ratio: 3}", "compression", "without a codec", "codec"),
    ("  regions: 40", "  regions: many", ":10  workload.regions", "'many' is not a whole number", "`regions: 240`"),
    ("  regions: 40", "+  popularity: {hot: 10 %}", "popularity", "needs both `hot` and `of_reads`", "of_reads"),
    ("  regions: 40", "+  popularity: {hot: 90 %, of_reads: 10 %}", "popularity", "is a cold set", "swap"),
    ("us-east-1a}", "eu-west-1a}", ":4  network.availability_zone", "not in region us-east-1", "us-east-1a"),
    ("name: try", "+os_release: latest", ":2  os_release", "describe-release-label", "2023.9"),
    ("name: try", "+storage: {root: s3://mine}", ":2  storage.root", "PREFIX/ with letters", "new"),
    ("name: try", "+storage: {root: s3://mine/a/./b/}", ":2  storage.root", "no dot after a slash", "new"),
    ("name: try", "+storage: {root: s3://mine/}", ":2  storage.root", "PREFIX/ with letters", "new"),
    ("name: try", "+storage: {root: s3://mine/a b/}", ":2  storage.root", "PREFIX/ with letters", "new"),
    ("name: try", "+storage: {root: s3://mine/a//b/}", ":2  storage.root", "PREFIX/ with letters", "new"),
    ("name: try", "+storage: {mode: hdfs, root: s3://mine/a/}", ":2  storage.root", "on the nodes", "remove"),
    ("name: try", f"+storage: {{key: {KEY}}}", ":2  storage.key", "has its own key", "remove it"),
    (
        "name: try",
        "+storage: {owner: '111122223333'}",
        ":2  storage.owner",
        "belongs to the account of the environment",
        "name the existing root",
    ),
    (
        "network: {availability_zone: us-east-1a}",
        f"network: {{availability_zone: us-east-1a, {EXISTING_VPC},\n  endpoint_policies: true}}",
        ":5  network.endpoint_policies",
        "other programs may use its endpoints",
        "remove it",
    ),
    (
        "name: try",
        f"+storage: {{root: s3://mine/a/, key: {KEY.replace('us-east-1', 'eu-west-1')}}}",
        ":2  storage.key",
        "a key of 'eu-west-1'",
        "name the key of us-east-1",
    ),
    ("name: try", "+storage: {root: s3://mine/a/, key: abc}", ":2  storage.key", "the ARN of a KMS key", "arn"),
    ("us-east-1a}", "us-east-1a, vpc: vpc-12}", ":4  network.vpc", "the id of a VPC", "new"),
    ("us-east-1a}", "us-east-1a, vpc: vpc-0123abcd}", ":4  network.vpc", "private subnets", "also name a subnet"),
    ("us-east-1a}", "us-east-1a, subnet: subnet-0123abcd}", ":4  network.subnet", "the VPC is new", "remove it"),
    ("us-east-1a}", "us-east-1a, route_table: rtb-0123abcd}", "network.route_table", "the VPC is new", "remove it"),
    ("  blue: {role: active}", "  blue: {role: replica}", ":11  clusters", "nothing would write", "make one"),
    ("{role: active}", "{primaries: 2}", "clusters.blue.primaries", "one primary node or three", "1 or 3"),
    ("{role: active}", "{core: {type: r8g.huge}}", "core.type", "no instance type", "auto"),
    ("{role: active}", "{core: {type: r8i.2xlarge}}", "core.type", "does not list r8i.2xlarge", "auto"),
    ("{role: active}", "{core: {count: 1}}", "core.count", "write-ahead log twice", "2 or more"),
    ("{role: active}", "{core: {families: [z9]}}", "core.families", "no family 'z9'", "r8g"),
    ("  blue: {role: active}", "  blue: {}\n  green: {}", "clusters", "2 are active", "keep one"),
    ("  blue: {role: active}", "  blue: {}\n  blue: {}", ":13  clusters.blue", "already in line 12", "remove"),
    ("name: try", "name: [try", "is not YAML", "expected", "mend the line"),
    ("name: try", "+fencing: stop\nstorage: {mode: hdfs}", ":2  fencing", "a root in S3", "remove it"),
    ("name: try", "+storage: {wal: emr-wal, mode: hdfs}", ":2  storage.wal", "for data in S3", "use hdfs"),
    ("  blue: {role: active}", "  blue: {}\n  green: {role: reader}", "green.role", "is not one of", "active"),
    ("name: try", "+targets: {p99: 5}", ":2  targets.p99", "has no unit", "12 h"),
    ("name: try", "+targets: {hit_ratio: 95}", ":2  targets.hit_ratio", "between 0 and 1", "95 %"),
    ("name: try", "+targets: {hit_ratio: 0}", ":2  targets.hit_ratio", "must be above 0", "above 0"),
    ("name: try", "+targets: {p99: 0 s}", ":2  targets.p99", "must be above 0 s", "above 0 s"),
    ("name: try", f"+targets: {{p99: {'9' * 400} h}}", ":2  targets.p99", "99...", "12 h"),
    ("name: try", "+targets: {budget_usd_per_month: .inf}", ":2  targets.budget", "not inf", "or less"),
    ("name: try", "+targets: {lost_nodes: 11}", ":2  targets.lost_nodes", "at most 10", "use 10 or less"),
    ("per_second: 100", "per_second: .inf", ":9  workload.reads.per_second", "not inf", "use 100000000 or less"),
    ("per_second: 100", "concurrency: 100001", "reads.concurrency", "at most 100,000", "use 100000 or less"),
    ("per_second: 100", f"concurrency: 0x{'f' * 6000}", "reads.concurrency", "so large a number", "or less"),
    ("per_second: 100", "per_second: 1, kind: scan, rows: 100001", "reads.rows", "at most 100,000", "use 100000"),
    ("per_second: 100", "per_second: yes", ":9  workload.reads.per_second", "true is not a number", "per_second: 900"),
    ("  reads: {per_second: 100}", "  reads:", ":9  workload.reads", "is empty, but a mapping", "{per_second: 900}"),
    ("  regions: 40", "  regions: 1000001", ":10  workload.regions", "at most 1,000,000", "use 1000000 or less"),
    ("  regions: 40", f"  regions: {'9' * 5000}", ":10", "looks like a value of YAML's type int", "in quotes"),
    ("  regions: 40", "+  popularity: {zipf: .nan}", ":11  workload.popularity.zipf", "not nan", "above 0"),
    ("  regions: 40", "+  popularity: {hot: 0, of_reads: 1}", "popularity.hot", "above 0", "above 0"),
    ("  regions: 40", "+  popularity: zipf", ":11  workload.popularity", "not one of", "{zipf: 0.99}"),
    ("  stored: 1 TiB", "  stored: 101 PiB", ":6  workload.stored", "at most 100 PiB", "use 100 PiB or less"),
    ("  stored: 1 TiB", f"  stored: {'9' * 4000} PiB", ":6  workload.stored", "so large a number", "use 100 PiB"),
    ("  stored: 1 TiB", "+  block_size: 512 B", "block_size", "at least 1 KiB", "at least 1 KiB"),
    ("  stored: 1 TiB", "+  block_size: 32 MiB", "block_size", "hbase.lru.max.block.size", "16 MiB"),
    ("  stored: 1 TiB", "+  compression: {codec: zstd, ratio: .inf}", "ratio", "not inf", "1000 or less"),
    ("  stored: 1 TiB", "+  writes: {bytes_per_second: 101 GiB}", "writes", "at most 100 GiB", "100 GiB"),
    (
        "  stored: 1 TiB",
        "+  writes: {bytes_per_second: 5 MiB/s}",
        ":7  workload.writes.bytes_per_second",
        "the key says per second",
        "write 5 MiB",
    ),
    ("  row: 10 KiB", "  row: 2 GiB", ":8  workload.row", "at most 1 GiB", "use 1 GiB or less"),
    ("  cell: 1 KiB\n  row: 10 KiB", "  cell: 17 MiB\n  row: 20 MiB", ":7  workload.cell", "at most 16 MiB", "16 MiB"),
    ("us-east-1a}", "us-east-1!}", ":4  network.availability_zone", "not an availability zone", "us-east-1a"),
    ("region: us-east-1", "+account: 012345670123", ":3  account", "a number", '"012345670123"'),
    ("name: try", "+tags: {on: yes}", ":2  tags.on", "yes is not text", '"yes"'),
    ("name: try", "+tags: {AWS:team: x}", ":2  tags.AWS:team", "begin with aws:", "such as owner"),
    ("name: try", "+tags: &a {x: *a}", ":2  is not YAML", "aliases refer to themselves", "mend"),
    ("name: try", f"+tags: {LAUGHS}", ":2  is not YAML", "multiply", "mend"),
    ("name: try", f"+tags: {'[' * 5000}", "is not YAML", "deeper than 30", "mend"),
    ("name: try", "+tags: {day: 2026-02-30}", ":2  is not YAML", "YAML's type timestamp", "in quotes"),
    ("name: try", "+tags: {? [a] : b}", ":2  is not YAML", "a key is a word", "mend"),
    ("name: try", "+targets: 5", ":2  targets", "5 is not a mapping", "`targets: {hit_ratio: 0.95}`"),
    ("name: try", "+access: {cidrs: [10.0.0.0/33]}", "access.cidrs[0]", "not a network", "10.0.0.0/16"),
    ("name: try", "+access: {cidrs: [10.0.3.1/16]}", "cidrs[0]", "in network 10.0.0.0/16", "10.0.0.0/16"),
    ("name: try", "+access: {security_groups: [sg-1]}", "security_groups[0]", "id of a security group", "sg-"),
    ("name: try", "+access: {security_groups: [sg-0123abcd]}", "security_groups", "belongs to a VPC", "cidrs"),
    ("name: try", "+security: {in_transit: {pem: s3://a}}", "in_transit.pem", "certificateChain.pem", "s3://"),
    ("  blue: {role: active}", "  {}", ":11  clusters", "is empty", "{blue: {role: active}}"),
    ("  blue: {role: active}", "  - blue", ":11  clusters", "a list is not a mapping", "{blue: {role: active}}"),
    ("  blue: {role: active}", "  Blue: {role: active}", ":12  clusters.Blue", "names a cluster", "blue or green"),
    ("{role: active}", "{primaries: yes}", "clusters.blue.primaries", "true is not a number", "write the number"),
    ("{role: active}", "{core: {families: []}}", "core.families", "leaves nothing to choose", "r8g"),
    ("{role: active}", "{core: {families: [r8i, r8id]}}", "core.families", "lists no type of r8i, r8id", "r8g"),
    (
        "{role: active}",
        "{core: {families: [r8g, r9g]}}",
        "core.families",
        "r9g: EC2 has it, but EMR is not",
        "emr_min_7x",
    ),
    ("{role: active}", "{core: {type: r8gb.2xlarge}}", "core.type", "EMR is not known to", "list-supported-instance"),
    (
        "{role: active}",
        "{primary: {type: m9g.xlarge}}",
        "primary.type",
        "EMR is not known to",
        "list-supported-instance",
    ),
    ("{role: active}", "{core: {count: 41}}", "core.count", "41 RegionServers share 40 regions", "use 40 or less"),
    ("{role: active}", "{core: {count: 100000}}", "core.count", "no EMR cluster", "use 10000 or less"),
    ("name: try", "+overrides: {hbase-site: {a: 60}}", ":2  overrides.hbase-site.a", "not text", '"60"'),
]


@pytest.mark.parametrize(("line", "instead", "said"), [(line, instead, said) for line, instead, *said in FAULTS])
def test_each_fault_says_where_why_and_how_to_mend_it(write: Write, line: str, instead: str, said: list[str]) -> None:
    assert line in GOOD
    [found] = problems(write(GOOD.replace(line, f"{line}\n{instead[1:]}" if instead.startswith("+") else instead)))
    first, reason, mend = found.splitlines()
    where, why, fix = said
    assert where in f"{first} {reason}"
    assert why in reason
    assert mend.startswith("  fix: ")
    assert fix in mend


def test_all_problems_of_a_file_are_reported_at_once_in_its_order(write: Write) -> None:
    faulty = GOOD.replace("name: try", "name: Try").replace("1 TiB", "1 TB").replace("regions: 40", "regions: no")
    found = problems(write(faulty.replace("us-east-1a", "eu-west-1a")))
    assert [int(problem.split(":")[1].split()[0]) for problem in found] == [1, 4, 6, 10]


def test_rules_speak_beside_wrong_fields_and_keys_said_twice(write: Write) -> None:
    faulty = GOOD.replace("1 TiB", "200 GB").replace("row: 10 KiB", "row: 100 B").replace("per_second: 100", "knd: get")
    found = problems(write(f"{faulty}region: us-east-1\n"))
    for said in (
        "workload.stored\n  200 GB is 186.3 GiB; did you mean that, or 200 GiB?",
        "workload.row\n  a row of 100 B cannot hold a cell",
        "workload.reads\n  a load is open (per_second) or closed (concurrency), and neither",
        "workload.reads.knd\n  unknown key",
        ":13  region\n  is already in line 2",
    ):
        assert any(said in problem for problem in found)
    assert len(found) == 5


@pytest.mark.parametrize("key", [*yaml.safe_load(GOOD), "clusters.blue.core", "clusters.blue.role", "workload.cell"])
@pytest.mark.parametrize("wrong", [None, 5, "?", [], {"a": {}}])
def test_a_wrong_field_hides_no_problem_that_does_not_depend_on_it(write: Write, key: str, wrong: object) -> None:
    values = yaml.safe_load(GOOD) | {"overrides": {"hbase-site": {"hbase.bucketcache.size": "5"}}}
    *path, name = key.split(".")
    section = reduce(dict.__getitem__, path, values)
    section[name] = wrong
    assert any("the calculator chooses it" in problem for problem in problems(write(yaml.safe_dump(values))))
    section.pop(name)
    assert any("the calculator chooses it" in problem for problem in problems(write(yaml.safe_dump(values))))


def test_rules_are_silent_about_what_is_wrong_by_itself(write: Write) -> None:
    faulty = GOOD.replace("row: 10 KiB", "row: 10 B/s").replace("per_second: 100", "per_second: many, concurrency: no")
    assert len(problems(write(faulty))) == 4  # the row, both loads, and that there are two


def test_a_section_said_twice_is_one_problem(write: Write) -> None:
    [found] = problems(write(f"{GOOD}  blue: {{role: active}}\n"))
    assert "clusters.blue\n" in found


@pytest.mark.parametrize("stated", ["targets: {lost_nodes: 3}\n", "targets: {lost_nodes: 4}\n"])
def test_losing_every_pinned_node_is_refused(write: Write, stated: str) -> None:
    [found] = problems(write(stated + GOOD.replace("{role: active}", "{core: {count: 3}}")))
    assert ":1  targets.lost_nodes" in found
    assert "leave none to serve" in found
    assert "fix: set lost_nodes to 2 or less" in found


def test_no_message_is_pydantics(write: Write) -> None:
    """Whatever stands anywhere: three lines, and none of them in pydantic's words."""
    values = yaml.safe_load(GOOD)
    keys = [*((key,) for key in values), *(("workload", key) for key in values["workload"]), ("clusters", "blue")]
    for key in keys:
        for wrong in WRONG:
            changed = yaml.safe_load(GOOD)
            (changed if len(key) == 1 else changed[key[0]])[key[-1]] = wrong
            file = write(yaml.safe_dump(changed))
            try:
                read_environment(file)
            except InvalidInput as error:
                for problem in error.problems:
                    assert len(str(problem).splitlines()) == 3
                    assert not {"input", "valid", "validation", "instance"} & set(problem.why.split())


def test_an_endless_file_is_refused() -> None:
    [found] = problems("/dev/zero")
    assert "/dev/zero" in found


@pytest.mark.parametrize(
    ("volumes", "why"),
    [
        ("[{purpose: cache, size: 100 GiB}]", "one cache volume and one system volume"),
        ("[{purpose: cache, size: 64 GiB}, {purpose: system, size: 64 GiB}]", "identifies its volumes by size"),
        (
            "[{purpose: cache, size: 1 TiB, throughput: 900 MiB/s}, {purpose: system, size: 64 GiB}]",
            "at most 0.25 MiB/s per IOPS",
        ),
        ("[{purpose: cache, size: 7500 MiB}, {purpose: system, size: 64 GiB}]", "whole GiB"),
        ("[{purpose: cache, size: 20 GiB, iops: 10001}, {purpose: system, size: 64 GiB}]", "10,000 for this size"),
        ("[{purpose: cache, size: 65 TiB}, {purpose: system, size: 64 GiB}]", "at most 64 TiB"),
        ("[{purpose: cache, size: 500 GiB}, {purpose: system, size: 30 GiB}]", "the root disk has 30 GiB"),
        (
            "[{purpose: cache, type: nvme, size: 884 GiB}, {purpose: system, size: 64 GiB}]",
            "the calculator chooses the type",
        ),
        (
            "[{purpose: cache, size: 100 GiB}, {purpose: system, size: 64 GiB, count: 2}]",
            "a node has one system volume",
        ),
        ("[{purpose: cache, size: 1 TiB, count: 13}, {purpose: system, size: 64 GiB}]", "at least 1 and at most 12"),
    ],
)
def test_volumes_that_ebs_or_the_node_cannot_do_are_refused(write: Write, volumes: str, why: str) -> None:
    [found] = problems(write(GOOD.replace("{role: active}", f"{{core: {{volumes: {volumes}}}}}")))
    assert why in found


@pytest.mark.parametrize(
    ("name", "size", "why"),
    [
        ("r8g.2xlarge", "884 GiB", "r8g.2xlarge has 0"),
        ("r8gd.16xlarge", "884 GiB", "r8gd.16xlarge has 2"),
        ("r8gd.4xlarge", "885 GiB", "the drive of r8gd.4xlarge has 884 GiB"),
        ("r8gd.4xlarge", "500 GiB", "the node identifies it by that size"),
    ],
)
def test_an_nvme_volume_is_the_one_drive_of_its_type(write: Write, name: str, size: str, why: str) -> None:
    core = f"{{type: {name}, volumes: [{{purpose: cache, type: nvme, size: SIZE}}, {{purpose: system, size: 64 GiB}}]}}"
    text = GOOD.replace("{role: active}", f"{{core: {core}}}")
    [found] = problems(write(text.replace("SIZE", size)))
    assert why in found
    assert read_environment(write(text.replace(name, "r8gd.4xlarge").replace("SIZE", "884 GiB"))).active.core.volumes


def test_a_file_that_is_not_there_is_named() -> None:
    [found] = problems("nowhere/prod.yaml")
    assert found.startswith("nowhere/prod.yaml  cannot be read")


def test_an_unknown_name_gets_the_nearest() -> None:
    with pytest.raises(InvalidInput, match="did you mean 'prod'"):
        locate("prd")


def test_a_peak_may_have_all_reads_of_a_day(write: Write) -> None:
    reads = "per_second: 100, seasons: {peak: 8x, hours: 3}"
    load = read_environment(str(write(GOOD.replace("per_second: 100", reads)))).workload.load
    assert load == OpenLoad(reads_per_second=100, peak_reads_per_second=800, peak_hours=3)
    assert load.outside_peak.reads_per_second < 0.01


def test_an_empty_file_lists_what_is_required(write: Write) -> None:
    assert "file" in problems(write(""))[0]


def test_the_schema_for_editors_is_current(request: pytest.FixtureRequest) -> None:
    file = HOME / "schema.json"
    if request.config.getoption("--update-golden"):
        file.write_text(schema_text())
    assert file.read_text() == schema_text()


def test_the_schema_for_editors_describes_every_key() -> None:
    schema = json.loads((HOME / "schema.json").read_text())
    sections = {"EnvironmentFile": schema, **schema["$defs"]}
    keys = {name: section["properties"] for name, section in sections.items() if "properties" in section}
    for name, of_section in keys.items():
        for key, entry in of_section.items():
            assert re.fullmatch(r"(?:[A-Z`]|[a-z0-9-]+: ).{15,}\.", entry["description"]), (name, key)


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_the_schema_for_editors_knows_every_key_that_ships(name: str) -> None:
    import jsonschema  # noqa: PLC0415 - untyped, and only here

    values = yaml.safe_load((HOME / f"{name}.yaml").read_text())
    jsonschema.validate(values, json.loads((HOME / "schema.json").read_text()))


def test_throughput_defaults_to_gp3s_own(write: Write) -> None:
    volumes = "[{purpose: cache, size: 1 TiB}, {purpose: system, size: 64 GiB}]"
    environment = read_environment(write(GOOD.replace("{role: active}", f"{{core: {{volumes: {volumes}}}}}")))
    assert environment.active.core.volumes is not None
    assert environment.active.core.volumes[0].bytes_per_second == 125 * MIB


def test_popularity_is_read_in_each_of_its_forms(write: Write, tmp_path: Path) -> None:
    (tmp_path / "trace.csv").write_text("rows,reads\n0.1,0.6\n0.5,0.9\n")
    forms: dict[str, object] = {
        "uniform": UNIFORM,
        "{zipf: 0.99}": Zipf(theta=0.99),
        "{hot: 10 %, of_reads: 0.9}": hot_set(rows_fraction=0.1, reads_fraction=0.9),
        "{curve: trace.csv}": Curve(points=((0.1, 0.6), (0.5, 0.9))),
    }
    for text, popularity in forms.items():
        read = read_environment(write(GOOD.replace("regions: 40", f"regions: 40\n  popularity: {text}")))
        assert read.workload.popularity == popularity


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("rows,reads\n0.1,x\n", "the line does not have the two numbers"),
        ("[default]\nkey = s3cr3t\n", "the line does not have the two numbers"),
        ("rows,reads\n", "no points"),
        ("rows,reads\n0.5,0.9\n0.1,0.95\n", "flatten"),
    ],
)
def test_a_curve_that_is_none_is_refused(write: Write, tmp_path: Path, text: str, why: str) -> None:
    (tmp_path / "trace.csv").write_text(text)
    [found] = problems(write(GOOD.replace("regions: 40", "regions: 40\n  popularity: {curve: trace.csv}")))
    assert "trace.csv" in found
    assert why in found
    assert "s3cr3t" not in found


def test_an_inspection_replaces_what_is_estimated(write: Write, tmp_path: Path) -> None:
    inspections = HOME.parent / "tests" / "environments"
    (tmp_path / "inspection.json").write_text((inspections / "inspection.json").read_text())
    read = read_environment(write(GOOD.replace("stored: 1 TiB", "inspection: inspection.json")))
    assert read.workload.inspection is not None
    assert read.workload.stored_bytes == read.workload.inspection.stored_bytes
    plan = plan_of(read, read.active)
    assert plan.feasible
    longest = max(length for family in read.workload.inspection.families for length, _ in family.lengths.pairs)
    assert max(plan.cache.bucket_sizes) >= longest


def test_every_problem_of_an_inspection_is_reported(write: Write, tmp_path: Path) -> None:
    (tmp_path / "inspection.json").write_text('{"root": "s3://bbb/hbase/", "families": [{"table": "t"}]}')
    found = problems(write(GOOD.replace("stored: 1 TiB", "inspection: inspection.json")))
    assert len(found) > 5
    assert any("cached_lengths" in problem for problem in found)


def test_the_schema_of_inspections_is_current(request: pytest.FixtureRequest) -> None:
    file = HOME.parent / "inspections" / "schema.json"
    if request.config.getoption("--update-golden"):
        file.parent.mkdir(exist_ok=True)
        file.write_text(inspection_schema_text())
    assert file.read_text() == inspection_schema_text()


def test_a_drive_is_one_volume(write: Write) -> None:
    drive_gib = instance_types()["i8g.4xlarge"].nvme_disk_bytes // GIB
    cache = f"{{purpose: cache, type: nvme, count: 2, size: {drive_gib} GiB}}"
    core = f"{{core: {{type: i8g.4xlarge, count: 3, volumes: [{cache}, {{purpose: system, size: 64 GiB}}]}}}}"
    [found] = problems(write(GOOD.replace("{role: active}", core)))
    assert "an NVMe cache lies on a single instance drive" in found


def test_a_pinned_drive_does_what_the_instance_has(write: Write) -> None:
    drive = instance_types()["i8g.4xlarge"]
    volumes = (
        f"[{{purpose: cache, type: nvme, size: {drive.nvme_disk_bytes // GIB} GiB}}, {{purpose: system, size: 64 GiB}}]"
    )
    core = f"{{core: {{type: i8g.4xlarge, count: 3, volumes: {volumes}}}}}"
    environment = read_environment(write(GOOD.replace("{role: active}", core)))
    assert environment.active.core.volumes is not None
    assert environment.active.core.volumes[0].iops == drive.nvme_disk_iops
    assert plan_of(environment, environment.active).throughput.bottleneck != "ebs-throughput"
