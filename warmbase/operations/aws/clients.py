"""Clients of one AWS account and region, all from the same variables that the CDK command line gets.

The identity of the credentials is compared with that of an environment before anything else is read or changed.

Names of buckets are global, so every request to S3 states the account that it expects to own its bucket. S3 refuses a
request whose expected owner is not the owner (S3 User Guide, bucket-owner-condition). So warmbase never believes a
claim, a record or an answer from a bucket whose name somebody else has taken.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import boto3
import botocore.session
from botocore.config import Config
from botocore.exceptions import ClientError
from botocore.utils import is_valid_endpoint_url
from msgspec import Struct

from warmbase.environments.environment import Environment
from warmbase.environments.launch_record import recorded_identities
from warmbase.ground.errors import InvalidInput, OperationFailed, Refused
from warmbase.ground.files import EXAMPLES, is_checkout
from warmbase.operations.aws.errors import MISSING, error_code, explain_answers, translated

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient
    from mypy_boto3_cloudwatch import CloudWatchClient
    from mypy_boto3_ec2 import EC2Client
    from mypy_boto3_emr import EMRClient
    from mypy_boto3_pricing import PricingClient
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_sns import SNSClient
    from mypy_boto3_ssm import SSMClient

EXPECTED: Final = "ExpectedBucketOwner"
DENIED: Final = frozenset({"403", "AccessDenied"})
EVENT: Final = "before-parameter-build.s3"
"""botocore emits it before it checks the parameters of a call; each page of a paginator is a call."""


class BucketOwners:
    """The owners of buckets: one account for all buckets except those with a stated owner."""

    def __init__(self, account: Callable[[], str]) -> None:
        """Take the owner from `account`, which is called when the first bucket needs it."""
        self._account = account
        self._others: dict[str, str | None] = {}

    def expect(self, bucket: str, owner: str | None) -> None:
        """State the owner of one bucket; None accepts any owner, for a bucket that is only inspected."""
        self._others[bucket] = owner

    def add(self, params: dict[str, Any], model: Any, **_: object) -> None:  # noqa: ANN401 - botocore's operation
        """Add the expected owner to the parameters of an operation that takes one."""
        bucket = params.get("Bucket")
        if bucket is None or model.input_shape is None or EXPECTED not in model.input_shape.members:
            return
        owner = self._others[bucket] if bucket in self._others else self._account()
        if owner is not None:
            params.setdefault(EXPECTED, owner)


class BucketName(Struct, frozen=True):
    """The use of a bucket's name. `region` is None for a bucket that is not ours or that we may not list."""

    exists: bool
    region: str | None


def bucket_name(s3: S3Client, name: str) -> BucketName:
    """Return whose bucket has the name. Raises botocore's errors, but not for a bucket that we may not list."""
    try:
        return BucketName(exists=True, region=s3.head_bucket(Bucket=name)["BucketRegion"])
    except ClientError as error:
        if error_code(error) not in DENIED | MISSING:
            raise
        return BucketName(exists=error_code(error) in DENIED, region=None)


MOST_CONNECTIONS: Final = 64
PATIENT: Final = Config(
    retries={"mode": "standard", "total_max_attempts": 8},
    max_pool_connections=MOST_CONNECTIONS,
    connect_timeout=5,
    read_timeout=20,
)
"""Throttled calls are tried again after pauses that double; botocore's own four attempts end after seconds. As many
threads as it has connections ask side by side. The time-outs are in seconds: every request is small, and nobody who
ends a command should wait for an unreachable network."""


Gate: TypeAlias = Callable[[str], None]
"""Gets the name of each API operation before each attempt to call it, and raises a WarmbaseError to prevent that."""
READING: Final = re.compile(r"(BatchGet|Describe|Get|Head|List)[A-Z]|DetectStackDrift$")
"""The operations that change nothing; every other operation counts as a change."""

EXAMINATIONS: Final = frozenset({"AddJobFlowSteps", "CancelSteps", "SendCommand"})


def is_reading(operation: str) -> bool:
    """Return whether an API operation of that name changes nothing."""
    return READING.match(operation) is not None


def only_reading(operation: str) -> None:
    """Refuse every change: the gate of a command that holds no lock."""
    if not is_reading(operation):
        raise Refused.of(
            where=f"AWS {operation}",
            what="was not called",
            why="a command may change an environment only while it holds the environment's lock",
            fix="this is a defect of warmbase: please report it with the command that you typed",
        )


def examining(operation: str) -> None:
    """Refuse every change, and allow the calls that run a program on a node which only reads there."""
    if operation not in EXAMINATIONS:
        only_reading(operation)


