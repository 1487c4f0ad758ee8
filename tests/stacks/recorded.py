"""A cluster as if it had been launched: what `warmbase pin` would write of a synthesised environment."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

from warmbase.configurations.launch import launch_of
from warmbase.emr.cloudformation import CLUSTER_TYPE
from warmbase.engines.trino.changes import trino_recorded_plan
from warmbase.engines.trino.rendering import trino_launch_of
from warmbase.environments.environment import Environment
from warmbase.environments.launch_record import LaunchRecord, RecordedPlan, identity_of, record_directory, write_record
from warmbase.environments.reader import read_environment
from warmbase.stacks.pinned import read_templates
from warmbase.stacks.references import referenced_by

ACCOUNT = "123456789012"


def launch_record_of(file: Path, assembly: Path, cluster_name: str = "blue") -> LaunchRecord:
    """Writes the record of what was synthesised from the file into that directory."""
    environment, templates = read_environment(str(file)), read_templates(assembly)
    stack = f"warmbase-{environment.name}-{cluster_name}-cluster"
    [name] = [name for name, each in templates[stack]["Resources"].items() if each["Type"] == CLUSTER_TYPE]
    resources = referenced_by(templates, stack, name)
    actions = json.dumps(resources[stack][name].properties["BootstrapActions"])
    named = sorted(set(re.findall(r"/([0-9a-f]{64})(\.[a-z]+)", actions)))
    files = {f"{digest[:8]}{suffix}": (assembly / f"asset.{digest}{suffix}").read_bytes() for digest, suffix in named}
    record = LaunchRecord(
        directory=record_directory(environment, cluster_name),
        identity=identity_of(environment, cluster_name, ACCOUNT),
        availability_zone=environment.network.availability_zone,
        cluster_id="j-TEST",
        launched_at="2026-11-22T08:00:00+00:00",
        resources=resources,
        plan=_plan(environment, cluster_name),
        bootstrap={name: hashlib.sha256(content).hexdigest() for name, content in files.items()},
    )
    write_record(record, files)
    return record


def _plan(environment: Environment, cluster_name: str) -> RecordedPlan:
    if cluster_name in environment.analytics:
        return trino_recorded_plan(trino_launch_of(environment, environment.analytics[cluster_name]).plan)
    return RecordedPlan.of(launch_of(environment, environment.clusters[cluster_name]).plan)
