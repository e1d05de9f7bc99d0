#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every layer of nn against its definition in NumPy, eagerly and in a graph.

Usage: layers.py MXC
"""
import itertools
import math

import numpy as np

from reference import Cases

cases = Cases("import nn\nvar rng = Rng(7)")
erf = np.vectorize(math.erf)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def layer(name, made, x, expected, call="m(x)"):
    """A layer with weights that are moved away from their first values, so that biases count."""
    cases.add(name, f"""
var m = {made}
for p in leaves(mut m) {{ p += 0.2 * normal(p.shape) }}
let x = {x}
let y = {call}
let z = graph {{ {call} }}""", "m=m, x=x, y=y, z=z", lambda v: dict.fromkeys("yz", expected(v)))


# ---- activations
def activation(name, f, shape="[40]", options=""):
    cases.add(name, f"let x = 3.0 * normal({shape})\nlet y = nn.{name}(x{options})\nlet z = graph {{ nn.{name}(x{options}) }}",
              "x=x, y=y, z=z", lambda v: dict.fromkeys("yz", f(v["x"])))


for name, f in {
        "relu": lambda x: np.maximum(x, 0), "relu6": lambda x: np.clip(x, 0, 6),
        "leaky_relu": lambda x: np.where(x > 0, x, 0.01 * x), "elu": lambda x: np.where(x > 0, x, np.expm1(x)),
        "selu": lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x)),
        "gelu": lambda x: x * sigmoid(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)),
        "gelu_exact": lambda x: x * (1 + erf(x / math.sqrt(2))) / 2, "silu": lambda x: x * sigmoid(x),
        "softplus": lambda x: np.log(1 + np.exp(x)), "log_sigmoid": lambda x: -np.log(1 + np.exp(-x)),
        "softsign": lambda x: x / (1 + np.abs(x)), "mish": lambda x: x * np.tanh(np.log(1 + np.exp(x))),
        "hard_sigmoid": lambda x: np.clip(x / 6 + 0.5, 0, 1),
        "hard_swish": lambda x: x * np.clip(x / 6 + 0.5, 0, 1)}.items():
    activation(name, f)
activation("glu", lambda x: x[:, :4] * sigmoid(x[:, 4:]), "[5, 8]")
activation("softmax", softmax, "[5, 8]")
activation("log_softmax", lambda x: np.log(softmax(x)), "[5, 8]")
layer("PRelu", "nn.PRelu[3]()", "normal([2, 3, 4, 5])",
      lambda v: np.where(v["x"] > 0, v["x"], v["x"] * v["m.slope"][:, None, None]))

# ---- dense layers
layer("Dense", "nn.Dense[4, 3]()", "normal([2, 5, 4])", lambda v: v["x"] @ v["m.w"] + v["m.b"])
layer("Linear", "nn.Linear[4, 3]()", "normal([5, 4])", lambda v: v["x"] @ v["m.w"])
layer("Bilinear", "nn.Bilinear[4, 4, 3]()", "normal([5, 4])",
      lambda v: np.einsum("nd,hde,ne->nh", v["x"], v["m.w"], v["x"] * 2) + v["m.b"], "m(x, 2.0 * x)")
layer("Embedding", "nn.Embedding[7, 3]()", "randint([2, 5], high=7)", lambda v: v["m.w"][v["x"]])


# ---- convolutions and pooling
def conv(x, w, stride=1, pad=0, dilation=1, groups=1):
    spatial = x.ndim - 2
    x = np.pad(x, [(0, 0)] * 2 + [(pad, pad)] * spatial)
    sizes = [(n - dilation * (k - 1) - 1) // stride + 1 for n, k in zip(x.shape[2:], w.shape[2:])]
    y = np.zeros((x.shape[0], w.shape[0], *sizes))
    per, outs = w.shape[1], w.shape[0] // groups
    for at in itertools.product(*map(range, sizes)):
        window = tuple(slice(i * stride, i * stride + dilation * (k - 1) + 1, dilation)
                       for i, k in zip(at, w.shape[2:]))
        for o in range(w.shape[0]):
            g = o // outs
            part = x[(slice(None), slice(g * per, (g + 1) * per)) + window]
            y[(slice(None), o) + at] = (part * w[o]).reshape(len(x), -1).sum(1)
    return y


def channels(b, rank):
    return b.reshape((-1,) + (1,) * (rank - 2))


def conv_transpose(x, w, stride, pad):
    sizes = [(n - 1) * stride + k for n, k in zip(x.shape[2:], w.shape[2:])]
    y = np.zeros((x.shape[0], w.shape[1], *sizes))
    for at in itertools.product(*map(range, x.shape[2:])):
        window = tuple(slice(i * stride, i * stride + k) for i, k in zip(at, w.shape[2:]))
        y[(slice(None), slice(None)) + window] += np.einsum("bi,io...->bo...", x[(slice(None), slice(None)) + at], w)
    return y[(slice(None), slice(None)) + tuple(slice(pad, n - pad) for n in sizes)]


for name, dims, shape in [("Conv1d", 1, "[2, 4, 9]"), ("Conv", 2, "[2, 4, 7, 6]"), ("Conv3d", 3, "[1, 4, 5, 4, 5]")]:
    for options in [{}, dict(stride=2, pad=1), dict(pad=2, dilation=2, groups=2)]:
        text = ", ".join(f"{k}={v}" for k, v in options.items())
        layer(f"{name} {text}", f"nn.{name}[4, 6, 3]({text})", f"normal({shape})",
              lambda v, o=options: conv(v["x"], v["m.w"], **o) + channels(v["m.b"], v["x"].ndim))
for name, shape in [("ConvTranspose1d", "[2, 3, 5]"), ("ConvTranspose", "[2, 3, 4, 3]"), ("ConvTranspose3d", "[1, 3, 2, 3, 2]")]:
    for stride, pad in [(1, 0), (2, 1)]:
        layer(f"{name} {stride} {pad}", f"nn.{name}[3, 2, 4](stride={stride}, pad={pad})", f"normal({shape})",
              lambda v, s=stride, p=pad: conv_transpose(v["x"], v["m.w"], s, p) + channels(v["m.b"], v["x"].ndim))


def pool(x, f, fill, size, stride, pad):
    spatial = x.ndim - 2
    x = np.pad(x, [(0, 0)] * 2 + [(pad, pad)] * spatial, constant_values=fill)
    sizes = [(n - size) // stride + 1 for n in x.shape[2:]]
    y = np.zeros(x.shape[:2] + tuple(sizes))
    for at in itertools.product(*map(range, sizes)):
        window = tuple(slice(i * stride, i * stride + size) for i in at)
        y[(slice(None), slice(None)) + at] = f(x[(slice(None), slice(None)) + window], axis=tuple(range(2, 2 + spatial)))
    return y


for suffix, shape in [("1d", "[2, 3, 9]"), ("", "[2, 3, 7, 8]"), ("3d", "[1, 2, 5, 4, 6]")]:
    for size, stride, pad in [(2, 2, 0), (3, 2, 1), (3, 1, 0)]:
        for kind, f, fill in [("max", np.max, -np.inf), ("avg", np.mean, 0.0)]:
            activation(f"{kind}pool{suffix}", lambda x, a=(f, fill, size, stride, pad): pool(x, *a), shape,
                       f", {size}, stride={stride}, pad={pad}")
activation("global_avgpool", lambda x: x.mean((2, 3)), "[2, 3, 4, 5]")
activation("global_maxpool", lambda x: x.max((2, 3)), "[2, 3, 4, 5]")
activation("pixel_shuffle", lambda x: np.stack([[[[x[b, c * 4 + h % 2 * 2 + w % 2, h // 2, w // 2] for w in range(10)]
                                                  for h in range(8)] for c in range(2)] for b in range(2)]), "[2, 8, 4, 5]", ", 2")
activation("upsample", lambda x: x.repeat(3, 2).repeat(3, 3), "[2, 2, 3, 2]", ", 3")
activation("reflection_pad", lambda x: np.pad(x, [(0, 0), (0, 0), (2, 2), (2, 2)], mode="reflect"), "[2, 2, 3, 4]", ", 2")
activation("zero_pad", lambda x: np.pad(x, [(0, 0), (0, 0), (1, 1), (1, 1)]), "[2, 2, 3, 4]", ", 1")


# ---- normalisations
def standard(x, axes, eps=1e-5):
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)


def scaled(v, x):
    return x * channels(v["m.g"], x.ndim) + channels(v["m.b"], x.ndim)


layer("LayerNorm", "nn.LayerNorm[6]()", "2.0 + 3.0 * normal([2, 4, 6])",
      lambda v: standard(v["x"], -1) * v["m.g"] + v["m.b"])
layer("RmsNorm", "nn.RmsNorm[6]()", "2.0 + 3.0 * normal([2, 4, 6])",
      lambda v: v["x"] / np.sqrt((v["x"] ** 2).mean(-1, keepdims=True) + 1e-6) * v["m.g"])
layer("GroupNorm", "nn.GroupNorm[6](groups=3)", "2.0 + 3.0 * normal([2, 6, 3, 4])",
      lambda v: scaled(v, standard(v["x"].reshape(2, 3, 2, 3, 4), (2, 3, 4)).reshape(2, 6, 3, 4)))
layer("InstanceNorm", "nn.InstanceNorm[6]()", "2.0 + 3.0 * normal([2, 6, 3, 4])",
      lambda v: scaled(v, standard(v["x"], (2, 3))))
for name, shape, axes in [("BatchNorm", "[3, 4, 3, 2]", (0, 2, 3)), ("BatchNorm1d", "[6, 4]", 0)]:
    def expected(v, axes=axes):
        x, a, e = v["x"], v["after.mean"], v["after.var_"]
        at = (x - channels(a, x.ndim)) / np.sqrt(channels(e, x.ndim) + 1e-5)
        shift = x.mean(axes)
        return {"y": scaled(v, standard(x, axes)), "z": scaled(v, standard(x, axes)),
                "eval": scaled(v, at), "after.mean": 0.9 * v["m.mean"] + 0.1 * shift,
                "after.var_": 0.9 * v["m.var_"] + 0.1 * x.var(axes, ddof=1)}
    cases.add(name, f"""
