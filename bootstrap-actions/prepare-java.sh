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
declare -a flags=()

usage() {
  cat <<USAGE
prepare-java.sh --java-home=PATH --flags=BASE64

  --java-home=PATH    JAVA_HOME of hbase-env
  --flags=BASE64      every flag of the RegionServer's JVM in hbase-env: a JSON list of strings, in Base64
USAGE
}

check_arguments() {
  if [[ ! ${argument[java_home]} =~ ^/[A-Za-z0-9/._-]+$ ]]; then
    problems+=("--java-home='${argument[java_home]}': must be a full path")
  fi
  mapfile -d '' -t flags < <(decoded_flags 2>/dev/null)
  if ((${#flags[@]} == 0)); then
    problems+=("--flags='${argument[flags]}': must be a JSON list of a JVM's flags, in Base64")
  fi
}

# decoded_flags: prints each flag, and a NUL behind it.
decoded_flags() {
  /usr/bin/python3 -c '
import base64, json, sys
flags = json.loads(base64.b64decode(sys.argv[1], validate=True))
if not all(isinstance(flag, str) and flag and "\0" not in flag for flag in flags):
    sys.exit(1)
sys.stdout.write("".join(flag + "\0" for flag in flags))' "${argument[flags]}"
}

# trial_flags: the flags, without those that reserve the whole heap or write files that other users will own.
trial_flags() {
  local flag
  for flag in "${flags[@]}"; do
    case $flag in
      -Xms* | -XX:+AlwaysPreTouch | -Xlog:*:file=* | -XX:*Path=* | -XX:*File=*) ;;
      *) printf '%s\0' "$flag" ;;
    esac
  done
}

# preferred: prints each alternative of the node, as `NAME MODE PATH`, sorted. EMR's daemons run /etc/alternatives/jre.
preferred() { alternatives --list 2>/dev/null | sort || true; }

# install_java: installs Corretto 21, and keeps the alternatives of the node on the Java that they named before.
install_java() {
  local before name _ path
  before=$(preferred)
  yum install --assumeyes --quiet java-21-amazon-corretto-headless >&2 || true
  while read -r name _ path; do
    say "the installation changed the alternative $name: setting it to $path again"
    alternatives --set "$name" "$path" >&2 || say "the alternative $name could not be set: other daemons may run Java 21"
  done < <(comm -23 <(printf '%s\n' "$before") <(preferred) | sed '/^$/d')
}

main() {
  begin "$@"
  local java=${argument[java_home]}/bin/java version tried
  if [[ ! -x $java ]]; then
    say "$java does not exist: installing Corretto 21 from Amazon Linux's repositories"
    install_java
  fi
  [[ -x $java ]] || refuse "$java does not exist" "launch emr-7.10.0 or later, which has Corretto 21, or name a Java that \
exists: JAVA_HOME of hbase-env/export under overrides"
  mapfile -d '' -t tried < <(trial_flags)
  version=$("$java" "${tried[@]}" -version 2>&1) || refuse "$java does not start with the RegionServer's flags: $version" \
    "use flags that it knows: HBASE_REGIONSERVER_GC_OPTS of hbase-env/export under overrides"
  say "$java accepts ${tried[*]}: ${version%%$'\n'*}"
  end "done"
}

main "$@"
