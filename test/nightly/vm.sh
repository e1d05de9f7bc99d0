#!/usr/bin/env bash
# The host VM under AddressSanitizer and UndefinedBehaviorSanitizer: 10^6 mutated
# programs in a fixed sequence, then libFuzzer for a tenth of the time given.
# Prints the figures.
set -euo pipefail
cd "${MX_ROOT:-$(dirname "$0")/../..}"

build=${MX_BUILD_ROOT:-build}
cmake --preset asan -B "$build/asan" >/dev/null
cmake --build "$build/asan" --target vm-mutate
"$build/asan/bin/vm-mutate" --count "${MX_VM_MUTANTS:-1000000}" --seed 20

cmake --preset fuzz -B "$build/fuzz" >/dev/null
cmake --build "$build/fuzz" --target vm-fuzz
corpus=$(mktemp -d)
trap 'rm -rf "$corpus"' EXIT
seconds=$((${MX_NIGHTLY_SECONDS:-3600} / 10))
"$build/fuzz/bin/vm-fuzz" -max_total_time="$seconds" -max_len=4096 -timeout=5 \
  -rss_limit_mb=1024 -print_final_stats=1 "$corpus" 2>&1 | tail -n 12
