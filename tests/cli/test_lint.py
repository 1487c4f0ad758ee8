"""`warmbase lint`, the generated pages, and overrides on every page, in 80 columns."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.command import PROJECT, run
from tools.reference import PAGES, reference
from warmbase.linter.finding import Severity
from warmbase.linter.lint import lint
from warmbase.linter.reader import read_subject

RECIPE = "docs/published-recipe.sh"
SOUND = PROJECT / "tests/configurations/smaller-cache.json"
"""A configuration without errors or placeholders."""
LINES = len((PROJECT / "environments/prod.yaml").read_text().splitlines())
FINDING_KEYS = {
    "id",
    "severity",
    "classification",
    "property",
    "value",
    "message",
    "because",
    "fix",
    "line",
    "overridden",
    "consequence",
    "edit",
}


@pytest.fixture(scope="module")
def overriding(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The environment prod with an override that is sound, and one of a property that we do not know."""
    file = tmp_path_factory.mktemp("overriding") / "prod.yaml"
    text = (PROJECT / "environments/prod.yaml").read_text()
    overrides = 'overrides: {hbase-site: {"hbase.regionserver.handler.count": "60", com.example.key: "7"}}\n'
    file.write_text(text + overrides)
    return file


@pytest.mark.parametrize("name", list(PAGES))
def test_every_generated_page_is_current(name: str, request: pytest.FixtureRequest) -> None:
    file = PROJECT / "docs" / f"{name}.md"
    if request.config.getoption("--update-golden"):
        file.write_text(PAGES[name](), encoding="utf-8")
    assert file.read_text(encoding="utf-8") == PAGES[name]()


def test_the_reference_prints_the_pages() -> None:
    assert CliRunner().invoke(reference, ["lint-rules"]).stdout == (PROJECT / "docs/lint-rules.md").read_text()
    assert CliRunner().invoke(reference, ["elsewhere"]).exit_code == 2


def test_lint_of_an_environment_without_errors_ends_well() -> None:
    result = run("lint", "prod")
    assert result.returncode == 0
    assert result.stdout.startswith("environments/prod.yaml, emr-7.12.0\n")
    assert result.stdout.splitlines()[-1].startswith("0 errors, ")
    assert max(len(line) for line in result.stdout.splitlines()) <= 80


def test_lint_of_an_analytics_cluster_names_no_fault_of_hbase(tmp_path: Path) -> None:
    file = tmp_path / "prod.yaml"
    lake = "  lake: {engine: trino, workload: {working_set: 1 TiB, scanned: 10 GiB, queries: {per_hour: 30}}}\n"
    text = (PROJECT / "environments/prod.yaml").read_text()
    file.write_text(text.replace("alarms:", f"{lake}alarms:"))
    result = run("lint", str(file), "--cluster", "lake")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.splitlines()[-1] == "0 errors, 0 warnings, 0 info"


def test_lint_as_json_has_every_key() -> None:
    document = json.loads(run("lint", "--file", RECIPE, "--output", "json").stdout)
    assert set(document) == {"source", "release", "findings", "replaced_release"}
    assert document["source"] == RECIPE
    assert document["release"] == "emr-7.12.0"
    assert len(document["findings"]) == len(lint(read_subject(PROJECT / RECIPE, None)).findings)
    for finding in document["findings"]:
        assert set(finding) == FINDING_KEYS
        assert finding["severity"] in set(Severity)
    assert {finding["id"]: finding["line"] for finding in document["findings"]}["WB405"] == 29


def test_gaps_of_the_published_recipe_are_named_as_what_is_missing() -> None:
    document = json.loads(run("lint", "--file", RECIPE, "--output", "json").stdout)
    gaps = {finding["property"] for finding in document["findings"] if finding["id"] == "WB106"}
    assert gaps >= {"hbase.rootdir", "hbase.bucketcache.size", "HBASE_HEAPSIZE", "hbase.bucketcache.bucket.sizes"}
    assert not [finding for finding in document["findings"] if finding["severity"] == "error"]


@pytest.mark.parametrize(
    ("least", "severities"), [("error", set()), ("warning", {"warning"}), ("info", {"warning", "info"})]
)
def test_least_selects_findings_by_severity(least: str, severities: set[str]) -> None:
    document = json.loads(run("lint", "--file", RECIPE, "--least", least, "--output", "json").stdout)
    assert {finding["severity"] for finding in document["findings"]} == severities


def test_errors_end_with_3_whatever_is_listed(tmp_path: Path) -> None:
    file = tmp_path / "cluster.json"
    file.write_text('[{"Classification": "hbase-site",\n "Properties": {"hbase.bucketcache.size": "0.4"}}]')
    result = run("lint", "--file", str(file), "--release", "emr-7.12.0")
    assert result.returncode == 3
    assert "WB201 error  line 2  hbase-site hbase.bucketcache.size" in result.stdout
    assert result.stderr == ""


