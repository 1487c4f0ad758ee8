#!/usr/bin/env bash
# Sets up .venv (Python, from uv.lock) and node_modules (the CDK command line, from package-lock.json).
# Needs Python 3.11 or newer with venv; uses Node 20 or newer with npm from the PATH, else brings Node as a Python package.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

say() { printf 'setup: %s\n' "$*" >&2; }
stop() {
  printf 'setup: stopped: %s\n' "$*" >&2
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
  stop "no Python 3.11 or newer on the PATH; get one from your system's packages, for instance 'apt-get install python3 python3-venv'"
}

has_node() {
  command -v npm >/dev/null && node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)' 2>/dev/null
}

python=$(find_python)
if [[ ! -x .venv/bin/python ]]; then
  say "making .venv with $("$python" --version)"
  "$python" -m venv .venv >&2 || stop "'$python -m venv' failed; Debian and Ubuntu keep it apart: 'apt-get install python3-venv'"
fi

locked_uv=$(sed -n '/^name = "uv"$/{n;s/^version = "\(.*\)"$/\1/p;q;}' uv.lock)
if [[ "$(.venv/bin/uv --version 2>/dev/null | cut -d' ' -f2)" != "$locked_uv" ]]; then
  say "installing uv $locked_uv, which reads the lock file"
  .venv/bin/python -m pip install --quiet --disable-pip-version-check "uv==$locked_uv" >&2 ||
    stop "pip could not install uv; is a package index reachable?"
fi

groups=()
if ! has_node; then
  say "no Node 20 or newer with npm on the PATH: bringing Node as a Python package"
  groups=(--group node)
fi
say "installing the locked Python packages (about half a minute the first time)"
.venv/bin/uv sync --quiet --frozen --compile-bytecode "${groups[@]}" ||
  stop "uv could not install the packages in uv.lock; its reason is above"
.venv/bin/python -m compileall -q sizing facts environments configurations dashboards stacks operations lab cli app.py

say "installing the CDK command line"
PATH="$PWD/.venv/bin:$PATH" npm ci --silent --ignore-scripts --no-audit --no-fund >&2 ||
  stop "npm could not install what package-lock.json names; its reason is above"
say "ready: .venv/bin/warmbase"
