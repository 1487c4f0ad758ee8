#!/usr/bin/env bash
# ./pyz.sh [PLATFORM [FILE]] builds warmbase.pyz: one file for CPython 3.11 to 3.14 on linux-x86_64 (the default), linux-aarch64 or macos-arm64.
# The packages and their hashes are those of uv.lock. The same inputs give the same file.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

versions='3.11 3.12 3.13 3.14'
platform=${1:-linux-x86_64} file=${2:-warmbase.pyz}
case $platform in
  linux-x86_64 | linux-aarch64) system=Linux python_platform=linux tags='manylinux_2_28 manylinux_2_27 manylinux_2_17 manylinux2014' ;;
  macos-arm64) system=Darwin python_platform=darwin tags='macosx_14_0 macosx_12_0 macosx_11_0' ;;
  *) printf 'pyz: there is no platform %s\n  fix: name linux-x86_64, linux-aarch64 or macos-arm64\n' "$platform" >&2 && exit 2 ;;
esac

build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
mkdir "$build/src"
.venv/bin/uv export --quiet --frozen --no-default-groups --no-emit-project --output-file "$build/locked.txt"
tar -cf - --exclude __pycache__ sizing facts emr hfile environments configurations lint dashboards changes stacks operations local_aws lab \
  published reports cli bootstrap-actions | tar -xf - -C "$build/src"
# `warmbase --version` reads it.
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' pyproject.toml | head -1)
mkdir "$build/src/warmbase-$version.dist-info"
printf 'Metadata-Version: 2.1\nName: warmbase\nVersion: %s\n' "$version" >"$build/src/warmbase-$version.dist-info/METADATA"

# target VERSION: prints for pex which wheels such a Python takes; by itself pex knows one tag of a platform that it does not run on.
target() {
  local name cp=cp${1/./} wheels=
  for name in $tags; do wheels+="\"$cp-$cp-${name}_$machine\", "; done
  printf '{"compatible_tags": [%s"py3-none-any"], "marker_environment": {"implementation_name": "cpython", "os_name": "posix",' "$wheels"
  printf ' "platform_machine": "%s", "platform_python_implementation": "CPython", "platform_system": "%s",' "$machine" "$system"
  printf ' "python_full_version": "%s.0", "python_version": "%s", "sys_platform": "%s"}}' "$1" "$1" "$python_platform"
}

machine=${platform#*-}
options=() targets=()
for name in $tags; do options+=(--platform "${name}_$machine"); done
for number in $versions; do
  printf 'pyz: wheels of CPython %s for %s\n' "$number" "$platform" >&2
  .venv/bin/python -m pip download --quiet --disable-pip-version-check --require-hashes --only-binary :all: --no-deps \
    "${options[@]}" --python-version "$number" --dest "$build/wheels" --requirement "$build/locked.txt"
  targets+=(--complete-platform "$(target "$number")")
done
# The wheels decide the versions.
sed -n 's/^\([a-z0-9-]*\)==.*/\1/p' "$build/locked.txt" | sort -u >"$build/names.txt"
.venv/bin/pex --no-pypi --no-build --pre-resolved-dists "$build/wheels" --requirement "$build/names.txt" --no-emit-warnings \
  "${targets[@]}" --sources-directory "$build/src" --entry-point cli.main:main --python-shebang '/usr/bin/env python3' --output-file "$file" >&2
printf 'pyz: %s, %s MB, for CPython %s on %s\n' "$file" "$(du -m "$file" | cut -f1)" "${versions// /, }" "$platform" >&2
