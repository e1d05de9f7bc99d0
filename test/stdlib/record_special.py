#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Records what PyTorch gives at special values: zeros of both signs, subnormal, small and large numbers, infinities and
NaN, for every function that has a gradient, with its gradients. special_values.py compares with mx and needs no PyTorch.

Usage: record_special.py FILE.npz

For each case and element type the file holds inputs `x` (and `y`), the values `v` and gradients `gx` (`gy`) in that type,
and the same computed in f64 from the same inputs, `v64`, `gx64` (`gy64`).
"""
import sys

import numpy as np
import torch
import torch.nn.functional as F

TYPES = {"f32": torch.float32, "f64": torch.float64, "f16": torch.float16}
INF, NAN = float("inf"), float("nan")
# Magnitudes, then what only wide types hold. 88 and 89 are on both sides of the range of exp in f32, 10 to 17 in f16.
COMMON = [0.0, 6e-8, 1e-4, 0.01, 0.3, 0.5, 1.0, 1.5, 2.0, 3.0, 6.0, 8.0, 10.0, 13.0, 17.0, 20.0, 50.0, 88.0, 89.0, 104.0, 1e4]
WIDER = {"f16": [6e4], "f32": [1e-45, 1e-38, 1e-30, 1e-10, 1e9, 1e19, 1e38, 3e38],
         "f64": [5e-324, 1e-308, 1e-45, 1e-10, 1e9, 1e19, 1e38, 700.0, 709.5, 745.0, 1e155, 1e308]}
FEW = {"f16": [0.0, 1.0, 2.0, 0.5, 300.0], "f32": [0.0, 1.0, 2.0, 0.5, 1e-45, 1e-30, 1e25, 3e38],
       "f64": [0.0, 1.0, 2.0, 0.5, 5e-324, 1e-200, 1e200, 1.7e308]}


def unary_inputs(kind):
    values = sorted(set(COMMON + WIDER[kind]))
    return values + [-v for v in values] + [INF, -INF, NAN]


def pair_inputs(kind):
    values = [w for v in FEW[kind] for w in (v, -v)] + [INF, -INF, NAN]
    return [a for a in values for _ in values], [b for _ in values for b in values]


# Name of the case: what PyTorch computes. The name is what mx computes, of x.
pi = float(np.pi)
UNARY = {
    "exp(x)": torch.exp, "log(x)": torch.log, "log1p(x)": torch.log1p, "expm1(x)": torch.expm1, "sqrt(x)": torch.sqrt,
    "rsqrt(x)": torch.rsqrt, "sin(x)": torch.sin, "cos(x)": torch.cos, "tan(x)": torch.tan, "tanh(x)": torch.tanh,
    "erf(x)": torch.erf, "abs(x)": torch.abs, "-x": torch.neg, "1.0 / x": torch.reciprocal, "x * x": lambda x: x * x,
    "x ** 2": lambda x: x ** 2, "x ** 3": lambda x: x ** 3, "x ** 0.5": lambda x: x ** 0.5, "x ** -1.0": lambda x: x ** -1.0,
    "x ** 0.0": lambda x: x ** 0.0, "floor(x)": torch.floor, "sign(x)": torch.sign, "round(x)": torch.round,
    "maximum(x, 0.0)": lambda x: torch.maximum(x, torch.zeros_like(x)),
    "minimum(1.0, x)": lambda x: torch.minimum(torch.ones_like(x), x),
    "select(x > 0.0, x, 0.0)": lambda x: torch.where(x > 0, x, 0.0), "sigmoid(x)": torch.sigmoid,
    "clamp(x, -1.0, 1.0)": lambda x: torch.clamp(x, -1, 1), "square(x)": torch.square,
    "math.sinh(x)": torch.sinh, "math.cosh(x)": torch.cosh, "math.asinh(x)": torch.asinh, "math.acosh(x)": torch.acosh,
    "math.atanh(x)": torch.atanh, "math.asin(x)": torch.asin, "math.acos(x)": torch.acos, "math.atan(x)": torch.atan,
    "math.log2(x)": torch.log2, "math.log10(x)": torch.log10, "math.exp2(x)": torch.exp2,
    "math.sinc(x)": lambda x: torch.sinc(x / pi), "math.normal_share(x)": torch.special.ndtr,
    "math.normal_density(x)": lambda x: torch.exp(-0.5 * x * x) * 0.3989422804014327,
    "math.radians(x)": torch.deg2rad, "math.degrees(x)": torch.rad2deg,
    "nn.relu(x)": F.relu, "nn.relu6(x)": F.relu6, "nn.leaky_relu(x)": F.leaky_relu, "nn.elu(x)": F.elu, "nn.selu(x)": F.selu,
    "nn.gelu(x)": lambda x: F.gelu(x, approximate="tanh"), "nn.gelu_exact(x)": F.gelu, "nn.silu(x)": F.silu,
    "nn.softplus(x)": F.softplus, "nn.log_sigmoid(x)": F.logsigmoid, "nn.softsign(x)": F.softsign, "nn.mish(x)": F.mish,
    "nn.hard_sigmoid(x)": F.hardsigmoid, "nn.hard_swish(x)": F.hardswish}
BINARY = {
    "x + y": torch.add, "x - y": torch.sub, "x * y": torch.mul, "x / y": torch.div, "x % y": torch.remainder,
    "x ** y": torch.pow, "maximum(x, y)": torch.maximum, "minimum(x, y)": torch.minimum, "atan2(x, y)": torch.atan2,
    "select(x > y, x, y)": lambda x, y: torch.where(x > y, x, y),
    "math.hypot(x, y)": torch.hypot, "math.logaddexp(x, y)": torch.logaddexp}
# Of one pair each: losses of one element.
PAIRS = {
    "loss.mse": F.mse_loss, "loss.l1": F.l1_loss, "loss.l2": lambda x, y, reduction: 0.5 * F.mse_loss(x, y, reduction=reduction),
    "loss.huber": F.huber_loss, "loss.bce": F.binary_cross_entropy_with_logits, "loss.logistic": F.soft_margin_loss,
    "loss.hinge": lambda x, y, reduction: torch.clamp_min(1 - x * y, 0),
    "loss.squared_hinge": lambda x, y, reduction: torch.clamp_min(1 - x * y, 0) ** 2, "loss.poisson": F.poisson_nll_loss}
# Of rows, which are multiplied by weights and added up.
ROWS = {
    "nn.softmax(x)": lambda x: F.softmax(x, -1), "nn.log_softmax(x)": lambda x: F.log_softmax(x, -1),
    "nn.glu(x)": lambda x: F.glu(x, -1), "sort(x)": lambda x: torch.sort(x, -1)[0],
    "cumsum(x)": lambda x: torch.cumsum(x, -1), "cumprod(x)": lambda x: torch.cumprod(x, -1)}
REDUCED = {
    "logsumexp": lambda x: torch.logsumexp(x, -1), "norm": lambda x: torch.linalg.vector_norm(x, dim=-1),
    "std": lambda x: torch.std(x, -1, correction=0), "variance": lambda x: torch.var(x, -1, correction=0),
    "max": lambda x: torch.amax(x, -1), "min": lambda x: torch.amin(x, -1), "prod": lambda x: torch.prod(x, -1),
    "sum": lambda x: torch.sum(x, -1), "mean": lambda x: torch.mean(x, -1)}
# Of rows of logits with class 1.
one = lambda x: torch.ones(len(x), dtype=torch.long)  # noqa: E731
LABELLED = {
    "loss.xent": lambda x: F.cross_entropy(x, one(x), reduction="none"),
    "loss.xent_smoothed": lambda x: F.cross_entropy(x, one(x), reduction="none", label_smoothing=0.1)}

store = {}


def tensor(values, kind):
    return torch.tensor(values, dtype=torch.float64).to(TYPES[kind])


def record(case, kind, f, inputs, weights=None, by=("x", "y")):
    """What f gives in its own type and in f64, with gradients by the inputs in `by`."""
    for name, value in inputs.items():
        store[f"{case}|{kind}|{name}"] = value.numpy()
    for ending in ["", "64"] if kind != "f64" else [""]:
        given = {n: (v.double() if ending else v.clone()).requires_grad_(n in by) for n, v in inputs.items()}
        value = f(*given.values())
        (value if weights is None else value * weights.to(value.dtype)).sum().backward()
        store[f"{case}|{kind}|v{ending}"] = value.detach().numpy()
        for name, v in given.items():
            if name in by:
                store[f"{case}|{kind}|g{name}{ending}"] = v.grad.numpy()


for kind in TYPES:
    x = tensor(unary_inputs(kind), kind)
    a, b = (tensor(v, kind) for v in pair_inputs(kind))
    for case, f in UNARY.items():
        record(case, kind, f, {"x": x})
    for case, f in BINARY.items():
        record(case, kind, f, {"x": a, "y": b})
    for case, f in PAIRS.items():
        y = b.abs().clamp(max=1) if case == "loss.bce" else b  # a probability
        record(case, kind, lambda x, y, f=f: f(x, y, reduction="none"), {"x": a, "y": y}, by="x")
    values = FEW[kind] + [INF, -INF, NAN]
    rows = tensor([[p, q, r, 1.0] for p in values for q in values for r in (q, 0.5)] + [[p] * 4 for p in values] +
                  [[-p] * 4 for p in values], kind)
    weights = torch.tensor([1.0, -0.5, 0.25, 2.0], dtype=torch.float64)
    for case, f in ROWS.items():
        record(case, kind, f, {"x": rows}, weights[:2] if "glu" in case else weights)
    for case, f in {**REDUCED, **LABELLED}.items():
        record(case, kind, f, {"x": rows})
np.savez_compressed(sys.argv[1], made_by=f"record_special.py with PyTorch {torch.__version__}", **store)
print(f"{len({n.split('|')[0] for n in store})} cases, {len(store)} tensors")
