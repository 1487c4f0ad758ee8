"""Checks of what AWS says about every cluster, without its nodes.

They concern its groups, security and volumes, and edits since the deployment; the policies of a new VPC's endpoints;
every metric and graph of dashboards and alarms in CloudWatch; and that the notifications of alarms reach somebody.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any, Final

from botocore.exceptions import ClientError
from msgspec.structs import replace

from warmbase.configurations.metrics import METRICS, OF_AGENT, MetricSource
from warmbase.dashboards.boards import REQUESTS_TITLE, boards
from warmbase.dashboards.graph import CLUSTER_ID, Graph
from warmbase.environments.names import cluster_stack, emr_cluster_name, network_stack
from warmbase.ground.errors import Drifted, OperationFailed
from warmbase.operations.aws.clients import Aws, entries, filtered
from warmbase.operations.cluster.alarms import METRIC_SECONDS, AlarmTest, read_topics, topic_faults
from warmbase.operations.cluster.caches import NAMESPACE
from warmbase.operations.cluster.drift import stack_edits
from warmbase.operations.deploy.pinning import check_pinned
from warmbase.operations.verify.check import Check, CheckResult, Facts, HBaseContext, VerificationContext

READY: Final = frozenset({"RUNNING", "WAITING"})
EBS: Final = "gp3"
OLD_RANGE_GIB: Final = 1024
"""The largest volume that EMR's pages once named."""


