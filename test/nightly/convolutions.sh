#!/usr/bin/env bash
# Every recorded case of a convolution (test/conv), values and gradients, in graphs on one and two threads, op by op, under guard
# and for CPUs with shorter vectors; then random graphs with convolutions, guarded too. Prints how many differ.
set -euo pipefail
cd "${MX_ROOT:-$(dirname "$0")/../..}"

mxc=${MX_BUILD_ROOT:-build}/release/bin/mxc
[[ -x $mxc ]] || exit 77
workers=$(nproc)
cases=4400
share=$(((cases + workers - 1) / workers))
day=$(($(date +%s) / 86400))
pids=()
for ((i = 0; i < workers; i++)); do
  (
    python3 test/conv/sweep.py "$mxc" test/conv/torch_values.npz --first $((i * share)) --count "$share" \
      --mode graph --mode "two threads" --mode eager --mode guarded --mode avx2 --seconds "${MX_NIGHTLY_SECONDS:-3600}"
    python3 test/random/random_graphs.py "$mxc" --convolutions --first $((day * 1000000 + i * 200000)) --guarded --rotate 1 \
      --count "${MX_RANDOM_CONVOLUTIONS:-2000}" --seconds "${MX_NIGHTLY_SECONDS:-3600}"
  ) &
  pids+=($!)
done
status=0
for pid in "${pids[@]}"; do wait "$pid" || status=1; done
exit "$status"
