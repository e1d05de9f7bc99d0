#!/usr/bin/env bash
# Ten thousand random inputs, right and broken, in one process of the prompt. Prints
# its memory after a third and at the end.
set -euo pipefail
cd "${MX_ROOT:-$(dirname "$0")/../..}"

build=${MX_BUILD_ROOT:-build}
cmake --preset release -B "$build/release" >/dev/null
cmake --build "$build/release" --target mxc
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
for seed in 1 2 3; do
  MX_CACHE_DIR="$home/cache" python3 test/repl/random_inputs.py "$PWD/$build/release/bin/mxc" "$home" \
    "${MX_PROMPT_INPUTS:-10000}" "$seed"
done
