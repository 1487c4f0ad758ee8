"""A boost of the cache volumes of a running cluster, which ends even if no command runs again.

EMR lists the volumes of each node; those of the planned cache's size are cache volumes, as in the bootstrap action.

Before it raises the first volume, the boost creates one-time schedules that restore each volume, and reads them again.
So a command that is killed leaves no volume raised without a schedule. The schedules are in the group of the cluster's
stack, so they are gone with it. EC2 refuses to modify a volume until its last modification is `completed`, which can
take hours. The volume then stays raised beyond the announced end, until a later schedule restores it: each volume has
three. EC2 reports only the latest modification, so a boost begins only if no volume was modified within the last 24
hours. The increase and the three schedules are the four modifications that EBS allows in that time.

While a volume is `modifying`, DescribeVolumes shows what it had before. So a volume counts as raised while a
modification raises it, and as restored only once DescribeVolumes says so, too. All descriptions of EC2 may lag behind
what it has accepted. So a command reports an increase only once EC2 shows it, and before it deletes the schedules, it
checks for a while whether EC2 shows another increase.

Source: EC2 API Reference, ModifyVolume and DescribeVolumesModifications; EC2 Developer Guide, eventual-consistency; EBS
User Guide, monitoring-volume-modifications (about 6 hours for a full volume of 1 TiB, more than 24 in some cases);
terraform-provider-aws, issue 29213 (the old size while `modifying`); EventBridge Scheduler User Guide,
managing-targets-universal; API Reference, CreateSchedule.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final, Protocol

from botocore.exceptions import ClientError
from msgspec import Struct
from msgspec.structs import replace

from warmbase.configurations.launch import Launch
from warmbase.environments.names import BOOST_ROLE, BOOST_TAG, boost_group, cluster_stack
from warmbase.facts.prices import price_table
from warmbase.ground.errors import OperationFailed, Problem, Refused
from warmbase.operations.aws.clients import Aws, entries, filtered
from warmbase.operations.aws.errors import AGAIN, error_code, suppress_codes, translated
from warmbase.operations.aws.progress import Say, Stage, turns
from warmbase.operations.cluster.description import DescribedCluster
from warmbase.operations.cluster.drift import Basis
from warmbase.operations.cluster.stack import core_nodes
from warmbase.sizing.gp3 import INCLUDED_IOPS, INCLUDED_MIB_S, Provision, gp3_volume
from warmbase.sizing.recovery.boost import extra_usd_per_hour

ATTEMPTS_SECONDS: Final = (0.0, 6 * 3600.0, 24 * 3600.0)
"""When the schedules of a volume fire, counted from the announced end."""
# judgement: a schedule fires within a minute of its time, and EC2 reports what it has changed a little later.
FIRING_SECONDS: Final = 180.0


class CacheVolume(Struct, frozen=True, kw_only=True):
    """A cache volume: what it is provisioned with, and was at the launch of its cluster.

    `modified_at` is when its latest modification began, in seconds since 1970, `modification` is the state of that
    modification, and `target` what it provisions; they are None for a volume that was never modified. `usd_per_hour` is
    the price of what it has, or is getting, above the provision of the launch.
    """

    provision: Provision
    launch_provision: Provision
    usd_per_hour: float = 0.0
    modified_at: float | None = None
    modification: str | None = None
    target: Provision | None = None

    @property
    def final_provision(self) -> Provision:
        """Return what it will have once EC2 has ended its modification; what it has if there is none."""
        return self.target if self.is_changing and self.target is not None else self.provision

    @property
    def is_raised(self) -> bool:
        """Return whether it has more than at the launch and keeps it, or is getting more."""
        return self._is_above_launch(self.final_provision)

    @property
    def is_restored(self) -> bool:
        """Return whether EC2 shows no more than at the launch, neither now nor at the end of its modification."""
        return not self.is_raised and not self._is_above_launch(self.provision)

    def _is_above_launch(self, provision: Provision) -> bool:
        return any(now > before for now, before in zip(provision, self.launch_provision, strict=True))

    @property
    def is_changing(self) -> bool:
        """Return whether EC2 would refuse to modify it now."""
        return self.modification in {"modifying", "optimizing"}


class WayBack(Struct, frozen=True, kw_only=True):
    """The schedules of one volume: when the next one fires, in seconds since 1970, and what it provisions then.

    `attempt` is the number of that schedule, from 1. `remaining` counts it and the later ones.
    """

    at: float
    provision: Provision
    attempt: int = 1
    remaining: int = len(ATTEMPTS_SECONDS)

    @property
    def announced_end(self) -> float:
        """Return when the first of the schedules fires, or fired."""
        return self.at - ATTEMPTS_SECONDS[self.attempt - 1]

    @property
    def is_complete(self) -> bool:
        """Return whether no later schedule is missing."""
        return self.attempt + self.remaining - 1 == len(ATTEMPTS_SECONDS)


class BoostState(Struct, frozen=True, kw_only=True):
    """The cache volumes of a cluster by id, and the schedules that restore them, at one moment.

    `at` is that moment by the clock of AWS, in seconds since 1970.
    """

    volumes: Mapping[str, CacheVolume]
    ways_back: Mapping[str, WayBack]
    at: float

    @property
    def raised(self) -> dict[str, CacheVolume]:
        """Return the volumes that have more than at the launch, or are getting more."""
        return {name: volume for name, volume in self.volumes.items() if volume.is_raised}

    @property
    def ends_at(self) -> float | None:
        """Return when the schedules restore the last raised volume; None if none is raised or scheduled."""
        return max((self.ways_back[name].at for name in self.raised if name in self.ways_back), default=None)

    @property
    def announced_end(self) -> float | None:
        """Return when the last raised volume was to be restored; None if none is raised or scheduled."""
        return max((self.ways_back[name].announced_end for name in self.raised if name in self.ways_back), default=None)

    @property
    def usd_per_hour(self) -> float:
        """Return what the raised volumes cost in an hour above what they cost at the launch."""
        return sum(volume.usd_per_hour for volume in self.raised.values())

    @property
    def unscheduled(self) -> tuple[str, ...]:
        """Return the raised volumes that no schedule restores."""
        return tuple(name for name in self.raised if name not in self.ways_back)

    @property
    def overdue(self) -> tuple[str, ...]:
        """Return the raised volumes whose announced end has passed."""
        ends = {name: self.ways_back[name].announced_end for name in self.raised if name in self.ways_back}
        return tuple(name for name, end in ends.items() if end + FIRING_SECONDS < self.at)

    def json_fields(self) -> dict[str, object]:
        """Return the keys of `--output json`."""
        return {
            "volumes": sorted(self.volumes),
            "raised": sorted(self.raised),
            "announced_end": self.announced_end,
            "ends_at": self.ends_at,
            "overdue": self.overdue,
            "unscheduled": self.unscheduled,
            "usd_per_hour": self.usd_per_hour,
        }

    @property
    def basis(self) -> Basis:
        """Return the facts that a proposal is made from."""
        return {
            f"volume {name}": f"{provision_text(volume.final_provision)}, {'' if name in self.ways_back else 'not '}"
            "scheduled"
            for name, volume in self.volumes.items()
        }


def moment(at: float) -> str:
    """Return a time in UTC, in words."""
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M} UTC"


def provision_text(provision: Provision) -> str:
    """Return throughput and IOPS in words."""
    throughput_mib_s, iops = provision
    return f"{throughput_mib_s:,} MiB/s and {iops:,} IOPS"


MODIFY_VOLUME: Final = "arn:aws:scheduler:::aws-sdk:ec2:modifyVolume"
RETRY: Final = {"MaximumEventAgeInSeconds": 24 * 3600, "MaximumRetryAttempts": 185}
"""The most that EventBridge Scheduler allows."""
AT: Final = "at(%Y-%m-%dT%H:%M:%S)"
NO_GROUP: Final = "ResourceNotFoundException"
CHANGING: Final = "IncorrectModificationState"
"""EC2's code for a volume whose last modification is not completed."""


