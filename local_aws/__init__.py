"""A local AWS: moto, extended until a stack that contains an EMR cluster behaves as it does in AWS.

`server.local_aws()` runs it in its own process, for the CDK CLI; `extension.install()` extends moto in this process,
for mock_aws. `controls` lists the tags that make it fail on purpose, and the statements of AWS's documents that can be
read in two ways, with the reading that it emulates.

Other packages import these names: `server`: `LocalAws`, `local_aws`, `running_aws`, `local_environment`,
`refuse_remote`, `refuse_dead`, `is_healthy`, `ACCOUNT` and `NOWHERE`; `extension.install`;
`stand_ins.create_stand_ins`; `template_lint.lint_errors`; `controls`, for the clock, the tags and the readings;
`schedules`, for what is due; and `emr.steps`: `OF_A_CLUSTER` and `HIDDEN`.

It is an emulator that keeps, checks and returns *descriptions*: no EC2 node boots and no HBase starts. Where the local
AWS is served, two kinds of programs run on this machine: the bootstrap action that claims the root, as it was uploaded,
and `bash -c` steps, beside stand-ins of `hbase` and `hdfs` (`emr/nodes.py`). These differences from AWS are known:

EMR
- A cluster is WAITING as soon as it is created.
- It has instance groups only, no fleets. Node addresses are in moto's default VPC, not in the cluster's subnet.
- Roles, subnets, release labels, instance types and configurations are stored without checks.
- A group is RESIZING or RECONFIGURING until list_instance_groups has returned that once; a step ends at its second
  description.
- A modification of a volume ends after 20 seconds. No description lags, and no call is throttled, except in the worse
  readings.
- Managed scaling and auto-termination policies are stored and never act; no unhealthy node is replaced.

CloudFormation
- Operations finish before their call returns, so a stack is in progress in its events only. Resources are created one
  by one.
- Whether a change replaces a resource comes from the resource schemas of the installed cfn-lint, and inside
  `Instances` from the documentation of AWS::EMR::Cluster.
- A change that a change set calls conditional is done in place. Whether AWS resizes a cluster's group in place is
  unconfirmed.
- Types without a model are refused when the template is submitted; a change that moto cannot make in place fails the
  update.
- Drift detection covers security groups, roles, buckets and alarms; only an edit since the last operation is drift.
- Imports, macros and custom resources are missing, and so are updates without rollback. Of dynamic references only
  `ssm` is resolved.
- Reasons have CloudFormation's wording where that is known. A stack policy is applied when a resource's turn comes.
- Rules of other security groups that name a deleted group are removed with it; AWS would refuse the deletion.

S3, IAM, CloudWatch
- Signatures, roles and policies are not enforced, except for bucket policy statements without a condition.
- Metrics, analytics and tiering configurations of buckets are stored and have no effect.
- Alarms are never evaluated; SEARCH and metric math return nothing.

There is one account, 123456789012. Nothing is written to disk: everything ends with the process.
"""
