#!/usr/bin/env bash
# Memory as planned: over all programs of the repository, and in a process of a gigabyte. Prints the figures.
set -euo pipefail
cd "${MX_ROOT:-$(dirname "$0")/../..}"

mxc=$PWD/${MX_BUILD_ROOT:-build}/release/bin/mxc
[[ -x $mxc ]] || exit 77
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 test/Memory/Inputs/planned_bytes.py "$mxc" "$PWD" "$folder/cache" \
  test/run test/run/Inputs test/data test/grad test/programs/Inputs test/stdlib test/sema test/errors/design
python3 test/Memory/Inputs/resident.py "$mxc" "$folder/cache" 150000