def launch_checks(context: VerificationContext) -> Iterator[CheckResult]:
    """Check what EMR, EC2 and CloudFormation say about a cluster and its nodes."""
    aws, cluster, environment, plan = context.aws, context.cluster, context.launch.environment, context.launch.plan
    row = "EMR describes a cluster's applications, volumes"
    expected = "EMR describes the cluster as the stacks launched it"
    try:
        confirmed = check_pinned(aws, environment, plan.cluster).confirmed
        yield Check("launch", row, expected, "nothing").result(f"{confirmed} facts confirmed", good=True)
    except Drifted as drifted:
        differences = "; ".join(drifted.differences[:3])
        yield Check("launch", row, expected, "warmbase diff --against live").result(differences, good=False)

    silent = [instance for instance, facts in context.nodes.items() if facts is None]
    yield Check(
        "Systems Manager",
        "A node needs only `ssm:UpdateInstanceInformation`",
        f"{len(context.nodes)} core nodes answer",
        "check that the SSM Agent runs, and that the subnet has a route to ssm and ssmmessages",
    ).result(f"no answer from {', '.join(silent)}" if silent else "all answer", good=not silent and bool(context.nodes))

    # Only a stack that was updated can show that termination protection outlasts an update.
    described = aws.emr.describe_cluster(ClusterId=cluster.id)["Cluster"]
    stack_name = cluster_stack(plan.environment, plan.cluster)
    [stack] = aws.cloudformation.describe_stacks(StackName=stack_name)["Stacks"]
    created = described["Status"]["Timeline"]["CreationDateTime"]
    is_updated = stack.get("LastUpdatedTime", stack["CreationTime"]) > created
    is_protected = described["TerminationProtected"]
    yield Check(
        "termination protection",
        "An update of the cluster's stack that does not state" if is_updated else "",
        "termination protection is on",
        "run warmbase pin, which turns it on again; tell us which update turned it off",
    ).result("on" if is_protected else "off", good=is_protected)

    groups = entries(aws.emr.get_paginator("list_instance_groups"), "InstanceGroups", ClusterId=cluster.id)
    versions = {
        group["Id"]: (group.get("ConfigurationsVersion"), group.get("LastSuccessfullyAppliedConfigurationsVersion"))
        for group in groups
    }
    reconfigured = [pair for pair in versions.values() if pair[0]]
    yield Check(
        "version of the settings",
        "`ConfigurationsVersion` of an instance group moves",
        "the requested version is applied in every instance group",
        "wait until a running reconfiguration ends; otherwise correct warmbase/operations/deploy/tuning.py",
    ).result(
        "; ".join(f"{group}: requested {wanted}, applied {applied}" for group, (wanted, applied) in versions.items()),
        good=all(wanted == applied for wanted, applied in reconfigured) if reconfigured else None,
    )

    if context.instances:
        paginator = aws.ec2.get_paginator("describe_instances")
        reservations = filtered(paginator, "Reservations", "instance-id", context.instances)
        nodes = [node for reservation in reservations for node in reservation["Instances"]]
        lax = [node["InstanceId"] for node in nodes if node.get("MetadataOptions", {}).get("HttpTokens") != "required"]
        # A cluster that does not encrypt its disks uses only one of the two names.
        both = environment.encrypt_local_disks
        yield Check(
            "instance metadata",
            "EMR knows the names `EnableEbsEncryption` and `InstanceMetadataServiceConfiguration`" if both else "",
            "every core node requires IMDSv2",
            "correct the name in stacks/emr_cluster.py, and launch a new cluster: EMR applies it only at launch",
        ).result(f"{len(lax)} of {len(nodes)} core nodes also accept IMDSv1", good=not lax and bool(nodes))
        if environment.certificates is not None:
            yield Check(
                "encryption in transit",
                "EMR unpacks a zip of PEM files",
                "the cluster runs",
                "read the reason for the cluster's state in the EMR console",
            ).result(cluster.state, good=runs(context))

    if environment.network.subnet is None:
        yield Check(
            "private subnet",
            "Five interface endpoints and the S3 gateway endpoint",
            "the cluster runs",
            "read in the EMR console which service the nodes could not reach; add its endpoint in stacks/network.py",
        ).result(cluster.state, good=runs(context))

    largest = max(volume.size_gib for volume in context.core.volumes if volume.type == EBS)
    if largest > OLD_RANGE_GIB:
        yield Check(
            "large volumes",
            "EMR accepts cache volumes larger than 1,024 GiB",
            f"a cluster with volumes of {largest:,} GiB runs",
            "configure more and smaller volumes",
        ).result(cluster.state, good=runs(context))

    if environment.encrypt_local_disks and context.instances:
        attached = aws.ec2.get_paginator("describe_volumes")
        volumes = filtered(attached, "Volumes", "attachment.instance-id", context.instances)
        plain = [volume["VolumeId"] for volume in volumes if not volume["Encrypted"]]
        row = "With `EnableEbsEncryption`, EBS itself encrypts the volumes"
        yield Check(
            "encryption of volumes",
            row,
            "every volume of a core node is encrypted",
            "launch a new cluster: EMR sets encryption only at launch",
        ).result(f"{len(plain)} of {len(volumes)} volumes are not encrypted", good=not plain and bool(volumes))
        yield from Check(
            "LUKS mappers",
            row,
            "no volume has a LUKS mapper",
            "no harm: the bootstrap action handles both; correct the comment in bootstrap-actions/disks.sh",
        ).results_by_node(context.nodes, _no_mapper)

    edits = Check(
        "edits since the deployment",
        "CloudFormation's drift detection looks at security groups",
        "CloudFormation detects no drift of a resource",
        "if somebody edited the resource, run warmbase deploy; otherwise correct warmbase/operations/cluster/drift.py",
    )
    try:
        stacks = tuple(stack_edits(aws, plan.environment, plan.cluster))
    except OperationFailed as failed:
        yield edits.result(failed.summary, good=None)
        return
    lines = [line for stack in stacks for line in stack.differences]
    resources = sum(stack.facts for stack in stacks)
    observed = "; ".join(lines[:3]) or f"{resources} resources of {len(stacks)} stacks are as deployed"
    yield edits.result(observed, good=not lines and resources > 0)


def runs(context: VerificationContext) -> bool:
    """Return whether EMR says that the cluster runs."""
    return context.cluster.state in READY


def _no_mapper(facts: Facts) -> tuple[bool, str]:
    devices = facts["devices"]
    if devices is None:
        return False, "no answer from lsblk"
    mappers = [device["name"] for device in devices if device["type"] == "crypt"]
    return not mappers, ", ".join(mappers) or "no mapper"