var m = nn.{name}[4]()
for p in leaves(mut m) {{ p += 0.2 * normal(p.shape) }}
m.mean = normal([4])
let x = 2.0 + 3.0 * normal({shape})
var (after, third) = (m, m)
let y = after(x, true)
let z = graph {{ third(x, true) }}
let eval = after(x, false)""", "m=m, after=after, x=x, y=y, z=z, eval=eval", expected)
layer("ConvNorm", "nn.ConvNorm[2, 4, 3](stride=2, pad=1)", "normal([2, 2, 5, 6])",
      lambda v: standard(conv(v["x"], v["m.w"], 2, 1), (0, 2, 3)) * channels(v["m.bn.g"], 4) + channels(v["m.bn.b"], 4),
      "m(x, true)")


# ---- recurrent layers
def rnn_cell(v, at):
    return lambda x, s: (np.tanh(x @ v[at + ".wx"] + s[0] @ v[at + ".wh"] + v[at + ".b"]),)


def lstm_cell(v, at):
    def step(x, s):
        i, f, g, o = np.split(x @ v[at + ".wx"] + s[0] @ v[at + ".wh"] + v[at + ".b"], 4, axis=1)
        c = sigmoid(f + 1) * s[1] + sigmoid(i) * np.tanh(g)
        return sigmoid(o) * np.tanh(c), c
    return step


def gru_cell(v, at):
    def step(x, s):
        r, u, n = np.split(x @ v[at + ".wx"] + v[at + ".bx"], 3, axis=1)
        hr, hu, hn = np.split(s[0] @ v[at + ".wh"] + v[at + ".bh"], 3, axis=1)
        keep = sigmoid(u + hu)
        return ((1 - keep) * np.tanh(n + sigmoid(r + hr) * hn) + keep * s[0],)
    return step


def over(cell, x, hidden, states, reverse=False):
    s, out = tuple(np.zeros((x.shape[0], hidden)) for _ in range(states)), [None] * x.shape[1]
    for t in (reversed(range(x.shape[1])) if reverse else range(x.shape[1])):
        s = cell(x[:, t], s)
        out[t] = s[0]
    return np.stack(out, 1)


def stacked(v, cell, states, depth, both=False):
    y = v["x"]
    for at in ["m.first"] + [f"m.rest.{i}" for i in range(depth - 1)]:
        if both:
            y = np.concatenate([over(cell(v, at + ".forward"), y, 3, states),
                                over(cell(v, at + ".backward"), y, 3, states, reverse=True)], 2)
        else:
            y = over(cell(v, at), y, 3, states)
    return y


for name, cell, states in [("Rnn", rnn_cell, 1), ("Lstm", lstm_cell, 2), ("Gru", gru_cell, 1)]:
    for depth in (1, 3):
        layer(f"{name} {depth}", f"nn.{name}[4, 3](depth={depth})", "normal([2, 5, 4])",
              lambda v, a=(cell, states, depth): stacked(v, *a))
for name, cell, states in [("BiLstm", lstm_cell, 2), ("BiGru", gru_cell, 1)]:
    for depth in (1, 2):
        layer(f"{name} {depth}", f"nn.{name}[4, 3](depth={depth})", "normal([2, 5, 4])",
              lambda v, a=(cell, states, depth): stacked(v, *a, both=True))
layer("RnnCell", "nn.RnnCell[4, 3]()", "normal([2, 4])", lambda v: rnn_cell({**v}, "m")(v["x"], (v["x"][:, :3],))[0], "m(x, x[:, :3])")
layer("GruCell", "nn.GruCell[4, 3]()", "normal([2, 4])", lambda v: gru_cell({**v}, "m")(v["x"], (v["x"][:, :3],))[0], "m(x, x[:, :3])")
layer("LstmCell", "nn.LstmCell[4, 3]()", "normal([2, 4])",
      lambda v: lstm_cell({**v}, "m")(v["x"], (v["x"][:, :3], v["x"][:, 1:]))[1], "m(x, x[:, :3], x[:, 1:])[1]")


# ---- attention
def attention(q, k, v, causal=False, mask=None):
    s = q @ np.swapaxes(k, -1, -2) / math.sqrt(q.shape[-1])
    if causal:
        rows, columns = s.shape[-2:]
        mask = np.arange(columns)[None] <= np.arange(rows)[:, None] + columns - rows
    if mask is not None:
        s = np.where(mask, s, -1e30)
    return softmax(s) @ v


def heads(x, n):
    return x.reshape(x.shape[0], x.shape[1], n, -1).transpose(0, 2, 1, 3)


def joined(x):
    return x.transpose(0, 2, 1, 3).reshape(x.shape[0], x.shape[2], -1)


def dense(v, at, x):
    return x @ v[at + ".w"] + v.get(at + ".b", 0.0)


def multi_head(v, at, x, causal=True, mask=None, n=2):
    q, k, u = (heads(p, n) for p in np.split(dense(v, at + ".qkv", x), 3, axis=-1))
    return dense(v, at + ".proj", joined(attention(q, k, u, causal and mask is None, mask)))


def cross(v, at, x, memory, n=2):
    k, u = (heads(p, n) for p in np.split(dense(v, at + ".kv", memory), 2, axis=-1))
    return dense(v, at + ".proj", joined(attention(heads(dense(v, at + ".q", x), n), k, u)))


def rotary(x, start=0):
    pairs = x.shape[-1] // 2
    angle = np.outer(np.arange(x.shape[-2]) + start, 10000.0 ** (-np.arange(pairs) / pairs))
    turned = (x[..., :pairs] + 1j * x[..., pairs:]) * np.exp(1j * angle)
    return np.concatenate([turned.real, turned.imag], -1)


def grouped(v, at, x, n=4, groups=2):
    q = rotary(heads(dense(v, at + ".q", x), n))
    k, u = rotary(heads(dense(v, at + ".k", x), groups)), heads(dense(v, at + ".v", x), groups)
    k, u = k.repeat(n // groups, 1), u.repeat(n // groups, 1)
    return dense(v, at + ".proj", joined(attention(q, k, u, causal=True)))


X = "normal([2, 5, 8])"
activation("attention", lambda x: attention(x, x[:, :, :4], x[:, :, 1:5] * 2), "[2, 3, 5, 4]", "[:, :, :], x[:, :, :4], 2.0 * x[:, :, 1:5]")
activation("attention", lambda x: attention(x[:, :, 3:], x, x, causal=True), "[2, 3, 5, 4]", "[:, :, 3:], x, x, causal=true")
activation("rotary", rotary, "[2, 3, 5, 4]")
activation("rotary", lambda x: rotary(x, 7), "[2, 3, 5, 4]", ", start=7")
layer("MultiHead", "nn.MultiHead[8, 2]()", X, lambda v: multi_head(v, "m", v["x"]))
layer("MultiHead, all", "nn.MultiHead[8, 2]()", X, lambda v: multi_head(v, "m", v["x"], causal=False), "m(x, causal=false)")
layer("MultiHead, masked", "nn.MultiHead[8, 2]()", X,
      lambda v: multi_head(v, "m", v["x"], mask=np.triu(np.ones((5, 5), bool))), "m.masked(x, triu([5, 5]))")
layer("CrossAttention", "nn.CrossAttention[8, 2]()", X, lambda v: cross(v, "m", v["x"], v["x"][:, :3] * 2), "m(x, 2.0 * x[:, :3])")
layer("GroupedAttention", "nn.GroupedAttention[8, 4, 2]()", X, lambda v: grouped(v, "m", v["x"]))
cases.add("KvCache", """
let m = nn.GroupedAttention[8, 4, 2]()
let x = normal([2, 5, 8])
var cache = nn.KvCache[2, 2, 9, 2]()
let a = m.decode(x[:, :2], mut cache)
let b = m.decode(x[:, 2:3], mut cache)
let c = m.decode(x[:, 3:5], mut cache)
let y = concat(a, b, c, axis=1)""", "m=m, x=x, y=y", lambda v: {"y": grouped(v, "m", v["x"])})


# ---- blocks
def norm(v, at, x):
    return standard(x, -1) * v[at + ".g"] + v[at + ".b"]


def rms(v, at, x):
    return x / np.sqrt((x ** 2).mean(-1, keepdims=True) + 1e-6) * v[at + ".g"]


def gelu(x):
    return x * sigmoid(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3))


def block(v, x):
    x = x + multi_head(v, "m.att", norm(v, "m.ln1", x))
    return x + dense(v, "m.down", gelu(dense(v, "m.up", norm(v, "m.ln2", x))))


def encoder(v, x):
    x = norm(v, "m.ln1", x + multi_head(v, "m.att", x, causal=False))
    return norm(v, "m.ln2", x + dense(v, "m.down", gelu(dense(v, "m.up", x))))


def decoder(v, x):
    memory = 2 * x[:, :3]
    x = norm(v, "m.ln1", x + multi_head(v, "m.att", x))
    x = norm(v, "m.ln2", x + cross(v, "m.cross", x, memory))
    return norm(v, "m.ln3", x + dense(v, "m.down", gelu(dense(v, "m.up", x))))


def swiglu(v, at, x):
    gate = dense(v, at + ".gate", x)
    return dense(v, at + ".down", gate * sigmoid(gate) * dense(v, at + ".up", x))


def grouped_block(v, x):
    x = x + grouped(v, "m.att", rms(v, "m.n1", x))
    return x + swiglu(v, "m.ff", rms(v, "m.n2", x))


def experts(v, x):
    z = dense(v, "m.gate", x)
    z = np.where(z >= np.sort(z, -1)[:, -2:-1], z, -np.inf)
    return sum(softmax(z)[:, i:i + 1] * swiglu(v, f"m.each.{i}", x) for i in range(4))


layer("Block", "nn.Block[8, 2]()", X, lambda v: block(v, v["x"]))
layer("EncoderBlock", "nn.EncoderBlock[8, 2, 12]()", X, lambda v: encoder(v, v["x"]))
layer("DecoderBlock", "nn.DecoderBlock[8, 2, 12]()", X, lambda v: decoder(v, v["x"]), "m(x, 2.0 * x[:, :3])")
layer("SwiGlu", "nn.SwiGlu[8, 12]()", X, lambda v: swiglu(v, "m", v["x"]))
layer("GroupedBlock", "nn.GroupedBlock[8, 4, 2, 12]()", X, lambda v: grouped_block(v, v["x"]))
layer("Experts", "nn.Experts[8, 12](experts=4)", "normal([5, 8])", lambda v: experts(v, v["x"]))

cases.run()
