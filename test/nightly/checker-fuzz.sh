#!/usr/bin/env bash
# The checker under the fuzzer for as long as the step may take: no crash, no hang, no sanitizer
# finding, in bounded memory. Findings are left in $MX_BUILD_ROOT/nightly/checker-fuzz; keep them in
# test/fuzz/corpus/checker once they are mended.
set -euo pipefail

fuzzer=$MX_BUILD_ROOT/fuzz/bin/fuzz-checker
if [[ ! -x $fuzzer ]]; then
  echo "no $fuzzer: build the preset fuzz first"
  exit 77
fi
work=$MX_BUILD_ROOT/nightly/checker-fuzz
mkdir -p "$work/corpus" "$work/seeds"
cp "$MX_ROOT"/{test/programs/Inputs,test/sema,test/errors/wrong,stdlib}/*.mx "$work/seeds"
export MX_STDLIB=$MX_ROOT/stdlib
seconds=$((MX_NIGHTLY_SECONDS * 9 / 10))
"$fuzzer" -max_total_time="$seconds" -timeout=5 -rss_limit_mb=1024 -max_len=6000 \
  -artifact_prefix="$work/" -print_final_stats=1 \
  "$work/corpus" "$work/seeds" "$MX_ROOT/test/fuzz/corpus/checker" 2>&1 | tail -n 20
