"""Which properties replace an EMR resource when they change.

Source: `createOnlyProperties` of the CloudFormation resource schemas in cfn-lint 1.58; a test compares the two.
Not in the schema, from its documentation: inside `Instances` only what the three last names list changes in place.
"""

from __future__ import annotations

from typing import Final

from emr.cluster_spec import GROUPS

CREATE_ONLY: Final[dict[str, frozenset[str]]] = {
    "AWS::EMR::Cluster": frozenset(
        {
            "AdditionalInfo",
            "Applications",
            "AutoScalingRole",
            "BootstrapActions",
            "Configurations",
            "CustomAmiId",
            "EbsRootVolumeIops",
            "EbsRootVolumeSize",
            "EbsRootVolumeThroughput",
            "JobFlowRole",
            "KerberosAttributes",
            "LogEncryptionKmsKeyId",
            "LogUri",
            "Name",
            "OSReleaseLabel",
            "PlacementGroupConfigs",
            "ReleaseLabel",
            "ScaleDownBehavior",
            "SecurityConfiguration",
            "ServiceRole",
            "Steps",
        },
    ),
    "AWS::EMR::InstanceGroupConfig": frozenset(
        {
            "BidPrice",
            "Configurations",
            "CustomAmiId",
            "EbsConfiguration",
            "InstanceRole",
            "InstanceType",
            "JobFlowId",
            "Market",
            "Name",
        },
    ),
    "AWS::EMR::SecurityConfiguration": frozenset({"Name", "SecurityConfiguration"}),
    "AWS::EMR::Step": frozenset(
        {"ActionOnFailure", "EncryptionKeyArn", "HadoopJarStep", "JobFlowId", "LogUri", "Name"},
    ),
}

INSTANCES_IN_PLACE: Final = frozenset({"TerminationProtected", "UnhealthyNodeReplacement"})
GROUP_IN_PLACE: Final = frozenset({"AutoScalingPolicy", "InstanceCount"})
INSTANCE_GROUPS: Final = frozenset(names.cloudformation for names in GROUPS.values())
