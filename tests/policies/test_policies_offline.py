"""Every role and endpoint policy that we deploy, evaluated offline: what must be possible is, and nothing else.

The calls of the programs on nodes are recorded while the programs run; those of HBase, EMR and CloudWatch stand below
with their source. A call that must not be possible names the statement that decides.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from tests.bootstrap_actions.services import Services, run_program, services
from tests.pages import DOCS
from tests.policies.deployment import MANAGED, OURS, REGION, Deployment
from tests.policies.evaluator import IMPLICIT, Policies, Request, Unknown, decision
from tools.permissions import shape_templates
from warmbase.stacks.roles import REPLICA_OBJECTS

PARTNER, STRANGER = "111122223333", "666666666666"
NEW, EXISTING, LAKE = "new root", "existing root", "analytics"
ROOT = f"arn:aws:s3:::warmbase-env-root-{OURS}-{REGION}"
LOGS = f"arn:aws:s3:::warmbase-env-logs-{OURS}-{REGION}"
CLAIM = f"{ROOT}/hbase.warmbase-claim"
TAG = "for-use-with-amazon-emr-managed-policies"
STORE_FILE = f"{ROOT}/hbase/data/default/events/1588230740/d/0123456789abcdef"
TRACKER = f"{ROOT}/hbase/data/default/events/1588230740/d/.filelist/f1.1700000000000"
CREATED: Mapping[str, str] = {"s3:ObjectCreationOperation": "true"}
CONDITIONAL: Mapping[str, str] = {**CREATED, "s3:if-match": '"e"'}
INSTANCE, VOLUME, CARD = (
    f"arn:aws:ec2:{REGION}:{OURS}:{kind}/x" for kind in ("instance", "volume", "network-interface")
)
SUBNET, GROUP = (f"arn:aws:ec2:{REGION}:{OURS}:{kind}/x" for kind in ("subnet", "security-group"))
KEY = f"arn:aws:kms:{REGION}:{OURS}:key/warmbase-env-storage-RootKeyEC9149F6"
TOPIC_KEY = f"arn:aws:kms:{REGION}:{OURS}:key/warmbase-env-blue-monitoring-TopicKeyB2E0C9CB"
TOPIC = f"arn:aws:sns:{REGION}:{OURS}:warmbase-env-blue-monitoring-TopicBFC7AF6E"
FOREIGN_KEY = "arn:aws:kms:us-east-1:111122223333:key/KEY"
NODE_ROLE = f"arn:aws:iam::{OURS}:role/warmbase-env-blue-cluster-RolesNode62C6EFCA"
WAL = f"arn:aws:emrwal:{REGION}:{OURS}:workspace/warmbaseenv/table"
THROUGH_S3 = {"kms:ViaService": f"s3.{REGION}.amazonaws.com"}
ARNS = {
    "cloudwatch:PutMetricData": "*",
    "elasticmapreduce:DescribeCluster": f"arn:aws:elasticmapreduce:{REGION}:{OURS}:cluster/{{}}",
}


@cache
def deployment(shape: str) -> Deployment:
    return Deployment(shape)


class Call(Struct, frozen=True):
    """A call in a deployment of one shape. `owner` has the resource; `cause` decides where it must not be possible."""

    caller: str
    action: str
    resource: str
    keys: Mapping[str, str] = {}
    shape: str = NEW
    owner: str = OURS
    cause: str = IMPLICIT

    @property
    def decision(self) -> tuple[bool, str]:
        """Return whether the call is allowed, and what decides."""
        keys = {name: value for name, value in self.keys.items() if name != "service"}
        names = {"action": self.action, "resource": self.resource, "account": OURS, "owner": self.owner}
        request = Request(**names, service=self.keys.get("service", ""), keys=keys)
        return deployment(self.shape).decision(self.caller, request)


def tags(resource: str) -> dict[str, str]:
    """Return the tags of the resources of a type that EMR uses, as the keys of a request's context."""
    kinds = {"subnet": "AWS::EC2::Subnet", "security-group": "AWS::EC2::SecurityGroup"}
    every = [
        {tag["Key"]: tag["Value"] for tag in properties["Tags"]}
        for _, _, properties in deployment(NEW).resources(kinds[resource])
    ]
    common = set.intersection(*(set(each.items()) for each in every))
    return {f"aws:ResourceTag/{key}": value for key, value in common}


