"""The command line as a process: what it prints where, how it ends, what it loads."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner

from tests.command import PROCESS, PROJECT, run, run_process
from tests.shipped import ENVIRONMENTS
from tests.speed import loops_of_children
from warmbase.cli.commands import COMMANDS, warmbase
from warmbase.cli.size import explain
from warmbase.configurations.properties import CATALOGUE
from warmbase.environments.environment import Environment
from warmbase.environments.planning import plan_of
from warmbase.sizing.plan import Plan
from warmbase.sizing.requirements import ClusterChoice

# The keys that programs rely on; more may be added.
PLAN_KEYS = {
    "environment": (),
    "release": (),
    "prices_as_of": (),
    "prices": ("region", "as_of", "estimate", "described", "refresh", "discount"),
    "mode": (),
    "feasible": (),
    "nearest": (),
    "core": ("instance_type", "count", "volumes"),
    "primary": ("instance_type", "count"),
    "memory": ("ram_bytes", "parts"),
    "yarn_mib": (),
    "heap": ("xmx_mib", "collector", "l1_fraction", "memstore_fraction"),
    "handlers": (),
    "prefetch_threads": (),
    "bucket_cache": (
        "size_mib",
        "bucket_sizes",
        "nominal_block_bytes",
        "blocks_held",
        "slot_efficiency_fraction",
        "writer_threads",
        "writer_queue_length",
    ),
    "persistence": ("interval_ms", "chunk_blocks", "index_bytes", "dump_seconds"),
    "hit_ratio": ("predicted", "curve", "knee_bytes"),
    "throughput": (
        "reads_per_second",
        "offered_reads_per_second",
        "bottleneck",
        "concurrency",
        "mean_latency_ms",
        "p99_latency_ms",
        "resources",
    ),
    "warm_up": ("prefetch_seconds", "curve"),
    "restart": ("seconds", "retain_retries", "retention_window_seconds"),
    "s3": ("gets_per_hour_cold", "gets_per_hour_warm", "prefix_limit_fraction"),
    "cost": ("usd_per_month", "lines"),
    "because": (),
    "warnings": (),
    "rejected": (),
}
# ... and of what is listed.
ENTRY_KEYS = {
    ("core", "volumes"): {"purpose", "type", "count", "size_gib", "iops", "throughput_mib_s"},
    ("throughput", "resources"): {"name", "capacity", "demand_per_read", "max_reads_per_second"},
    ("cost", "lines"): {"item", "usd_per_month", "because", "estimate"},
}


def loaded_after(code: str) -> set[str]:
    """Return the modules that a fresh interpreter has loaded after running some code."""
    script = (
        f"import sys, contextlib, io\nwith contextlib.redirect_stdout(io.StringIO()):\n {code}\nprint(*sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", script], cwd=PROJECT, capture_output=True, text=True, check=True)
    return set(result.stdout.split())


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_plan_fits_a_terminal_of_80_columns(name: str) -> None:
    result = run("plan", name)
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    assert max(len(line) for line in result.stdout.splitlines()) <= 80


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_plan_as_json_has_every_key(name: str) -> None:
    document = json.loads(run("plan", name, "--output", "json").stdout)
    for key, inner in PLAN_KEYS.items():
        assert key in document
        for name_inside in inner:
            assert name_inside in document[key], f"{key}.{name_inside}"
    for (key, name_inside), fields in ENTRY_KEYS.items():
        assert all(fields <= set(entry) for entry in document[key][name_inside])
    for explanation in document["because"].values():
        assert set(explanation) == {"sentence", "kind", "formula", "inputs", "functions", "source"}
        assert all(set(quantity) == {"value", "unit", "source"} for quantity in explanation["inputs"].values())
    for rejected in document["rejected"]:
        assert set(rejected) >= {"instance_type", "count", "reason", "bottleneck", "usd_per_month"}


def test_every_figure_on_the_page_is_in_the_document() -> None:
    page, document = run("plan", "prod", "--all").stdout, json.loads(run("plan", "prod", "--output", "json").stdout)
    assert f"{document['core']['count']} x {document['core']['instance_type']}" in page
    assert f"${document['cost']['usd_per_month']:,.0f}" in page
    for path in document["because"]:
        assert path in page


def test_an_environment_may_be_a_path() -> None:
    by_name, by_path = run_process("plan", "dev"), run("plan", "environments/dev.yaml")
    assert by_name.stdout.split("Assumed")[0] == by_path.stdout.split("Assumed")[0]


def test_render_emr_is_the_api_list_of_the_group_with_the_clusters_level() -> None:
    for group, key in (("core", "hbase.bucketcache.size"), ("primary", "hbase.master.loadbalancer.class")):
        listed = json.loads(run("render", "prod", "--format", "emr", "--group", group).stdout)
        site = {entry["Classification"]: entry["Properties"] for entry in listed}["hbase-site"]
        assert key in site
        assert "hbase.rootdir" in site


def test_render_defaults_to_core_and_emr() -> None:
    assert run("render", "prod").stdout == run("render", "prod", "--format", "emr", "--group", "core").stdout


def test_render_hbase_site_is_xml() -> None:
    root = ET.fromstring(run("render", "prod", "--format", "hbase-site").stdout)  # noqa: S314 - our own text
    assert "hbase.bucketcache.ioengine" in {name.text for name in root.iter("name")}


@pytest.mark.parametrize(
    ("arguments", "exit_code", "message"),
    [
        (("plan", "prd"), 2, "did you mean 'prod'?"),
        (("plan", "prod", "--cluster", "green"), 2, "one of: blue"),
        (("plan",), 2, "Missing argument 'ENV'"),
        (("plan", "prod", "--output", "xml"), 2, "'xml' is not one of"),
        (("plam", "prod"), 2, "No such command 'plam'. Did you mean 'plan'?"),
        (("render", "nowhere/none.yaml"), 2, "cannot be read"),
    ],
)
def test_invalid_input_ends_with_2_and_a_message_on_stderr(
    arguments: tuple[str, ...], exit_code: int, message: str
) -> None:
    result = run(*arguments)
    assert result.returncode == exit_code
    assert message in result.stderr
    assert result.stdout == ""


def test_an_answer_that_is_no_ends_with_3_and_is_still_printed(tmp_path: Path) -> None:
    text = (PROJECT / "environments/prod.yaml").read_text().replace("month: 9000", "month: 90")
    file = tmp_path / "cheap.yaml"
    file.write_text(text)
    result = run("plan", str(file), "--output", "json")
    assert result.returncode == 3
    assert json.loads(result.stdout)["feasible"] is False
    assert re.search(r"relax the requirements: a budget of \$\d", result.stderr)


@pytest.mark.parametrize("arguments", [("plan", "prod"), ("render", "prod"), ("--help",)], ids=" ".join)
def test_a_full_disk_is_one_line_and_1(arguments: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        result = subprocess.run(
            [*PROCESS, *arguments], cwd=PROJECT, stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert result.returncode == 1
    assert result.stderr == "warmbase: cannot write: No space left on device\n"


def test_a_reader_that_has_read_enough_is_no_error() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    result = subprocess.run(
        [*PROCESS, "plan", "prod"], cwd=PROJECT, stdout=writer, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(writer)
    assert result.stderr == ""


def test_help_loads_nothing_heavy() -> None:
    loaded = loaded_after(
        "from warmbase.cli.commands import warmbase; warmbase.main(['--help'], standalone_mode=False)"
    )
    assert not loaded & {"aws_cdk", "boto3", "botocore", "pydantic", "numpy", "jinja2", "rich", "yaml"}


def test_plan_loads_nothing_slow_that_it_does_not_need() -> None:
    loaded = loaded_after(
        "from warmbase.cli.commands import warmbase; warmbase.main(['plan', 'prod'], standalone_mode=False)"
    )
    assert not loaded & {"aws_cdk", "boto3", "botocore", "moto"}


@pytest.mark.bench
def test_help_is_quick() -> None:
    """The whole process takes 0.8 loops, the start of the interpreter included."""
    assert loops_of_children(lambda: run_process("--help"), attempts=8) < 1.6


@pytest.mark.parametrize("name", list(COMMANDS))
def test_every_command_has_its_line_of_help_and_an_example(name: str) -> None:
    with warmbase.make_context("warmbase", [name], resilient_parsing=True) as context:
        command = warmbase.get_command(context, name)
    assert command is not None
    assert command.help is not None
    assert command.help.splitlines()[0] == COMMANDS[name]
    assert f"warmbase {name}" in command.help.partition("Example:")[2]


@pytest.fixture
def one_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a plan once for all that is explained of it."""
    plans: dict[str, Plan] = {}

    def plan_of_first(environment: Environment, cluster: ClusterChoice) -> Plan:
        if environment.name not in plans:
            plans[environment.name] = plan_of(environment, cluster)
        return plans[environment.name]

    monkeypatch.setattr(explain, "plan_of", plan_of_first)


