"""A local AWS: moto, extended until a stack with an EMR cluster in it behaves as it does in AWS.

`server.local_aws()` runs it in a process of its own, for the CDK CLI; `extension.install()` extends moto in this
process, for mock_aws. `control_tags` lists the tags that make it fail on purpose.

It is an emulator. What it keeps, checks and answers is the *description* of things: no EC2 node boots, no bootstrap
action or step runs, no HBase starts. What differs from AWS, as far as known:

EMR
- A cluster is WAITING as soon as it is asked for.
- Instance groups only, no fleets. Node addresses are in moto's default VPC, not in the cluster's subnet.
- Roles, subnets, release labels, instance types and configurations are kept, not checked.
- A group is RESIZING or RECONFIGURING until list_instance_groups has shown it so once; a step ends when it has been
  looked at twice.
- Managed scaling and auto-termination policies are kept and never act; no unhealthy node is replaced.

CloudFormation
- Operations finish before their call returns: a stack is seen in progress in its events only. Resources are made one
  by one.
- What replaces a resource is read from the resource schemas of the installed cfn-lint, and for EMR from `create_only`.
- A change that a change set calls conditional is done in place. Whether AWS resizes a cluster's group in place is
  unconfirmed.
- Types without a model are refused when the template is submitted; a change that moto cannot make in place fails the
  update.
- Drift is looked for in security groups, roles, buckets and alarms; only an edit since the last operation is drift.
- No import, macros or custom resources; no update without rollback. Of dynamic references only `ssm`.
- Reasons are worded as CloudFormation words them where that is known. A stack policy is asked when a resource's turn
  comes.
- Rules of other security groups that name a deleted group are removed with it; AWS would refuse the deletion.

S3, IAM, CloudWatch
- Signatures, roles and policies are not enforced; of bucket policies only statements without a condition are.
- Metrics, analytics and tiering configurations of buckets are kept as they were put, and do nothing.
- Alarms are never evaluated; SEARCH and metric math return nothing.

There is one account, 123456789012. Nothing is written to disk: what it holds goes with the process.
"""