def cluster_tags() -> dict[str, str]:
    """Return the tags of the cluster, which EMR gives its instances and volumes."""
    [(_, _, cluster)] = deployment(NEW).resources("AWS::EMR::Cluster", "blue-cluster")
    return {f"aws:RequestTag/{tag['Key']}": tag["Value"] for tag in cluster["Tags"]}


def hbase_calls() -> Iterator[Call]:
    """Yield what HBase, S3A and EMR's agents do on a node.

    Source: EMR Management Guide, emr-iam-role-for-ec2; Hadoop S3A, assumed_roles (the permissions that S3A needs).
    """
    for caller, objects in (("blue node", (STORE_FILE, TRACKER)), ("green node", replica_objects())):
        for key in objects:
            for action in (
                "GetObject",
                "PutObject",
                "DeleteObject",
                "AbortMultipartUpload",
                "ListMultipartUploadParts",
            ):
                yield Call(caller, f"s3:{action}", key, CREATED if action == "PutObject" else {})
        yield Call(caller, "s3:GetObject", STORE_FILE)
        yield Call(caller, "s3:GetObject", f"{ROOT}/hbase/hbase.id")
        for action in ("ListBucket", "GetBucketLocation", "ListBucketMultipartUploads"):
            yield Call(caller, f"s3:{action}", ROOT)
        yield Call(caller, "s3:PutObject", f"{LOGS}/emr/j-1/warmbase/answer.json")
        for action in ("GenerateDataKey", "Decrypt"):
            yield Call(caller, f"kms:{action}", KEY)
            yield Call(caller, f"kms:{action}", FOREIGN_KEY, THROUGH_S3, shape=EXISTING, owner=PARTNER)
        for action in ("CreateControlChannel", "OpenDataChannel"):
            yield Call(caller, f"ssmmessages:{action}", "*")
        yield Call(caller, "ssm:UpdateInstanceInformation", INSTANCE)
        yield Call(caller, "s3:GetObject", "arn:aws:s3:::our-keys/hbase.zip", owner=PARTNER)
        yield Call(caller, "cloudwatch:PutMetricData", "*", {"cloudwatch:namespace": "CWAgent"})
    yield Call("blue node", "emrwal:AppendEdit", WAL)
    yield Call(
        "blue node",
        "s3:PutObject",
        "arn:aws:s3:::our-data/hbase/data/default/t/r/d/f",
        CREATED,
        shape=EXISTING,
        owner=PARTNER,
    )
    yield Call("lake node", "s3:GetObject", "arn:aws:s3:::our-lake/tables/t/part-0.parquet", shape=LAKE)
    yield Call("lake node", "s3:ListBucket", "arn:aws:s3:::our-lake", {"s3:prefix": "tables/t/"}, shape=LAKE)


def replica_objects() -> list[str]:
    """Return an object for each pattern of a replica's, named as HBase and EMR do."""
    names = [name.replace("*", "x/y") for names in REPLICA_OBJECTS.values() for name in names]
    return [f"{ROOT}/hbase/{name}" for name in names]


