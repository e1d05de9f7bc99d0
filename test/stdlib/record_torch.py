#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Records what PyTorch computes for layers, losses and optimizers, for torch_values.py to compare with.

Usage: record_torch.py torch_values.safetensors

Needs PyTorch, which the tests do not. Numbers are computed in f64 from inputs that are f32. Names are
CASE/in/NAME for what a case is given and CASE/out/NAME for what PyTorch makes of it; `g.w` is the gradient of the
weight w, of the sum of the output times `r`.
"""
import json
import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
store = {}


def randn(*shape):
    """Numbers that f32 holds exactly."""
    return torch.randn(*shape).float().double()


def put(case, kind, values):
    for name, value in values.items():
        value = value.detach()
        store[f"{case}/{kind}/{name}"] = value.numpy().astype(np.int32 if value.dtype == torch.int64 else np.float32)


class Weight:
    """How weights of PyTorch make one of ours: a function of them, and one of their gradients."""

    def __init__(self, *params, value=lambda *p: p[0], slope=None):
        self.params, self.value, self.slope = params, value, slope or value


def T(p):
    return Weight(p, value=lambda w: w.T)


def layer(case, net, x, weights, forward=None, state=None, **more):
    for p in net.parameters():
        p.data = (p.data + 0.2 * torch.randn(p.shape)).float().double()
    if x.dtype != torch.int64:
        x.requires_grad_()
    weights = {k: w if isinstance(w, Weight) else Weight(w) for k, w in weights.items()}
    inputs = {f"m.{k}": w.value(*w.params) for k, w in weights.items()}
    inputs.update({f"m.{k}": v.clone() for k, v in (state or {}).items()})
    y = (forward or (lambda n, x: n(x)))(net, x)
    r = randn(*y.shape)
    (y * r).sum().backward()
    put(case, "in", {"x": x, "r": r, **inputs, **more})
    put(case, "out", {"y": y, **{f"g.{k}": w.slope(*(p.grad for p in w.params)) for k, w in weights.items()}})
    if x.dtype != torch.int64:
        put(case, "out", {"gx": x.grad})
    put(case, "out", {f"m.{k}": v for k, v in (state or {}).items()})


# ---- activations
for name, f in {"relu": F.relu, "relu6": F.relu6, "leaky_relu": F.leaky_relu, "elu": F.elu, "selu": F.selu,
                "gelu": lambda x: F.gelu(x, approximate="tanh"), "gelu_exact": F.gelu, "silu": F.silu, "softplus": F.softplus,
                "log_sigmoid": F.logsigmoid, "softsign": F.softsign, "mish": F.mish, "hard_sigmoid": F.hardsigmoid,
                "hard_swish": F.hardswish, "glu": F.glu, "softmax": lambda x: F.softmax(x, -1),
                "log_softmax": lambda x: F.log_softmax(x, -1)}.items():
    layer(f"nn.{name}", nn.Identity(), 3 * randn(4, 6), {}, lambda n, x, f=f: f(x))

# ---- layers
m = nn.Linear(4, 3)
layer("Dense", m, randn(2, 5, 4), {"w": T(m.weight), "b": m.bias})
m = nn.Embedding(7, 3)
layer("Embedding", m, torch.randint(7, (2, 5)), {"w": m.weight})
m = nn.Bilinear(4, 4, 3)
layer("Bilinear", m, randn(5, 4), {"w": m.weight, "b": m.bias}, lambda n, x: n(x, 2 * x))
m = nn.PReLU(3)
layer("PRelu", m, randn(2, 3, 4, 5), {"slope": m.weight})
for kind, shape in [(nn.Conv1d, (2, 4, 9)), (nn.Conv2d, (2, 4, 7, 6)), (nn.Conv3d, (1, 4, 5, 4, 5))]:
    for at, options in enumerate([{}, dict(stride=2, padding=1), dict(padding=2, dilation=2, groups=2)]):
        m = kind(4, 6, 3, **options)
        layer(f"{kind.__name__} {at}", m, randn(*shape), {"w": m.weight, "b": m.bias})
for kind, shape in [(nn.ConvTranspose1d, (2, 3, 5)), (nn.ConvTranspose2d, (2, 3, 4, 3)), (nn.ConvTranspose3d, (1, 3, 2, 3, 2))]:
    m = kind(3, 2, 4, stride=2, padding=1)
    layer(kind.__name__, m, randn(*shape), {"w": m.weight, "b": m.bias})
for name, f, shape in [("maxpool1d", F.max_pool1d, (2, 3, 9)), ("maxpool", F.max_pool2d, (2, 3, 7, 8)),
                       ("maxpool3d", F.max_pool3d, (1, 2, 5, 4, 6)), ("avgpool1d", F.avg_pool1d, (2, 3, 9)),
                       ("avgpool", F.avg_pool2d, (2, 3, 7, 8)), ("avgpool3d", F.avg_pool3d, (1, 2, 5, 4, 6))]:
    layer(f"nn.{name}", nn.Identity(), randn(*shape), {}, lambda n, x, f=f: f(x, 3, stride=2))

# ---- norms: of ordinary numbers, of large ones, and of zeros, which all are equal
for ending, scale in [("", 1.0), (" far", 1e4), (" zero", 0.0)]:
    m = nn.LayerNorm(6)
    layer("LayerNorm" + ending, m, scale * randn(2, 3, 6), {"g": m.weight, "b": m.bias})
    m = nn.RMSNorm(6, eps=1e-6)
    layer("RmsNorm" + ending, m, scale * randn(2, 3, 6), {"g": m.weight})
    m = nn.GroupNorm(2, 6)
    layer("GroupNorm" + ending, m, scale * randn(2, 6, 3, 4), {"g": m.weight, "b": m.bias})
    m = nn.InstanceNorm2d(3, affine=True)
    layer("InstanceNorm" + ending, m, scale * randn(2, 3, 4, 5), {"g": m.weight, "b": m.bias})
    for name, kind, shape in [("BatchNorm", nn.BatchNorm2d, (4, 3, 2, 5)), ("BatchNorm1d", nn.BatchNorm1d, (6, 3))]:
        m = kind(3)
        layer(name + ending, m, scale * randn(*shape), {"g": m.weight, "b": m.bias},
              state={"mean": m.running_mean, "var_": m.running_var})
        m.running_mean, m.running_var = randn(3), (1 + randn(3) ** 2).float().double()
        m.zero_grad()
        m.eval()
        layer(f"{name} later" + ending, m, scale * randn(*shape), {"g": m.weight, "b": m.bias},
              state={"mean": m.running_mean, "var_": m.running_var})


# ---- recurrent: the two biases of PyTorch are one of ours, and our forget gate has 1 more
def plain(p, suffix):
    b = Weight(p(f"bias_ih{suffix}"), p(f"bias_hh{suffix}"), value=lambda i, h: i + h, slope=lambda i, h: i)
    return {"wx": T(p(f"weight_ih{suffix}")), "wh": T(p(f"weight_hh{suffix}")), "b": b}


def lstm(p, suffix):
    def joined(i, h):
        b = i + h
        n = len(b) // 4
        return torch.cat([b[:n], b[n:2 * n] - 1, b[2 * n:]])
    return {**plain(p, suffix),
            "b": Weight(p(f"bias_ih{suffix}"), p(f"bias_hh{suffix}"), value=joined, slope=lambda i, h: i)}


def gru(p, suffix):
    return {"wx": T(p(f"weight_ih{suffix}")), "wh": T(p(f"weight_hh{suffix}")), "bx": p(f"bias_ih{suffix}"),
            "bh": p(f"bias_hh{suffix}")}


def under(path, weights):
    return {f"{path}.{k}": w for k, w in weights.items()}


for name, kind, weights, scale in [(n + ending, k, w, s) for ending, s in (("", 1), (" far", 300), (" zero", 0))
                                   for n, k, w in (("Rnn", nn.RNN, plain), ("Lstm", nn.LSTM, lstm), ("Gru", nn.GRU, gru))]:
    m = kind(3, 4, num_layers=2, batch_first=True)
    p = m.__getattr__
    layer(name, m, scale * randn(2, 5, 3), {**under("first", weights(p, "_l0")), **under("rest.0", weights(p, "_l1"))},
          lambda n, x: n(x)[0])
for name, kind, weights in [("BiLstm", nn.LSTM, lstm), ("BiGru", nn.GRU, gru)]:
    m = kind(3, 4, batch_first=True, bidirectional=True)
    p = m.__getattr__
    layer(name, m, randn(2, 5, 3), {**under("first.forward", weights(p, "_l0")),
                                    **under("first.backward", weights(p, "_l0_reverse"))}, lambda n, x: n(x)[0])

# ---- attention
m = nn.MultiheadAttention(6, 2, batch_first=True)
heads = {"qkv.w": T(m.in_proj_weight), "qkv.b": m.in_proj_bias, "proj.w": T(m.out_proj.weight), "proj.b": m.out_proj.bias}
later = torch.triu(torch.ones(5, 5, dtype=torch.bool), 1)
layer("MultiHead", m, randn(2, 5, 6), heads, lambda n, x: n(x, x, x, attn_mask=later, need_weights=False)[0])
m.zero_grad()
layer("MultiHead all", m, randn(2, 5, 6), heads, lambda n, x: n(x, x, x, need_weights=False)[0])


# ---- losses
def loss(case, f, **inputs):
    x = inputs["x"].requires_grad_()
    value = f(*inputs.values())
    value.backward()
    put(case, "in", inputs)
    put(case, "out", {"y": value, "gx": x.grad})


x, y, z = randn(6, 4), randn(6, 4), randn(6, 4)
labels, p = torch.randint(4, (6,)), F.softmax(randn(6, 4), -1).float().double()
side = torch.sign(randn(6))
for case, f, inputs in [
        ("xent", F.cross_entropy, dict(labels=labels)), ("xent_soft", F.cross_entropy, dict(p=p)),
        ("xent_smoothed", lambda x, l: F.cross_entropy(x, l, label_smoothing=0.2), dict(labels=labels)),
        ("mse", F.mse_loss, dict(y=y)), ("l1", F.l1_loss, dict(y=y)),
        ("bce", F.binary_cross_entropy_with_logits, dict(p=p)),
        ("kl", lambda x, p: F.kl_div(F.log_softmax(x, -1), p, reduction="batchmean"), dict(p=p)),
        ("huber", lambda x, y: F.huber_loss(x, y, delta=0.7), dict(y=y)),
        ("logistic", F.soft_margin_loss, dict(signs=torch.sign(z))),
        ("cosine", lambda x, y, s: F.cosine_embedding_loss(x, y, s, margin=0.2), dict(y=y, side=side)),
        ("poisson", F.poisson_nll_loss, dict(counts=torch.randint(5, (6, 4)).double()))]:
    loss(f"loss.{case}", f, x=x.clone(), **inputs)
words = torch.randint(1, 5, (3, 3))
lengths, counts = torch.tensor([7, 6, 7]), torch.tensor([3, 2, 1])
loss("loss.ctc", lambda x, w, l, c: F.ctc_loss(F.log_softmax(x, -1).transpose(0, 1), w, l, c, reduction="none").mean(),
     x=randn(3, 7, 5), words=words, lengths=lengths, counts=counts)

# ---- optimizers: the first three steps with given gradients; matrices decay, vectors do not
start = {"w": randn(3, 2), "b": randn(2)}
slopes = [{"w": randn(3, 2) * (torch.tril(torch.ones(3, 2)) if t == 2 else 1), "b": randn(2)} for t in range(3)]
for case, make in {
        "sgd": lambda p: torch.optim.SGD(p, 0.1, momentum=0.9),
        "nesterov": lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, nesterov=True),
        "adam": lambda p: torch.optim.Adam(p, 0.01),
        "adamw": lambda p: torch.optim.AdamW([{"params": p[:1], "weight_decay": 0.1}, {"params": p[1:], "weight_decay": 0}], 0.01),
        "adamax": lambda p: torch.optim.Adamax(p, 0.01), "nadam": lambda p: torch.optim.NAdam(p, 0.01),
        "adagrad": lambda p: torch.optim.Adagrad(p, 0.05), "rmsprop": lambda p: torch.optim.RMSprop(p, 0.01),
        "adadelta": lambda p: torch.optim.Adadelta(p, 0.5)}.items():
    params = {k: v.clone().requires_grad_() for k, v in start.items()}
    rule = make(list(params.values()))
    put(f"optim.{case}", "in", {f"m.{k}": v for k, v in start.items()})
    for t, slope in enumerate(slopes):
        for k, p in params.items():
            p.grad = slope[k].clone()
        rule.step()
        put(f"optim.{case}", "in", {f"{k}{t}": slope[k] for k in slope})
        put(f"optim.{case}", "out", {f"x{t}.{k}": p for k, p in params.items()})

header, data = {"__metadata__": {"made_by": f"record_torch.py with PyTorch {torch.__version__}"}}, b""
for name, value in store.items():
    value = np.asarray(value, order="C")
    header[name] = {"dtype": "I32" if value.dtype == np.int32 else "F32", "shape": list(value.shape),
                    "data_offsets": [len(data), len(data) + value.nbytes]}
    data += value.tobytes()
text = json.dumps(header, separators=(",", ":")).encode()
text += b" " * (-len(text) % 8)
with open(sys.argv[1], "wb") as file:
    file.write(len(text).to_bytes(8, "little") + text + data)
print(f"{len({n.split('/')[0] for n in store})} cases, {len(store)} tensors, {len(text) + len(data)} bytes")