@pytest.mark.usefixtures("one_plan")
def test_explain_of_every_rendered_property_gives_value_reason_and_source() -> None:
    """Each command is invoked in this process, because a start takes as long as the answer."""
    runner, described = CliRunner(), 0
    for (_, key), entry in CATALOGUE.items():
        result = runner.invoke(warmbase, ["explain", "dev", key])
        assert result.exit_code == 0, result.output
        assert entry.source in " ".join(result.output.split())
        if entry.figure and "not set for this cluster" not in result.output:
            described += 1
            assert f"{entry.figure} = " in result.output
    assert described >= 15


@pytest.mark.usefixtures("one_plan")
def test_explain_shows_formula_inputs_and_source_of_every_figure_with_a_reason() -> None:
    runner = CliRunner()
    for path, explanation in json.loads(run("plan", "prod", "--output", "json").stdout)["because"].items():
        page = runner.invoke(warmbase, ["explain", "prod", path]).output
        assert explanation["formula"] in " ".join(page.split())
        assert explanation["source"] in " ".join(page.split())
        assert "= None" not in page
        assert "e+" not in page.splitlines()[0]
        if path.endswith(("bytes", "_mib", "_gib", "_ms", "seconds")) or path.startswith("memory.parts."):
            assert re.search(r" = [\d,.]+ (B|MiB|GiB|ms|s)\b", page), page