def aws_calls() -> Iterator[Call]:
    """Yield what EMR, EC2, CloudWatch, S3 and EventBridge Scheduler do for a cluster.

    Source: EMR Management Guide, emr-iam-role-newpolicies, using-service-linked-roles and emr-plan-ha-placementgroup;
    EBS User Guide, ebs-encryption-requirements; Amazon SNS and S3 User Guides.
    """
    for action in ("RunInstances", "CreateFleet"):
        yield Call("blue service", f"ec2:{action}", SUBNET, tags("subnet"))
        yield Call("blue service", f"ec2:{action}", GROUP, tags("security-group"))
        for resource in (INSTANCE, VOLUME):
            yield Call("blue service", f"ec2:{action}", resource, cluster_tags())
        for resource in (
            CARD,
            f"arn:aws:ec2:{REGION}::image/ami-1",
            f"arn:aws:ec2:{REGION}:{OURS}:placement-group/EMR_1",
        ):
            yield Call("blue service", f"ec2:{action}", resource)
    for resource in (INSTANCE, VOLUME, CARD):
        yield Call("blue service", "ec2:CreateTags", resource, {"ec2:CreateAction": "RunInstances"})
    yield Call("blue service", "ec2:CreateNetworkInterface", CARD, cluster_tags())
    yield Call("blue service", "ec2:CreateNetworkInterface", SUBNET, tags("subnet"))
    yield Call("blue service", "ec2:AuthorizeSecurityGroupIngress", GROUP, tags("security-group"))
    yield Call("blue service", "ec2:TerminateInstances", INSTANCE, {f"aws:ResourceTag/{TAG}": "true"})
    yield Call("blue service", "ec2:CreatePlacementGroup", f"arn:aws:ec2:{REGION}:{OURS}:placement-group/EMR_1")
    yield Call("blue service", "ec2:DescribeSubnets", "*")
    yield Call("blue service", "iam:PassRole", NODE_ROLE, {"iam:PassedToService": "ec2.amazonaws.com"})
    yield Call("blue service", "kms:CreateGrant", KEY, {"kms:GrantIsForAWSResource": "true"})
    yield Call("blue service", "kms:GenerateDataKeyWithoutPlaintext", KEY)
    yield Call("blue boost", "ec2:ModifyVolume", VOLUME, {"aws:ResourceTag/warmbase-boost": "warmbase-env-blue"})
    yield Call("network flows", "logs:PutLogEvents", rejected_log())
    cloudwatch = {"service": "cloudwatch.amazonaws.com", "aws:SourceAccount": OURS}
    yield Call("aws", "sns:Publish", TOPIC, cloudwatch)
    yield Call("aws", "kms:GenerateDataKey", TOPIC_KEY, cloudwatch)
    yield Call("aws", "kms:Decrypt", TOPIC_KEY, cloudwatch)
    access = {"service": "logging.s3.amazonaws.com", "aws:SourceAccount": OURS, "aws:SourceArn": ROOT}
    yield Call("aws", "s3:PutObject", f"{LOGS}/access/root/1", access)
    for caller, keys in trusted().items():
        yield Call(f"assume {caller}", "sts:AssumeRole", "*", keys)
    yield Call("person", "s3:PutObject", CLAIM, CONDITIONAL)


def rejected_log() -> str:
    [(stack, key, _)] = deployment(NEW).resources("AWS::Logs::LogGroup")
    return f"arn:aws:logs:{REGION}:{OURS}:log-group:{stack}-{key}:log-stream:eni-1"


def trusted() -> Mapping[str, dict[str, str]]:
    """Return who assumes each role, with the keys that AWS sends."""
    emr = f"arn:aws:elasticmapreduce:{REGION}:{OURS}:cluster/j-1"
    return {
        "blue node": {"service": "ec2.amazonaws.com"},
        "blue service": {"service": "elasticmapreduce.amazonaws.com", "aws:SourceAccount": OURS, "aws:SourceArn": emr},
        "blue boost": {"service": "scheduler.amazonaws.com", "aws:SourceAccount": OURS},
        "network flows": {"service": "vpc-flow-logs.amazonaws.com"},
    }


def bootstrap_calls() -> Iterator[Call]:
    """Yield the downloads of each node while it is launched: scripts, and the programs that their arguments name."""
    for stack, _, cluster in deployment(NEW).resources("AWS::EMR::Cluster"):
        urls = sorted(set(re.findall(r"s3://([^\s\"]+\.(?:sh|py))", json.dumps(cluster["BootstrapActions"]))))
        assert len(urls) > 5
        for url in urls:
            caller = f"{stack.removeprefix('warmbase-env-').removesuffix('-cluster')} node"
            yield Call(caller, "s3:GetObject", f"arn:aws:s3:::{url}")


