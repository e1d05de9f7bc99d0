#!/usr/bin/env bash
# 10^5 random graphs, or as many as the time allows, on all cores: each as a graph, eagerly, and in one of the
# other modes in turn (MX_RANDOM_MODES of them). Prints the figures; a graph that fails is cut down and printed.
set -euo pipefail
cd "${MX_ROOT:-$(dirname "$0")/../..}"

mxc=${MX_BUILD_ROOT:-build}/release/bin/mxc
[[ -x $mxc ]] || exit 77
graphs=${MX_RANDOM_GRAPHS:-100000}
workers=$(nproc)
# Other seeds than those of the tests, and others each day.
day=$(($(date +%s) / 86400))
first=$((day * 1000000))
pids=()
for ((i = 0; i < workers; i++)); do
  python3 test/random/random_graphs.py "$mxc" --first $((first + i * 200000)) --count $((graphs / workers)) --guarded --batch 100 \
    --rotate "${MX_RANDOM_MODES:-1}" --seconds "${MX_NIGHTLY_SECONDS:-3600}" &
  pids+=($!)
done
status=0
for pid in "${pids[@]}"; do wait "$pid" || status=1; done
exit "$status"