def alarm_testing(operation: str) -> None:
    """Allow what `examining` allows, and SetAlarmState, which holds until CloudWatch evaluates the alarm again."""
    if operation != "SetAlarmState":
        examining(operation)


def any_call(_: str) -> None:
    """Allow every call: the gate for an emulated AWS on this machine."""


def _service(name: str) -> Any:  # noqa: ANN401 - the attribute states the type of its client
    """Return an attribute of `Aws`: the client of a service, made when it is first used."""
    return cached_property(lambda aws: aws.client(name))


class Aws:
    """boto3 clients by service; made when first used. Each call of theirs passes the gate."""

    emr: EMRClient = _service("emr")
    cloudformation: CloudFormationClient = _service("cloudformation")
    cloudwatch: CloudWatchClient = _service("cloudwatch")
    ssm: SSMClient = _service("ssm")
    sns: SNSClient = _service("sns")
    ec2: EC2Client = _service("ec2")
    # The type stubs of these services are not installed.
    scheduler: Any = _service("scheduler")
    quotas: Any = _service("service-quotas")
    iam: Any = _service("iam")
    secrets: Any = _service("secretsmanager")
    keys: Any = _service("kms")
    logs: Any = _service("logs")

    def __init__(self, variables: Mapping[str, str], gate: Gate = only_reading) -> None:
        """Read these variables and not this process's own; `AWS_ENDPOINT_URL` leads to a local AWS.

        Raises OperationFailed for a profile that the AWS configuration does not have, and InvalidInput for an endpoint
        that is not a URL.
        """
        with translated("could not use the AWS profile", "set AWS_PROFILE to a profile of ~/.aws/config"):
            # The profile and the files come from `variables`; botocore would read the variables of its own process.
            settings = {
                "profile": variables.get("AWS_PROFILE"),
                "config_file": variables.get("AWS_CONFIG_FILE", "~/.aws/config"),
                "credentials_file": variables.get("AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials"),
            }
            # botocore's form: name in the file, name in the environment, default, conversion.
            session_vars = {name: (None, None, value, None) for name, value in settings.items()}
            core = botocore.session.Session(session_vars=session_vars)
            explain_answers(core, self._principal)
            core.get_component("event_emitter").register("after-call", self._note_date)
            self._session = boto3.Session(
                botocore_session=core,
                aws_access_key_id=variables.get("AWS_ACCESS_KEY_ID"),
                aws_secret_access_key=variables.get("AWS_SECRET_ACCESS_KEY"),
                aws_session_token=variables.get("AWS_SESSION_TOKEN"),
                region_name=variables.get("AWS_REGION"),
            )
        url = variables.get("AWS_ENDPOINT_URL")
        if url and not is_valid_endpoint_url(url):
            raise InvalidInput.of(
                where="AWS_ENDPOINT_URL",
                what=url,
                why="it is not a URL",
                fix="unset it to use AWS, or write it like http://127.0.0.1:5000",
            )
        self._endpoint = url or None
        self.gate = gate
        self._date: tuple[datetime, float] | None = None

    def now(self) -> datetime:
        """Return the time of AWS: the date of its last answer, and the time since then.

        The clock of this machine may be wrong by the five minutes that a signed request may be old. Without an answer
        that has a date, it is used nevertheless. Raises OperationFailed if AWS has not answered and does not now.
        """
        if self._date is None:
            _ = self.caller  # Any answer has a date.
        date, at = self._date or (datetime.now(UTC), time.monotonic())
        return date + timedelta(seconds=time.monotonic() - at)

    def _note_date(self, *, parsed: Mapping[str, Any], **_: object) -> None:
        text = parsed.get("ResponseMetadata", {}).get("HTTPHeaders", {}).get("date")
        with suppress(ValueError):
            self._date = parsedate_to_datetime(text).astimezone(UTC), time.monotonic()

    @cached_property
    def bucket_owners(self) -> BucketOwners:
        """Return the owners that requests to S3 expect: the account of the credentials, unless another is stated."""
        return BucketOwners(lambda: self.account)

    @cached_property
    def s3(self) -> S3Client:
        """Return the client of Amazon S3."""
        client: S3Client = self.client("s3")
        client.meta.events.register(EVENT, self.bucket_owners.add)
        return client

    @cached_property
    def pricing(self) -> PricingClient:
        """Return the client of the AWS Price List, which answers in three regions only, and in each for all."""
        return self._session.client("pricing", region_name="us-east-1", endpoint_url=self._endpoint, config=PATIENT)

    @cached_property
    def lock_client(self) -> SSMClient:
        """Return the client that only the lock itself uses, whose calls pass no gate."""
        return self._session.client("ssm", endpoint_url=self._endpoint, config=PATIENT)

    def check(self, operation: str) -> None:
        """Ask the gate about a call that another process is about to make. Raises as the gate does."""
        self.gate(operation)

    def client(self, service: str) -> Any:  # noqa: ANN401 - of any service
        """Return a new client, each call of which passes the gate."""
        make: Any = self._session.client
        client = make(service, endpoint_url=self._endpoint, config=PATIENT)

        def pass_gate(operation_name: str, **_: object) -> None:
            self.gate(operation_name)

        # botocore creates a request for each attempt: a machine may sleep for hours between two of them.
        client.meta.events.register("request-created.*.*", pass_gate)
        return client

    @cached_property
    def caller(self) -> str:
        """Return the ARN of the credentials. Raises OperationFailed where AWS does not say it."""
        with translated("could not read the account of the credentials", "check AWS_PROFILE and AWS_ENDPOINT_URL"):
            region = self.region or "us-east-1"
            sts = self._session.client("sts", region_name=region, endpoint_url=self._endpoint, config=PATIENT)
            return str(sts.get_caller_identity()["Arn"])

    def _principal(self) -> str | None:
        with suppress(OperationFailed):
            return self.caller
        return None

    @property
    def account(self) -> str:
        """Return the account of the credentials. Raises OperationFailed where AWS does not say it."""
        return self.caller.split(":")[4]

    @property
    def partition(self) -> str:
        """Return the partition of the credentials, such as aws or aws-cn. Raises as `account`."""
        return self.caller.split(":")[1]

    @property
    def region(self) -> str:
        """Return the region of the clients; empty where nothing names one."""
        return self._session.region_name or ""

    def partition_of(self, region: str) -> str:
        """Return the partition that a region belongs to, as far as its name tells."""
        return self._session.get_partition_for_region(region)