def test_what_hbase_and_aws_do_is_allowed() -> None:
    refused = [
        (call, cause)
        for calls in (hbase_calls(), aws_calls(), bootstrap_calls())
        for call in calls
        for allowed, cause in [call.decision]
        if not allowed
    ]
    assert refused == []


DENIED = [
    # A replica that somebody has made a writer.
    Call("green node", "s3:PutObject", STORE_FILE, CREATED),
    Call("green node", "s3:PutObject", TRACKER, CREATED),
    Call("green node", "s3:DeleteObject", STORE_FILE),
    Call("green node", "s3:DeleteObject", TRACKER),
    Call(
        "green node",
        "s3:PutObject",
        "arn:aws:s3:::our-data/hbase/data/default/t/r/d/f",
        CREATED,
        shape=EXISTING,
        owner=PARTNER,
    ),
    Call("green node", "s3:PutObject", f"{ROOT}/hbase/data/hbase/meta/1588230740/info/f", CREATED),
    Call("green node", "s3:PutObject", f"{ROOT}/hbase/data/hbase/namespace/r/info/f", CREATED),
    Call("green node", "s3:DeleteObject", f"{ROOT}/hbase/archive/data/default/events/r/d/f"),
    Call("green node", "s3:DeleteObject", f"{ROOT}/hbase/.hbase-snapshot/daily/.snapshotinfo"),
    Call("green node", "s3:PutObject", f"{ROOT}/hbase/hbase.id", CREATED),
    Call("green node", "s3:PutObject", f"{ROOT}/hbase/active.cluster.suffix.id", CREATED),
    Call("green node", "s3:PutObject", CLAIM, CONDITIONAL),
    Call("green node", "emrwal:AppendEdit", WAL),
    # The claim, and what must last.
    Call("blue node", "s3:PutObject", CLAIM, CREATED, cause="role denies: ClaimUnconditional"),
    Call("person", "s3:PutObject", CLAIM, CREATED, cause="resource denies: ClaimUnconditional"),
    Call("blue node", "s3:DeleteObject", CLAIM, cause="role denies: ClaimDeletion"),
    Call("blue node", "s3:DeleteObjectVersion", STORE_FILE),
    Call("blue node", "s3:DeleteBucket", ROOT),
    Call("blue node", "s3:PutBucketVersioning", ROOT),
    Call("blue node", "s3:PutLifecycleConfiguration", ROOT),
    Call("blue node", "s3:DeleteObject", f"{LOGS}/emr/j-1/node/x"),
    Call("person", "s3:GetObject", STORE_FILE, {"aws:SecureTransport": "false"}, cause="resource denies: (unnamed)"),
    Call("blue node", "kms:ScheduleKeyDeletion", KEY),
    Call("blue node", "kms:CreateGrant", KEY, {"kms:GrantIsForAWSResource": "true"}),
    Call("blue service", "kms:CreateGrant", KEY),
    # Other accounts: buckets whose names somebody took, keys, and calls on their behalf.
    Call("blue node", "s3:PutObject", STORE_FILE, CREATED, owner=STRANGER, cause="endpoint does not allow it"),
    Call("blue node", "s3:GetObject", "arn:aws:s3:::our-data/hbase/data/x", shape=EXISTING, owner=STRANGER),
    Call(
        "blue node",
        "s3:GetObject",
        "arn:aws:s3:::strangers-bucket/x",
        owner=STRANGER,
        cause="endpoint does not allow it",
    ),
    Call("blue node", "s3:GetObject", f"arn:aws:s3:::another-bucket-{OURS}/x"),
    Call("blue node", "kms:Decrypt", FOREIGN_KEY, shape=EXISTING, owner=PARTNER),
    Call(
        "blue node",
        "kms:Decrypt",
        FOREIGN_KEY,
        {"kms:ViaService": "ebs.us-east-1.amazonaws.com"},
        shape=EXISTING,
        owner=PARTNER,
    ),
    # More than a node's own work.
    Call("blue node", "iam:PassRole", NODE_ROLE, {"iam:PassedToService": "ec2.amazonaws.com"}),
    Call("blue node", "ssm:GetParameter", f"arn:aws:ssm:{REGION}:{OURS}:parameter/password"),
    Call("blue node", "ssm:SendCommand", INSTANCE),
    Call("blue node", "elasticmapreduce:TerminateJobFlows", ARNS["elasticmapreduce:DescribeCluster"].format("j-1")),
    Call("blue node", "cloudwatch:PutMetricData", "*", {"cloudwatch:namespace": "AWS/EC2"}),
    Call("blue node", "emrwal:CreateWorkspace", f"arn:aws:emrwal:{REGION}:{OURS}:workspace/warmbaseenv"),
    Call("blue node", "emrwal:AppendEdit", f"arn:aws:emrwal:{REGION}:{OURS}:workspace/others/table"),
    Call("lake node", "s3:GetObject", STORE_FILE, shape=LAKE, cause="role denies: Root"),
    Call("lake node", "s3:PutObject", "arn:aws:s3:::our-lake/tables/t/f", CREATED, shape=LAKE),
    Call("lake node", "s3:ListBucket", "arn:aws:s3:::our-lake", {"s3:prefix": "salaries/"}, shape=LAKE),
    # EMR, the schedules of a boost, and the logs of the VPC.
    Call(
        "blue service", "iam:PassRole", f"arn:aws:iam::{OURS}:role/Admin", {"iam:PassedToService": "ec2.amazonaws.com"}
    ),
    Call("blue service", "iam:PassRole", NODE_ROLE, {"iam:PassedToService": "lambda.amazonaws.com"}),
    Call("blue service", "ec2:TerminateInstances", INSTANCE),
    Call("blue service", "ec2:RunInstances", SUBNET),
    Call("blue service", "ec2:RunInstances", VOLUME),
    Call("blue boost", "ec2:ModifyVolume", VOLUME),
    Call("blue boost", "ec2:ModifyVolume", VOLUME, {"aws:ResourceTag/warmbase-boost": "warmbase-env-green"}),
    Call("blue boost", "ec2:DeleteVolume", VOLUME, {"aws:ResourceTag/warmbase-boost": "warmbase-env-blue"}),
    Call("network flows", "logs:DeleteLogGroup", f"arn:aws:logs:{REGION}:{OURS}:log-group:x"),
    # Whom the policies of resources and the trust in a role admit.
    Call("aws", "sns:Publish", TOPIC, {"service": "cloudwatch.amazonaws.com", "aws:SourceAccount": STRANGER}),
    Call("aws", "kms:Decrypt", TOPIC_KEY, {"service": "cloudwatch.amazonaws.com", "aws:SourceAccount": STRANGER}),
    Call(
        "aws",
        "s3:PutObject",
        f"{LOGS}/access/root/1",
        {"service": "logging.s3.amazonaws.com", "aws:SourceAccount": STRANGER, "aws:SourceArn": ROOT},
    ),
    Call(
        "assume blue service",
        "sts:AssumeRole",
        "*",
        {
            "service": "elasticmapreduce.amazonaws.com",
            "aws:SourceAccount": STRANGER,
            "aws:SourceArn": f"arn:aws:elasticmapreduce:{REGION}:{STRANGER}:cluster/j-1",
        },
    ),
    Call("assume blue node", "sts:AssumeRole", "*", {"service": "lambda.amazonaws.com"}),
    Call(
        "assume blue boost",
        "sts:AssumeRole",
        "*",
        {"service": "scheduler.amazonaws.com", "aws:SourceAccount": STRANGER},
    ),
]


