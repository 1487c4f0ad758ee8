"""Stand-ins have the ids that an environment names, and everything that a deployment checks of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from local_aws.server import local_aws
from local_aws.stand_ins import create_stand_ins
from warmbase.configurations.launch import launch_of
from warmbase.environments.reader import read_environment
from warmbase.operations.aws.clients import Aws, any_call
from warmbase.operations.deploy.preflight import preflight

PROJECT = Path(__file__).parents[2]
KEY = "arn:aws:kms:us-east-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab"
ROUTES = ", route_table: rtb-0a1b2c3d"
NAMED = ("vpc-0a1b2c3d", "subnet-0a1b2c3d", "rtb-0a1b2c3d", "sg-0a1b2c3d", "our-data", KEY)
SETTINGS = """
access: {{security_groups: [sg-0a1b2c3d]}}
storage: {{root: s3://our-data/hbase/, owner: "111122223333", key: "{key}"}}
network: {{vpc: vpc-0a1b2c3d, subnet: subnet-0a1b2c3d, availability_zone: us-east-1a{routes}}}
"""


@pytest.mark.thorough
@pytest.mark.parametrize("routes", [ROUTES, ""])
def test_a_deployment_beside_stand_ins_passes_every_check_of_the_network_and_the_root(
    routes: str, tmp_path: Path
) -> None:
    text = (PROJECT / "environments/dev.yaml").read_text()
    file = tmp_path / "mine.yaml"
    new = "network: {availability_zone: us-east-1a}"
    assert new in text
    file.write_text(text.replace("name: dev", "name: mine").replace(new, SETTINGS.format(key=KEY, routes=routes)))
    environment = read_environment(str(file))
    with local_aws() as local:
        aws = Aws(local.environment, any_call)
        assert create_stand_ins(aws, environment) == tuple(name for name in NAMED if routes or name[:3] != "rtb")
        assert create_stand_ins(aws, environment) == ()
        aws.bucket_owners.expect("our-data", "111122223333")
        launches = {"blue": launch_of(environment, environment.active)}
        problems = [check for check in preflight(aws, environment, launches, {}) if check.problem]
        assert [check.name for check in problems] == ["cdk bootstrap"]
        [subnet] = aws.ec2.describe_subnets(SubnetIds=["subnet-0a1b2c3d"])["Subnets"]
        tags = {tag["Key"]: tag["Value"] for tag in subnet["Tags"]}
        assert tags["Name"] == "stand-in for subnet-0a1b2c3d"
