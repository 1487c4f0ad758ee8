"""The security configuration: what is encrypted and by which key, and how nodes ask for their credentials."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aws_cdk.assertions import Template
from msgspec.structs import replace

from tests.stacks.template import Templates, cluster, of_type, only
from warmbase.configurations.launch import Launch
from warmbase.stacks.app import new_app
from warmbase.stacks.cluster import ClusterStack
from warmbase.stacks.network import NetworkStack
from warmbase.stacks.storage import StorageStack


def security(launch: Launch) -> Any:
    app = new_app()
    network, storage = NetworkStack(app, launch.environment), StorageStack(app, launch.environment)
    template = Template.from_stack(ClusterStack(app, launch, network, storage)).to_json()
    return only(template, "AWS::EMR::SecurityConfiguration")["SecurityConfiguration"]


def test_data_is_encrypted_at_rest_by_the_roots_key(launches: Callable[[str], Launch]) -> None:
    launch = launches("prod")
    assert_encrypted_at_rest(launch)
    assert_encrypted_at_rest(replace(launch, environment=replace(launch.environment, encrypt_local_disks=False)))


def assert_encrypted_at_rest(launch: Launch) -> None:
    encryption = security(launch)["EncryptionConfiguration"]
    at_rest = encryption["AtRestEncryptionConfiguration"]
    key = at_rest["S3EncryptionConfiguration"]["AwsKmsKey"]
    disks = {"EncryptionKeyProviderType": "AwsKms", "AwsKmsKey": key, "EnableEbsEncryption": True}
    assert "ExportsOutputFnGetAttRootKey" in key["Fn::ImportValue"]
    assert encryption == {
        "EnableInTransitEncryption": False,
        "EnableAtRestEncryption": True,
        "AtRestEncryptionConfiguration": {
            "S3EncryptionConfiguration": {"EncryptionMode": "SSE-KMS", "AwsKmsKey": key},
            **({"LocalDiskEncryptionConfiguration": disks} if launch.environment.encrypt_local_disks else {}),
        },
    }


def test_nodes_ask_for_credentials_by_version_two_from_their_own_address(launches: Callable[[str], Launch]) -> None:
    assert security(launches("prod"))["InstanceMetadataServiceConfiguration"] == {
        "MinimumInstanceMetadataServiceVersion": 2,
        "HttpPutResponseHopLimit": 1,
    }


def test_the_cluster_has_the_security_configuration(templates: Callable[[str], Templates]) -> None:
    [name] = of_type(templates("prod")["warmbase-prod-blue-cluster"], "AWS::EMR::SecurityConfiguration")
    assert cluster(templates("prod"), "prod")["SecurityConfiguration"] == {"Ref": name}