ANSWER, JOURNAL = f"{LOGS}/emr/j-1/warmbase/state-0.json", f"{LOGS}/tables/j-1.json"
CLUSTER = ARNS["elasticmapreduce:DescribeCluster"].format("j-2")
UNCONDITIONAL, DELETION = "role denies: ClaimUnconditional", "role denies: ClaimDeletion"
STATED: list[tuple[str, bool, Call]] = [
    (
        "It can read, write and delete the current objects of the root",
        True,
        Call("blue node", "s3:GetObject", STORE_FILE),
    ),
    ("`s3:PutObject`, `s3:DeleteObject`)", True, Call("blue node", "s3:PutObject", STORE_FILE, CREATED)),
    ("`s3:DeleteObject`)", True, Call("blue node", "s3:DeleteObject", STORE_FILE)),
    ("It cannot delete a version", False, Call("blue node", "s3:DeleteObjectVersion", STORE_FILE)),
    ("nor the bucket", False, Call("blue node", "s3:DeleteBucket", ROOT)),
    ("nor suspend versioning", False, Call("blue node", "s3:PutBucketVersioning", ROOT)),
    ("shorten the lifecycle of versions", False, Call("blue node", "s3:PutLifecycleConfiguration", ROOT)),
    ("A replica's node can only read the tables", True, Call("green node", "s3:GetObject", STORE_FILE)),
    ("A replica's node can only read the tables", False, Call("green node", "s3:PutObject", STORE_FILE, CREATED)),
    ("It can take the claim with a conditional write", True, Call("blue node", "s3:PutObject", CLAIM, CONDITIONAL)),
    ("It cannot delete the claim", False, Call("blue node", "s3:DeleteObject", CLAIM, cause=DELETION)),
    ("write it without a condition", False, Call("blue node", "s3:PutObject", CLAIM, CREATED, cause=UNCONDITIONAL)),
    (
        "lets nobody write it without a condition",
        False,
        Call("person", "s3:PutObject", CLAIM, CREATED, cause="resource denies: ClaimUnconditional"),
    ),
    ("`ssm:SendCommand`", False, Call("blue node", "ssm:SendCommand", INSTANCE)),
    ("`elasticmapreduce:TerminateJobFlows`", False, Call("blue node", "elasticmapreduce:TerminateJobFlows", CLUSTER)),
    (
        "`ec2:ModifyVolume`",
        False,
        Call("blue node", "ec2:ModifyVolume", VOLUME, {"aws:ResourceTag/warmbase-boost": "x"}),
    ),
    ("`iam:PassRole`", False, Call("blue node", "iam:PassRole", NODE_ROLE)),
    ("`ssm:GetParameter`", False, Call("blue node", "ssm:GetParameter", f"arn:aws:ssm:{REGION}:{OURS}:parameter/p")),
    ("It can write below `emr/` in the log bucket", True, Call("blue node", "s3:PutObject", ANSWER)),
    ("It cannot list or read the bucket", False, Call("blue node", "s3:GetObject", ANSWER)),
    ("It cannot list or read the bucket", False, Call("blue node", "s3:ListBucket", LOGS)),
    ("it cannot write the journals of operations", False, Call("blue node", "s3:PutObject", JOURNAL)),
    (
        "It can publish figures for any cluster",
        True,
        Call("blue node", "cloudwatch:PutMetricData", "*", {"cloudwatch:namespace": "warmbase"}),
    ),
    (
        "It cannot publish in another namespace",
        False,
        Call("blue node", "cloudwatch:PutMetricData", "*", {"cloudwatch:namespace": "AWS/EC2"}),
    ),
    ("or change an alarm", False, Call("blue node", "cloudwatch:SetAlarmState", "*")),
    ("It can use the environment's key", True, Call("blue node", "kms:Decrypt", KEY)),
    ("read the settings of every cluster", True, Call("blue node", "elasticmapreduce:DescribeCluster", CLUSTER)),
    (
        "the endpoints refuse the buckets",
        False,
        Call(
            "blue node",
            "s3:PutObject",
            "arn:aws:s3:::theirs/x",
            CREATED,
            owner=STRANGER,
            cause="endpoint does not allow it",
        ),
    ),
]
"""The words of docs/security.md about a compromised part, whether it can do that, and the call."""


