#!/usr/bin/env bash
# Sessions of libmxc made, used to compile, and ended: memory must stay flat. CI does the same with
# some hundred. Prints the figures.
#
# MX_EMBED_CYCLES  how many sessions (10000)
set -euo pipefail
cd "${MX_ROOT:-$(dirname "$0")/../..}"

build=${MX_BUILD_ROOT:-build}/release
cmake --preset release -B "$build" >/dev/null
cmake --build "$build" --target EmbedTests
export MX_EMBED_CYCLES=${MX_EMBED_CYCLES:-10000}
"$build/test/unit/EmbedTests" --gtest_filter='Sessions.MemoryIsFlat'
