#!/usr/bin/env bash
# The long form of test/data/char-lstm.test: four runs of four epochs over the licences that every Debian has, or over the text
# that MX_TEXT names, beside NumPy from the same start and from random numbers of its own. Prints the test losses.
set -euo pipefail
cd "${MX_ROOT:-$(dirname "$0")/../..}"

texts=()
if [[ -n ${MX_TEXT:-} ]]; then
  texts=("$MX_TEXT")
else
  for name in Apache-2.0 Artistic CC0-1.0 GFDL-1.2 GFDL-1.3 GPL-1 GPL-2 GPL-3 LGPL-2 LGPL-2.1 LGPL-3 MPL-1.1 MPL-2.0; do
    texts+=("/usr/share/common-licenses/$name")
  done
fi
for text in "${texts[@]}"; do [[ -f $text ]] || exit 77; done

build=${MX_BUILD_ROOT:-build}/release
cmake --preset release -B "$build" >/dev/null
cmake --build "$build" --target mxc
export MX_STDLIB=$PWD/stdlib
exec /usr/bin/python3 test/nightly/char_lstm_text.py --own --seeds 4 --epochs 4 "$build/bin/mxc" "${texts[@]}"