def test_what_the_page_states_about_a_compromised_part_is_so() -> None:
    page = " ".join((DOCS / "security.md").read_text(encoding="utf-8").split())
    section = page.partition("## If a part is compromised")[2].partition("## Permissions of the nodes")[0]
    for words, possible, call in STATED:
        assert words in section
        allowed, cause = call.decision
        assert allowed == possible, (words, cause)
        assert possible or cause == call.cause, (words, cause)
    # A permission that the section names has a call above.
    named = set(re.findall(r"`((?:s3|ssm|ec2|iam|kms|cloudwatch|elasticmapreduce):[A-Z]\w+)`", section))
    assert named <= {call.action for _, _, call in STATED}


def test_what_must_not_be_possible_is_denied_by_the_statement_that_we_mean() -> None:
    wrong = [
        (call, allowed, cause)
        for call in DENIED
        for allowed, cause in [call.decision]
        if allowed or cause != call.cause
    ]
    assert wrong == []
    assert len(DENIED) >= 30


def test_credentials_of_another_account_pass_no_endpoint() -> None:
    """Somebody on a node who brings credentials of their own cannot send data out with them."""
    for action in (
        "cloudwatch:PutMetricData",
        "kms:Encrypt",
        "ssm:PutParameter",
        "elasticmapreduce:ListClusters",
        "emrwal:CreateWal",
    ):
        own = Policies(
            identity=[{"Sid": "All", "Effect": "Allow", "Action": "*", "Resource": "*"}],
            endpoint=deployment(NEW)._of_endpoint(action.partition(":")[0]),
        )
        request = Request(action=action, resource="*", account=STRANGER, owner=STRANGER)
        assert decision(own, request) == (False, "endpoint does not allow it")
        assert decision(own, Request(action=action, resource="*", account=OURS, owner=OURS))[0]


