#!/usr/bin/env bash
# Long runs of the lexer, parser, formatter and Markdown renderer, or of the targets that are named,
# under ASan and UBSan. Equal shares of MX_NIGHTLY_SECONDS; prints the number of inputs. What is found is written
# to the corpus folder of its target: keep it there as a regression input.
#
#   MX_FUZZ_RUNS   stop after so many inputs a target, whichever comes first

set -euo pipefail

root=${MX_ROOT:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)}
build=${MX_BUILD_ROOT:-$root/build}/fuzz
[[ $# -gt 0 ]] || set -- lexer parser format markdown
seconds=$((${MX_NIGHTLY_SECONDS:-3600} / $#))

command -v clang++-22 >/dev/null || exit 77
[[ -f $build/build.ninja ]] || cmake -S "$root" --preset fuzz -B "$build" >/dev/null
cmake --build "$build" --target "${@/#/fuzz-}" >/dev/null

# Stack traces of allocations and a large quarantine halve the speed; an error is
# found without them.
export ASAN_OPTIONS=malloc_context_size=2:quarantine_size_mb=16
status=0
for target in "$@"; do
  work=$build/corpus/$target
  log=$build/fuzz-$target.log
  mkdir -p "$work"
  if ! "$build/bin/fuzz-$target" -max_total_time="$seconds" -runs="${MX_FUZZ_RUNS:--1}" \
    -rss_limit_mb=1024 -timeout=5 -max_len=4096 -len_control=50 -print_final_stats=1 \
    -artifact_prefix="$root/test/fuzz/corpus/$target/" \
    "$work" "$root/test/fuzz/corpus/$target" >"$log" 2>&1; then
    status=1
    echo "$target: failed"
    tail -n 40 "$log"
  fi
  sed -n "s/^stat::number_of_executed_units: */$target: inputs /p" "$log"
  sed -n "s/^stat::peak_rss_mb: */$target: peak MB /p" "$log"
done
exit "$status"
