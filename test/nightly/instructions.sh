#!/usr/bin/env bash
# A training step without a KVStore executes as many instructions in a program that trains with one
# as in a program without any: compiled code and runtime, counted by valgrind on one thread.
set -euo pipefail
cd "${MX_ROOT:-$(dirname "$0")/../..}"

command -v valgrind >/dev/null || { echo "no valgrind here"; exit 77; }
build=${MX_BUILD_ROOT:-build}/release
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cmake --preset release -B "$build" >/dev/null
cmake --build "$build" --target mxc
python3 test/dist/no-cost.py "$(realpath "$build/bin/mxc")" "$folder" --instructions