class ClusterBoost(Struct, frozen=True, kw_only=True):
    """The boost of one running cluster whose cache volumes have this size and had this provision at its launch.

    `usd_per_hour` is the price of a provision above that of the launch, for one volume.
    """

    aws: Aws
    group: str
    stack: str
    cluster_id: str
    size_gib: int
    launch_provision: Provision
    usd_per_hour: Callable[[Provision], float]

    def clock(self) -> float:
        """Return the time of AWS, in seconds since 1970."""
        return self.aws.now().timestamp()

    def state(self) -> BoostState:
        """Return the volumes and the schedules as they are now. Raises OperationFailed."""
        with translated("could not read the cache volumes", AGAIN):
            return BoostState(volumes=self._volumes(), ways_back=self._ways_back(), at=self.clock())

    def _volumes(self) -> dict[str, CacheVolume]:
        aws = self.aws
        nodes = core_nodes(aws, self.cluster_id, "RUNNING")
        names = [volume["VolumeId"] for node in nodes for volume in node.get("EbsVolumes", ())]
        # EC2 refuses the ids of volumes that were never modified, or that are gone; a filter passes them over.
        described = filtered(aws.ec2.get_paginator("describe_volumes"), "Volumes", "volume-id", names)
        paginator = aws.ec2.get_paginator("describe_volumes_modifications")
        changes = filtered(paginator, "VolumesModifications", "volume-id", names)
        modifications: dict[str, Any] = {entry["VolumeId"]: entry for entry in changes}
        volumes = {}
        for volume in described:
            if volume["Size"] != self.size_gib or volume["VolumeType"] != "gp3":
                continue
            latest = modifications.get(volume["VolumeId"], {})
            known = CacheVolume(
                provision=_provision(volume, ""),
                launch_provision=self.launch_provision,
                modified_at=latest["StartTime"].timestamp() if latest else None,
                modification=latest.get("ModificationState"),
                target=_provision(latest, "Target") if latest else None,
            )
            volumes[volume["VolumeId"]] = replace(known, usd_per_hour=self.usd_per_hour(known.final_provision))
        return dict(sorted(volumes.items()))

    def _ways_back(self) -> dict[str, WayBack]:
        aws, ways, schedules = self.aws, dict[str, WayBack](), list[Any]()
        with suppress_codes({NO_GROUP}):
            paginator = aws.scheduler.get_paginator("list_schedules")
            names = [schedule["Name"] for schedule in entries(paginator, "Schedules", GroupName=self.group)]
            for name in names:
                # A schedule that fires deletes itself.
                with suppress_codes({NO_GROUP}):
                    schedules.append((name, aws.scheduler.get_schedule(GroupName=self.group, Name=name)))
        for name, schedule in schedules:
            call = json.loads(schedule["Target"]["Input"])
            way = WayBack(
                at=datetime.strptime(schedule["ScheduleExpression"], AT).replace(tzinfo=UTC).timestamp(),
                provision=(call["Throughput"], call["Iops"]),
                attempt=int(name.rpartition("-")[2]),
                remaining=1,
            )
            if known := ways.get(call["VolumeId"]):
                way = replace(min(way, known, key=lambda one: one.at), remaining=known.remaining + 1)
            ways[call["VolumeId"]] = way
        return ways

    def schedule(self, volume: str, provision: Provision, times: tuple[float, ...]) -> None:
        """Write the schedules of a volume, after the tag that lets their role modify it. Raises OperationFailed."""
        aws, (throughput_mib_s, iops) = self.aws, provision
        with translated(f"could not schedule the end of the boost of {volume}", AGAIN):
            aws.ec2.create_tags(Resources=[volume], Tags=[{"Key": BOOST_TAG, "Value": self.group}])
            call = {"VolumeId": volume, "Throughput": throughput_mib_s, "Iops": iops}
            role = self._role()
            for number, at in enumerate(times, 1):
                request: Any = {
                    "Name": f"{volume}-{number}",
                    "GroupName": self.group,
                    "ScheduleExpression": datetime.fromtimestamp(at, UTC).strftime(AT),
                    "FlexibleTimeWindow": {"Mode": "OFF"},
                    "ActionAfterCompletion": "DELETE",
                    "Target": {"Arn": MODIFY_VOLUME, "RoleArn": role, "Input": json.dumps(call), "RetryPolicy": RETRY},
                }
                try:
                    aws.scheduler.update_schedule(**request)
                except ClientError as error:
                    if error_code(error) != NO_GROUP:
                        raise
                    aws.scheduler.create_schedule(**request)

    def unschedule(self, volume: str) -> None:
        """Delete the schedules of a volume. Raises OperationFailed."""
        aws = self.aws
        with translated(f"could not delete the schedules of {volume}", AGAIN):
            for number, _ in enumerate(ATTEMPTS_SECONDS, 1):
                try:
                    aws.scheduler.delete_schedule(GroupName=self.group, Name=f"{volume}-{number}")
                except ClientError as error:
                    if error_code(error) != NO_GROUP:
                        raise

    def modify(self, volume: str, provision: Provision) -> bool:
        """Give a volume this provision now, or return False while EC2 changes it. Raises OperationFailed."""
        throughput_mib_s, iops = provision
        with translated(f"could not modify {volume}", AGAIN), suppress_codes({CHANGING}):
            self.aws.ec2.modify_volume(VolumeId=volume, Throughput=throughput_mib_s, Iops=iops)
            return True
        return False

    def refuse_undeployed(self) -> None:
        """Raise Refused for a cluster that an earlier version deployed, without the role of the schedules."""
        with translated("could not read the stack of the cluster", AGAIN):
            if self._role():
                return
        raise Refused.of(
            where=f"stack {self.stack}",
            what="has no role for the schedules that restore raised volumes",
            why="an earlier version of warmbase deployed it, and without them nothing is raised",
            fix="deploy the environment again (warmbase deploy), which does not touch the running cluster",
        )

    def _role(self) -> str:
        """Return the ARN of the role of the schedules; empty where the stack has none."""
        aws = self.aws
        for resource in aws.cloudformation.describe_stack_resources(StackName=self.stack)["StackResources"]:
            if resource["LogicalResourceId"] == BOOST_ROLE:
                return f"arn:{aws.partition}:iam::{aws.account}:role/{resource['PhysicalResourceId']}"
        return ""


