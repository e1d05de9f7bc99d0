#!/usr/bin/env python3
"""Random samples follow their distributions, and the same op by op, in a graph and on any number of threads.

Usage: samples.py MXC

Each draw is made by a function and by a graph from the same seed, on 1, 2 and 4 threads: the bits must be the
same, and so must those of what the generator gives next. The numbers are then held against their law: ranges,
moments, the largest distance from the distribution function (Kolmogorov and Smirnov) or the sum of squares of
frequencies (Pearson), and neighbours must not be related. Seeds are fixed, and the limits are such that a right
generator fails in one of 10,000 seeds.
"""

import math
import os
import subprocess
import sys
import tempfile

import numpy as np

from mxtext import saved

MXC = sys.argv[1]
N = 40000


def normal_cdf(x):
    return 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


def continuous(cdf, mean, deviation, low=-math.inf, high=math.inf):
    def check(x):
        x = x.reshape(-1).astype(np.float64)
        if not np.all((x >= low) & (x <= high)):
            return f"outside of {low} to {high}: {x.min()} to {x.max()}"
        n = x.size
        if abs(x.mean() - mean) > 4 * deviation / math.sqrt(n):
            return f"the mean is {x.mean()}, not {mean}"
        if abs(x.std() / deviation - 1) > 4 / math.sqrt(n):
            return f"the deviation is {x.std()}, not {deviation}"
        at = cdf(np.sort(x))
        steps = np.arange(n + 1) / n
        distance = max(np.max(np.abs(at - steps[1:])), np.max(np.abs(at - steps[:-1])))
        if distance * math.sqrt(n) > 2.25:
            return f"the distribution is {distance} away"
        related = np.mean((x[1:] - mean) * (x[:-1] - mean)) / deviation ** 2
        if abs(related) * math.sqrt(n) > 4:
            return f"neighbours are related: {related}"
        return None
    return check


def uniform(low, high):
    return continuous(lambda x: (x - low) / (high - low), (low + high) / 2, (high - low) / math.sqrt(12), low, high)


def frequencies(counts, chances):
    """Pearson's test; classes without a chance must be empty."""
    counts, chances = np.asarray(counts), np.asarray(chances, np.float64)
    if np.any(counts[chances == 0]):
        return f"what cannot be was drawn: {counts}"
    counts, chances = counts[chances > 0], chances[chances > 0]
    want = chances / chances.sum() * counts.sum()
    squares = float(np.sum((counts - want) ** 2 / want))
    free = counts.size - 1
    # Wilson's and Hilferty's normal deviate of a chi square.
    deviate = ((squares / free) ** (1 / 3) - 1 + 2 / (9 * free)) / math.sqrt(2 / (9 * free)) if free else 0
    return f"frequencies {counts}, not {want}" if deviate > 3.7 else None


def classes(chances):
    def check(x):
        x = x.reshape(-1).astype(np.int64)
        if x.min() < 0 or x.max() >= len(chances):
            return f"outside of 0 to {len(chances) - 1}: {x.min()} to {x.max()}"
        found = frequencies(np.bincount(x, minlength=len(chances)), chances)
        # Pairs of neighbours, of what has not too many of them.
        if not found and len(chances) <= 12:
            pairs = np.bincount(x[:-1:2] * len(chances) + x[1::2], minlength=len(chances) ** 2)
            found = frequencies(pairs, np.outer(chances, chances).reshape(-1))
        return found
    return check


def columns(chances):
    """Each column has classes of its own."""
    def check(x):
        return next((f"column {i}: {found}" for i, row in enumerate(chances) if (found := classes(row)(x[:, i]))), None)
    return check


def orders(x):
    """Rows that are orders of 0 to 4: each of the 120 is as likely."""
    if not np.array_equal(np.sort(x, 1), np.broadcast_to(np.arange(5), x.shape)):
        return "not every row is an order"
    numbers = sum(x[:, i].astype(np.int64) * 5 ** i for i in range(5))
    _, counts = np.unique(numbers, return_counts=True)
    return frequencies(counts, np.ones(counts.size)) if counts.size == 120 else f"{counts.size} of 120 orders"


def long_order(x):
    """One long order; positions and numbers are not related."""
    if not np.array_equal(np.sort(x), np.arange(x.size)):
        return "not an order"
    if x.size == 1:
        return None
    related = np.corrcoef(np.arange(x.size), x)[0, 1] * math.sqrt(x.size)
    fixed = int(np.sum(x == np.arange(x.size)))
    return f"related to positions: {related}, {fixed} stay" if abs(related) > 4 or fixed > 8 else None


# From -2 to 2, cut off there.
INSIDE = normal_cdf(np.array(2.0)) - normal_cdf(np.array(-2.0))
TRUNCATED = math.sqrt(1 - 4 * math.exp(-2) / math.sqrt(2 * math.pi) / INSIDE)
LOGITS = "[0.0, 1.0, -1.0, 2.0, -inf]"
WEIGHTS = [1, math.e, math.exp(-1), math.exp(2), 0]
CHANCES = [w / sum(WEIGHTS) for w in WEIGHTS]