def test_explain_of_an_unknown_name_suggests_the_nearest() -> None:
    result = run("explain", "prod", "heap.xmx")
    assert result.returncode == 2
    assert "did you mean heap.xmx_mib?" in result.stderr


def test_all_of_a_plan_lists_what_was_rejected_nearest_first() -> None:
    page = run("plan", "prod", "--all").stdout
    assert "candidates evaluated" in page
    rejected = json.loads(run("plan", "prod", "--output", "json").stdout)["rejected"]
    places = [
        page.index(f"{rejection['count']} x {rejection['instance_type']}", page.index("Rejected:"))
        for rejection in rejected
    ]
    assert places == sorted(places)


def test_compare_sets_three_modes_side_by_side() -> None:
    result = run("compare", "prod")
    assert result.returncode == 0
    assert max(len(line) for line in result.stdout.splitlines()) <= 80
    plans = json.loads(run("compare", "prod", "--output", "json").stdout)
    assert list(plans) == ["s3-cached", "s3-plain", "hdfs"]
    assert plans["hdfs"]["bucket_cache"] is None
    assert plans["s3-plain"]["hit_ratio"]["predicted"] == 0
    assert plans["s3-plain"]["warm_up"]["prefetch_seconds"] == 0


@pytest.mark.bench
def test_plan_is_quick() -> None:
    """The whole process, advice included, takes 7 loops; with data classes instead of structs it took 15."""
    assert loops_of_children(lambda: run_process("plan", "prod"), attempts=8) < 11


@pytest.mark.parametrize(
    "example", sorted((PROJECT / "tests/environments/examples").glob("*.yaml")), ids=lambda file: file.stem
)
def test_examples_of_every_kind_are_planned_in_80_columns(example: Path) -> None:
    result = run("plan", str(example), "--all")
    assert result.returncode == 0, result.stderr
    assert max(len(line) for line in result.stdout.splitlines()) <= 80
