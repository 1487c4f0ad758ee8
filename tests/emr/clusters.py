"""Hypothesis strategies for cluster specifications that every interface of EMR can state."""

from __future__ import annotations

from hypothesis import strategies as st

from warmbase.emr.cluster_spec import BootstrapAction, ClusterSpec, EbsVolume, InstanceGroup, Setting, Settings

NAMES = st.sampled_from(["hbase", "hbase-site", "hbase-env", "core-site", "emr-metrics", "yarn-site"])
PATHS = st.one_of(NAMES, NAMES.map(lambda name: f"{name}/export"))
KEYS = st.from_regex(r"[a-z][a-z.]{0,8}", fullmatch=True)
TEXTS = st.lists(
    st.sampled_from(["a", " ", '"', "=", "/", "${AWS::AccountId}", "${hbase.tmp.dir}", "${!b}", "$HOME", "1"]),
    max_size=5,
).map("".join)
WORDS = st.from_regex(r"[a-z][a-z0-9-]{0,8}", fullmatch=True)
OPTIONAL = st.none() | st.integers(1, 9_999)


@st.composite
def settings(draw: st.DrawFn) -> Settings:
    """Draw the settings of a cluster or of a group."""
    values = draw(st.dictionaries(st.tuples(PATHS, KEYS), TEXTS, max_size=6))
    return {(path, key): Setting(classification=path, key=key, value=value) for (path, key), value in values.items()}


VOLUMES = st.builds(
    EbsVolume,
    type=st.sampled_from(["gp3", "io2"]),
    size_gib=st.integers(1, 16_384),
    iops=OPTIONAL,
    throughput_mib_s=OPTIONAL,
    count=st.integers(1, 4),
)


def groups(role: str) -> st.SearchStrategy[InstanceGroup]:
    """Return a strategy for instance groups of that role."""
    return st.builds(
        InstanceGroup,
        role=st.just(role),
        instance_type=st.sampled_from(["m8g.xlarge", "r8g.2xlarge"]),
        count=st.integers(0, 200),
        volumes=st.lists(VOLUMES, max_size=3).map(tuple),
        settings=settings(),
    )


ACTIONS = st.builds(
    BootstrapAction, name=WORDS, script=WORDS.map("s3://bucket/{}".format), arguments=st.lists(TEXTS).map(tuple)
)
CLUSTERS = st.builds(
    ClusterSpec,
    source=st.just("test"),
    name=WORDS,
    release_label=st.just("emr-7.12.0"),
    os_release=st.none() | WORDS,
    applications=st.lists(WORDS, unique=True).map(tuple),
    settings=settings(),
    groups=st.tuples(groups("primary"), groups("core"))
    | st.tuples(groups("primary"), groups("core"), groups("task"), groups("task")),
    bootstrap_actions=st.lists(ACTIONS, max_size=2).map(tuple),
)
