#!/usr/bin/env bash
# The long form of the tests of `@amp`: a dense net and one with convolutions on Fashion-MNIST, in f32, bf16 and f16. Each ends
# within 0.5 % of f32, and f16 starts with a scale that overflows. Prints the accuracies.
set -euo pipefail
cd "${MX_ROOT:-$(dirname "$0")/../..}"
[ -d /usr/share/datasets/fashion-mnist ] || exit 77

build=${MX_BUILD_ROOT:-build}/release
cmake --preset release -B "$build" >/dev/null
cmake --build "$build" --target mxc
export MX_STDLIB=$PWD/stdlib
"$build/bin/mxc" run examples/mixed_precision.mx -- epochs=4 | tee /dev/stderr | awk '
  function near(a, b) { return a - b <= 0.5 && b - a <= 0.5 }
  /^steps left out/ { recovered = $4 > 0 }
  /^mlp|^conv/ { good += $3 > 85 && near($5, $3) && near($7, $3) }
  END { exit !(recovered && good == 2) }'