ENDPOINT: Final = "AWS::EC2::VPCEndpoint"
CONDITION: Final = '"Condition"'
"""The element that AWS's default policy, which allows everything, does not have."""


def endpoint_checks(context: VerificationContext) -> Iterator[CheckResult]:
    """Check the policies of the endpoints of a new VPC."""
    network = context.launch.environment.network
    if network.vpc is not None or not network.endpoint_policies:
        return
    name = network_stack(context.launch.environment.name)
    resources = context.aws.cloudformation.describe_stack_resources(StackName=name)["StackResources"]
    ids = [resource["PhysicalResourceId"] for resource in resources if resource["ResourceType"] == ENDPOINT]
    endpoints = context.aws.ec2.describe_vpc_endpoints(VpcEndpointIds=ids)["VpcEndpoints"]
    free = [
        endpoint["ServiceName"].rpartition(".")[2]
        for endpoint in endpoints
        if CONDITION not in endpoint.get("PolicyDocument", "")
    ]
    observed = f"without: {', '.join(free)}" if free else f"{len(endpoints)} endpoints have one"
    yield Check(
        "endpoint policies",
        "The policies of a new VPC's endpoints let through",
        "every endpoint has a policy with a condition, and the cluster runs",
        "run warmbase deploy if a policy is missing; if nodes cannot reach something, add it to"
        " stacks/network.py, or write `network: {endpoint_policies: false}`",
    ).result(f"{observed}; the cluster is {context.cluster.state}", good=not free and bool(endpoints) and runs(context))


OF_READS: Final = frozenset({"HitRatio", "Below90", "Below80", "MissesOver90", "MissesOver80", "GetP99"})
"""The figures that a node publishes only after the first reads."""
DRAWN, EMPTY = "drawn", "empty"
GRAPH_REMEDY: Final = "try the expression of the graph in the CloudWatch console, and correct it in dashboards/"
PERIOD: Final = timedelta(minutes=30)  # judgement: request metrics of S3 arrive ten minutes late


def published_figures(
    context: VerificationContext, wanted: Collection[str], of_reads: frozenset[str], unit: str
) -> CheckResult:
    """Return whether this unit publishes each figure on each node; those `of_reads` may be missing before reads."""
    publishers: dict[str, set[str]] = {}
    for metric in _metrics(context.aws, NAMESPACE, "ClusterId", context.cluster.id):
        publishers.setdefault(metric["MetricName"], set()).update(
            dimension["Value"] for dimension in metric["Dimensions"] if dimension["Name"] == "InstanceId"
        )
    silent = {name: sorted({*context.instances} - publishers.get(name, set())) for name in wanted}
    missing = {name: nodes for name, nodes in silent.items() if nodes and name not in of_reads}
    unread = sorted(name for name in of_reads if silent[name])
    if missing:
        name, nodes = next(iter(missing.items()))
        observed = f"{len(missing)} figures are incomplete: {name} is missing from {', '.join(nodes)}"
    else:
        observed = f"all but {', '.join(unread)}: there have been no reads yet" if unread else "all are published"
    return Check(
        "cache figures",
        "",
        f"{len(context.nodes)} core nodes publish {len(wanted)} figures in namespace {NAMESPACE}",
        f"run journalctl -u {unit} on a node whose figures are missing",
    ).result(observed, good=not missing and bool(context.instances))


def emr_metrics(context: VerificationContext) -> Iterator[CheckResult]:
    """Check that EMR publishes the metrics of its cluster under the dimension that the alarms use."""
    name, namespace = "CoreNodesRunning", "AWS/ElasticMapReduce"
    is_published = bool(_metrics(context.aws, namespace, "JobFlowId", context.cluster.id, MetricName=name))
    yield Check(
        "EMR's own metrics",
        "`AWS/ElasticMapReduce` spells its dimension `JobFlowId`",
        "CoreNodesRunning has the dimension JobFlowId",
        "run aws cloudwatch list-metrics --namespace AWS/ElasticMapReduce, and correct DIMENSIONS in "
        "configurations/metrics.py",
    ).result("published" if is_published else "not published", good=is_published)


