#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The first three steps of every optimizer against its definition in NumPy, eagerly and in a graph.

Usage: optimizers.py MXC

The gradients are drawn, so that a step does not depend on a loss: the loss is their product with
the weights. One gradient is sometimes 0, where rules that divide are easily wrong.
"""
import numpy as np

from reference import Cases

HEAD = """
import nn, optim
let (w0, w1, w2) = (normal([3, 2]), normal([3, 2]), normal([3, 2]) * f32(tril([3, 2])))
let (b0, b1, b2) = (normal([2]), normal([2]), normal([2]))
var first = nn.Dense[3, 2]()
first.b = normal([2])
type Net = nn.Dense[3, 2]
fn slope(m: Net, w: f32[3, 2], b: f32[2]) -> Net.grad {
  let (_, g) = grad(m) { (m.w * w).sum() + (m.b * b).sum() }
  g
}"""
cases = Cases(HEAD)
KEPT = "first=first, w0=w0, w1=w1, w2=w2, b0=b0, b1=b1, b2=b2, x1=x1, x2=x2, x3=x3, y1=y1, y2=y2, y3=y3"


def case(text, rule, extra=""):
    """`rule(p, g, s, t)` changes one tensor p and its state s, a dict, in step t = 1, 2, 3."""
    code = f"var (m, o) = (first, optim.{text})\nvar (n, q) = (first, optim.{text})\n{extra}"
    for t in range(3):
        code += f"""
