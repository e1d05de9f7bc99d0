#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Records what PyTorch computes for convolutions, in f64: values and gradients, for sweep.py to compare with.

Usage: record_torch.py torch_values.npz [--seed N] [--count N]

Needs PyTorch, which the tests do not. The file holds the cases (cases.py) as JSON and, of y and of the gradients by x
and w in the order of the cases, what summary() keeps and the largest sum of the sizes of the terms of an element.
"""
import argparse
import json

import numpy as np
import torch
from torch.nn import functional as F

from cases import drawn, inputs_of, outs_of, summary

OFFSET = 1 / 128  # of the layer: between all sums of 64ths, so that none is 0


def convolve(case, x, w):
    name = f"conv{'_transpose' if case['transposed'] else ''}{len(case['sizes'])}d"
    options = dict(stride=case["stride"], padding=case["pad"], groups=case["groups"], dilation=case["dilation"])
    return getattr(F, name)(x, w, **options)


def results(case):
    """y, the gradients by x and w, and for each the largest sum of the sizes of terms."""
    x, w, r = (torch.from_numpy(v).requires_grad_() for v in inputs_of(case))
    y = convolve(case, x, w)
    assert list(y.shape[2:]) == outs_of(case), case
    out = torch.relu(y + OFFSET) if case["form"] == "layer" else y
    slope = torch.ones_like(r) if case["form"] == "sum" else r.detach()
    (out * slope).sum().backward()
    a, b = x.detach().abs().requires_grad_(), w.detach().abs().requires_grad_()
    sizes = convolve(case, a, b)
    (sizes * slope.abs()).sum().backward()
    return [v.detach().numpy() for v in (out, x.grad, w.grad)], [float(v.detach().max()) for v in (sizes, a.grad, b.grad)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("path")
    parser.add_argument("--seed", type=int, default=24)
    parser.add_argument("--count", type=int, default=4400)
    args = parser.parse_args()
    torch.set_num_threads(1)
    cases, kept, largest = drawn(args.seed, args.count), [], []
    for case in cases:
        values, sizes = results(case)
        kept += [summary(v) for v in values]
        largest += sizes
    lengths = np.array([v.size for v in kept], np.int32)
    np.savez_compressed(args.path, cases=np.frombuffer(json.dumps(cases).encode(), np.uint8), values=np.concatenate(kept),
                        lengths=lengths, largest=np.array(largest), made_by=f"record_torch.py with PyTorch {torch.__version__}")
    print(f"{len(cases)} cases, {len(kept)} results")


if __name__ == "__main__":
    main()