def _metrics(aws: Aws, namespace: str, dimension: str, value: str, **more: str) -> list[Any]:
    """Return the metrics of a namespace with this dimension."""
    dimensions = [{"Name": dimension, "Value": value}]
    paginator = aws.cloudwatch.get_paginator("list_metrics")
    return entries(paginator, "Metrics", Namespace=namespace, Dimensions=dimensions, **more)


def graph_outcomes(context: VerificationContext, graphs: Sequence[Graph]) -> Mapping[str, str]:
    """Evaluate each graph in CloudWatch itself; return `DRAWN`, `EMPTY` or CloudWatch's refusal by its title."""
    outcomes = {}
    for graph in graphs:
        try:
            outcomes[graph.title] = DRAWN if _shows(context, graph) else EMPTY
        except ClientError as error:
            outcomes[graph.title] = str(error.response["Error"]["Message"])
    return outcomes


def graphs_with_data(outcomes: Mapping[str, str]) -> CheckResult:
    """Return whether all graphs of the dashboards have data; a graph is also empty when nothing has happened."""
    refused = [f"{title}: {why}" for title, why in outcomes.items() if why not in {DRAWN, EMPTY}]
    empty = [title for title, why in outcomes.items() if why == EMPTY]
    observed = f"refused: {refused[0]}" if refused else f"empty: {'; '.join(empty[:3])}" if empty else "all have data"
    return Check(
        "graphs",
        "",
        f"{len(outcomes)} graphs have data from the last {PERIOD.total_seconds() / 60:.0f} minutes",
        f"nothing if the cluster was idle; otherwise {GRAPH_REMEDY}",
    ).result(observed, good=False if refused or len(empty) == len(outcomes) else None if empty else True)


def _shows(context: VerificationContext, graph: Graph) -> bool:
    now = context.aws.now()
    template = json.dumps([line.metric_data_query(graph.period_seconds) for line in graph.lines])
    queries: Any = json.loads(template.replace(CLUSTER_ID, context.cluster.id))
    paginator = context.aws.cloudwatch.get_paginator("get_metric_data")
    times = {"StartTime": now - PERIOD, "EndTime": now}
    results = entries(paginator, "MetricDataResults", MetricDataQueries=queries, **times)
    return any(series["Values"] for series in results)


def query_alarm(context: VerificationContext, alarm: str, expected: str) -> CheckResult:
    """Return whether an alarm on a Metrics Insights query has data; `alarm` is the end of its name."""
    name = f"{emr_cluster_name(context.launch.plan.environment, context.launch.plan.cluster)}-{alarm}"
    alarms = context.aws.cloudwatch.describe_alarms(AlarmNames=[name])["MetricAlarms"]
    states = [alarm["StateValue"] for alarm in alarms]
    return Check(
        "alarms on Metrics Insights queries",
        "A Metrics Insights query names our namespace",
        f"{name} is {expected}",
        "try the query of the alarm in the CloudWatch console, and correct it in dashboards/graph.py",
    ).result(
        states[0] if states else "the alarm does not exist", good=bool(states) and states[0] != "INSUFFICIENT_DATA"
    )