let g = slope(m, w{t}, b{t})
o.step(mut m, g)
graph {{ q.step(mut n, slope(n, w{t}, b{t})) }}
let (x{t + 1}, y{t + 1}) = (m, n)"""

    def expected(v):
        wanted = {}
        for leaf in "wb":
            p, s = v[f"first.{leaf}"].copy(), {}
            for t in range(3):
                rule(p, v[f"{leaf}{t}"], s, t + 1)
                for kind in "xy":
                    wanted[f"{kind}{t + 1}.{leaf}"] = p.copy()
        return wanted
    cases.add(text, code, KEPT, expected)


def mean(s, name, rate, value):
    """A running mean that starts at 0."""
    s[name] = rate * s.get(name, 0.0) + (1 - rate) * value
    return s[name]


def vel(s, rate, value):
    s["vel"] = rate * s.get("vel", 0.0) + value
    return s["vel"]


def gradient_descent(p, g, s, t):
    p -= 0.1 * g


def sgd(p, g, s, t):
    p -= 0.1 * vel(s, 0.9, g)


def nesterov(p, g, s, t):
    v = vel(s, 0.9, g)
    p -= 0.1 * (g + 0.9 * v)


def signum(p, g, s, t):
    p -= 0.02 * (np.sign(mean(s, "v", 0.9, g)) + 0.1 * p)


def lion(p, g, s, t):
    p -= 0.01 * (np.sign(0.9 * s.get("v", 0.0) + 0.1 * g) + 0.1 * p)
    mean(s, "v", 0.99, g)


def lars(p, g, s, t):
    local = 0.001 * np.linalg.norm(p) / (np.linalg.norm(g) + 0.01 * np.linalg.norm(p) + 1e-9)
    p -= vel(s, 0.9, 0.5 * local * (g + 0.01 * p))


def moments(g, s, t):
    return mean(s, "a", 0.9, g) / (1 - 0.9 ** t), mean(s, "b", 0.999, g * g) / (1 - 0.999 ** t)


def adam(p, g, s, t):
    a, b = moments(g, s, t)
    p -= 0.01 * a / (np.sqrt(b) + 1e-8)


def adamw(p, g, s, t):
    if p.ndim > 1:
        p -= 0.01 * 0.1 * p
    adam(p, g, s, t)


def adabelief(p, g, s, t):
    a = mean(s, "a", 0.9, g)
    s["b"] = 0.999 * s.get("b", 0.0) + 0.001 * (g - a) ** 2 + 1e-16
    p -= 0.01 * a / (1 - 0.9 ** t) / (np.sqrt(s["b"] / (1 - 0.999 ** t)) + 1e-16)


def adamax(p, g, s, t):
    a = mean(s, "a", 0.9, g)
    s["u"] = np.maximum(0.999 * s.get("u", 0.0), np.abs(g))
    p -= 0.01 / (1 - 0.9 ** t) * a / (s["u"] + 1e-8)


def nadam(p, g, s, t):
    mu = [0.9 * (1 - 0.5 * 0.96 ** (0.004 * i)) for i in range(t + 2)]
    a, b = mean(s, "a", 0.9, g), mean(s, "b", 0.999, g * g) / (1 - 0.999 ** t)
    through, ahead = np.prod(mu[1:t + 1]), np.prod(mu[1:t + 2])
    p -= 0.01 * (mu[t + 1] * a / (1 - ahead) + (1 - mu[t]) * g / (1 - through)) / (np.sqrt(b) + 1e-8)


def adagrad(p, g, s, t):
    s["n"] = s.get("n", 0.0) + g * g
    p -= 0.1 * g / (np.sqrt(s["n"]) + 1e-10)


def rmsprop(p, g, s, t):
    p -= 0.01 * vel(s, 0.5, g / (np.sqrt(mean(s, "n", 0.9, g * g)) + 1e-8))


def adadelta(p, g, s, t):
    n = mean(s, "n", 0.9, g * g)
    way = np.sqrt(s.get("u", 0.0) + 1e-6) / np.sqrt(n + 1e-6) * g
    mean(s, "u", 0.9, way ** 2)
    p -= way


def lamb(p, g, s, t):
    a, b = moments(g, s, t)
    way = a / (np.sqrt(b) + 1e-6) + 0.1 * p
    p -= 0.01 * np.linalg.norm(p) / np.linalg.norm(way) * way


def ftrl(p, g, s, t):
    z, n = s.get("z", 0.0 * p), s.get("n", 0.0 * p)
    s["z"] = z + g - (np.sqrt(n + g * g) - np.sqrt(n)) / 0.3 * p
    s["n"] = n + g * g
    eta = 1 / ((1.0 + np.sqrt(s["n"])) / 0.3 + 0.1)
    p[...] = np.where(np.abs(s["z"]) <= 0.2, 0.0, -(s["z"] - 0.2 * np.sign(s["z"])) * eta)


def muon(p, g, s, t):
    if p.ndim != 2:
        a, b = moments(g, s, t)
        p -= 0.005 * a / (np.sqrt(b) + 1e-8)
        return
    y = g + 0.95 * vel(s, 0.95, g)
    u, d, v = np.linalg.svd(y / (np.linalg.norm(y) + 1e-7), full_matrices=False)
    for _ in range(5):
        d = 3.4445 * d - 4.775 * d ** 3 + 2.0315 * d ** 5
    p -= 0.02 * ((u * d) @ v * max(1.0, p.shape[1] / p.shape[0]) ** 0.5 + 0.1 * p)


case("gradient_descent(first, lr=0.1)", gradient_descent)
case("sgd(first, lr=0.1, momentum=0.9)", sgd)
case("Sgd(lr=0.1, momentum=0.9).init(first)", sgd)
case("nesterov(first, lr=0.1, momentum=0.9)", nesterov)
case("signum(first, lr=0.02, decay=0.1)", signum)
case("lion(first, lr=0.01, decay=0.1)", lion)
case("lars(first, lr=0.5, decay=0.01)", lars)
case("adam(first, lr=0.01)", adam)
case("Adam(lr=0.01).init(first)", adam)
case("adamw(first, lr=0.01, decay=0.1)", adamw)
case("adabelief(first, lr=0.01)", adabelief)
case("adamax(first, lr=0.01)", adamax)
case("nadam(first, lr=0.01)", nadam)
case("adagrad(first, lr=0.1)", adagrad)
case("rmsprop(first, lr=0.01, decay=0.9, momentum=0.5)", rmsprop)
case("adadelta(first)", adadelta)
case("lamb(first, lr=0.01, decay=0.1)", lamb)
case("ftrl(first, lr=0.3, l1=0.2, l2=0.1)", ftrl)
case("muon(first, decay=0.1, adam_lr=0.005)", muon)


def lbfgs(v):
    """The dense form of the same update: the inverse Hessian, built anew from the kept pairs."""
    flat = lambda kind, t: np.concatenate([v[f"{kind}w{t}"].ravel(), v[f"{kind}b{t}"]])
    x = np.concatenate([v["first.w"].ravel(), v["first.b"]])
    pairs, wanted, move, before = [], {}, None, None
    for t in range(3):
        g = flat("", t)
        if move is not None:
            pairs = (pairs + [(move, g - before)])[-2:]
        used = [(s, y) for s, y in pairs if s @ y > 1e-10]
        last = pairs[-1] if pairs else None
        scale = last[0] @ last[1] / (last[1] @ last[1]) if last and last[0] @ last[1] > 1e-10 else 1 / max(
            1.0, np.linalg.norm(g))
        inverse = scale * np.eye(8)
        for s, y in used:
            turn = np.eye(8) - np.outer(y, s) / (s @ y)
            inverse = turn.T @ inverse @ turn + np.outer(s, s) / (s @ y)
        move, before = -0.5 * inverse @ g, g
        x = x + move
        for kind in "xy":
            wanted[f"{kind}{t + 1}.w"], wanted[f"{kind}{t + 1}.b"] = x[:6].reshape(3, 2), x[6:]
    return wanted


case("lbfgs(first, lr=0.5, memory=2)", None)
cases.cases[-1] = (cases.cases[-1][0], lbfgs, 1e-3, 1e-4)


# ---- what goes with them
def norm(v, t):
    return np.sqrt((v[f"w{t}"] ** 2).sum() + (v[f"b{t}"] ** 2).sum())


def tool(name, call, f):
    cases.add(name, f"let g = slope(first, w0, b0)\nlet a = {call}\nlet b = graph {{ {call} }}",
              "first=first, w0=w0, b0=b0, a=a, b=b",
              lambda v: {f"{k}.{leaf}": f(v, v[f"{leaf}0"], v[f"first.{leaf}"]) for k in "ab" for leaf in "wb"})


tool("clip_norm", "optim.clip_norm(g, 0.5)", lambda v, g, p: g * min(1.0, 0.5 / norm(v, 0)))
tool("clip_norm, large", "optim.clip_norm(g, 1e6)", lambda v, g, p: g)
tool("clip_value", "optim.clip_value(g, 0.3)", lambda v, g, p: np.clip(g, -0.3, 0.3))
tool("weight_decay", "optim.weight_decay(first, g, 0.2)", lambda v, g, p: g + (0.2 * p if g.ndim > 1 else 0.0))
tool("weight_decay of all", "optim.weight_decay(first, g, 0.2, vectors=true)", lambda v, g, p: g + 0.2 * p)
cases.add("numbers of gradients", """
let (g, h) = (slope(first, w0, b0), slope(first, w1, b1))
let (a, b, c) = (optim.global_norm(g), optim.dot(g, h), i32(optim.is_finite(g)))
let d = i32(optim.is_finite(g * (1.0 / 0.0)))""", "w0=w0, w1=w1, b0=b0, b1=b1, a=a, b=b, c=c, d=d",
          lambda v: {"a": norm(v, 0), "b": (v["w0"] * v["w1"]).sum() + (v["b0"] * v["b1"]).sum(), "c": 1, "d": 0})
cases.add("accumulation and averages", """
var (sum, late, plain) = (optim.accumulator(first), optim.ema(first, decay=0.5), optim.swa(first))
var m = first
for (w, b) in [(w0, b0), (w1, b1), (w2, b2)] {
  let g = slope(m, w, b)
  sum.add(g)
  m -= 0.1 * g
  late.add(m)
  plain.add(m)
}
let a = sum.take()
var (c, d) = (m, m)
late.put(mut c)
plain.put(mut d)
let again = sum.count""", "first=first, w0=w0, w1=w1, w2=w2, a=a, c=c, d=d, again=again",
          lambda v: {"a.w": (v["w0"] + v["w1"] + v["w2"]) / 3, "again": 0.0,
                     "c.w": v["first.w"] - 0.1 * (v["w0"] + (0.5 + 0.25) / 0.875 * v["w1"] + 0.5 / 0.875 * v["w2"]),
                     "d.w": v["first.w"] - 0.1 * (v["w0"] + 2 / 3 * v["w1"] + 1 / 3 * v["w2"])})
cases.run()