def _provision(described: Mapping[str, Any], prefix: str) -> Provision:
    """Return throughput and IOPS of a volume, or of its modification; EC2 leaves out what a gp3 volume includes."""
    return described.get(f"{prefix}Throughput") or INCLUDED_MIB_S, described.get(f"{prefix}Iops") or INCLUDED_IOPS


def read_boost(aws: Aws, launch: Launch, cluster: DescribedCluster) -> BoostState | None:
    """Return the boost of a cluster now; None where no volume of it could be raised. Raises OperationFailed."""
    try:
        return cluster_boost(aws, launch, cluster).state()
    except Refused:
        return None


def cluster_boost(aws: Aws, launch: Launch, cluster: DescribedCluster) -> ClusterBoost:
    """Return the boost of a running cluster. Raises Refused where no EBS volume of its nodes holds a cache."""
    plan = launch.plan
    sizes = {volume.size_gib for volume in plan.core.volumes if volume.purpose == "cache" and volume.type == "gp3"}
    at_launch = [volume for volume in cluster.groups["core"].group.volumes if volume.size_gib in sizes]
    if not at_launch:
        raise Refused.of(
            where=f"cluster {plan.cluster} of {plan.environment}",
            what="has no gp3 volume of the planned cache's size",
            why="only gp3 volumes can be raised, and their size says which of them hold the caches",
            fix="to see the volumes, use warmbase status --output json",
        )
    [size], first = sizes, at_launch[0]
    provision = (first.throughput_mib_s or INCLUDED_MIB_S, first.iops or INCLUDED_IOPS)
    volume = gp3_volume("cache", size, provision)
    prices = price_table(launch.environment.region).discounted(launch.environment.discount)
    return ClusterBoost(
        aws=aws,
        group=boost_group(plan.environment, plan.cluster),
        stack=cluster_stack(plan.environment, plan.cluster),
        cluster_id=cluster.id,
        size_gib=size,
        launch_provision=provision,
        usd_per_hour=lambda raised: extra_usd_per_hour(volume, raised, prices),
    )


