#!/usr/bin/env bash
# A hundred thousand random inputs, right and broken, in one process of the prompt, three times. Prints its memory
# after one half and at the end, which may be apart by the texts of the inputs.
set -euo pipefail
cd "${MX_ROOT:-$(dirname "$0")/../..}"

build=${MX_BUILD_ROOT:-build}
cmake --preset release -B "$build/release" >/dev/null
cmake --build "$build/release" --target mxc
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
for seed in 1 2 3; do
  MX_CACHE_DIR="$home/cache" python3 test/repl/random_inputs.py "$PWD/$build/release/bin/mxc" "$home" \
    "${MX_PROMPT_INPUTS:-100000}" "$seed" | tee "$home/said"
  grep -q flat "$home/said"
done

# Sessions on a terminal, four side by side: what is typed, and Ctrl-C out of programs that do not end.
mxc=$PWD/$build/release/bin/mxc
export MX_CACHE_DIR=$home/cache
seq 20 | xargs -P 4 -I N sh -c \
  "python3 test/repl/typed.py $mxc $home/typed-N && python3 test/repl/stopped.py $mxc $home/stopped-N"
