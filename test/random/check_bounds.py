#!/usr/bin/env python3
"""Checks bounds.py against NumPy: results in f16, f32 and f64 lie within the bounds, and near them.

For each op random operands are evaluated in the narrow type itself. The result must be within the
bound, and the bound within a few rounding errors of what a single op can lose.
"""

import sys

import numpy as np

import bounds as B
import convolutions as C

CONV = dict(batch=2, groups=1, channels=2, outputs=5, sizes=[5], kernel=[2], stride=2, pad=3, dilation=2)
OPS = {
    "add": (lambda a, b: a + b, B.add, 2), "sub": (lambda a, b: a - b, B.sub, 2),
    "mul": (lambda a, b: a * b, B.mul, 2), "div": (lambda a, b: a / b, B.div, 2),
    "max": (np.maximum, B.larger, 0),
    "exp": (lambda a, b: np.exp(a), lambda a, b: B.monotone(np.exp, a), 20),
    "tanh": (lambda a, b: np.tanh(a), lambda a, b: B.monotone(np.tanh, a), 20),
    "sqrt": (lambda a, b: np.sqrt(np.abs(a) + 1), lambda a, b: B.monotone(
        np.sqrt, B.add(B.Value(a.elem, np.abs(a.ref)), B.Value(a.elem, 1)), 1), 4),
    "sum": (lambda a, b: np.sum(a, dtype=a.dtype), lambda a, b: B.total(a, None), 100),
    "matmul": (lambda a, b: a.reshape(4, 5) @ b.reshape(5, 4),
               lambda a, b: B.matmul(a.moved(lambda x: x.reshape(4, 5)), b.moved(lambda x: x.reshape(5, 4))), 100),
    "convolution": (lambda a, b: C.forward(CONV, a, b), lambda a, b: C.bounded(C.forward, CONV, a, b, 4), 100),
}


def main():
    rng = np.random.default_rng(3)
    checked = 0
    for elem, native in B.NATIVE.items():
        for name, (run, bound, widest) in OPS.items():
            for _ in range(20):
                a, b = (rng.standard_normal(20) + 2.5).astype(native), (rng.standard_normal(20) - 2.5).astype(native)
                b[np.abs(b) < 0.1] = 1
                with np.errstate(all="ignore"):
                    got = np.asarray(run(a, b)).astype(B.WIDE)
                    value = bound(B.Value(elem, a), B.Value(elem, b))
                if np.any(np.abs(got - value.ref) > value.err):
                    sys.exit(f"{name} of {elem}: off by {np.abs(got - value.ref).max()}, bound {value.err.max()}")
                size = np.maximum(np.abs(value.ref), 50 if widest == 100 else 0)
                if np.any(value.err > widest * B.UNIT[elem] * size + 2 * B.TINY[elem]):
                    sys.exit(f"{name} of {elem}: the bound {value.err.max()} is too wide")
                checked += got.size
    # A wrong value is not let through, nor a comparison that rounding errors could flip.
    near = B.Value("f32", np.array([1.0]), np.array([1e-3]))
    try:
        B.compare(np.less, near, B.Value("f32", np.array([1.0005])))
        sys.exit("a comparison closer than the errors is taken for clear")
    except B.Unclear:
        pass
    print(f"{len(OPS)} ops within their bounds, {checked} values")


if __name__ == "__main__":
    main()
