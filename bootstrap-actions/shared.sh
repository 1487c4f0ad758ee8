# shellcheck shell=bash
# Every bootstrap action begins with these lines. EMR fetches each action alone, so when actions are uploaded, these lines
# replace the line that sources them. Before an action calls `begin "$@"`, it defines:
#   ACTION             its name
#   usage              a function that prints its help
#   argument[KEY]      each argument it takes, with its default; --some-key is argument[some_key]
#   check_arguments    a function that adds to `problems`
set -Eeuo pipefail
shopt -s inherit_errexit
trap 'say "failed at line $LINENO: $BASH_COMMAND"' ERR
umask 022

readonly INSTANCE=/mnt/var/lib/info/instance.json
readonly STATES=/var/lib/warmbase/actions
readonly PROGRAMS=/usr/local/lib/warmbase

declare -A argument=()
declare -a problems=()

say() { printf '%s: %s\n' "$ACTION" "$*" >&2; }

# refuse WHAT FIX: ends the action with what is wrong and how to mend it.
refuse() {
  say "$1"
  say "  fix: $2"
  exit 1
}

# --- arguments: reports every problem at once, with exit status 2 ---

read_argument() {
  local name=${1%%=*} key
  key=${name#--} key=${key//-/_}
  # The pattern comes first: bash evaluates whatever stands in a subscript.
  if [[ ! $1 =~ ^--[a-z0-9-]+= || ! -v argument[$key] ]]; then
    problems+=("$1: unknown argument; see --help")
  elif [[ -v given[$key] ]]; then
    problems+=("$name: given twice")
  else
    given[$key]=yes argument[$key]=${1#*=}
  fi
}

# check_number NAME LEAST MOST UNIT
check_number() {
  local value=${argument[${1//-/_}]}
  if [[ ! $value =~ ^[1-9][0-9]{0,11}$ ]] || ((value < $2 || value > $3)); then
    problems+=("--$1='$value': must be a whole number of $4 from $2 to $3")
  fi
}

# check_program NAME: checks the URL of a program and its SHA-256.
check_program() {
  local url=${argument[$1]} digest=${argument[$1_sha256]}
  if [[ ! $url =~ ^s3://[a-z0-9][a-z0-9.-]+/[A-Za-z0-9/._-]+$ ]]; then
    problems+=("--${1//_/-}='$url': must be an object, s3://BUCKET/KEY")
  fi
  if [[ ! $digest =~ ^[0-9a-f]{64}$ ]]; then
    problems+=("--${1//_/-}-sha256='$digest': must be its SHA-256, 64 hexadecimal digits")
  fi
}

# check_claim: checks where the claim of the root is.
check_claim() {
  if [[ ! ${argument[bucket]} =~ ^[a-z0-9][a-z0-9.-]{2,62}$ ]]; then
    problems+=("--bucket='${argument[bucket]}': must be a bucket's name")
  fi
  if [[ ! ${argument[key]} =~ ^[A-Za-z0-9/._=-]{1,1024}$ ]]; then
    problems+=("--key='${argument[key]}': must be an object's key of letters, digits and / . _ = -")
  fi
}

# begin ARGUMENTS...: reads and checks them, continues as root, and records that this run has begun. The next run completes
# one that ended early: every step checks what exists, and does only what is missing.
begin() {
  local -A given=()
  local word
  for word in "$@"; do
    if [[ $word == --help ]]; then
      usage
      exit 0
    fi
    read_argument "$word"
  done
  check_arguments
  if ((${#problems[@]} > 0)); then
    for word in "${problems[@]}"; do say "$word"; done
    exit 2
  fi
  if ((EUID != 0)); then exec sudo -- bash "$0" "$@"; fi
  mkdir -p "$STATES"
  if [[ -f $STATES/$ACTION && $(head -n 1 "$STATES/$ACTION") == begun ]]; then
    say "an earlier run did not end: checking its steps again"
  fi
  printf 'begun\n%s\n' "$*" >"$STATES/$ACTION"
}

# end MESSAGE: records that this run is complete.
end() {
  sed -i '1s/.*/done/' "$STATES/$ACTION"
  say "$1"
}

primary_node() {
  [[ -r $INSTANCE ]] || refuse "$INSTANCE does not exist: cannot tell a primary from a core node, so nothing is changed" \
    "run this action on an EMR node"
  grep -Eq '"isMaster"[[:space:]]*:[[:space:]]*true' "$INSTANCE"
}

# --- files: written whole, and only where they differ ---

# put_file PATH MODE CONTENT
put_file() {
  if [[ -f $1 && $(<"$1") == "$3" && $(stat -c %a "$1") == "$2" ]]; then
    say "$1 is as it should be"
    return
  fi
  mkdir -p "$(dirname "$1")"
  printf '%s\n' "$3" >"$1.new"
  chmod "$2" "$1.new"
  mv "$1.new" "$1"
  say "wrote $1"
}

# put_program NAME FILE: fetches the program of that argument, and installs it only if its SHA-256 matches.
put_program() {
  local url=${argument[$1]} digest=${argument[$1_sha256]} file=$PROGRAMS/$2 actual
  if [[ -f $file ]] && sha256sum --status --check <<<"$digest  $file"; then
    say "$file is as it should be"
    return
  fi
  mkdir -p "$PROGRAMS"
  aws s3 cp --only-show-errors "$url" "$file.new" || refuse "$url cannot be fetched" \
    "give the node's role s3:GetObject and kms:Decrypt for it, and the subnet a route to S3"
  actual=$(sha256sum <"$file.new")
  if [[ ${actual%% *} != "$digest" ]]; then
    rm "$file.new"
    refuse "$url is not the uploaded file: its SHA-256 is ${actual%% *}, not $digest" "deploy again"
  fi
  chmod 755 "$file.new"
  mv "$file.new" "$file"
  say "wrote $file"
}

# minutely_timer DESCRIPTION: prints the unit of a timer that starts its service once a minute.
minutely_timer() {
  cat <<UNIT
# Installed by warmbase's bootstrap action $ACTION.
[Unit]
Description=$1

[Timer]
OnCalendar=minutely
# A hundred nodes must not call in the same second.
RandomizedDelaySec=5
AccuracySec=1

[Install]
WantedBy=timers.target
UNIT
}

reload_systemd() {
  if [[ -d /run/systemd/system ]]; then
    systemctl daemon-reload
    say "systemd has reloaded its units"
  fi
}