def recorded(aws: Services) -> Iterator[tuple[str, str, Mapping[str, str]]]:
    """Yield action, resource and keys of each request to AWS that a program has signed."""
    for method, path, headers in aws.requests:
        if (scope := re.search(r"/([a-z0-9-]+)/aws4_request", headers.get("authorization", ""))) is None:
            continue
        if scope[1] == "s3":
            written = {
                **CREATED,
                **{f"s3:{name}": headers[name] for name in ("if-match", "if-none-match") if name in headers},
            }
            action = {"GET": "s3:GetObject", "PUT": "s3:PutObject"}[method]
            yield action, f"arn:aws:s3::{path.replace('/', ':', 1)}", written if method == "PUT" else {}
        elif scope[1] == "elasticmapreduce":
            assert headers["x-amz-target"] == "ElasticMapReduce.DescribeCluster"
            yield "elasticmapreduce:DescribeCluster", ARNS["elasticmapreduce:DescribeCluster"].format("j-DEAD"), {}
        else:
            assert scope[1] == "monitoring"
            yield "cloudwatch:PutMetricData", "*", {"cloudwatch:namespace": aws.published[-1]["Namespace"]}


def run(aws: Services, directory: Path, name: str, *arguments: str) -> None:
    """Run a program of a node against the services."""
    (directory / "job-flow.json").write_text(json.dumps({"jobFlowId": "j-ONE", "jobFlowCreationInstant": 1}))
    places = [f"--metadata={aws.url}", f"--job-flow={directory / 'job-flow.json'}", *arguments]
    done = run_program(name, *places)
    assert done.returncode == 0, done.stderr


