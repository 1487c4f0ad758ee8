"""Lint's reader, which keeps lines, reads the same cluster as EMR's own codecs do, from each form."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from msgspec.structs import replace

from tests.emr.clusters import CLUSTERS, command_words, template_properties
from warmbase.emr.api import write_run_job_flow
from warmbase.emr.cluster_spec import ClusterSpec, InstanceGroup, Settings
from warmbase.linter.reader import read_subject

FORMS: dict[str, Callable[[ClusterSpec], str]] = {
    "api.json": lambda spec: json.dumps(write_run_job_flow(spec)),
    "cloudformation.json": lambda spec: json.dumps(template_properties(spec)),
    "launch.sh": lambda spec: shlex.join(command_words(spec)),
}


def without_lines(level: Settings) -> Settings:
    return {at: replace(setting, line=None) for at, setting in level.items()}


def plain_group(group: InstanceGroup) -> InstanceGroup:
    volumes = tuple(replace(volume, line=None) for volume in group.volumes)
    return replace(group, line=None, volumes=volumes, settings=without_lines(group.settings))


def plain_spec(spec: ClusterSpec) -> ClusterSpec:
    """Return what lint reads of a cluster, without lines."""
    return ClusterSpec(
        source="test",
        release_label=spec.release_label,
        settings=without_lines(spec.settings),
        groups=tuple(plain_group(group) for group in spec.groups),
        applications=spec.applications,
    )


@pytest.mark.parametrize("form", FORMS)
@given(spec=CLUSTERS)
def test_lint_reads_what_a_codec_writes(form: str, spec: ClusterSpec) -> None:
    with TemporaryDirectory() as folder:
        file = Path(folder) / form
        file.write_text(FORMS[form](spec), encoding="utf-8")
        assert plain_spec(read_subject(file, None)) == plain_spec(spec)
