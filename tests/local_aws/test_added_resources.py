"""The resource types that moto lacks or half keeps: made, changed and deleted through a stack."""

from __future__ import annotations

import json
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.local_aws.aws_bench import Bench, client


def one(resource_type: str, **properties: Any) -> dict[str, Any]:
    return {"Resources": {"X": {"Type": resource_type, "Properties": properties}}}


ALARM = {"ComparisonOperator": "GreaterThanThreshold", "EvaluationPeriods": 1, "Threshold": 1, "AlarmName": "alarm"}
METRIC = {"MetricName": "m", "Namespace": "n", "Period": 60, "Statistic": "Sum"}
INSIGHTS = "SELECT MIN(hitRatio) FROM SCHEMA(warmbase, cluster)"


@pytest.mark.parametrize(
    "measured",
    [
        METRIC,
        {"Metrics": [{"Id": "q", "Expression": INSIGHTS, "Period": 60, "ReturnData": True}]},
        {
            "Metrics": [
                {"Id": "sum", "Expression": "a + a", "ReturnData": True},
                {
                    "Id": "a",
                    "ReturnData": False,
                    "MetricStat": {"Metric": {"MetricName": "m", "Namespace": "n"}, "Period": 60, "Stat": "Sum"},
                },
            ],
        },
    ],
    ids=["metric", "insights", "math"],
)
def test_alarm_is_put_and_changed(aws: Bench, measured: dict[str, Any]) -> None:
    assert aws.create(one("AWS::CloudWatch::Alarm", **ALARM, **measured)) == "CREATE_COMPLETE"
    assert aws.update(one("AWS::CloudWatch::Alarm", **{**ALARM, "Threshold": "2"}, **measured)) == "UPDATE_COMPLETE"
    alarms = client("cloudwatch").describe_alarms()["MetricAlarms"]
    assert [(alarm["AlarmName"], alarm["Threshold"]) for alarm in alarms] == [("alarm", 2.0)]
    if "Metrics" in measured:
        expressions = {metric.get("Expression") for metric in measured["Metrics"]}
        assert {metric.get("Expression") for metric in alarms[0]["Metrics"]} == expressions
    aws.cloudformation.delete_stack(StackName="stack")
    assert client("cloudwatch").describe_alarms()["MetricAlarms"] == []


def test_composite_alarm_is_put(aws: Bench) -> None:
    aws.create(one("AWS::CloudWatch::CompositeAlarm", AlarmName="c", AlarmRule="ALARM(alarm)"))
    listed = client("cloudwatch").describe_alarms(AlarmTypes=["CompositeAlarm"])["CompositeAlarms"]
    assert [alarm["AlarmRule"] for alarm in listed] == ["ALARM(alarm)"]


def bucket(**properties: Any) -> dict[str, Any]:
    return one("AWS::S3::Bucket", BucketName="the-bucket", **properties)


BLOCKED = {"BlockPublicAcls": True, "BlockPublicPolicy": True, "IgnorePublicAcls": True, "RestrictPublicBuckets": True}
ENCRYPTION = {
    "ServerSideEncryptionConfiguration": [
        {
            "BucketKeyEnabled": True,
            "ServerSideEncryptionByDefault": {"SSEAlgorithm": "aws:kms", "KMSMasterKeyID": "key"},
        },
    ],
}


RULES = [
    {"Id": "uploads", "Status": "Enabled", "AbortIncompleteMultipartUpload": {"DaysAfterInitiation": 3}},
    {"Id": "old", "Status": "Enabled", "Prefix": "hbase/", "NoncurrentVersionExpiration": {"NoncurrentDays": 3}},
]