def test_the_worst_come_first_and_the_totals_last() -> None:
    page = run("lint", "--file", "tests/lint/broken/launch.sh").stdout
    titles = [line.rpartition(" (")[0] for line in page.splitlines() if re.fullmatch(r"[A-Z][a-z ]+ \(\d+\)", line)]
    assert titles == ["Will not start", "Not safe", "Silently ignored", "Slow or dear", "Good to know"]
    assert page.splitlines()[2:4] == [
        "The worst three",
        "  1. Will not start: 1,000 MiB/s requires 4,000 IOPS, not 3,000 (WB705, line 25)",
    ]
    assert page.splitlines()[-1] == "8 errors, 13 warnings, 14 info"


def test_bugs_of_hbase_take_one_line_unless_all_are_wanted() -> None:
    folded, whole = (run("lint", "--file", RECIPE, *more).stdout for more in ((), ("--all",)))
    assert "16 bugs of this HBase version: WB501, WB502" in folded
    assert "HBASE-29667" not in folded
    assert "WB501 warning" in whole
    assert "--all lists them" not in whole


@pytest.mark.parametrize(("columns", "most"), [(40, 40), (80, 80), (120, 120), (200, 120)])
def test_a_page_is_as_wide_as_the_terminal_up_to_120(columns: int, most: int) -> None:
    page = run("lint", "--file", "tests/lint/broken/launch.sh", columns=columns).stdout
    longest = max(len(line) for line in page.splitlines() if not line.startswith("WB"))
    assert most * 0.9 <= longest <= most


def test_placeholders_that_remain_end_with_3() -> None:
    result = run("lint", "--file", RECIPE)
    assert result.returncode == 3
    assert result.stdout.splitlines()[-1] == "0 errors, 14 warnings, 27 info; 7 values still to be filled in"


VARIABLES = """aws emr create-cluster --release-label emr-7.12.0 --configurations '[{"Classification": "hbase-site",
 "Properties": {"hbase.rootdir": "s3://'"$BUCKET"'/hbase/"}}]'
"""


def test_a_variable_of_a_script_is_no_placeholder_that_remains() -> None:
    result = run("lint", "--file", "-", "--output", "json", stdin=VARIABLES)
    assert result.returncode == 0
    [gap] = [finding for finding in json.loads(result.stdout)["findings"] if finding["id"] == "WB106"]
    assert gap["consequence"] == "good to know"
    settings = '[{"Classification": "hbase-site", "Properties": {"hbase.rootdir": "s3://${BUCKET}/hbase/"}}]'
    assert run("lint", "--file", "-", stdin=settings).returncode == 3


def test_strict_ends_with_3_for_warnings() -> None:
    assert run("lint", "prod").returncode == 0
    assert " 2 warnings," in run("lint", "prod").stdout
    assert run("lint", "prod", "--strict").returncode == 3


def test_the_standard_input_is_read_like_a_file() -> None:
    script = (PROJECT / "tests/lint/broken/launch.sh").read_text()
    piped = run("lint", "--file", "-", stdin=script)
    assert piped.stdout.startswith("stdin, emr-7.12.0\n")
    filed = run("lint", "--file", "tests/lint/broken/launch.sh")
    assert piped.stdout.partition("\n")[2] == filed.stdout.partition("\n")[2]
    assert run("lint", "--file", "-").returncode == 2


def test_the_release_of_the_command_line_wins() -> None:
    """The recipe is for emr-7.12.0 with HBase 2.6.2; emr-7.14.0 has another HBase, and so other bugs."""
    own = run("lint", "--file", RECIPE)
    chosen = run("lint", "--file", RECIPE, "--release", "emr-7.14.0")
    assert chosen.stdout.startswith(f"{RECIPE}, emr-7.14.0\n")
    assert chosen.stderr == "warmbase: checked as emr-7.14.0, because of --release; the file has emr-7.12.0\n"
    assert chosen.stdout.partition("\n")[2] != own.stdout.partition("\n")[2]
    assert run("lint", "--file", RECIPE, "--release", "emr-7.12.0").stderr == own.stderr == ""


INVALID = [
    (("--file", "environments/prod.yaml"), "you mean `warmbase lint prod`"),
    ((), "give either ENV or --file"),
    (("prod", "--file", RECIPE), "give either ENV or --file"),
    (("prod", "--release", "emr-7.12.0"), "ENV states its own release"),
    (("--file", RECIPE, "--cluster", "blue"), "a file holds one cluster"),
    (("--file", "docs/none.json"), "docs/none.json"),
    (("--file", "README.md"), "fix:"),
]