WINDOW_SECONDS: Final = 24 * 3600.0
# judgement: a schedule must not fire while its volume is being raised.
MARGIN_SECONDS: Final = 300.0
SOON_SECONDS: Final = 600.0  # judgement: longer than it takes to restore all volumes one by one


class BoostControl(Protocol):
    """Reads and modifies the cache volumes of one cluster. Each method raises OperationFailed where AWS refuses."""

    def clock(self) -> float:
        """Return the time of AWS, whose clock fires the schedules, in seconds since 1970."""

    def state(self) -> BoostState:
        """Return the volumes and the schedules as they are now."""

    def schedule(self, volume: str, provision: Provision, times: tuple[float, ...]) -> None:
        """Write the schedules that give the volume this provision at these times, in place of its other schedules."""

    def unschedule(self, volume: str) -> None:
        """Delete the schedules of a volume, if it has any."""

    def modify(self, volume: str, provision: Provision) -> bool:
        """Give a volume this provision now, or return False while EC2 changes it."""


class BoostPatience(Struct, frozen=True, kw_only=True):
    """How long to wait until EC2 has restored all volumes, and the pauses between two checks, in seconds.

    `consistency` is how long EC2 may take to show what it has accepted.
    """

    modifiable: float = 900.0  # judgement: beyond that it takes hours, and the schedules restore the volume
    # judgement: EC2's guide speaks of seconds to five minutes; what lags longer keeps its schedules at the next run.
    consistency: float = 60.0
    first_poll: float = 1.0
    poll: float = 15.0


