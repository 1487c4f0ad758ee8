"""The policies of one shape of a deployment as AWS would have them: every reference is filled in."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from tests.policies.evaluator import Policies, Request, Statement, decision
from tools.permissions import shape_templates

OURS: Final = "123456789012"
REGION: Final = "us-east-1"
MANAGED: Final = json.loads((Path(__file__).parent / "AmazonEMRServicePolicy_v2.json").read_text(encoding="utf-8"))
"""EMR's own policy, with its source, version and date."""
ENDPOINTS: Final = {
    "cloudwatch": "Metrics",
    "elasticmapreduce": "Emr",
    "emrwal": "WriteAheadLog",
    "kms": "Keys",
    "s3": "S3",
    "ssm": "SessionManager",
    "ssmmessages": "SessionMessages",
}
"""The endpoint of a new VPC through which a node calls a service."""
REGIONAL: Final = {
    "AWS::KMS::Key": "kms:{place}:key/{name}",
    "AWS::Logs::LogGroup": "logs:{place}:log-group:{name}:*",
    "AWS::SNS::Topic": "sns:{place}:{name}",
}


class Deployment(Struct, frozen=True, dict=True):
    """A deployment of one shape, in an account and a region of ours."""

    shape: str

    @cached_property
    def _templates(self) -> Mapping[str, Any]:
        return shape_templates(self.shape)

    @cached_property
    def _exports(self) -> Mapping[str, tuple[str, Any]]:
        return {
            output["Export"]["Name"]: (stack, output["Value"])
            for stack, template in self._templates.items()
            for output in template.get("Outputs", {}).values()
            if "Export" in output
        }

    def resources(self, kind: str, stack: str = "") -> Iterator[tuple[str, str, Any]]:
        """Yield stack, logical id and properties of each resource of a type, every reference filled in."""
        for name, template in self._templates.items():
            for key, resource in template["Resources"].items():
                if resource["Type"] == kind and name.endswith(stack):
                    yield name, key, self.filled(resource.get("Properties", {}), name)

    def filled(self, value: Any, stack: str) -> Any:
        """Return a value with every reference of CloudFormation filled in."""
        if isinstance(value, list):
            return [self.filled(item, stack) for item in value]
        if not isinstance(value, Mapping):
            return value
        if len(value) != 1 or not ("Ref" in value or next(iter(value)).startswith("Fn::")):
            return {key: self.filled(item, stack) for key, item in value.items()}
        [(function, inner)] = value.items()
        match function:
            case "Ref":
                text = self._reference(inner, stack)
            case "Fn::GetAtt":
                text = self._arn(inner[0], stack) if inner[1] == "Arn" else f"{inner[0]}.{inner[1]}"
            case "Fn::ImportValue":
                exporter, exported = self._exports[inner]
                text = str(self.filled(exported, exporter))
            case "Fn::Join":
                text = inner[0].join(self.filled(inner[1], stack))
            case _:
                assert function == "Fn::Sub", value
                text = re.sub(r"\$\{([^}]*)\}", lambda name: self._reference(name[1], stack), inner)
        return text

    def _reference(self, name: str, stack: str) -> str:
        pseudo = {
            "AWS::Partition": "aws",
            "AWS::AccountId": OURS,
            "AWS::Region": REGION,
            "AWS::URLSuffix": "amazonaws.com",
        }
        if name in pseudo:
            return pseudo[name]
        resource = self._templates[stack]["Resources"][name]
        if resource["Type"] == "AWS::S3::Bucket":
            return str(self.filled(resource["Properties"]["BucketName"], stack))
        return self._arn(name, stack) if resource["Type"] in REGIONAL else name

    def _arn(self, name: str, stack: str) -> str:
        kind = self._templates[stack]["Resources"][name]["Type"]
        if kind == "AWS::S3::Bucket":
            return f"arn:aws:s3:::{self._reference(name, stack)}"
        if kind == "AWS::IAM::Role":
            return f"arn:aws:iam::{OURS}:role/{stack}-{name}"
        return f"arn:aws:{REGIONAL[kind].format(place=f'{REGION}:{OURS}', name=f'{stack}-{name}')}"

    def role(self, stack: str, beginning: str) -> str:
        """Return the ARN of the role of a stack whose logical id begins so."""
        [key] = [key for _, key, _ in self.resources("AWS::IAM::Role", stack) if key.startswith(beginning)]
        return self._arn(key, f"warmbase-env-{stack}")

    def trust(self, stack: str, beginning: str) -> Sequence[Statement]:
        """Return the statements that say who may assume that role."""
        [role] = [role for _, key, role in self.resources("AWS::IAM::Role", stack) if key.startswith(beginning)]
        return [{**statement, "Resource": "*"} for statement in role["AssumeRolePolicyDocument"]["Statement"]]

    def identity(self, stack: str, beginning: str) -> Sequence[Statement]:
        """Return the statements of the policies of that role, EMR's own among them."""
        statements = [
            statement
            for _, key, policy in self.resources("AWS::IAM::Policy", stack)
            if key.startswith(beginning)
            for statement in policy["PolicyDocument"]["Statement"]
        ]
        [role] = [role for _, key, role in self.resources("AWS::IAM::Role", stack) if key.startswith(beginning)]
        if role.get("ManagedPolicyArns"):
            assert [arn.rpartition("/")[2] for arn in role["ManagedPolicyArns"]] == [MANAGED["name"]]
            statements += MANAGED["document"]["Statement"]
        return statements

    def _of_resource(self, arn: str) -> Sequence[Statement] | None:
        """Return the statements of the bucket's, the key's or the topic's policy."""
        for _, _, policy in (*self.resources("AWS::S3::BucketPolicy"), *self.resources("AWS::SNS::TopicPolicy")):
            bound = f"arn:aws:s3:::{policy['Bucket']}" if "Bucket" in policy else policy["Topics"][0]
            if arn == bound or arn.startswith(f"{bound}/"):
                return list(policy["PolicyDocument"]["Statement"])
        for stack, key, properties in self.resources("AWS::KMS::Key"):
            if arn == self._arn(key, stack):
                return list(properties["KeyPolicy"]["Statement"])
        return None

    def _of_endpoint(self, service: str) -> Sequence[Statement] | None:
        for _, key, endpoint in self.resources("AWS::EC2::VPCEndpoint"):
            # `VpcSessionManager…` and the like: a hash of eight digits ends each logical id.
            if key[3:-8] == ENDPOINTS.get(service) and "PolicyDocument" in endpoint:
                return list(endpoint["PolicyDocument"]["Statement"])
        return None

    def decision(self, caller: str, request: Request) -> tuple[bool, str]:
        """Return whether the caller, `CLUSTER node` or the like, may make a request, and what decides.

        A node's request goes through the endpoint of its service. `assume CLUSTER …` asks who may have a role, and
        `aws` is a service of AWS that calls by itself.
        """
        if caller in ("aws", "person"):
            # A person's own policies allow everything, so that the policy of the resource decides.
            everything = [{"Sid": "Person", "Effect": "Allow", "Action": "*", "Resource": "*"}] * (caller == "person")
            return decision(Policies(identity=everything, resource=self._of_resource(request.resource)), request)
        *assume, cluster, kind = caller.split()
        stack, beginning = {
            "node": (f"{cluster}-cluster", "RolesNode"),
            "service": (f"{cluster}-cluster", "RolesService"),
            "boost": (f"{cluster}-cluster", "BoostRole"),
            "flows": ("network", "VpcFlowLog"),
        }[kind]
        if assume:
            return decision(Policies(resource=self.trust(stack, beginning)), request)
        service = request.action.partition(":")[0]
        policies = Policies(
            identity=self.identity(stack, beginning),
            resource=self._of_resource(request.resource),
            endpoint=self._of_endpoint(service) if kind == "node" else None,
            delegates=service != "kms",
        )
        return decision(
            policies,
            Request(
                action=request.action,
                resource=request.resource,
                account=request.account,
                owner=request.owner,
                role=self.role(stack, beginning),
                keys=request.keys,
            ),
        )
