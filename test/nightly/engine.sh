#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The long form of the engine's tests. Prints its figures and exits with 1 if
# anything failed.
#
# Usage: test/nightly/engine.sh BUILD_FOLDER [SEEDS] [SCHEDULES]
#   SEEDS      random programs of 10,000 ops, on each engine, plain and with
#              everything that can happen (10000)
#   SCHEDULES  multiple of the schedules that CI explores (20)
set -u -o pipefail
build=${1:?usage: $0 BUILD_FOLDER [SEEDS] [SCHEDULES]}
seeds=${2:-10000}
schedules=${3:-20}
tests=$build/test/unit/RuntimeEngineTests
[ -x "$tests" ] || { echo "$tests is missing: build it first" >&2; exit 2; }
status=0

echo "== schedules (times $schedules)"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
MXRT_SCHEDULES=$schedules "$tests" --gtest_filter='*Schedules*' > "$log" 2>&1 || status=1
grep -E ' schedules, |FAILED|failure' "$log"
awk '/ schedules, / { sum += $2 } END { print sum " schedules in depth-first order" }' "$log"

echo "== seeded bugs"
"$tests" --gtest_filter='*SeededBugs*' > "$log" 2>&1 || status=1
grep -cE '^caught by' "$log" | sed 's/$/ of the seeded bugs were caught/'
grep -E 'FAILED|no scenario' "$log"

echo "== random programs ($seeds seeds)"
# In slices, so that a failure names its seed soon.
slice=100
for ((first = 1; first <= seeds; first += slice)); do
  count=$((seeds - first + 1 < slice ? seeds - first + 1 : slice))
  if ! MXRT_RANDOM_FIRST=$first MXRT_RANDOM_SEEDS=$count \
      "$tests" --gtest_filter='*RandomOps*' > "$log" 2>&1; then
    status=1
    grep -E 'seed [0-9]+' "$log"
  fi
done
echo "$seeds seeds, 10,000 ops each, 2 engines, 2 kinds of program: $([ $status = 0 ] && echo 'all equal the serial run' || echo 'see the failures above')"
exit $status
