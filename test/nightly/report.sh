#!/usr/bin/env bash
# Pages of `mxc report` and `mxc plan` in a headless browser: runs of 1 to 3,000 points, plans of 5 to 2,000 buffers, in a wide and a narrow window. Prints what was measured.
set -euo pipefail
cd "${MX_ROOT:-$(dirname "$0")/../..}"

browser=$(command -v chromium || command -v google-chrome) || exit 77
build=${MX_BUILD_ROOT:-build}/release
cmake --preset release -B "$build" >/dev/null
cmake --build "$build" --target mxc
export MX_STDLIB=$PWD/stdlib
exec /usr/bin/python3 test/nightly/report_page.py "$build/bin/mxc" "$browser"
