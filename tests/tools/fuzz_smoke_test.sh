#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# tools/fuzz-smoke fails when its target does, and when there is nothing to test.
set -euo pipefail
tool=$(cd "$(dirname "$0")/../.." && pwd)/tools/fuzz-smoke
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/bin" "$folder/corpus"

expect() { # STATUS COMMAND...
  local want=$1 got=0
  shift
  "$@" >"$folder/output" 2>&1 || got=$?
  if [[ $got -ne $want ]]; then
    echo "FAIL: '$*' ended with $got, not $want:" >&2
    cat "$folder/output" >&2
    exit 1
  fi
}

target() { # EXIT-STATUS: a stand-in for a libFuzzer program
  printf '#!/bin/sh\nexit %d\n' "$1" >"$folder/bin/thing_fuzz"
  chmod +x "$folder/bin/thing_fuzz"
}

target 0
expect 2 "$tool" "$folder/bin/thing_fuzz" "$folder/corpus"
printf 'x' >"$folder/corpus/one"
expect 2 "$tool" "$folder/bin/no_such_fuzz" "$folder/corpus"
expect 0 "$tool" "$folder/bin/thing_fuzz" "$folder/corpus" 1
target 77
expect 77 "$tool" "$folder/bin/thing_fuzz" "$folder/corpus" 1
[[ $(ls "$folder/corpus") == one ]]
echo "fuzz-smoke: all as expected"
