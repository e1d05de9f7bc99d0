#!/usr/bin/env bash
# The long form of the simulator's test: other seeds than the ordinary test, in
# slices until the seeds or the time are used up, and all planted mistakes. A
# failure prints the seed that repeats it. Prints the figures.
#
# MX_SIM_SEEDS   how many seeds (100000)
# MX_SIM_FIRST   the first of them (1000000)
set -euo pipefail
cd "${MX_ROOT:-$(dirname "$0")/../..}"

build=${MX_BUILD_ROOT:-build}/release
seeds=${MX_SIM_SEEDS:-100000}
first=${MX_SIM_FIRST:-1000000}
deadline=$((SECONDS + ${MX_NIGHTLY_SECONDS:-3600}))
cmake --preset release -B "$build" >/dev/null
cmake --build "$build" --target RuntimeNetTests RuntimeNetFaultTests >/dev/null
log=$(mktemp)
trap 'rm -f "$log"' EXIT
failed=0

"$build/test/unit/RuntimeNetFaultTests" >"$log" 2>&1 || failed=1
awk '/^caught by/ { n++ } /RUN.*IsFound/ { all++ } END { print n + 0 " of " all + 0 " planted mistakes found" }' "$log"

# Collectives, collective calls, compressed averages.
kinds=(Simulator.InvariantsHoldForAllSeeds ExchangeSim.InvariantsHoldForManySeeds
  EncodedSim.NothingIsLostForAnySeed)
slice=5000
run=0
succeeded=0
lost=0
spent=0
while ((run < seeds && SECONDS < deadline && failed == 0)); do
  count=$((seeds - run < slice ? seeds - run : slice))
  for kind in "${kinds[@]}"; do
    begun=$(date +%s%N)
    if ! MX_SIM_FIRST=$((first + run)) MX_SIM_SEEDS=$count \
      "$build/test/unit/RuntimeNetTests" --gtest_filter="$kind" >"$log" 2>&1; then
      failed=1
      grep -A4 -E 'Failure|FAILED' "$log" || tail -n 20 "$log"
    fi
    spent=$((spent + $(date +%s%N) - begun))
    read -r s f < <(awk '/ seeds: / { print $3, $6 }' "$log") || true
    succeeded=$((succeeded + ${s:-0}))
    lost=$((lost + ${f:-0}))
  done
  run=$((run + count))
done
echo "$run of $seeds seeds of each of ${#kinds[@]} kinds: $succeeded exchanges with the bits of the" \
  "reference, $lost ended by a named error; $((run * ${#kinds[@]} * 1000 / (spent / 1000000 + 1))) seeds/s"
exit $failed
