#!/usr/bin/env bash
# 10^5 generated programs, right and wrong ones, or as many as the time allows, on all cores: none may show a fault
# of mxc, crash or hang. Those that are accepted run as they are, eagerly and both ways. Prints the figures; a
# program that fails is cut down and printed. MX_PROGRAMS is their number, MX_PROGRAMS_SEED the first seed.
set -euo pipefail
cd "${MX_ROOT:-$(dirname "$0")/../..}"

mxc=${MX_BUILD_ROOT:-build}/release/bin/mxc
[[ -x $mxc ]] || exit 77
programs=${1:-${MX_PROGRAMS:-100000}}
# Other seeds than those of the tests, and others each day.
day=$(($(date +%s) / 86400))
first=${2:-${MX_PROGRAMS_SEED:-$((day * 1000000))}}
workers=$(nproc)
pids=()
for ((i = 0; i < workers; i++)); do
  python3 test/fuzz/programs/random_programs.py "$mxc" --first $((first + i * 500000)) --count $((programs / workers)) \
    --seconds "${MX_NIGHTLY_SECONDS:-7200}" &
  pids+=($!)
done
status=0
for pid in "${pids[@]}"; do wait "$pid" || status=1; done
exit "$status"
