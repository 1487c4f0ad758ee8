"""The silence of a teardown ends by itself or by a deployment, and every command that reads the cluster shows it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from botocore.client import BaseClient
from botocore.exceptions import ClientError
from moto import mock_aws
from msgspec.structs import replace

from local_aws.extension import install
from tests.operations.deployed import Deployed, deployed
from tests.operations.mocked_aws import clients
from tests.operations.operators import deployed_checkout
from tests.tiers import quick_where
from warmbase.operations.cluster import alarms as alarm_muting
from warmbase.operations.cluster.alarms import MUTE_HOURS, Silence, mute, read_silence, unmute
from warmbase.operations.cluster.drift import compare_deployed
from warmbase.operations.cluster.state import state
from warmbase.operations.deploy.cdk import Assembly
from warmbase.operations.deploy.deployment import Proposal, deployment

RULE = "warmbase-dev-blue-teardown"
CALLS = {f"warmbase-dev-blue-call-{cause}" for cause in ("servers", "cache", "writes-to-cache", "room", "reads")}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Deployed]:
    monkeypatch.setattr(alarm_muting, "ACTIVATION_SECONDS", 0.0)
    install()
    with mock_aws():
        yield deployed(clients(), tmp_path)


def silence(here: Deployed) -> Silence:
    return read_silence(here.aws, "dev", "blue")


def silence_by(here: Deployed, *, is_disabled: bool) -> None:
    if is_disabled:
        here.aws.cloudwatch.disable_alarm_actions(AlarmNames=sorted(CALLS))
    else:
        mute(here.aws, "dev", "blue")


def refuse(monkeypatch: pytest.MonkeyPatch, operation: str, code: str) -> None:
    """Make one operation of CloudWatch refuse every call."""
    original: Callable[..., Any] = BaseClient._make_api_call  # type: ignore[attr-defined]

    def called(client: BaseClient, name: str, parameters: Any) -> Any:
        if name == operation:
            raise ClientError({"Error": {"Code": code, "Message": "no"}}, name)
        return original(client, name, parameters)

    monkeypatch.setattr(BaseClient, "_make_api_call", called)


def test_a_mute_rule_covers_every_notification_and_expires(here: Deployed) -> None:
    began = datetime.now(UTC)
    assert f"mute rule {RULE} mutes the notifications of 5 alarms until" in mute(here.aws, "dev", "blue")
    assert {name: set(alarms) for name, alarms in silence(here).rules.items()} == {RULE: CALLS}
    assert silence(here).disabled == ()
    rule = here.aws.cloudwatch.get_alarm_mute_rule(AlarmMuteRuleName=RULE)
    assert abs(rule["ExpireDate"] - began - timedelta(hours=MUTE_HOURS)) < timedelta(minutes=1)
    assert rule["Rule"]["Schedule"]["Duration"] == f"PT{MUTE_HOURS}H"


def test_a_silence_that_is_abandoned_ends_by_itself(here: Deployed) -> None:
    start = datetime.now(UTC) - timedelta(hours=MUTE_HOURS, minutes=1)
    here.aws.cloudwatch.put_alarm_mute_rule(
        Name=RULE,
        Rule={"Schedule": {"Expression": f"at({start:%Y-%m-%dT%H:%M})", "Duration": f"PT{MUTE_HOURS}H"}},
        MuteTargets={"AlarmNames": sorted(CALLS)},
    )
    assert here.aws.cloudwatch.get_alarm_mute_rule(AlarmMuteRuleName=RULE)["Status"] == "EXPIRED"
    assert silence(here).lines == ()


@pytest.mark.parametrize("code", quick_where("AccessDenied".__eq__, ["AccessDenied", "InvalidAction", "LimitExceeded"]))
def test_where_a_rule_is_refused_the_actions_are_disabled(
    here: Deployed, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse(monkeypatch, "PutAlarmMuteRule", code)
    line = mute(here.aws, "dev", "blue")
    assert f"CloudWatch refused a mute rule ({code}), so the notifications of 5 alarms are disabled" in line
    assert line.endswith("warmbase deploy dev")
    assert set(silence(here).disabled) == CALLS
    unmute(here.aws, "dev", "blue")
    assert silence(here).lines == ()


def test_a_rule_that_does_not_become_active_is_replaced(here: Deployed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alarm_muting, "_is_active", lambda *_: False)
    assert "has not activated the mute rule" in mute(here.aws, "dev", "blue")
    assert silence(here).rules == {}
    assert set(silence(here).disabled) == CALLS


def test_a_region_without_mute_rules_has_none(here: Deployed, monkeypatch: pytest.MonkeyPatch) -> None:
    refuse(monkeypatch, "ListAlarmMuteRules", "InvalidAction")
    assert silence(here).rules == {}


@pytest.mark.parametrize("is_disabled", [True, False])
def test_status_and_diff_show_a_silence(here: Deployed, *, is_disabled: bool) -> None:
    _, before = compare_deployed(here.aws, here.launch)
    assert all(comparison.differences == () for comparison in before)
    silence_by(here, is_disabled=is_disabled)
    [cluster] = state(here.aws, here.environment).clusters
    assert cluster.silenced == silence(here).lines
    assert len(cluster.silenced) == 1
    _, comparisons = compare_deployed(here.aws, here.launch)
    [alarms] = [comparison for comparison in comparisons if comparison.subject == "alarms"]
    assert len(alarms.differences) == (5 if is_disabled else 1)
    assert silence(here).ours
    assert "notify again" in unmute(here.aws, "dev", "blue")
    assert not silence(here).ours


def test_a_rule_of_somebody_else_is_shown_and_stays(here: Deployed) -> None:
    start = datetime.now(UTC)
    here.aws.cloudwatch.put_alarm_mute_rule(
        Name="maintenance",
        Rule={"Schedule": {"Expression": f"at({start:%Y-%m-%dT%H:%M})", "Duration": "PT2H"}},
        MuteTargets={"AlarmNames": ["warmbase-dev-blue-call-cache"]},
    )
    assert silence(here).lines == ("mute rule maintenance mutes the notifications of 1 alarm",)
    assert not silence(here).ours
    assert "not deleted, because warmbase did not write them: maintenance" in unmute(here.aws, "dev", "blue")
    assert "maintenance" in silence(here).rules


@pytest.mark.parametrize("is_disabled", [True, False])
def test_a_deployment_ends_a_silence(here: Deployed, tmp_path: Path, *, is_disabled: bool) -> None:
    proposal = Proposal(
        environment=here.environment,
        checks=(),
        launches={"blue": here.launch},
        analytics={},
        records={},
        stacks=(),
        bucket=(),
        tunings={},
        silences={"blue": silence(here)},
        protections={},
        account=here.aws.account,
        traces={},
        usd_per_month={},
        current_usd_per_month={},
    )
    assert proposal.empty
    silence_by(here, is_disabled=is_disabled)
    silent = replace(proposal, silences={"blue": silence(here)})
    assert not silent.empty
    assembly = Assembly(name=str(here.file), aws=here.aws, variables={}, directory=tmp_path)
    [stage] = [stage for stage in deployment(assembly, silent) if "silence" in stage.title]
    assert stage.act(print) == "the alarms of cluster blue notify again"
    assert silence(here).lines == ()
    assert not [stage for stage in deployment(assembly, proposal) if "silence" in stage.title]


def test_a_first_deployment_shows_and_ends_the_silence_of_a_teardown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The credentials of a teardown may write a rule, and yet not delete it."""
    monkeypatch.setattr(alarm_muting, "ACTIVATION_SECONDS", 0.0)
    install()
    with mock_aws():
        here, world = deployed_checkout(tmp_path, monkeypatch)
        with monkeypatch.context() as denied:
            refuse(denied, "DeleteAlarmMuteRule", "AccessDenied")
            ended = world.run("A", "teardown", "ENV", "blue")
        assert ended.code == 0, ended.text
        assert f"if mute rule {RULE} exists, it stays" in " ".join(ended.text.split())
        again = world.run("A", "deploy", "ENV")
        assert again.code == 0, again.text
        shown = f"blue: mute rule {RULE} mutes the notifications of the next cluster"
        assert shown in " ".join(again.text.split())
        assert read_silence(here.aws, "dev", "blue").lines == ()
