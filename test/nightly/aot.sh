#!/usr/bin/env bash
# Figures of code that is built ahead of time: bytes, memory, first result, calls.
set -euo pipefail
cd "${MX_ROOT:-$(dirname "$0")/../..}"

build=${MX_BUILD_ROOT:-build}/release
cmake --preset release -B "$build" >/dev/null
cmake --build "$build" --target mxc mxrt_core
mxc=$build/bin/mxc
export MX_STDLIB=$PWD/stdlib
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$mxc" run examples/aot/digits.mx -- out="$work/digits.safetensors"
"$mxc" run test/nightly/tiny.mx -- out="$work/tiny.safetensors"
"$mxc" build --obj examples/aot/digits.mx -o "$work/digits.o"
"$mxc" build --obj test/nightly/tiny.mx -o "$work/tiny.o"
core=$build/lib/libmxrt_core.a
cc -O2 -I"$work" examples/aot/main.c "$work/digits.o" "$core" -lm -o "$work/host"
cc -O2 -D_GNU_SOURCE -I"$work" test/nightly/aot_calls.c "$work/digits.o" "$work/tiny.o" "$core" -lm -o "$work/calls"
echo "a C program with LeNet in it, in bytes:"
size "$work/host"
ldd "$work/host"
"$work/calls" "$work/digits.safetensors" "$work/tiny.safetensors"
# Whole processes, one after the other.
python3 - "$work/host" "$work/digits.safetensors" <<'PYTHON'
import subprocess, sys, time
best = 1e9
for _ in range(50):
    begin = time.perf_counter()
    subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
    best = min(best, time.perf_counter() - begin)
print(f"lenet: a whole process takes {best * 1e3:.2f} ms")
PYTHON
