#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every loss and metric against its definition in NumPy, eagerly and in a graph.

Usage: losses.py MXC
"""
import itertools
import math

import numpy as np

from reference import Cases

cases = Cases("import loss, metrics\nfrom nn import softmax, log_softmax")


def logsoftmax(x):
    x = x - x.max(-1, keepdims=True)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


INPUTS = """
let x = 2.0 * normal([6, 4])
let y = 2.0 * normal([6, 4])
let z = normal([6, 4])
let p = softmax(z)
let signs = sign(z)
let labels = randint([6], high=4)
let truth = x[:, 0] + y[:, 1] > 0.5"""
KEPT = "x=x, y=y, z=z, p=p, signs=signs, labels=labels, truth=i32(truth)"


def case(call, f, **tolerances):
    cases.add(call, f"{INPUTS}\nlet a = {call}\nlet b = graph {{ {call} }}", KEPT + ", a=a, b=b",
              lambda v: dict.fromkeys("ab", f(v)), **tolerances)


def picked(v, x):
    return x[np.arange(6), v["labels"]]


case("loss.xent(x, labels)", lambda v: -picked(v, logsoftmax(v["x"])).mean())
case("loss.xent_soft(x, p)", lambda v: -(v["p"] * logsoftmax(v["x"])).sum(1).mean())
case("loss.xent_smoothed(x, labels, smoothing=0.2)",
     lambda v: -(0.8 * picked(v, logsoftmax(v["x"])) + 0.2 * logsoftmax(v["x"]).mean(1)).mean())
case("loss.mse(x, y)", lambda v: ((v["x"] - v["y"]) ** 2).mean())
case("loss.l2(x, y)", lambda v: ((v["x"] - v["y"]) ** 2).mean() / 2)
case("loss.l1(x, y)", lambda v: np.abs(v["x"] - v["y"]).mean())
case("loss.bce(x, p)", lambda v: -(v["p"] * np.log(1 / (1 + np.exp(-v["x"])))
                                   + (1 - v["p"]) * np.log(1 / (1 + np.exp(v["x"])))).mean())
case("loss.kl(log_softmax(x), p)", lambda v: (v["p"] * (np.log(v["p"]) - logsoftmax(v["x"]))).sum(1).mean())
for delta in (1.0, 2.5):
    case(f"loss.huber(x, y, delta={delta})", lambda v, d=delta: np.where(
        np.abs(v["x"] - v["y"]) <= d, (v["x"] - v["y"]) ** 2 / 2, d * (np.abs(v["x"] - v["y"]) - d / 2)).mean())
case("loss.hinge(x, signs)", lambda v: np.maximum(0, 1 - v["x"] * v["signs"]).mean())
case("loss.squared_hinge(x, signs, margin=0.5)", lambda v: (np.maximum(0, 0.5 - v["x"] * v["signs"]) ** 2).mean())
case("loss.logistic(x, signs)", lambda v: np.log(1 + np.exp(-v["x"] * v["signs"])).mean())
case("loss.triplet(x, y, z, margin=3.0)", lambda v: np.maximum(
    0, ((v["x"] - v["y"]) ** 2).sum(1) - ((v["x"] - v["z"]) ** 2).sum(1) + 3).mean())


def cosines(x, y):
    return (x * y).sum(1) / np.linalg.norm(x, axis=1) / np.linalg.norm(y, axis=1)


case("loss.cosine(x, y, signs[:, 0], margin=0.1)", lambda v: np.where(
    v["signs"][:, 0] > 0, 1 - cosines(v["x"], v["y"]), np.maximum(0, cosines(v["x"], v["y"]) - 0.1)).mean())
case("loss.poisson(x, p)", lambda v: (np.exp(v["x"]) - v["p"] * v["x"]).mean())
case("loss.focal(x, labels)", lambda v: -((1 - np.exp(picked(v, logsoftmax(v["x"])))) ** 2
                                          * picked(v, logsoftmax(v["x"]))).mean())


def ctc(v):
    """By its definition: the sum over every path of classes that collapses to the labels."""
    total, blank = 0.0, 4
    for row in range(3):
        logp = logsoftmax(v["x"][row])
        steps, wanted = v["lengths"][row], tuple(v["labels"][row][:v["counts"][row]])
        chance = 0.0
        for path in itertools.product(range(5), repeat=int(steps)):
            merged = [c for i, c in enumerate(path) if i == 0 or c != path[i - 1]]
            if tuple(c for c in merged if c != blank) == wanted:
                chance += math.exp(sum(logp[t, c] for t, c in enumerate(path)))
        total -= math.log(chance)
    return total / 3


CTC = """
let x = normal([3, 5, 5])
let labels: i32[3, 2] = [[1, 1], [2, 3], [0, 2]]
let (lengths, counts): (i32[3], i32[3]) = ([5, 4, 2], [2, 1, 2])
let a = loss.ctc(x, labels, lengths, counts, blank=4)
let b = graph { loss.ctc(x, labels, lengths, counts, blank=4) }"""
cases.add("ctc", CTC, "x=x, labels=labels, lengths=lengths, counts=counts, a=a, b=b",
          lambda v: dict.fromkeys("ab", ctc(v)))


# ---- metrics
def table(v):
    guess, counts = v["x"].argmax(1), np.zeros((4, 4))
    for t, g in zip(v["labels"], guess):
        counts[t, g] += 1
    return counts


def share(a, b):
    return np.where(b > 0, a / np.maximum(b, 1), 0.0)


def f_score(c, beta=1.0):
    p, r = share(np.diag(c), c.sum(0)), share(np.diag(c), c.sum(1))
    return np.array(
        [0.0 if a + b == 0 else (1 + beta ** 2) * a * b / (beta ** 2 * a + b) for a, b in zip(p, r)])


def mcc(c):
    n, right, t, g = c.sum(), np.trace(c), c.sum(1), c.sum(0)
    return (right * n - t @ g) / math.sqrt((n * n - g @ g) * (n * n - t @ t))


C = "metrics.confusion(x.argmax(axis=1), labels, 4)"
case("metrics.accuracy(x, labels)", lambda v: (v["x"].argmax(1) == v["labels"]).mean())
case("metrics.top_k_accuracy(x, labels, 2)", lambda v: np.mean([
    label in np.argsort(-row)[:2] for row, label in zip(v["x"], v["labels"])]))
case("metrics.binary_accuracy(x[:, 2], truth)", lambda v: ((v["x"][:, 2] > 0.5) == (v["truth"] == 1)).mean())
case(C, table)
case(f"metrics.precision({C})", lambda v: share(np.diag(table(v)), table(v).sum(0)))
case(f"metrics.recall({C})", lambda v: share(np.diag(table(v)), table(v).sum(1)))
case(f"metrics.f1({C})", lambda v: f_score(table(v)))
case(f"metrics.f1({C}, beta=2.0)", lambda v: f_score(table(v), 2.0))
case(f"metrics.mcc({C})", lambda v: mcc(table(v)))
case("metrics.perplexity(x, labels)", lambda v: np.exp(-picked(v, logsoftmax(v["x"])).mean()))
case("metrics.auc(x[:, 3], truth)", lambda v: np.mean([
    (a > b) + 0.5 * (a == b) for a in v["x"][v["truth"] == 1, 3] for b in v["x"][v["truth"] == 0, 3]] or [0.0]))
case("metrics.mae(x, y)", lambda v: np.abs(v["x"] - v["y"]).mean())
case("metrics.mse(x, y)", lambda v: ((v["x"] - v["y"]) ** 2).mean())
case("metrics.rmse(x, y)", lambda v: math.sqrt(((v["x"] - v["y"]) ** 2).mean()))
case("metrics.correlation(x[:, 0], y[:, 0])", lambda v: np.corrcoef(v["x"][:, 0], v["y"][:, 0])[0, 1])
case("metrics.r2(x[:, 0], y[:, 0])", lambda v: 1 - ((v["x"] - v["y"])[:, 0] ** 2).mean() / v["y"][:, 0].var())
case("metrics.pairwise_distance(x, y)", lambda v: np.linalg.norm(v["x"] - v["y"], axis=1).mean())
case("metrics.cosine_similarity(x, y)", lambda v: cosines(v["x"], v["y"]).mean())
cases.add("streams", INPUTS + """
var (a, m, p, c, r) = (metrics.Accuracy(), metrics.Mean(), metrics.Perplexity(), metrics.Confusion[4](), metrics.Correlation())
for i in 0..3 {
  let (xs, ls) = (x[i*2 : i*2 + 2], labels[i*2 : i*2 + 2])
  a.add(xs, ls)
  m.add(xs.sum(), f32(i))
  p.add(xs, ls)
  c.add(xs.argmax(axis=1), ls)
  r.add(xs[:, 0], y[i*2 : i*2 + 2, 0])
}""", KEPT + ", accuracy=a.value(), mean=m.value(), perplexity=p.value(), counts=c.counts, correlation=r.value()",
          lambda v: {"accuracy": (v["x"].argmax(1) == v["labels"]).mean(),
                     "mean": (v["x"][2:4].sum() + 2 * v["x"][4:].sum()) / 3,
                     "perplexity": np.exp(-picked(v, logsoftmax(v["x"])).mean()), "counts": table(v),
                     "correlation": np.corrcoef(v["x"][:, 0], v["y"][:, 0])[0, 1]})

cases.run()
