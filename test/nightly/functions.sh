#!/usr/bin/env bash
# Functions of elements on every 61st of all floats of 32 bits, and on many millions of 64. Prints the largest
# distances from the exact values, in units of the last place.
set -euo pipefail
cd "${MX_ROOT:-$(dirname "$0")/../..}"

tests=${MX_BUILD_ROOT:-build}/release/test/unit/LoweringTests
[[ -x $tests ]] || exit 77
MX_SHOW_ULPS=1 MX_MATH_STEP=${MX_MATH_STEP:-61} MX_MATH_MANY=${MX_MATH_MANY:-10000000} \
  "$tests" --gtest_filter='Math.*:Power.*' --gtest_brief=1