def monitoring_checks(context: HBaseContext) -> Iterator[CheckResult]:
    """Check that the metrics of dashboards and alarms are published, and that graphs and alarms find them."""
    aws, plan = context.aws, context.launch.plan
    metrics = _metrics(aws, "CWAgent", "cluster.id", context.cluster.id)
    names = {metric["MetricName"] for metric in metrics}
    rows = {
        MetricSource.REGION_SERVER: "JMX metrics are named",
        MetricSource.SYSTEM: "`emr-system-metrics` with `cpu`, `mem` and `disk`",
        MetricSource.MASTER: "`emr-metrics` can be set for an instance group",
    }
    for daemon in sorted(OF_AGENT):
        wanted = {one.cloudwatch for one in METRICS if one.source is daemon and one.is_published_in(plan.mode)}
        missing = sorted(wanted - names)
        yield Check(
            f"metrics, {daemon}",
            rows[daemon],
            ", ".join(sorted(wanted)),
            "run aws cloudwatch list-metrics, and correct the names in configurations/metrics.py",
        ).result(f"missing: {', '.join(missing)}" if missing else "all are published", good=not missing)
    keys = {tuple(sorted(dimension["Name"] for dimension in metric["Dimensions"])) for metric in metrics}
    expected = ("cluster.id", "instance.id", "node.type", "service.name")
    yield Check(
        "dimensions of JMX metrics",
        "JMX metrics are named",
        ", ".join(expected),
        "correct DIMENSIONS in configurations/metrics.py",
    ).result("; ".join(", ".join(key) for key in sorted(keys)) or "no metric is published", good=expected in keys)

    if plan.mode.has_bucket_cache:
        figures = [figure.cloudwatch for figure in METRICS if figure.source is MetricSource.NODE]
        yield published_figures(context, figures, OF_READS, "warmbase-cache-metrics")
    yield from emr_metrics(context)

    root = context.launch.environment.root
    root = replace(root, bucket=root.bucket_in(aws.account))
    outcomes = graph_outcomes(context, [graph for board in boards(plan, root).values() for graph in board])
    yield Check(
        "graph of requests",
        "`RATE` and `SUM` take the array that `SEARCH` returns",
        "the graph has lines",
        GRAPH_REMEDY,
    ).result(outcomes[REQUESTS_TITLE], good=outcomes[REQUESTS_TITLE] == DRAWN)
    yield graphs_with_data(outcomes)
    if plan.mode.has_bucket_cache:
        yield query_alarm(context, "server-young", "OK, or in ALARM for half an hour after a RegionServer starts")


def subscriptions(context: VerificationContext) -> Iterator[CheckResult]:
    """Check that each topic of the alarms has subscriptions, and that all of them are confirmed."""
    environment = context.launch.environment
    topics = read_topics(context.aws, environment.name, context.launch.plan.cluster, environment.alarm_email)
    faults = topic_faults(topics)
    confirmed = sum(subscription.confirmed for topic in topics for subscription in topic.subscriptions)
    observed = "; ".join(faults) or f"{confirmed} confirmed"
    yield Check(
        "subscriptions of the alarms",
        "",
        "every subscription of the alarms' topic is confirmed, and somebody is subscribed",
        "set alarms.email and run warmbase deploy, or subscribe somebody to the topic; then follow the link in the mail"
        " from SNS. SNS deletes an unconfirmed subscription after 48 hours: subscribe the address again",
    ).result(
        observed if topics else "no alarm has a topic",
        good=bool(topics) and not faults,
    )


def alarm_test_results(test: AlarmTest) -> tuple[CheckResult, ...]:
    """Return what a test of an alarm has shown: whether CloudWatch may publish, and whether SNS has delivered."""
    action = Check(
        "action of an alarm",
        "CloudWatch passes its account (`aws:SourceAccount`)",
        "CloudWatch publishes the notification to the encrypted topic",
        "read the history of the alarm in the CloudWatch console; the policies of the topic and of its key must admit"
        " cloudwatch.amazonaws.com (stacks/monitoring.py)",
    ).result(test.why_not or test.history, good=None if test.why_not else bool(test.executed))
    if not test.executed:
        return (action,)
    counts = {"published": test.published, "delivered": test.delivered, "failed": test.failed}
    known = ", ".join(f"{count:,.0f} {name}" for name, count in counts.items() if count is not None)
    unknown = f"{METRIC_SECONDS / 60:.0f} minutes after the action, SNS has counted neither a delivery nor a failure"
    good = False if test.failed else True if test.delivered else None
    delivery = Check(
        "delivery of a notification",
        "",
        "SNS counts a delivery, and no failure; it cannot say whether a mail arrived in the mailbox",
        "confirm the subscriptions; then run the same command again, and check the mailbox",
    ).result(f"{known}{'; ' * bool(known)}{unknown}" if good is None else known, good=good)
    return (action, delivery)
