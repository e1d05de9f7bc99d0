#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layers, losses and optimizers against what PyTorch gave when record_torch.py ran, values and gradients, eagerly and
in a graph.

Usage: torch_values.py MXC
"""
import os
import sys

import numpy as np

from reference import Cases, read

RECORD = read(os.path.join(os.path.dirname(os.path.abspath(__file__)), "torch_values.safetensors"))
cases = Cases("""
import loss, nn, optim
from nn import log_softmax
type Net = nn.Dense[3, 2]
fn slope(m: Net, w: f32[3, 2], b: f32[2]) -> Net.grad {
  let (_, g) = grad(m) { (m.w * w).sum() + (m.b * b).sum() }
  g
}""")
left = {name.split("/")[0] for name in RECORD}


def taken(case):
    """What a case was given and what it gave, by name."""
    left.discard(case)
    return ({n.split("/", 2)[2]: v for n, v in RECORD.items() if n.startswith(f"{case}/{kind}/")} for kind in ("in", "out"))


def held(inputs):
    """Variables of the shapes of inputs, filled from the file."""
    names = [n for n in inputs if "." not in n]
    lines = [f"var {n} = zeros({list(inputs[n].shape)}{', dtype=i32' if inputs[n].dtype.kind == 'i' else ''})"
             for n in names]
    return lines, names


def compared(case, code, kept, outs, inputs):
    """Op by op `y` and `g`, in a graph `z` and `h`."""
    twin = {"y": "z", "g": "h", "gx": "hx"}

    def expected(v):
        wanted = dict(outs)
        for name, value in outs.items():
            head, dot, rest = name.partition(".")
            if head in twin:
                wanted[twin[head] + dot + rest] = value
        return wanted
    cases.add(case, code, kept, expected, inputs=inputs)


def layer(case, made, call="m(x)", **fields):
    """`fields` are those of the layer that PyTorch holds elsewhere."""
    inputs, outs = taken(case)
    inputs = {**{f"m.{k}": np.array(v, np.float32) for k, v in fields.items()}, **inputs}
    lines, names = held(inputs)
    floats = "gx" in outs
    weighted = any(n.startswith("g.") for n in outs)
    by = ["m"] * weighted + ["x"] * floats
    # A layer that changes its state says so where it is called.
    lines += [f"var m = {made}"] * weighted
    lines.append(f"restore(given, {', '.join('mut ' + n for n in ['m'] * weighted + names)})")
    lines.append(f"let y = {call}")
    state = {k[2:]: v for k, v in outs.items() if k.startswith("m.")}
    lines += ["let after = m"] * bool(state)
    parts = ["g"] * weighted + ["gx"] * floats
    twins = ["h"] * weighted + ["hx"] * floats
    pattern = {True: "({})", False: "{}"}[len(parts) > 1]
    lines.append(f"let (_, {pattern.format(', '.join(parts))}) = grad({', '.join(by)}) {{ ({call} * r).sum() }}")
    lines.append(f"let z = graph {{ {call} }}")
    lines.append(f"let (_, {pattern.format(', '.join(twins))}) = graph {{ grad({', '.join(by)}) {{ ({call} * r).sum() }} }}")
    kept = ", ".join(f"{n}={n}" for n in ["y", "z"] + parts + twins + ["after"] * bool(state))
    outs = {**{k: v for k, v in outs.items() if not k.startswith("m.")}, **{f"after.{k}": v for k, v in state.items()}}
    compared(case, "\n".join(lines), kept, outs, inputs)


def lossy(case, call):
    inputs, outs = taken(case)
    lines, names = held(inputs)
    lines.append(f"restore(given, {', '.join('mut ' + n for n in names)})")
    lines.append(f"let (u, gx) = grad(x) {{ {call} }}\nlet (v, hx) = graph {{ grad(x) {{ {call} }} }}")
    compared(case, "\n".join(lines), "y=u, gx=gx, z=v, hx=hx", outs, inputs)


def optimizer(case, made):
    inputs, outs = taken(case)
    lines, names = held(inputs)
    lines.append(f"var m = Net()\nrestore(given, mut m, {', '.join('mut ' + n for n in names)})")
    lines.append(f"var (n, o, q) = (m, optim.{made}, optim.{made})")
    for t in range(3):
        lines.append(f"o.step(mut m, slope(m, w{t}, b{t}))\ngraph {{ q.step(mut n, slope(n, w{t}, b{t})) }}")
        lines.append(f"let (x{t}, y{t}) = (m, n)")
    wanted = {**outs, **{"y" + k[1:]: v for k, v in outs.items()}}
    cases.add(case, "\n".join(lines), "x0=x0, x1=x1, x2=x2, y0=y0, y1=y1, y2=y2", lambda v: wanted, inputs=inputs)


for name in ["relu", "relu6", "leaky_relu", "elu", "selu", "gelu", "gelu_exact", "silu", "softplus", "log_sigmoid", "softsign",
             "mish", "hard_sigmoid", "hard_swish", "glu", "softmax", "log_softmax"]:
    layer(f"nn.{name}", "", f"nn.{name}(x)")
layer("Dense", "nn.Dense[4, 3]()")
layer("Embedding", "nn.Embedding[7, 3]()")
layer("Bilinear", "nn.Bilinear[4, 4, 3]()", "m(x, 2.0 * x)")
layer("PRelu", "nn.PRelu[3]()")
for theirs, ours in [("Conv1d", "Conv1d"), ("Conv2d", "Conv"), ("Conv3d", "Conv3d")]:
    for at, options in enumerate(["", "stride=2, pad=1", "pad=2, dilation=2, groups=2"]):
        layer(f"{theirs} {at}", f"nn.{ours}[4, 6, 3]({options})")
for theirs, ours in [("1d", "1d"), ("2d", ""), ("3d", "3d")]:
    layer(f"ConvTranspose{theirs}", f"nn.ConvTranspose{ours}[3, 2, 4](stride=2, pad=1)")
for name in ["maxpool1d", "maxpool", "maxpool3d", "avgpool1d", "avgpool", "avgpool3d"]:
    layer(f"nn.{name}", "", f"nn.{name}(x, 3, stride=2)")
for ending in ["", " far", " zero"]:
    layer("LayerNorm" + ending, "nn.LayerNorm[6]()", eps=1e-5)
    layer("RmsNorm" + ending, "nn.RmsNorm[6]()", eps=1e-6)
    layer("GroupNorm" + ending, "nn.GroupNorm[6](groups=2)", eps=1e-5)
    layer("InstanceNorm" + ending, "nn.InstanceNorm[3]()", eps=1e-5)
    for name in ["BatchNorm", "BatchNorm1d"]:
        layer(name + ending, f"nn.{name}[3]()", "m(x, true)", eps=1e-5, momentum=0.9)
        layer(f"{name} later" + ending, f"nn.{name}[3]()", "m(x, false)", eps=1e-5, momentum=0.9)
    for name in ["Rnn", "Lstm", "Gru"]:
        layer(name + ending, f"nn.{name}[3, 4](depth=2)")
for name in ["BiLstm", "BiGru"]:
    layer(name, f"nn.{name}[3, 4]()")
layer("MultiHead", "nn.MultiHead[6, 2]()")
layer("MultiHead all", "nn.MultiHead[6, 2]()", "m(x, causal=false)")

for call in ["xent(x, labels)", "xent_soft(x, p)", "xent_smoothed(x, labels, smoothing=0.2)", "mse(x, y)", "l1(x, y)", "bce(x, p)",
             "kl(log_softmax(x), p)", "huber(x, y, delta=0.7)", "logistic(x, signs)", "cosine(x, y, side, margin=0.2)",
             "poisson(x, counts)", "ctc(x, words, lengths, counts)"]:
    lossy("loss." + call.split("(")[0], "loss." + call)

for made in ["sgd(m, lr=0.1, momentum=0.9)", "nesterov(m, lr=0.1, momentum=0.9)", "adam(m, lr=0.01)",
             "adamw(m, lr=0.01, decay=0.1)", "adamax(m, lr=0.01)", "nadam(m, lr=0.01)", "adagrad(m, lr=0.05)",
             "rmsprop(m, lr=0.01)", "adadelta(m, lr=0.5)"]:
    optimizer("optim." + made.split("(")[0], made)
if left:
    sys.exit(f"recorded and not compared: {sorted(left)}")
cases.run()
