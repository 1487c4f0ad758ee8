"""The identity of the credentials, compared with that of an environment before anything else is read or changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from environments.environment import Environment
from environments.record_files import recorded_identities
from operations.aws import Aws, Gate, only_reading
from sizing.problem import Refused


def environment_aws(environment: Environment, variables: Mapping[str, str], gate: Gate = only_reading) -> Aws:
    """Return the clients for an environment, in its region.

    Raises Refused where the account or partition of the credentials is not that of the environment file and of each
    launch record, or where the region of a record is not that of the file.
    """
    aws = Aws({**variables, "AWS_REGION": environment.region}, gate)
    refuse_others(aws, environment)
    expect_owner(aws, environment)
    return aws


def expect_owner(aws: Aws, environment: Environment) -> None:
    """Expect the root's bucket to belong to the account that the environment file names, if it names one."""
    if environment.root.owner is not None:
        aws.bucket_owners.expect(environment.root.bucket, environment.root.owner)


def account_aws(variables: Mapping[str, str]) -> Aws:
    """Return the clients for resources that belong to no environment, such as a bucket that is inspected."""
    return Aws(variables)


def refuse_others(aws: Aws, environment: Environment) -> None:
    """Refuse credentials that cannot see what the environment's file and records describe."""
    has = f"{aws.account}, partition {aws.partition}, region {environment.region}"
    differences = [f"{source} names {wanted}" for source, wanted, is_same in _expected(aws, environment) if not is_same]
    if differences:
        raise Refused.of(
            where=f"environment {environment.name}",
            what=f"does not belong to these credentials, which are of account {has}",
            why="; ".join(differences)
            + ": with these credentials, everything that runs there looks as if it were gone",
            fix="use credentials of that account: set AWS_PROFILE, for example; if the file is wrong, correct its"
            " account or region",
        )


def _expected(aws: Aws, environment: Environment) -> Iterator[tuple[str, str, bool]]:
    """Yield each statement about the identity: its source, what it says, and whether the credentials agree."""
    if environment.account is not None:
        yield environment.source, f"account {environment.account}", environment.account == aws.account
    partition = aws.partition_of(environment.region)
    yield environment.source, f"region {environment.region} of partition {partition}", partition == aws.partition
    for directory, identity in recorded_identities(environment).items():
        here = (identity.account, identity.region) == (aws.account, environment.region)
        yield f"the launch record {directory}", f"account {identity.account}, region {identity.region}", here
