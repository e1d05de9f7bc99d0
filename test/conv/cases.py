# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases of convolutions: what they are, their inputs, and what is compared of their results.

A case is a dictionary of plain values, so that it can be kept beside what PyTorch gave for it. Inputs are computed from
the number of the case alone. Most are eighths: every product and every sum of a correct program is exact then, in any
order, and results have to be equal. The others are arbitrary numbers, whose results are compared within a bound.
"""
import random

import numpy as np

CHANNELS = [1, 1, 1, 2, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 32, 33, 47, 48, 49, 50, 63, 64, 65]
SIZES = [1, 1, 1, 2, 2, 3, 4, 5, 6, 7, 8, 9, 13, 14, 15, 16, 17, 28, 30, 32, 33, 56]
KERNELS = [1, 1, 2, 3, 3, 3, 4, 5, 7]
# What stands between the convolution and the number that is differentiated, by how often it does.
FORMS = ["weighted"] * 5 + ["sum", "sum", "reshape", "reshape", "layer"]
UNIT = {"f64": 2.0 ** -53, "f32": 2.0 ** -24, "f16": 2.0 ** -11, "bf16": 2.0 ** -8}
WHOLE = 32  # elements of a result that is kept whole; of longer ones PROJECTIONS sums are
PROJECTIONS = 8
MOST_WORK = 6_000_000  # products of one convolution
MOST_ELEMENTS = 150_000


def outs_of(case):
    """The spatial sizes of the result."""
    if case["transposed"]:
        return [(n - 1) * case["stride"] + k - 2 * case["pad"] for n, k in zip(case["sizes"], case["kernel"])]
    return [(n + 2 * case["pad"] - case["dilation"] * (k - 1) - 1) // case["stride"] + 1
            if n + 2 * case["pad"] > case["dilation"] * (k - 1) else 0 for n, k in zip(case["sizes"], case["kernel"])]


def shapes_of(case):
    """Of x, of w and of the result."""
    groups, c, o = case["groups"], case["channels"], case["outputs"]
    w = (c, o) if case["transposed"] else (o * groups, c)
    return ((case["batch"], c * groups, *case["sizes"]), (*w, *case["kernel"]),
            (case["batch"], o * groups, *outs_of(case)))


def terms_of(case):
    """The longest sum behind an element of each result: y, the gradient by x, that by w."""
    taps = int(np.prod(case["kernel"]))
    positions = int(np.prod(case["sizes"] if case["transposed"] else outs_of(case)))
    return case["channels"] * taps, case["outputs"] * taps, case["batch"] * positions


def work_of(case):
    x, w, y = shapes_of(case)
    return int(np.prod(w)) * case["batch"] * int(np.prod(x[2:] if case["transposed"] else y[2:]))


def draw(rng):
    rank = rng.choice([1, 1, 2, 2, 2, 3])
    transposed = rng.random() < 0.3
    kernel = [rng.choice(KERNELS)] * rank if rng.random() < 0.7 else [rng.choice(KERNELS) for _ in range(rank)]
    dilation = 1 if transposed else rng.choice([1] * 6 + [2, 2, 3])
    reach = dilation * (max(kernel) - 1)
    pads = [[0], range(1, reach + 1), range(reach + 1, reach + 5), range(reach + 1, 13)]
    groups = 1 if transposed or rng.random() < 0.7 else rng.choice([2, 2, 3, 4, 8])
    sizes = [rng.choice(SIZES)] * rank if rng.random() < 0.5 else [rng.choice(SIZES) for _ in range(rank)]
    case = dict(transposed=transposed, batch=rng.choice([1, 1, 2, 2, 3, 4, 8]), channels=rng.choice(CHANNELS),
                outputs=rng.choice(CHANNELS), groups=groups, sizes=sizes, kernel=kernel,
                stride=rng.choice([1] * 5 + [2, 2, 3, 4, 5]), pad=rng.choice(rng.choice(pads) or [0]), dilation=dilation,
                form=rng.choice(FORMS), swapped=rng.choice([""] * 8 + ["x", "w"]), together=rng.random() < 0.5,
                element=rng.choice(["f32"] * 17 + ["f64", "f16", "bf16"]), exact=rng.random() < 0.8)
    if groups > 1 and rng.random() < 0.4:
        case["channels"] = 1
    if groups > 1 and rng.random() < 0.4:
        case["outputs"] = 1
    return case


def fits(case):
    outs = outs_of(case)
    if min(outs) < 1 or work_of(case) > MOST_WORK or max(np.prod(s) for s in shapes_of(case)) > MOST_ELEMENTS:
        return False
    # Sums stay exact, in units of a 64th: in f32 up to 2^24 of them. Half precision rounds results once.
    return case["element"] in ("f32", "f64") or case["exact"]


def drawn(seed, count):
    rng, cases = random.Random(seed), []
    while len(cases) < count:
        case = draw(rng)
        if fits(case):
            cases.append(case | {"number": len(cases)})
    return cases


def hashed(seed, count):
    """Whole numbers below 2^64 from a counter: SplitMix64, the same everywhere."""
    with np.errstate(over="ignore"):
        z = (np.arange(1, count + 1, dtype=np.uint64) + np.uint64(seed) * np.uint64(1 << 32)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def inputs_of(case):
    """x, w and r, by which the result is weighted, as f64 that f32 holds exactly."""
    out = []
    for at, shape in enumerate(shapes_of(case)):
        bits = hashed(4 * case["number"] + at + 1, int(np.prod(shape)))
        if case["exact"]:
            flat = (bits >> np.uint64(20)) % np.uint64(17)
            flat = (flat.astype(np.float64) - 8) / 8
        else:
            flat = (bits >> np.uint64(40)).astype(np.float64) * 2.0 ** -23 - 1
        out.append(flat.reshape(shape))
    return out


def parts_of(size):
    """Which sum each element of a long result is part of, and its weight there: whole numbers, so that sums of exact
    results are exact in f64."""
    bits = hashed(3 << 20, size)
    return (bits % np.uint64(PROJECTIONS)).astype(np.int64), (bits >> np.uint64(40)).astype(np.int64) % 2001 - 1000.0


def summary(value):
    """What is kept of a result: all of it, or sums of weighted parts."""
    flat = np.asarray(value, np.float64).reshape(-1)
    if flat.size <= WHOLE:
        return flat
    part, weight = parts_of(flat.size)
    return np.bincount(part, flat * weight, PROJECTIONS)


def bound_of(case, which, size, largest):
    """How far a number of the summary may be off; `largest` is the largest sum of the sizes of all terms of an element.
    A sum of n products loses at most n + 1 roundings of that."""
    if case["exact"] and case["element"] in ("f32", "f64"):
        return 0.0
    terms, unit = terms_of(case)[which], UNIT[case["element"]]
    # Exact sums in halves are rounded once; that of the layer has the rounding of its offset too.
    each = (2 if case["exact"] else terms + 4) * unit * largest + 2.0 ** -24
    if size <= WHOLE:
        return each
    part, weight = parts_of(size)
    return float(np.bincount(part, np.abs(weight), PROJECTIONS).max()) * each