def test_each_call_that_the_programs_of_a_node_make_is_allowed(tmp_path: Path) -> None:
    bucket, key = ROOT.rpartition(":")[2], "hbase.warmbase-claim"
    place = (f"--bucket={bucket}", f"--key={key}")
    site = tmp_path / "hbase-site.xml"
    site.write_text(
        "<configuration><property><name>hbase.global.readonly.enabled</name><value>false</value></property></configuration>"
    )
    calls = set()
    for role, caller in (("active", "blue node"), ("replica", "green node")):
        with services() as aws:
            taken = {"cluster": "j-DEAD", "region": aws.region, "account": aws.account, "claimed_at": "2026-01-01"}
            if role == "active":
                run(aws, tmp_path, "claim_root.py", *place, f"--s3={aws.url}", f"--emr={aws.url}")
                aws.objects[f"/{bucket}/{key}"] = json.dumps(taken).encode()
                aws.states["j-DEAD"] = "TERMINATED"
                run(aws, tmp_path, "claim_root.py", *place, f"--s3={aws.url}", f"--emr={aws.url}")
            taken["claimed_at"] = time.strftime("%Y-%m-%dT%H:%M:%SZ")
            aws.objects[f"/{bucket}/{key}"] = json.dumps(taken).encode()
            services_of = (f"--s3={aws.url}", f"--cloudwatch={aws.url}", f"--state={tmp_path / role}")
            run(
                aws,
                tmp_path,
                "watch_claim.py",
                *place,
                f"--role={role}",
                "--fencing=alarm",
                f"--hbase-site={site}",
                *services_of,
            )
            run(
                aws,
                tmp_path,
                "publish_cache_metrics.py",
                "--misses-for-one=2",
                f"--region-server={aws.url}",
                f"--cloudwatch={aws.url}",
                f"--state={tmp_path / 'counters.json'}",
            )
            for action, resource, keys in recorded(aws):
                assert Call(caller, action, resource, keys).decision[0], (caller, action, resource, keys)
                calls.add((caller, action))
    assert calls == {
        ("blue node", "s3:GetObject"),
        ("blue node", "s3:PutObject"),
        ("blue node", "elasticmapreduce:DescribeCluster"),
        ("blue node", "cloudwatch:PutMetricData"),
        ("green node", "s3:GetObject"),
        ("green node", "cloudwatch:PutMetricData"),
    }


def test_the_managed_policy_is_the_version_that_we_read() -> None:
    assert (MANAGED["version"], MANAGED["created"]) == ("v6", "2026-02-12T18:01:09+00:00")


RECIPE = {
    "CloudWatch": "CloudWatch",
    "EC2": "EC2",
    "EMR": "EMR",
    "IAM": "IAM",
    "KMS": "KMS",
    "Logs": "CloudWatch Logs",
    "S3": "S3",
    "SNS": "SNS",
    "SSM": "SSM",
    "Scheduler": "EventBridge Scheduler",
}
"""The words of docs/deploy.md for the services of CloudFormation's types."""


def test_the_recipe_for_a_deployer_names_each_service_and_each_role() -> None:
    [recipe] = re.findall(r"naming a policy for (.*?)\.\n", (DOCS / "deploy.md").read_text(encoding="utf-8"), re.DOTALL)
    for shape in (NEW, EXISTING):
        for stack, template in shape_templates(shape).items():
            for resource in template["Resources"].values():
                if resource["Type"].startswith("AWS::"):
                    assert RECIPE[resource["Type"].split("::")[1]] in " ".join(recipe.split()), resource["Type"]
                if resource["Type"] == "AWS::IAM::Role":
                    name = str(deployment(shape).filled(resource["Properties"].get("RoleName", stack), stack))
                    assert name.startswith("warmbase-")


@pytest.mark.parametrize(
    "statement",
    [
        {"Effect": "Allow", "NotAction": "s3:*", "Resource": "*"},
        {"Effect": "Allow", "Action": "*", "Resource": "*", "Condition": {"StringNotEquals": {"a": "b"}}},
    ],
)
def test_an_element_that_the_evaluator_does_not_know_is_no_permission(statement: dict[str, Any]) -> None:
    request = Request(action="s3:GetObject", resource="*", account=OURS, owner=OURS)
    with pytest.raises(Unknown):
        decision(Policies(identity=[statement]), request)
