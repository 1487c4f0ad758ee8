#!/usr/bin/env bash
# EMR bootstrap action: makes sure that Java 21 exists and accepts the RegionServer's flags.
#
# EMR 7 installs Corretto 17 as its default and, from 7.10 on, Corretto 21 beside it; hbase-env names the latter. A JVM
# that does not know a flag does not start, hours later and on every node, so this action tries them now. `--help` lists
# the arguments. It leaves nothing on the node.
ACTION=prepare-java
# shellcheck source=bootstrap-actions/shared.sh
source "$(dirname "${BASH_SOURCE[0]}")/shared.sh"

argument=([java_home]='' [flags]='')

usage() {
  cat <<USAGE
prepare-java.sh --java-home=PATH --flags=FLAGS

  --java-home=PATH    JAVA_HOME of hbase-env
  --flags=FLAGS       every flag of the RegionServer's JVM in hbase-env
USAGE
}

check_arguments() {
  if [[ ! ${argument[java_home]} =~ ^/[A-Za-z0-9/._-]+$ ]]; then
    problems+=("--java-home='${argument[java_home]}': must be a full path")
  fi
  if [[ ! ${argument[flags]} =~ ^-[A-Za-z0-9\ :=+%,./*_-]+$ ]]; then
    problems+=("--flags='${argument[flags]}': must be flags of a JVM, with one space between them")
  fi
}

# trial_flags: the flags, without those that reserve the whole heap or write files that other users will own.
trial_flags() {
  local flag
  for flag in ${argument[flags]}; do
    case $flag in
      -Xms* | -XX:+AlwaysPreTouch | -Xlog:*:file=* | -XX:*Path=* | -XX:*File=*) ;;
      *) printf '%s\n' "$flag" ;;
    esac
  done
}

main() {
  begin "$@"
  local java=${argument[java_home]}/bin/java version flags=()
  if [[ ! -x $java ]]; then
    say "$java does not exist: installing Corretto 21 from Amazon Linux's repositories"
    yum install --assumeyes --quiet java-21-amazon-corretto-headless >&2 || true
  fi
  [[ -x $java ]] || refuse "$java does not exist" "launch emr-7.10.0 or later, which has Corretto 21, or name a Java that \
exists: JAVA_HOME of hbase-env/export under overrides"
  mapfile -t flags < <(trial_flags)
  version=$("$java" "${flags[@]}" -version 2>&1) || refuse "$java does not start with the RegionServer's flags: $version" \
    "use flags that it knows: HBASE_REGIONSERVER_GC_OPTS of hbase-env/export under overrides"
  say "$java accepts ${flags[*]}: ${version%%$'\n'*}"
  end "done"
}

main "$@"
