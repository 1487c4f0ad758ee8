#!/usr/bin/env bash
# EMR bootstrap action of canary clusters only: collects what EMR has put on this node, and uploads it to the log bucket.
#
# It runs first, so that the archive exists even if the cluster then fails, and again some minutes later, when HBase may
# be installed. Secrets are left out: keytabs, key stores and private keys as files, passwords and tokens in the others.
# Whatever cannot be collected is left out, too: the action never fails a node. `--help` lists the arguments.
ACTION=harvest-node
# shellcheck source=bootstrap-actions/shared.sh
source "$(dirname "${BASH_SOURCE[0]}")/shared.sh"

argument=([log_bucket]='' [moment]=bootstrap)

readonly JOB_FLOW=/mnt/var/lib/info/job-flow.json
readonly INSTANCE_ID=/var/lib/cloud/data/instance-id
readonly LATER_MINUTES=(5 12) # judgement: EMR installs applications within five minutes, or fails within ten
readonly LARGEST_KIB=1024
readonly PLACES=(
  /etc/hadoop/conf
  /etc/hbase/conf
  /etc/puppet
  /etc/systemd/system
  /etc/zookeeper/conf
  /mnt/var/lib/info
  /usr/lib/systemd/system
  /var/aws/emr/bigtop-deploy/puppet
)

usage() {
  cat <<USAGE
harvest-node.sh --log-bucket=NAME [--moment=NAME]

  --log-bucket=NAME    the bucket that takes the archive, below emr/CLUSTER/harvest/
  --moment=NAME        when this runs, for the archive's name (${argument[moment]})
USAGE
}

check_arguments() {
  if [[ ! ${argument[log_bucket]} =~ ^[a-z0-9][a-z0-9.-]{2,62}$ ]]; then
    problems+=("--log-bucket='${argument[log_bucket]}': must be a bucket's name")
  fi
  if [[ ! ${argument[moment]} =~ ^[a-z0-9-]{1,32}$ ]]; then
    problems+=("--moment='${argument[moment]}': must be lower-case letters, digits and hyphens")
  fi
}

# masked: copies standard input, with (masked) in place of each secret. In doubt, it masks too much.
masked() {
  awk '
    BEGIN { secret = "password|passwd|secret|credential|token|private.?key|access.?key" }
    /-----BEGIN [A-Z ]*PRIVATE KEY-----/ { print "(masked)"; inside = 1 }
    inside { if (/-----END/) inside = 0; next }
    {
      line = tolower($0)
      match(line, /^[ ]*/)
      # In YAML, the lines below `password: |` belong to it while they are indented further.
      if (block && RLENGTH > indent && line !~ /^[ ]*$/) { print "(masked)"; next }
      block = line ~ ("(" secret ")[a-z0-9_.\"\047-]*[ ]*:[ ]*[|>][-+0-9]*[ ]*$")
      indent = RLENGTH
      if (line ~ /<name>/) hidden = line ~ ("<name>[^<]*(" secret ")")
      if (hidden) gsub(/<value>[^<]*<\/value>/, "<value>(masked)</value>")
      print
    }' | sed -E \
    -e "s/([\"']?[a-z0-9_.-]*(password|passwd|secret|credential|token|private[_.-]?key|access[_.-]?key)[a-z0-9_.-]*[\"']?[[:space:]]*(=>|[:=])[[:space:]]*)(\"[^\"]*\"|'[^']*'|[^[:space:],;}]+)/\1(masked)/Ig" \
    -e 's/(AKIA|ASIA)[A-Z0-9]{16}/(masked)/g' \
    -e 's#://[^/@:[:space:]]+:[^/@[:space:]]+@#://(masked)@#g'
}

# record NAME COMMAND...: keeps what a command prints, and its exit status.
record() {
  local status=0
  timeout 20 "${@:2}" </dev/null 2>&1 | masked >"$archive/commands/$1" || status=$?
  echo "exit status $status: ${*:2}" >>"$archive/commands/$1"
}

commands() {
  mkdir -p "$archive/commands"
  record rpm rpm -qa
  record java alternatives --display java
  record jre alternatives --display jre
  record lsblk lsblk --bytes --output NAME,PKNAME,TYPE,SIZE,FSTYPE,MOUNTPOINT
  record findmnt findmnt --bytes
  record release cat /etc/os-release
  record kernel uname -a
  record python /usr/bin/python3 --version
  record unit-files systemctl list-unit-files
  record units systemctl show -p Id,User,Type,Restart,RestartUSec,ExecStart,ExecStop,TimeoutStopUSec,DropInPaths \
    hbase-master hbase-regionserver hadoop-hdfs-namenode hadoop-hdfs-datanode zookeeper-server amazon-ssm-agent
  record processes ps -eo user,pid,lstart,args
  record connections ss --tcp --numeric --processes
  record foreign-region grep -c us-east-2 -r /var/log/hbase
}

# files: copies the text files below each place, except those whose names suggest a secret.
files() {
  local file
  while IFS= read -r -d '' file; do
    if ! grep -Iq . "$file"; then continue; fi
    mkdir -p "$archive/files$(dirname "$file")"
    masked <"$file" >"$archive/files$file" || rm -f "$archive/files$file"
  done < <(find -L "${PLACES[@]}" -type f -size "-${LARGEST_KIB}k" ! -iname '*.keytab' ! -iname '*.jks' \
    ! -iname '*.p12' ! -iname '*.pem' ! -iname '*.key' ! -iname '*keystore*' ! -iname '*truststore*' \
    ! -iname '*credential*' ! -iname '*password*' -print0 2>/dev/null || true)
}

upload() {
  local cluster instance
  cluster=$(sed -nE 's/.*"jobFlowId"[[:space:]]*:[[:space:]]*"(j-[A-Z0-9]+)".*/\1/p' "$JOB_FLOW" 2>/dev/null | head -n 1)
  instance=$(cat "$INSTANCE_ID" 2>/dev/null || hostname -s)
  local target="s3://${argument[log_bucket]}/emr/${cluster:-unknown}/harvest/$instance-${argument[moment]}.tar.gz"
  tar --create --gzip --directory="$archive" . | aws s3 cp --only-show-errors - "$target" || return 1
  say "uploaded $target"
}

# again: runs this script once more in some minutes, whatever becomes of the cluster until then.
again() {
  local minutes
  [[ -f ${BASH_SOURCE[0]} ]] || return 0
  install -D --mode=755 "${BASH_SOURCE[0]}" "$PROGRAMS/harvest-node.sh"
  for minutes in "${LATER_MINUTES[@]}"; do
    systemd-run --on-active="${minutes}min" --unit="warmbase-harvest-$minutes" "$PROGRAMS/harvest-node.sh" \
      "--log-bucket=${argument[log_bucket]}" "--moment=minute-$minutes"
  done
}

# attempt PART: runs a part by itself, so that its failure stays without effect.
attempt() {
  ("$1") || say "could not complete: $1"
}

main() {
  begin "$@"
  archive=$(mktemp --directory)
  trap 'rm -rf "$archive"' EXIT
  attempt commands
  attempt files
  attempt upload
  if [[ ${argument[moment]} == bootstrap ]]; then attempt again; fi
  end "done"
}

main "$@"