def test_bucket_keeps_its_properties(aws: Bench) -> None:
    properties = {
        "PublicAccessBlockConfiguration": BLOCKED,
        "VersioningConfiguration": {"Status": "Enabled"},
        "BucketEncryption": ENCRYPTION,
        "LifecycleConfiguration": {"Rules": RULES},
        "MetricsConfigurations": [{"Id": "root", "Prefix": "hbase/"}, {"Id": "all"}],
    }
    aws.create(bucket(**properties))
    assert aws.s3.get_public_access_block(Bucket="the-bucket")["PublicAccessBlockConfiguration"] == BLOCKED
    assert aws.s3.get_bucket_versioning(Bucket="the-bucket")["Status"] == "Enabled"
    encryption = aws.s3.get_bucket_encryption(Bucket="the-bucket")["ServerSideEncryptionConfiguration"]
    key = {"SSEAlgorithm": "aws:kms", "KMSMasterKeyID": "key"}
    assert encryption["Rules"] == [{"BucketKeyEnabled": True, "ApplyServerSideEncryptionByDefault": key}]
    stored = {rule["ID"]: rule for rule in aws.s3.get_bucket_lifecycle_configuration(Bucket="the-bucket")["Rules"]}
    assert stored["uploads"]["AbortIncompleteMultipartUpload"] == {"DaysAfterInitiation": 3}
    assert stored["old"]["NoncurrentVersionExpiration"] == {"NoncurrentDays": 3}
    assert stored["old"]["Filter"] == {"Prefix": "hbase/"}
    listed = aws.s3.list_bucket_metrics_configurations(Bucket="the-bucket")["MetricsConfigurationList"]
    assert listed == [{"Id": "root", "Filter": {"Prefix": "hbase/"}}, {"Id": "all"}]


def test_bucket_forgets_what_the_template_drops(aws: Bench) -> None:
    aws.create(bucket(MetricsConfigurations=[{"Id": "all"}], PublicAccessBlockConfiguration=BLOCKED))
    assert aws.update(bucket()) == "UPDATE_COMPLETE"
    assert "MetricsConfigurationList" not in aws.s3.list_bucket_metrics_configurations(Bucket="the-bucket")
    with pytest.raises(ClientError):
        aws.s3.get_public_access_block(Bucket="the-bucket")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ObjectLockEnabled", True),
        ("LifecycleConfiguration", {"Rules": [{"Status": "Enabled", "TagFilters": [{"Key": "a", "Value": "b"}]}]}),
        ("MetricsConfigurations", [{"Id": "tagged", "TagFilters": [{"Key": "a", "Value": "b"}]}]),
    ],
)
def test_bucket_property_that_is_not_stored_is_an_error(aws: Bench, name: str, value: object) -> None:
    assert aws.create(bucket(**{name: value})) == "ROLLBACK_COMPLETE"
    assert "does not keep these properties of a bucket" in " ".join(aws.reasons("X"))


def policy(*statements: dict[str, Any]) -> dict[str, Any]:
    document = {"Version": "2012-10-17", "Statement": list(statements)}
    template = bucket()
    template["Resources"]["P"] = {
        "Type": "AWS::S3::BucketPolicy",
        "Properties": {"Bucket": {"Ref": "X"}, "PolicyDocument": document},
    }
    return template


DENY = {"Effect": "Deny", "Principal": "*", "Action": "s3:*", "Resource": "arn:aws:s3:::the-bucket/*"}


def test_conditional_statement_is_stored_but_not_evaluated(aws: Bench) -> None:
    secure = {**DENY, "Condition": {"Bool": {"aws:SecureTransport": "false"}}}
    aws.create(policy(secure))
    aws.s3.put_object(Bucket="the-bucket", Key="k", Body=b"1")
    stored = json.loads(aws.s3.get_bucket_policy(Bucket="the-bucket")["Policy"])
    assert stored["Statement"] == [secure]


def test_unconditional_statement_is_evaluated(aws: Bench) -> None:
    aws.create(policy(DENY))
    with pytest.raises(ClientError, match="403"):
        aws.s3.put_object(Bucket="the-bucket", Key="k", Body=b"1")


