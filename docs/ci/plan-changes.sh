#!/usr/bin/env bash
# plan-changes.sh BASE: prints, as Markdown, what lint finds in each environment that was changed since the commit BASE,
# and what the change does to its plan and price.
#
# Ends with the highest exit code of the commands: 2 for a faulty file, 3 for errors of lint and for targets that no cluster
# meets. Runs .venv/bin/warmbase, or the command that WARMBASE names.
set -euo pipefail
base=$(git rev-parse --short "$(git merge-base "${1:?usage: plan-changes.sh BASE}" HEAD)")
output=$(mktemp -d)
trap 'rm -r "$output"' EXIT
worst=0

# record ARGUMENT...: runs warmbase with its answer and its messages in files.
record() {
  local status=0
  "${WARMBASE:-.venv/bin/warmbase}" "$@" >"$output/answer" 2>"$output/messages" </dev/null || status=$?
  ((status <= worst)) || worst=$status
  return "$status"
}

# block FILE: prints the beginning of a file as it is.
block() {
  printf '\n~~~~~~text\n'
  head -n 40 "$1" | sed 's/^ *~~~/    &/' # a line that would end the block
  printf '~~~~~~\n'
}

printf '<!-- warmbase -->\n'
git diff --name-only --diff-filter=d -z "$base" HEAD -- ':(glob)environments/*.yaml' >"$output/changed"
[[ -s $output/changed ]] || printf 'No environment was changed.\n'
while IFS= read -r -d '' file; do
  against=()
  if git cat-file -e "$base:$file" 2>/dev/null; then
    against=(--against "$base")
  fi
  status=0
  record plan "$file" ${against[@]+"${against[@]}"} --output markdown || status=$?
  cat "$output/answer"
  ((status == 0)) || block "$output/messages"
  # A faulty file is reported once.
  if ((status != 2)) && ! record lint "$file" --least error; then
    printf '\nLint found errors in **%s**:\n' "$file"
    cat "$output/messages" >>"$output/answer"
    block "$output/answer"
  fi
  printf '\n'
done <"$output/changed"
exit "$worst"
