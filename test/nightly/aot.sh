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
# The same beside it where there is PyTorch, and ONNX Runtime with the same models exported.
python3 - "$work" <<'PYTHON'
import sys, time
begin = time.perf_counter()
try:
    import torch
except ImportError:
    raise SystemExit("no PyTorch to compare with")
import resource, subprocess
from torch import nn
torch.set_num_threads(1)
lenet = nn.Sequential(nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(),
                      nn.MaxPool2d(2), nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(),
                      nn.Linear(84, 10)).eval()
tiny = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 8)).eval()
models = (("tiny mlp", tiny, torch.ones(1, 64)), ("lenet", lenet, torch.ones(1, 1, 28, 28)))
TIMED = """
def timed(call):
    best = 1e9
    for _ in range(20):
        begin = time.perf_counter()
        for _ in range(200):
            call()
        best = min(best, (time.perf_counter() - begin) / 200)
    return f"{best * 1e6:.1f} us a call"
"""
exec(TIMED)
with torch.inference_mode():
    lenet(torch.ones(1, 1, 28, 28)).argmax(1)
    first = time.perf_counter() - begin
    print(f"PyTorch {torch.__version__}: first result {first * 1e3:.0f} ms after Python's start, "
          f"resident {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss} KB")
    for name, net, x in models:
        print(f"PyTorch {torch.__version__}: {name} {timed(lambda: net(x))}")
try:
    for name, net, x in models:
        torch.onnx.export(net, x, f"{sys.argv[1]}/{name}.onnx")
except ImportError as missing:
    raise SystemExit(f"no models for ONNX Runtime: {missing}")
# In a process of its own, which has no PyTorch in it.
subprocess.run([sys.executable, "-c", TIMED + r"""
import sys, time
begin = time.perf_counter()
try:
    import onnxruntime, numpy
except ImportError:
    raise SystemExit("no ONNX Runtime to compare with")
import re
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
who = f"ONNX Runtime {onnxruntime.__version__}"
for name, shape in (("lenet", (1, 1, 28, 28)), ("tiny mlp", (1, 64))):
    session = onnxruntime.InferenceSession(f"{sys.argv[1]}/{name}.onnx", options, providers=["CPUExecutionProvider"])
    feed = {session.get_inputs()[0].name: numpy.ones(shape, numpy.float32)}
    session.run(None, feed)[0].argmax(1)
    if name == "lenet":
        first = time.perf_counter() - begin
        resident = re.search(r"VmHWM:\s+(\d+)", open("/proc/self/status").read()).group(1)
        print(f"{who}: first result {first * 1e3:.0f} ms after Python's start, resident {resident} KB")
    print(f"{who}: {name} {timed(lambda: session.run(None, feed))}")
""", sys.argv[1]], check=False)
PYTHON