def topic_template() -> dict[str, Any]:
    template = one("AWS::SNS::Topic", TopicName="alarms")
    document = {"Version": "2012-10-17", "Statement": [{"Sid": "cloudwatch", "Effect": "Allow"}]}
    template["Resources"] |= {
        "P": {"Type": "AWS::SNS::TopicPolicy", "Properties": {"Topics": [{"Ref": "X"}], "PolicyDocument": document}},
        "S": {
            "Type": "AWS::SNS::Subscription",
            "Properties": {"TopicArn": {"Ref": "X"}, "Protocol": "email", "Endpoint": "a@example.com"},
        },
    }
    return template


def test_topic_has_its_policy_and_subscription(aws: Bench) -> None:
    assert aws.create(topic_template()) == "CREATE_COMPLETE"
    sns, arn = client("sns"), aws.physical_id("X")
    assert "cloudwatch" in sns.get_topic_attributes(TopicArn=arn)["Attributes"]["Policy"]
    subscriptions = sns.list_subscriptions_by_topic(TopicArn=arn)["Subscriptions"]
    assert [subscription["Endpoint"] for subscription in subscriptions] == ["a@example.com"]


def test_topic_changes_in_place(aws: Bench) -> None:
    aws.create(one("AWS::SNS::Topic"))
    arn = aws.physical_id("X")
    assert aws.update(one("AWS::SNS::Topic", DisplayName="d")) == "UPDATE_COMPLETE"
    assert aws.physical_id("X") == arn
    assert client("sns").get_topic_attributes(TopicArn=arn)["Attributes"]["DisplayName"] == "d"


def group(**properties: Any) -> dict[str, Any]:
    return {
        "Type": "AWS::EC2::SecurityGroup",
        "Properties": {"GroupDescription": "g", "VpcId": {"Ref": "Vpc"}, **properties},
    }


def rule(direction: str, group_id: str, peer: str) -> dict[str, Any]:
    key = "SourceSecurityGroupId" if direction == "Ingress" else "DestinationSecurityGroupId"
    ports = {"IpProtocol": "tcp", "FromPort": 16020, "ToPort": 16020}
    properties = {"GroupId": {"Ref": group_id}, key: {"Ref": peer}, **ports}
    return {"Type": f"AWS::EC2::SecurityGroup{direction}", "Properties": properties}


CLOSED = [{"IpProtocol": "icmp", "FromPort": 252, "ToPort": 86, "CidrIp": "255.255.255.255/32"}]


def network() -> dict[str, Any]:
    endpoint = {
        "VpcId": {"Ref": "Vpc"},
        "ServiceName": "com.amazonaws.us-east-1.s3",
        "RouteTableIds": [{"Ref": "Routes"}],
    }
    associated = {"RouteTableId": {"Ref": "Routes"}, "SubnetId": {"Ref": "Subnet"}}
    subnet = {"VpcId": {"Ref": "Vpc"}, "CidrBlock": "10.0.0.0/24", "AvailabilityZone": "us-east-1a"}
    return {
        "Resources": {
            "Vpc": {"Type": "AWS::EC2::VPC", "Properties": {"CidrBlock": "10.0.0.0/16", "EnableDnsHostnames": True}},
            "Subnet": {"Type": "AWS::EC2::Subnet", "Properties": subnet},
            "Routes": {
                "Type": "AWS::EC2::RouteTable",
                "Properties": {"VpcId": {"Ref": "Vpc"}, "Tags": [{"Key": "k", "Value": "v"}]},
            },
            "Associated": {"Type": "AWS::EC2::SubnetRouteTableAssociation", "Properties": associated},
            "Endpoint": {"Type": "AWS::EC2::VPCEndpoint", "Properties": {**endpoint, "VpcEndpointType": "Gateway"}},
            "Primary": group(SecurityGroupEgress=CLOSED),
            "Core": group(),
            "In": rule("Ingress", "Primary", "Core"),
            "Back": rule("Ingress", "Core", "Primary"),
            "Out": rule("Egress", "Primary", "Core"),
        },
    }