def entries(paginator: Any, key: str, **parameters: object) -> list[Any]:  # noqa: ANN401 - of any service
    """Return the entries under this key in all pages of an answer. Raises botocore's errors."""
    return [entry for page in paginator.paginate(**parameters) for entry in page.get(key, ())]


MOST_FILTER_VALUES: Final = 200
"""EC2 refuses a call with more (FilterLimitExceeded)."""


def filtered(paginator: Any, key: str, name: str, values: Sequence[str]) -> list[Any]:  # noqa: ANN401 - as above
    """Return the entries that have one of these values by a filter of EC2; none without a value."""
    return [
        entry
        for start in range(0, len(values), MOST_FILTER_VALUES)
        for entry in entries(
            paginator, key, Filters=[{"Name": name, "Values": values[start : start + MOST_FILTER_VALUES]}]
        )
    ]


def environment_aws(environment: Environment, variables: Mapping[str, str], gate: Gate = only_reading) -> Aws:
    """Return the clients for an environment, in its region.

    Raises Refused where the account or partition of the credentials is not that of the environment file and of each
    launch record, or where the region of a record is not that of the file. Raises InvalidInput for an example of the
    installed package: launch records are kept beside the file, and would be lost with the next installation.
    """
    if not is_checkout() and Path(environment.source).absolute().parent == EXAMPLES:
        raise InvalidInput.of(
            where=environment.source,
            what="is an example that comes with warmbase",
            why="the records of a cluster are kept beside its file, which must be yours",
            fix=f"copy it: mkdir -p environments && cp {environment.source} environments/",
        )
    aws = Aws({**variables, "AWS_REGION": environment.region}, gate)
    refuse_others(aws, environment)
    if environment.root.owner is not None:
        aws.bucket_owners.expect(environment.root.bucket, environment.root.owner)
    return aws


def refuse_others(aws: Aws, environment: Environment) -> None:
    """Refuse credentials that cannot see what the environment's file and records describe."""
    source, partition = environment.source, aws.partition_of(environment.region)
    differences = []
    if environment.account not in {None, aws.account}:
        differences.append(f"{source} names account {environment.account}")
    if partition != aws.partition:
        differences.append(f"{source} names region {environment.region} of partition {partition}")
    for directory, identity in recorded_identities(environment).items():
        if (identity.account, identity.region) != (aws.account, environment.region):
            names = f"account {identity.account}, region {identity.region}"
            differences.append(f"the launch record {directory} names {names}")
    if differences:
        has = f"{aws.account}, partition {aws.partition}, region {environment.region}"
        raise Refused.of(
            where=f"environment {environment.name}",
            what=f"does not belong to these credentials, which are of account {has}",
            why="; ".join(differences)
            + ": with these credentials, everything that runs there looks as if it were gone",
            fix="use credentials of that account: set AWS_PROFILE, for example; if the file is wrong, correct its"
            " account or region",
        )
