"""Lint of clusters without HBase: no rule about HBase, and RubiX's keys refused with the way over."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.configurations.engines.trino.launches import PINNED, trino_launch
from tests.sizing.engines.trino.questions import CHOICE
from warmbase.emr.api import write_run_job_flow
from warmbase.engines.trino.rendering import trino_spec
from warmbase.engines.trino.request import TrinoChoice
from warmbase.linter.finding import Severity
from warmbase.linter.lint import lint
from warmbase.linter.reader import read_subject

ICEBERG = replace(CHOICE, catalog="iceberg", preferred_hosts=2)


def written(choice: TrinoChoice, directory: Path, release: str, properties: dict[str, str]) -> Path:
    """Write the RunJobFlow of an analytics cluster, with more properties of its catalog on workers."""
    document = write_run_job_flow(trino_spec(trino_launch(choice))) | {"ReleaseLabel": release}
    [core] = [group for group in document["Instances"]["InstanceGroups"] if group["InstanceRole"] == "CORE"]
    [catalog] = [one for one in core["Configurations"] if one["Classification"] == f"trino-connector-{choice.catalog}"]
    catalog["Properties"].update(properties)
    file = directory / "lake.json"
    file.write_text(json.dumps(document))
    return file


@pytest.mark.parametrize("choice", [CHOICE, PINNED, ICEBERG], ids=["hive", "three volumes", "iceberg"])
def test_what_is_rendered_for_analytics_is_sound(choice: TrinoChoice, tmp_path: Path) -> None:
    assert lint(trino_spec(trino_launch(choice))).findings == ()
    assert lint(read_subject(written(choice, tmp_path, "emr-7.12.0", {}), None)).findings == ()


@pytest.mark.parametrize(
    ("key", "way_over"),
    [
        ("hive.cache.enabled", "; now it is fs.cache.enabled"),
        ("hive.cache.location", "; now it is fs.cache.directories"),
        ("hive.cache.ttl", "; now it is fs.cache.ttl"),
        ("hive.cache.disk-usage-percentage", "; now it is fs.cache.max-disk-usage-percentages"),
        ("hive.cache.bookkeeper-port", ""),
    ],
)
def test_a_key_of_rubix_is_refused_with_its_successor(key: str, way_over: str, tmp_path: Path) -> None:
    def errors(release: str) -> list[tuple[str, str]]:
        findings = lint(read_subject(written(CHOICE, tmp_path, release, {key: "x"}), None)).of(Severity.ERROR)
        return [(finding.id, finding.message) for finding in findings]

    removed = f"{key} in trino-connector-hive configures RubiX, which EMR removed in 7.3{way_over}"
    assert errors("emr-7.2.0") == []
    for release in ("emr-7.3.0", "emr-7.12.0", "emr-7.14.0"):
        assert errors(release) == [("WB612", removed)]