def test_network_is_created_and_deleted(aws: Bench) -> None:
    assert aws.create(network()) == "CREATE_COMPLETE"
    ec2, vpc = client("ec2"), aws.physical_id("Vpc")
    assert ec2.describe_vpc_attribute(VpcId=vpc, Attribute="enableDnsHostnames")["EnableDnsHostnames"]["Value"]
    tags = ec2.describe_route_tables(RouteTableIds=[aws.physical_id("Routes")])["RouteTables"][0]["Tags"]
    assert {"Key": "k", "Value": "v"} in tags
    aws.cloudformation.delete_stack(StackName="stack")
    assert aws.cloudformation.describe_stacks()["Stacks"] == []
    assert vpc not in {one["VpcId"] for one in ec2.describe_vpcs()["Vpcs"]}


def test_interface_endpoint_is_created_changed_and_deleted(aws: Bench) -> None:
    template = network()
    properties = {
        "VpcId": {"Ref": "Vpc"},
        "ServiceName": "com.amazonaws.us-east-1.kms",
        "VpcEndpointType": "Interface",
        "PrivateDnsEnabled": True,
        "SubnetIds": [{"Ref": "Subnet"}],
        "SecurityGroupIds": [{"Ref": "Core"}],
    }
    template["Resources"]["Kms"] = {"Type": "AWS::EC2::VPCEndpoint", "Properties": properties}
    assert aws.create(template) == "CREATE_COMPLETE"
    endpoint = aws.physical_id("Kms")
    properties["SecurityGroupIds"] = [{"Ref": "Primary"}]
    assert aws.update(template) == "UPDATE_COMPLETE"
    assert aws.physical_id("Kms") == endpoint
    described = client("ec2").describe_vpc_endpoints(VpcEndpointIds=[endpoint])["VpcEndpoints"][0]
    assert [one["GroupId"] for one in described["Groups"]] == [aws.physical_id("Primary")]
    aws.cloudformation.delete_stack(StackName="stack")
    assert aws.cloudformation.describe_stacks()["Stacks"] == []


def test_groups_that_name_every_other_are_deleted(aws: Bench) -> None:
    aws.create(network())
    ec2, core, primary = client("ec2"), aws.physical_id("Core"), aws.physical_id("Primary")
    # As EMR does to the groups it is given: rules that no stack knows.
    for one_group, other in ((core, primary), (primary, core)):
        pair = {"IpProtocol": "udp", "FromPort": 0, "ToPort": 9, "UserIdGroupPairs": [{"GroupId": other}]}
        ec2.authorize_security_group_ingress(GroupId=one_group, IpPermissions=[pair])
    aws.cloudformation.delete_stack(StackName="stack")
    assert aws.cloudformation.describe_stacks()["Stacks"] == []


def test_egress_is_what_the_template_says(aws: Bench) -> None:
    aws.create(network())
    described = client("ec2").describe_security_groups(GroupIds=[aws.physical_id("Primary")])["SecurityGroups"][0]
    assert sorted(one["IpProtocol"] for one in described["IpPermissionsEgress"]) == ["icmp", "tcp"]


def test_group_rules_change_in_place(aws: Bench) -> None:
    template = network()
    aws.create(template)
    core = aws.physical_id("Core")
    ingress = [{"IpProtocol": "tcp", "FromPort": 2181, "ToPort": 2181, "CidrIp": "10.0.0.0/8"}]
    template["Resources"]["Core"] = group(SecurityGroupIngress=ingress)
    assert aws.update(template) == "UPDATE_COMPLETE"
    assert aws.physical_id("Core") == core
    described = client("ec2").describe_security_groups(GroupIds=[core])["SecurityGroups"][0]
    assert sorted(one["FromPort"] for one in described["IpPermissions"]) == [2181, 16020]


TRUST = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "sts:AssumeRole"}]}
SERVICE_POLICY = "arn:aws:iam::aws:policy/service-role/AmazonEMRServicePolicy_v2"