# Type, expression, law.
CASES = [
    (f"f32[{N}]", f"uniform(mut rng, [{N}])", uniform(0, 1)),
    (f"f32[3, {N // 3}]", f"uniform(mut rng, [3, {N // 3}], low=-2.5, high=0.5)", uniform(-2.5, 0.5)),
    (f"f64[{N}]", f"uniform(mut rng, [{N}], dtype=f64)", uniform(0, 1)),
    (f"f16[{N}]", f"uniform(mut rng, [{N}], dtype=f16)", uniform(0, 1)),
    (f"f32[{N}]", f"normal(mut rng, [{N}])", continuous(normal_cdf, 0, 1)),
    (f"f32[7, {N // 7}]", f"normal(mut rng, [7, {N // 7}], mean=-3.0, std=0.25)",
     continuous(lambda x: normal_cdf((x + 3) * 4), -3, 0.25)),
    (f"f64[{N}]", f"normal(mut rng, [{N}], dtype=f64)", continuous(normal_cdf, 0, 1)),
    (f"f16[{N}]", f"normal(mut rng, [{N}], dtype=f16)", continuous(normal_cdf, 0, 1)),
    (f"f32[{N}]", f"truncated_normal(mut rng, [{N}], mean=1.0, std=2.0)",
     continuous(lambda x: (normal_cdf((x - 1) / 2) - normal_cdf(-2.0)) / INSIDE, 1, 2 * TRUNCATED, -3, 5)),
    (f"f64[{N}]", f"truncated_normal(mut rng, [{N}], dtype=f64)",
     continuous(lambda x: (normal_cdf(x) - normal_cdf(-2.0)) / INSIDE, 0, TRUNCATED, -2, 2)),
    *((f"bool[{N}]", f"bernoulli(mut rng, [{N}], p={p})", classes([1 - p, p])) for p in (0.0, 0.1, 0.5, 0.97, 1.0)),
    (f"i32[{N}]", f"randint(mut rng, [{N}], low=0, high=7)", classes([1] * 7)),
    (f"i32[{N}]", f"randint(mut rng, [{N}], low=-1, high=2) + 1", classes([1] * 3)),
    (f"i32[{N}]", f"randint(mut rng, [{N}], low=5, high=6) - 5", classes([1])),
    # Near the ends of the type, where a difference does not fit: the upper bits alone.
    (f"i32[{N}]", f"shift_right(randint(mut rng, [{N}], low=-2147483647, high=2147483647), 29) + 4", classes([1] * 8)),
    (f"i32[{N}]", f"categorical(mut rng, f32({LOGITS}).broadcast([{N}, 5]))", classes(CHANCES)),
    (f"i32[{N}]", f"categorical(mut rng, f64({LOGITS}).broadcast([{N}, 5]))", classes(CHANCES)),
    (f"i32[{N}, 2]", f"categorical(mut rng, stack(f32({LOGITS}), f32({LOGITS})[::-1]).broadcast([{N}, 2, 5]))",
     columns([CHANCES, CHANCES[::-1]])),
    (f"i32[{N}]", f"categorical(mut rng, zeros([{N}, 1]))", classes([1])),
    (f"i32[{N}]", f"permutation(mut rng, {N})", long_order),
    ("i32[1]", "permutation(mut rng, 1)", long_order),
    ("i32[6000, 5]", None, orders),
    ("f32[0, 3]", "normal(mut rng, [0, 3])", lambda x: None if x.shape == (0, 3) else f"shape {x.shape}"),
]
MANY_ORDERS = """  var out = zeros([6000, 5], dtype=i32)
  for i in 0..6000 { out[i] = permutation(mut rng, 5) }
  out"""


def main():
    lines = ["from rand import Rng", 'const path = option("path", "")']
    for i, (kind, text, _) in enumerate(CASES):
        for word, way in (("fn", "eager"), ("graph fn", "graph")):
            lines.append(f"{word} {way}{i}(mut rng: Rng) -> {kind} {{\n{'  ' + text if text else MANY_ORDERS}\n}}")
    wanted = []
    for i in range(len(CASES)):
        for way in ("eager", "graph"):
            lines += [f"var rng_{way}{i} = Rng({i + 11})", f"let {way}_{i} = {way}{i}(mut rng_{way}{i})",
                      f"let {way}_next{i}: f32[5] = uniform(mut rng_{way}{i})"]
            wanted += [f"{way}_{i}={way}_{i}", f"{way}_next{i}={way}_next{i}"]
    lines.append(f'save(f"{{path}}", {", ".join(wanted)})')
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "draws.mx")
        with open(source, "w") as file:
            file.write("\n".join(lines) + "\n")
        found = {}
        for threads in ("1", "2", "4"):
            path = os.path.join(folder, f"draws-{threads}")
            done = subprocess.run([MXC, "run", "--internal-chunk=1", source, "--", f"path={path}"], capture_output=True,
                                  text=True, env=os.environ | {"MX_NUM_THREADS": threads})
            if done.returncode:
                sys.exit(f"on {threads} threads:\n{done.stderr[:3000]}")
            found[threads] = saved(path)
        for i, (kind, text, law) in enumerate(CASES):
            one = found["1"]
            reasons = [f"other bits {where}" for where, a, b in [
                ("in a graph", one[f"eager_{i}"], one[f"graph_{i}"]),
                ("after a graph", one[f"eager_next{i}"], one[f"graph_next{i}"]),
                *((f"on {t} threads", one[f"{way}_{i}"], found[t][f"{way}_{i}"]) for t in ("2", "4") for way in ("eager", "graph")),
            ] if a.tobytes() != b.tobytes()]
            reason = law(one[f"eager_{i}"])
            for reason in reasons + ([reason] if reason else []):
                wrong += 1
                print(f"{kind} {text or 'orders of 5'}: {reason}")
    if wrong:
        return 1
    print(f"{len(CASES)} draws are spread as they should be")
    return 0


if __name__ == "__main__":
    sys.exit(main())