@pytest.mark.parametrize(("arguments", "message"), INVALID)
def test_invalid_input_ends_with_2_and_prints_nothing(arguments: tuple[str, ...], message: str) -> None:
    result = run("lint", *arguments)
    assert result.returncode == 2
    assert message in result.stderr
    assert result.stdout == ""


def test_an_override_is_marked_on_every_page(overriding: Path) -> None:
    where = f"{overriding}:{LINES + 1}"
    # The short plan only counts them where the environment has a long path.
    assert "Overrides" in run("plan", str(overriding)).stdout
    assert "hbase-site hbase.regionserver.handler.count" in run("plan", str(overriding), "--why").stdout
    assert {"where": where, "value": "60"}.items() <= json.loads(
        run("plan", str(overriding), "--output", "json").stdout
    )["overrides"][0].items()
    assert f"an override: {where}" in run("explain", str(overriding), "hbase.regionserver.handler.count").stdout
    rendered = run("render", str(overriding))
    assert f"an override ({where}): hbase-site hbase.regionserver.handler.count=60" in rendered.stderr
    assert '"hbase.regionserver.handler.count": "60"' in rendered.stdout
    assert f"<!-- an override: {where} -->" in run("render", str(overriding), "--format", "hbase-site").stdout
    findings = json.loads(run("lint", str(overriding), "--output", "json").stdout)["findings"]
    [unknown] = [finding for finding in findings if finding["property"] == "com.example.key"]
    assert (unknown["id"], unknown["overridden"], unknown["line"]) == ("WB103", True, LINES + 1)


def test_an_override_that_lint_refuses_is_neither_rendered_nor_deployed(tmp_path: Path) -> None:
    file = tmp_path / "prod.yaml"
    text = (PROJECT / "environments/prod.yaml").read_text()
    file.write_text(
        f'{text}overrides:\n  hbase-site:\n    hbase.bucketcache.sise: "9"\n    hbase.bucketcache.memory.factor: "0"\n'
    )
    assert run("lint", str(file)).returncode == 3
    for command in (("render", str(file)), ("demo", str(file))):
        result = run(*command)
        assert result.returncode == 2
        assert f"{file}:{LINES + 3}  WB101 hbase-site hbase.bucketcache.sise" in result.stderr
        assert "write hbase.bucketcache.size" in result.stderr
        assert f"{file}:{LINES + 4}  WB206 hbase-site hbase.bucketcache.memory.factor" in result.stderr


NO_TUNING = [
    (
        'hbase-site: {hbase.rootdir: "s3://theirs/"}',
        "part of the cluster's identity",
        "set storage.mode, storage.root",
    ),
    (
        'hbase: {hbase.emr.readreplica.enabled: "false"}',
        "part of the cluster's identity",
        "set clusters.NAME.role",
    ),
    ('phoenix-hbase-site: {hbase.rootdir: "s3://x/y/"}', "part of the cluster's identity", "set storage"),
    ('hbase-site: {hbase.wal.dir: "s3://x/wal/"}', "part of the cluster's identity", "set storage.wal"),
    ('core-site: {fs.defaultFS: "s3://x/"}', "part of the cluster's identity", "set storage.mode"),
    ('core-site: {fs.default.name: "file:///"}', "part of the cluster's identity", "set storage.mode"),
    ('hdfs-site: {dfs.data.dir: "/mnt"}', "deprecated name of dfs.datanode.data.dir", "write dfs.datanode.data.dir"),
    (
        'hdfs-site: {dfs.datanode.max.xcievers: "9"}',
        "deprecated name of dfs.datanode.max.transfer.threads",
        "write dfs.datanode.max.transfer.threads",
    ),
    ('hbase-site: {hbase.offheapcache.minblocksize: "9"}', "calculator chooses it", "set workload.block_size"),
    ('hbase-site: {hbase.client.retries.number: "${HBASE_RETRIES}"}', "is a placeholder", "replace it"),
    ('hbase-site: {"<key>": "1"}', "is a placeholder", "replace it"),
    ("hbase-site: {hbase.rpc.timeout: CHANGEME}", "is a placeholder", "replace it"),
    (
        'hbase-site: {fs.s3a.threads.max: "9"}, core-site: {fs.s3a.threads.max: "8"}',
        "HBase reads hbase-site last",
        "under hbase",
    ),
    ('hbase-sit: {a: "b"}', "no such classification", "did you mean hbase-site?"),
    ('hbase-site: {hbase.rpc.timeout: "<time>"}', "is a placeholder", "replace it"),
    ('core-site: {fs.s3a.connection.maximum: "9"}', "HBase reads hbase-site last", "under hbase-site"),
    ('hbase-site: {hbase.bucketcache.size: ""}', "this is empty", "state it"),
]