def role(service: str, *managed: str) -> dict[str, Any]:
    trust = {**TRUST, "Statement": [{**TRUST["Statement"][0], "Principal": {"Service": service}}]}  # type: ignore[dict-item]
    return one("AWS::IAM::Role", RoleName="r", AssumeRolePolicyDocument=trust, ManagedPolicyArns=list(managed))


def test_role_changes_in_place(aws: Bench) -> None:
    aws.create(role("ec2.amazonaws.com"))
    assert aws.update(role("elasticmapreduce.amazonaws.com", SERVICE_POLICY)) == "UPDATE_COMPLETE"
    iam = client("iam")
    trust = iam.get_role(RoleName="r")["Role"]["AssumeRolePolicyDocument"]
    assert trust["Statement"][0]["Principal"] == {"Service": "elasticmapreduce.amazonaws.com"}
    attached = iam.list_attached_role_policies(RoleName="r")["AttachedPolicies"]
    assert [policy["PolicyArn"] for policy in attached] == [SERVICE_POLICY]
    aws.cloudformation.delete_stack(StackName="stack")
    assert aws.cloudformation.describe_stacks()["Stacks"] == []


def test_role_loses_the_inline_policy_that_the_template_drops(aws: Bench) -> None:
    document = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:Get*", "Resource": "*"}]}
    template = role("ec2.amazonaws.com")
    template["Resources"]["X"]["Properties"]["Policies"] = [{"PolicyName": "p", "PolicyDocument": document}]
    aws.create(template)
    assert client("iam").list_role_policies(RoleName="r")["PolicyNames"] == ["p"]
    aws.update(role("ec2.amazonaws.com"))
    assert client("iam").list_role_policies(RoleName="r")["PolicyNames"] == []


def test_misspelt_managed_policy_fails(aws: Bench) -> None:
    assert aws.create(role("ec2.amazonaws.com", "arn:aws:iam::aws:policy/NoSuchPolicy")) == "ROLLBACK_COMPLETE"


def test_key_changes_in_place(aws: Bench) -> None:
    key_policy = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "kms:*", "Resource": "*"}]}
    aws.create(one("AWS::KMS::Key", KeyPolicy=key_policy))
    key = aws.physical_id("X")
    assert aws.update(one("AWS::KMS::Key", KeyPolicy=key_policy, EnableKeyRotation=True)) == "UPDATE_COMPLETE"
    assert aws.physical_id("X") == key
    assert client("kms").get_key_rotation_status(KeyId=key)["KeyRotationEnabled"]


def test_log_group_keeps_its_retention(aws: Bench) -> None:
    aws.create(one("AWS::Logs::LogGroup", LogGroupName="l", RetentionInDays=7))
    assert aws.update(one("AWS::Logs::LogGroup", LogGroupName="l", RetentionInDays=30)) == "UPDATE_COMPLETE"
    assert client("logs").describe_log_groups()["logGroups"][0]["retentionInDays"] == 30


@pytest.mark.parametrize("name", [{"DashboardName": "d"}, {}], ids=["named", "unnamed"])
def test_dashboard_changes_in_place(aws: Bench, name: dict[str, str]) -> None:
    aws.create(one("AWS::CloudWatch::Dashboard", DashboardBody='{"widgets": []}', **name))
    before = aws.physical_id("X")
    assert aws.update(one("AWS::CloudWatch::Dashboard", DashboardBody='{"start": "-P1D"}', **name)) == "UPDATE_COMPLETE"
    assert aws.physical_id("X") == before
    body = client("cloudwatch").get_dashboard(DashboardName=before)["DashboardBody"]
    assert json.loads(body) == {"start": "-P1D"}


def test_unnamed_parameter_keeps_its_created_up_name(aws: Bench) -> None:
    aws.create(one("AWS::SSM::Parameter", Type="String", Value="1"))
    name = aws.physical_id("X")
    assert aws.update(one("AWS::SSM::Parameter", Type="String", Value="2")) == "UPDATE_COMPLETE"
    result = client("ssm").get_parameter(Name=name)["Parameter"]
    assert (result["Value"], result["Version"]) == ("2", 2)
