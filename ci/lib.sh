# Shared by the scripts of ci/: sourced, never run. Every script starts at the repository's root.
# shellcheck shell=bash
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { printf '%s\n' "$*" >&2; }
die() { say "${0##*/}: $1"; exit "${2:-1}"; }
step() { printf '\n== %s\n' "$*" >&2; }

# Runs a command whose output matters only when it fails.
quietly() {
  local log
  log=$(mktemp)
  if "$@" >"$log" 2>&1; then
    rm -f "$log"
  else
    local status=$?
    tail -n 60 "$log" >&2
    say "${0##*/}: failed (exit $status): $*; the whole output is in $log"
    return "$status"
  fi
}

# Configures and builds a preset: build PRESET [TARGET...]
build() {
  local preset=$1
  shift
  [ -f "build/$preset/build.ninja" ] || quietly cmake --preset "$preset"
  quietly cmake --build --preset "$preset" ${1:+--target "$@"}
}