class CacheBoost(Struct, frozen=True, kw_only=True):
    """The boost of all cache volumes to `provision` for so many seconds; `clock` is in seconds since 1970."""

    control: BoostControl
    provision: Provision
    seconds: float
    patience: BoostPatience = BoostPatience()

    def check(self, state: BoostState) -> None:
        """Raise Refused if a volume cannot be raised, or if it is not certain that it can be restored."""
        problems = []
        for name, volume in state.volumes.items():
            if volume.is_raised and name in state.ways_back:
                continue
            if volume.is_raised:
                what = f"is raised to {provision_text(volume.provision)}, and no schedule restores it"
                why = f"its cluster was launched with {provision_text(volume.launch_provision)}"
                fix = "restore it: run the same command with --end"
            elif volume.is_changing:
                what = f"is {volume.modification}"
                why = "EC2 modifies a volume only once its last modification is completed"
                fix = "wait until then (EC2's console, volumes), and run the same command again"
            elif volume.modified_at is not None and self.control.clock() - volume.modified_at < WINDOW_SECONDS:
                what = f"was modified at {moment(volume.modified_at)}"
                why = (
                    "EBS allows four modifications of a volume in 24 hours and reports only the latest, so EC2 might"
                    " refuse to restore this one"
                )
                fix = f"run the same command again after {moment(volume.modified_at + WINDOW_SECONDS)}"
            else:
                continue
            problems.append(Problem(where=name, what=what, why=why, fix=fix))
        if problems:
            raise Refused(problems)

    def stages(self) -> Iterator[Stage]:
        """Yield the stages. Each first checks what is left to do, so an interrupted boost continues."""
        until = self.control.clock() + self.seconds

        def schedule(say: Say) -> str:
            state = self.control.state()
            self.check(state)
            times = tuple(until + seconds for seconds in ATTEMPTS_SECONDS)
            for number, (name, volume) in enumerate(state.volumes.items(), 1):
                known = state.ways_back.get(name)
                before = known.provision if volume.is_raised and known is not None else volume.provision
                self.control.schedule(name, before, times)
                say(f"{number} of {len(state.volumes)} volumes scheduled")
            now = self.control.state()
            for name in state.volumes:
                self._certain(name, now)
            return f"{len(state.volumes)} volumes will be restored then, with {len(times)} attempts each"

        yield Stage(title=f"schedule the end of the boost for {moment(until)}", act=schedule)
        yield Stage(title=f"raise the cache volumes to {provision_text(self.provision)}", act=self._raise)

    def _raise(self, say: Say) -> str:
        raised = 0
        for name in self.control.state().volumes:
            state = self.control.state()
            volume = state.volumes.get(name)
            if volume is None or volume.is_raised:
                continue
            self._certain(name, state)
            # If EC2 changes the volume already, an interrupted boost may have raised it, which EC2 does not show yet.
            if self.control.modify(name, self.provision):
                raised += 1
                say(f"{name} raised")
        for _ in turns(self.patience.consistency, self.patience.first_poll, self.patience.poll):
            state = self.control.state()
            if state.raised.keys() == state.volumes.keys():
                break
        else:
            raise OperationFailed.of(
                where=", ".join(state.volumes.keys() - state.raised.keys()),
                what=f"is not raised after {self.patience.consistency:,.0f} s",
                why="EC2 does not show the increase",
                fix="run the same command again; if it is raised later, its schedules restore it",
            )
        already = "" if raised else "all of them were raised before; "
        return f"{already}{raised} volumes raised until {moment(state.ends_at)}" if state.ends_at else "no volumes"

    def _certain(self, name: str, state: BoostState) -> None:
        """Raise OperationFailed if no schedule would restore the volume to its present or earlier provision."""
        volume, way = state.volumes.get(name), state.ways_back.get(name)
        if volume is None:
            return
        if way is None:
            why = "no schedule would restore it"
        elif not volume.is_raised and way.provision != volume.provision:
            why = f"its schedule would give it {provision_text(way.provision)}"
        elif way.at < self.control.clock() + MARGIN_SECONDS:
            why = f"its schedule fires at {moment(way.at)}"
        else:
            return
        raise OperationFailed.of(where=name, what="was not raised", why=why, fix="run the same command again")


