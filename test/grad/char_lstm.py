#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains the character LSTM of the design for 50 steps, in mx and in NumPy, and compares the losses.

Usage: char_lstm.py MXC PROGRAM [MXC OPTION…]

The program is taken as it is written; weights and text are numbers that both sides compute exactly.
The gradient on the NumPy side is written out by hand. Exits with 1 if a loss differs by more than
1e-3 of its size.
"""
import re
import subprocess
import sys
import tempfile

import numpy as np
from lstm_reference import adam, loss_and_gradients

MXC, PROGRAM, OPTIONS = sys.argv[1], sys.argv[2], sys.argv[3:]
STEPS, B, T = 50, 4, 33
V, E, H = 96, 32, 256
LR, CLIP = 0.002, 5.0
f32 = np.float32

DRIVER = f"""
fn weights(static n: i64, scale: f32) -> f32[n] {{
  (f32((iota(n) * 7919 + 13) % 1009) / 1009.0 - 0.5) * scale
}}
var rng = Rng(1)
var net = Net(mut rng)
net.emb.w = weights({V * E}, 0.5).reshape([{V}, {E}])
net.wx = weights({E * 4 * H}, 0.4).reshape([{E}, {4 * H}])
net.wh = weights({H * 4 * H}, 0.1).reshape([{H}, {4 * H}])
net.b = weights({4 * H}, 0.1)
net.out.w = weights({H * V}, 0.2).reshape([{H}, {V}])
net.out.b = weights({V}, 0.1)
var opt = optim.adam(net, lr={LR})
let positions = iota({B * T})
let text = ((positions * positions * 31 + positions * 17) % {V}).reshape([{B}, {T}])
for turn in 0..{STEPS} {{
  let l = step(mut net, mut opt, text)
  print(f"loss {{l:.9g}}")
}}
let ids = sample(net, mut rng, i32(3), 20)
print("drawn", ids.min() >= 0, ids.max() < {V})
"""


def weights(n, scale):
    return (((np.arange(n) * 7919 + 13) % 1009).astype(f32) / f32(1009) - f32(0.5)) * f32(scale)


def train():
    p = {"emb": weights(V * E, 0.5).reshape(V, E), "wx": weights(E * 4 * H, 0.4).reshape(E, 4 * H),
         "wh": weights(H * 4 * H, 0.1).reshape(H, 4 * H), "b": weights(4 * H, 0.1),
         "ow": weights(H * V, 0.2).reshape(H, V), "ob": weights(V, 0.1)}
    n = np.arange(B * T)
    text = ((n * n * 31 + n * 17) % V).reshape(B, T)
    moments = {}
    for step in range(1, STEPS + 1):
        loss, d = loss_and_gradients(p, text)
        yield float(loss)
        adam(p, d, moments, step, LR, CLIP)


with open(PROGRAM, encoding="utf-8") as file:
    program = file.read()
with tempfile.NamedTemporaryFile("w", suffix=".mx") as file:
    file.write(program + DRIVER)
    file.flush()
    done = subprocess.run([MXC, "run", *OPTIONS, file.name], capture_output=True, text=True)
if done.returncode:
    sys.exit(done.stderr[:3000])
got = [float(x) for x in re.findall(r"^loss (\S+)$", done.stdout, flags=re.M)]
want = list(train())
worst = max((abs(g - w) / w for g, w in zip(got, want)), default=1.0)
if len(got) != STEPS or not worst <= 1e-3 or "drawn true true" not in done.stdout:
    sys.exit(f"{len(got)} losses, worst difference {worst:.2e}\nmx    {got}\nnumpy {want}")
print(f"{STEPS} losses agree to {worst:.1e}: {got[0]:.4f} to {got[-1]:.4f}")
