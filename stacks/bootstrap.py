"""Bootstrap actions in a stack: scripts and programs as assets named by their content, and who may fetch them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from aws_cdk import aws_emr as emr
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3_assets as assets
from constructs import Construct

from configurations.bootstrap import Action, program, script
from environments.launch_record import LaunchRecord
from stacks.app import filled_in
from stacks.roles import allow, in_account


class RecordedBootstrap(Construct):
    """The files of a running cluster, uploaded as they were; `nodes` may fetch them, for those that join later."""

    def __init__(self, scope: Construct, record: LaunchRecord, nodes: iam.Role) -> None:
        super().__init__(scope, "BootstrapActions")
        _may_fetch(nodes, [assets.Asset(self, name, path=str(record.file(name))) for name in record.bootstrap])


class BootstrapActions(Construct):
    """`actions` for the cluster, in order; `nodes` may fetch what they name."""

    def __init__(self, scope: Construct, actions: tuple[Action, ...], nodes: iam.Role) -> None:
        super().__init__(scope, "BootstrapActions")
        names = sorted({name for action in actions for name in action.programs.values()})
        programs = {name: assets.Asset(self, name, path=str(program(name))) for name in names}
        scripts = {action.name: self._script(action.name) for action in actions}
        _may_fetch(nodes, (*scripts.values(), *programs.values()))
        self.actions = [_action(action, scripts[action.name], programs) for action in actions]

    def _script(self, name: str) -> assets.Asset:
        with TemporaryDirectory(prefix="warmbase-") as directory:
            file = Path(directory) / f"{name}.sh"
            file.write_text(script(name), encoding="utf-8")
            return assets.Asset(self, name, path=str(file))


def _may_fetch(nodes: iam.Role, files: Iterable[assets.Asset]) -> None:
    objects = (file.bucket.arn_for_objects(file.s3_object_key) for file in files)
    allow(nodes, "BootstrapFiles", ["s3:GetObject"], *objects, conditions=in_account(nodes))


def _action(
    action: Action, uploaded: assets.Asset, programs: Mapping[str, assets.Asset]
) -> emr.CfnCluster.BootstrapActionConfigProperty:
    arguments = [*(filled_in(argument) for argument in action.arguments), *_fetched(action, programs)]
    return emr.CfnCluster.BootstrapActionConfigProperty(
        name=action.name,
        script_bootstrap_action=emr.CfnCluster.ScriptBootstrapActionConfigProperty(
            path=uploaded.s3_object_url, args=arguments
        ),
    )


def _fetched(action: Action, programs: Mapping[str, assets.Asset]) -> Iterator[str]:
    """Where each program is, and what it must be."""
    for argument, name in action.programs.items():
        yield f"--{argument}={programs[name].s3_object_url}"
        yield f"--{argument}-sha256={hashlib.sha256(program(name).read_bytes()).hexdigest()}"
