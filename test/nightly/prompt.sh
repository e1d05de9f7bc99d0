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

# Ctrl-C comes back to the prompt from programs that do not end. Rarely the prompt does not leave
# afterwards, or hears of it only with the next key, hence not among the tests of every change.
failed=0
for ((i = 0; i < 20; i++)); do
  MX_CACHE_DIR="$home/cache" python3 test/repl/typed.py "$PWD/$build/release/bin/mxc" "$home/t$i" || failed=$((failed + 1))
  MX_CACHE_DIR="$home/cache" python3 test/repl/stopped.py "$PWD/$build/release/bin/mxc" "$home/$i" || failed=$((failed + 1))
done
echo "$failed of 40 failed"
exit $((failed > 0))