@pytest.mark.parametrize(("overrides", "why", "fix"), NO_TUNING)
def test_what_is_no_tuning_cannot_be_overridden(overrides: str, why: str, fix: str, tmp_path: Path) -> None:
    file = tmp_path / "prod.yaml"
    text = (PROJECT / "environments/prod.yaml").read_text()
    file.write_text(f"{text}overrides: {{{overrides}}}\n")
    result = run("render", str(file))
    assert result.returncode == 2
    assert result.stdout == ""
    assert f"{file}:{LINES + 1}  overrides." in result.stderr
    assert why in result.stderr
    assert fix in result.stderr


@pytest.mark.parametrize("command", [("plan",), ("plan", "--output", "json"), ("render",), ("lint",)], ids=" ".join)
def test_no_credential_in_an_override_is_printed(command: tuple[str, ...], tmp_path: Path) -> None:
    file = tmp_path / "prod.yaml"
    text = (PROJECT / "environments/prod.yaml").read_text()
    file.write_text(f'{text}overrides: {{hbase-site: {{fs.s3a.secret.key: "wJalrXUtnFEMI"}}}}\n')
    result = run(command[0], str(file), *command[1:])
    assert "wJalrXUtnFEMI" not in result.stdout + result.stderr


def test_a_fault_that_an_override_makes_elsewhere_names_the_override(tmp_path: Path) -> None:
    file = tmp_path / "prod.yaml"
    text = (PROJECT / "environments/prod.yaml").read_text()
    file.write_text(f"{text}overrides: {{hbase-env/export: {{JAVA_HOME: /usr/lib/jvm/jre-17}}}}\n")
    result = run("render", str(file))
    assert result.returncode == 2
    assert f"{file}:{LINES + 1}  WB401 hbase-env/export HBASE_REGIONSERVER_GC_OPTS" in result.stderr


def test_a_property_explains_itself_to_programs_too() -> None:
    document = json.loads(run("explain", "prod", "hbase.bucketcache.size", "--output", "json").stdout)
    assert document["properties"][0]["groups"] == ["core"]
    assert document["because"]["inputs"]


def test_explain_says_that_a_property_is_not_set() -> None:
    assert "= not set for this cluster" in run("explain", "prod", "hbase.rs.evictblocksonsplit").stdout


def test_tables_are_set_as_the_plan_takes_them() -> None:
    script = run("render", "prod", "--format", "table-ddl").stdout
    for statement in (
        "BLOCKSIZE => '65536'",
        "BLOOMFILTER => 'ROW'",
        "PREFETCH_BLOCKS_ON_OPEN => 'true'",
        "NUMREGIONS => 240",
    ):
        assert statement in script
    assert script.count("{") == script.count("}")


def test_lint_loads_neither_cdk_nor_boto3() -> None:
    code = (
        "import sys\nfrom warmbase.cli.commands import warmbase\n"
        f"warmbase(['lint', '--file', {str(SOUND)!r}], standalone_mode=False)\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    result = subprocess.run([sys.executable, "-c", code], cwd=PROJECT, capture_output=True, text=True, check=True)
    assert not {"aws_cdk", "boto3"} & {name.partition(".")[0] for name in result.stderr.split()}


def test_tables_of_shell_scripts_are_checked_with_the_configuration_of_an_environment(tmp_path: Path) -> None:
    """New clusters load no coprocessors, so each table that has one is an error, by file and line."""
    script, described = tmp_path / "tables.rb", tmp_path / "described.txt"
    script.write_text(
        "# tables\nalter 'orders', METHOD => 'table_att', 'coprocessor' => 'a.jar|org.example.Index|1|'\n"
    )
    described.write_text("Table p is ENABLED\np, {TABLE_ATTRIBUTES => {coprocessor$1 => '|org.apache.phoenix.X|1|'}}\n")
    result = run("lint", "prod", "--tables", str(script), "--tables", str(described), "--output", "json")
    assert result.returncode == 3
    errors = [one for one in json.loads(result.stdout)["findings"] if one["severity"] == "error"]
    assert [(one["id"], one["line"], one["message"]) for one in errors] == [
        ("WB905", None, f"table orders has coprocessors: org.example.Index ({script}:2)"),
        ("WB905", None, f"table p has coprocessors: org.apache.phoenix.X ({described}:2)"),
    ]
    assert "if Phoenix is in use" in errors[1]["fix"]


def test_a_file_of_tables_without_tables_is_refused(tmp_path: Path) -> None:
    (tmp_path / "tables.rb").write_text("list\n")
    result = run("lint", "prod", "--tables", str(tmp_path / "tables.rb"))
    assert (result.returncode, "is not an HBase shell script" in result.stderr) == (2, True)
