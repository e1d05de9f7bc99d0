#!/usr/bin/env bash
# The long form of the engine's tests: more schedules of the small cases, all
# seeded bugs, and random programs of 10,000 ops on both engines, plain and with
# everything that can happen, until the seeds or the time are used up. Prints
# the figures.
#
# MX_ENGINE_SEEDS      how many random programs (10000)
# MX_ENGINE_SCHEDULES  multiple of the schedules that CI explores (20)
# MX_ENGINE_RELEASES   random small programs with early release (5000, which is
#                      10^6 schedules)
set -euo pipefail
cd "${MX_ROOT:-$(dirname "$0")/../..}"

build=${MX_BUILD_ROOT:-build}/release
seeds=${MX_ENGINE_SEEDS:-10000}
schedules=${MX_ENGINE_SCHEDULES:-20}
releases=${MX_ENGINE_RELEASES:-5000}
deadline=$((SECONDS + ${MX_NIGHTLY_SECONDS:-3600}))
cmake --preset release -B "$build" >/dev/null
cmake --build "$build" --target RuntimeEngineTests
tests=$build/test/unit/RuntimeEngineTests
log=$(mktemp)
trap 'rm -f "$log"' EXIT
failed=0

# Runs the tests that $1 matches; complains if one fails.
run() {
  "$tests" --gtest_filter="$1" >"$log" 2>&1 && return
  failed=1
  grep -A4 -E 'Failure|FAILED' "$log" || tail -n 20 "$log"
}

MXRT_SCHEDULES=$schedules run '*Schedules*'
awk '/ schedules, / { sum += $2 } END { print sum + 0 " schedules in depth-first order" }' "$log"

MXRT_RELEASE_PROGRAMS=$releases run 'Releases.*'
sed -n 's/^random releases: //p' "$log"

run '*SeededBugs*'
awk '/^caught by/ { n++ } /RUN/ { all++ } END { print n + 0 " of " all + 0 " seeded bugs caught" }' "$log"

# In slices, so that the time is kept.
slice=20
first=1
while ((first <= seeds && SECONDS < deadline && failed == 0)); do
  export MXRT_RANDOM_FIRST=$first MXRT_RANDOM_SEEDS=$slice
  run '*RandomOps*'
  first=$((first + slice))
done
echo "$((first - 1)) of $seeds seeds: random programs on both engines against a serial run"
exit $failed
