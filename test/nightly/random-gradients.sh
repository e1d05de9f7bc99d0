#!/usr/bin/env bash
# 10^5 random differentiable programs, or as many as the time allows, on all cores: the reverse pass, the
# forward pass and differences agree; one in a hundred is compiled as a graph too. Prints the figure, and the
# programs that disagree.
set -euo pipefail
cd "${MX_ROOT:-$(dirname "$0")/../..}"

mxc=${MX_BUILD_ROOT:-build}/release/bin/mxc
[[ -x $mxc ]] || exit 77
# Other seeds than those of the tests, and others each day.
day=$(($(date +%s) / 86400))
exec python3 test/grad/random_programs.py "$mxc" --first $((day * 1000000)) \
  --graphs 100 --count "${MX_RANDOM_GRADIENTS:-100000}" --workers "$(nproc)" --seconds "${MX_NIGHTLY_SECONDS:-3600}"
