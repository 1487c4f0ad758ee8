"""Every plan passes its own lint, and an override that does not is refused with its line."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.configurations.variants import VARIANTS, Variant, variant_launch
from tests.shipped import ENVIRONMENTS
from warmbase.configurations.launch import Launch, classifications, launch_of, planned_spec
from warmbase.environments.environment import Override
from warmbase.environments.reader import read_environment
from warmbase.facts.releases import releases
from warmbase.ground.block import Inspection
from warmbase.ground.errors import Infeasible, InvalidInput
from warmbase.linter.finding import LintFinding, Severity
from warmbase.linter.lint import lint, refuse_errors


def errors(launch: Launch) -> list[tuple[str, str]]:
    return [(finding.id, finding.message) for finding in lint(planned_spec(launch)).of(Severity.ERROR)]


@pytest.mark.parametrize("label", list(releases()))
@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_every_plan_passes_its_own_lint(variant: Variant, label: str) -> None:
    assert errors(variant_launch(variant, label)) == []


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_every_environment_that_ships_passes_lint(name: str) -> None:
    environment = read_environment(name)
    for cluster in environment.clusters.values():
        launch = launch_of(environment, cluster)
        assert errors(launch) == []
        refuse_errors(launch)


def test_a_plan_that_is_open_to_networks_is_warned_about() -> None:
    launch = launch_of(read_environment("prod"), read_environment("prod").active)
    assert "WB902" not in {finding.id for finding in lint(planned_spec(launch)).findings}
    access = replace(launch.environment.access, cidrs=("10.0.0.0/16",))
    opened = replace(launch, environment=replace(launch.environment, access=access))
    [warning] = [finding for finding in lint(planned_spec(opened)).findings if finding.id == "WB902"]
    assert "any program in 10.0.0.0/16" in warning.message


ENVIRONMENT = """\
name: tried
region: us-east-1
release: {release}
network: {{availability_zone: us-east-1a}}
workload:
  stored: {stored_gib} GiB
  block_size: {block_kib} KiB
  cell: {cell} B
  row: {row} B
  reads: {{per_second: {reads}}}
  regions: {regions}
targets: {{hit_ratio: {hit_ratio}, lost_nodes: {lost_nodes}}}
clusters:
  blue: {{primaries: {primaries}}}
"""


def launch_in(text: str, folder: Path) -> Launch:
    """Return the launch of the one cluster of an environment file."""
    file = folder / "tried.yaml"
    file.write_text(text, encoding="utf-8")
    environment = read_environment(str(file))
    return launch_of(environment, environment.active)


@given(
    release=st.sampled_from(list(releases())),
    stored_gib=st.integers(min_value=1, max_value=50_000),
    block_kib=st.sampled_from([8, 16, 32, 64, 128, 256]),
    cell=st.integers(min_value=50, max_value=4_000),
    cells=st.integers(min_value=1, max_value=50),
    reads=st.integers(min_value=1, max_value=50_000),
    regions=st.integers(min_value=1, max_value=2_000),
    hit_ratio=st.sampled_from([0.5, 0.8, 0.95]),
    lost_nodes=st.integers(min_value=0, max_value=2),
    primaries=st.sampled_from([1, 3]),
)
def test_whatever_the_workload_its_plan_passes(cell: int, cells: int, **workload: float | str) -> None:
    text = ENVIRONMENT.format(cell=cell, row=cell * cells, **workload)
    with TemporaryDirectory() as folder:
        try:
            launch = launch_in(text, Path(folder))
        except Infeasible:
            assume(condition=False)
        assert errors(launch) == []


OVERRIDDEN = """\
name: tried
region: us-east-1
release: emr-7.12.0
network: {availability_zone: us-east-1a}
workload:
  stored: 200 GiB
  block_size: 64 KiB
  cell: 1 KiB
  row: 10 KiB
  reads: {per_second: 200}
  regions: 40
targets: {hit_ratio: 0.9, lost_nodes: 0}
clusters:
  blue: {primaries: 1}
overrides:
  hbase-env/export:
    HBASE_MASTER_OPTS: '"$HBASE_MASTER_OPTS -Xmx4g"'
  hbase-site:
    hbase.regionserver.handler.count: "60"
    hbase.bucketcache.single.factor: "0.4"
    hbase.master.wait.on.regionservers.mintostart: "600"
"""


def overridden(report: tuple[LintFinding, ...]) -> dict[str, int | None]:
    return {finding.id: finding.line for finding in report if finding.overridden}


def test_an_override_is_blamed_in_its_own_line(tmp_path: Path) -> None:
    launch = launch_in(OVERRIDDEN, tmp_path)
    subject = planned_spec(launch)
    refused = lint(subject).of(Severity.ERROR)
    assert overridden(refused) == {"WB206": 20, "WB316": 21}
    written = OVERRIDDEN.splitlines()
    for finding in refused:
        if finding.overridden:
            assert f"{finding.property}: " in written[(finding.line or 0) - 1]


def test_a_plan_has_no_line_where_no_override_is(tmp_path: Path) -> None:
    settings_of_core = planned_spec(launch_in(OVERRIDDEN, tmp_path)).effective("core").values()
    assert {setting.key: setting.line for setting in settings_of_core if setting.overridden} == {
        "hbase.regionserver.handler.count": 19,
        "hbase.bucketcache.single.factor": 20,
    }
    assert all(setting.line is None for setting in settings_of_core if not setting.overridden)


def test_an_error_is_refused_by_file_and_line(tmp_path: Path) -> None:
    launch = launch_in(OVERRIDDEN, tmp_path)
    with pytest.raises(InvalidInput) as caught:
        refuse_errors(launch)
    message = str(caught.value)
    file = launch.environment.source
    assert f"{file}:20  WB206 hbase-site hbase.bucketcache.single.factor" in message
    assert f"{file}:21  WB316 hbase-site hbase.master.wait.on.regionservers.mintostart" in message
    assert "HBase never serves: the master waits for 600 RegionServers" in message
    assert "fix: use other decimals, such as 0.25, 0.50 and 0.25" in message


def test_an_override_that_is_right_is_let_through(tmp_path: Path) -> None:
    right = OVERRIDDEN.replace('"0.4"', '"0.25"').replace('"600"', '"1"')
    refuse_errors(launch_in(right, tmp_path))


@pytest.mark.parametrize("stated", [None, "true", "false"])
def test_coprocessors_of_inspected_tables_need_a_decision(stated: str | None) -> None:
    """A new cluster loads none, and would open these tables without a word."""
    environment = read_environment("prod")
    inspection = Inspection(
        root="s3://a/", inspected_at="2026-11-20", stored_bytes=1, families=(), coprocessors={"orders": ("org.Index",)}
    )
    launch = launch_of(environment, environment.active)
    key = "hbase.coprocessor.user.enabled"
    override = Override(classification="hbase-site", key=key, value=str(stated), where="prod.yaml:9")
    overrides = (override,) if stated else ()
    changed = replace(environment, workload=replace(environment.workload, inspection=inspection), overrides=overrides)
    settings_now = classifications(changed, launch.plan)
    finding = lint(planned_spec(replace(launch, environment=changed, settings=settings_now))).of(Severity.ERROR)
    assert [one.id for one in finding] == ([] if stated else ["WB905"])
