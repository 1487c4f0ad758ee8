#!/usr/bin/env bash
# EMR bootstrap action: Java 21 with generational ZGC, and the RegionServer's very flags tried on it.
#
# EMR 7 installs Corretto 17 as its default and, from 7.10 on, Corretto 21 beside it; hbase-env names the latter. A JVM
# that does not know a flag does not start, hours later and on every node: so it is asked now. `--help` lists the
# arguments; nothing is left on the node.
ACTION=prepare-java
# shellcheck source=bootstrap-actions/shared.sh
source "$(dirname "${BASH_SOURCE[0]}")/shared.sh"

argument=([java_home]='' [flags]='')

usage() {
  cat <<USAGE
prepare-java.sh --java-home=PATH --flags=FLAGS

  --java-home=PATH    JAVA_HOME as hbase-env has it
  --flags=FLAGS       every flag of the RegionServer's JVM, as hbase-env has them
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

# trial_flags: without those that take memory for the whole heap at once, or write files that others will own.
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
  local java=${argument[java_home]}/bin/java said flags=()
  if [[ ! -x $java ]]; then
    say "$java is not there: installing Corretto 21 from Amazon Linux's repositories"
    yum install --assumeyes --quiet java-21-amazon-corretto-headless >&2 || true
  fi
  [[ -x $java ]] || die "$java is not there. fix: launch a release from emr-7.10.0 on," \
    "which brings Corretto 21, or name a Java that is there: JAVA_HOME of hbase-env/export under overrides"
  mapfile -t flags < <(trial_flags)
  said=$("$java" "${flags[@]}" -version 2>&1) || die "$java does not start with the RegionServer's flags: $said." \
    "fix: give flags that it knows: HBASE_REGIONSERVER_GC_OPTS of hbase-env/export under overrides"
  say "$java takes ${flags[*]}: ${said%%$'\n'*}"
  end "done"
}

main "$@"