class BoostEnd(Struct, frozen=True, kw_only=True):
    """The end of a boost on request: the volumes are restored, and the schedules deleted, which first come forward."""

    control: BoostControl
    patience: BoostPatience = BoostPatience()

    def stages(self) -> Iterator[Stage]:
        """Yield the stages. Each first checks what is left to do, so an interrupted end continues."""
        yield Stage(title="bring the schedules forward", act=self._forward)
        yield Stage(title="restore the cache volumes", act=self._back)
        yield Stage(title="delete the schedules", act=self._clean)

    def _forward(self, say: Say) -> str:
        state, soon = self.control.state(), self.control.clock() + SOON_SECONDS
        for name, volume in state.raised.items():
            way = state.ways_back.get(name)
            if way is None or way.at > soon:
                times = tuple(soon + seconds for seconds in ATTEMPTS_SECONDS)
                self.control.schedule(name, _before(volume, way), times)
                say(f"{name} is restored at {moment(soon)} at the latest")
        return f"{len(state.raised)} raised volumes"

    def _back(self, say: Say) -> str:
        """Modify each raised volume once, as soon as EC2 accepts it, and wait until EC2 shows that all are restored."""
        accepted, reported, waiting = set[str](), "", list[str]()
        for _ in turns(self.patience.modifiable, self.patience.first_poll, self.patience.poll):
            state = self.control.state()
            waiting = [name for name, volume in state.volumes.items() if not volume.is_restored]
            if not waiting:
                return f"{len(accepted)} volumes restored"
            for name in waiting:
                volume = state.volumes[name]
                if volume.is_changing or name in accepted:
                    continue
                if self.control.modify(name, _before(volume, state.ways_back.get(name))):
                    accepted.add(name)
            changes = sorted({state.volumes[name].modification or "raised" for name in waiting})
            text = f"waiting for {len(waiting)} volumes that EC2 describes as {' or '.join(changes)}"
            if text != reported:
                reported = text
                say(text)
        raise OperationFailed.of(
            where=", ".join(waiting),
            what=f"is still {' or '.join(changes)} after {self.patience.modifiable / 60:,.0f} minutes",
            why="EC2 modifies a volume only once its last modification is completed, which can take hours",
            fix="no action is needed: its schedules try again within 10 minutes, after 6 hours and after 24; or"
            " run the same command again later",
        )

    def _clean(self, say: Say) -> str:
        """Delete the schedules once EC2 has shown for a while that no volume is raised: its descriptions may lag."""
        state = self.control.state()
        if not state.ways_back:
            return "there are none"
        say(f"looking for {self.patience.consistency:,.0f} s whether EC2 shows another increase")
        for _ in turns(self.patience.consistency, self.patience.first_poll, self.patience.poll):
            state = self.control.state()
            for name, volume in state.volumes.items():
                if volume.is_restored:
                    continue
                at = "" if volume.modified_at is None else f", which began at {moment(volume.modified_at)}"
                raise OperationFailed.of(
                    where=name,
                    what=f"is raised to {provision_text(volume.final_provision)}, so the schedules stay",
                    why=f"EC2 shows a modification{at}; it showed none when this command had restored the volumes",
                    fix="run the same command again",
                )
        for name in state.ways_back:
            self.control.unschedule(name)
        return f"the schedules of {len(state.ways_back)} volumes deleted"


def _before(volume: CacheVolume, way: WayBack | None) -> Provision:
    return volume.launch_provision if way is None else way.provision
