"""examples/char_lstm.mx on a text, beside the same training in NumPy: the test losses must be within 0.03 nats.

usage: char_lstm_text.py MXC TEXT

Same pieces of text, sizes, optimizer and number of steps; weights and orders come from other random numbers. One epoch of the
first 300,000 characters of Shakespeare's plays (137 steps of 32 x 64 characters) gave 2.447 in NumPy and 2.498 in mx: so few
steps leave more than 0.03 to chance or show a difference; longer texts have not been compared yet."""
import os
import re
import subprocess
import sys
import tempfile
import time

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # small products: threads would wait for each other
import numpy as np

LENGTH, BATCH, SYMBOLS, E, H, LR = 64, 32, 96, 32, 128, 4e-3
rng = np.random.default_rng(0)
f32 = np.float32


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def orthogonal(rows, columns):
    q, r = np.linalg.qr(rng.normal(size=(columns, rows)))
    return (q * np.sign(np.diag(r))).T


class Lstm:
    def __init__(self, v):
        def glorot(a, b):
            bound = (6 / (a + b)) ** 0.5
            return rng.uniform(-bound, bound, (a, b))
        self.p = {"emb": rng.normal(size=(v, E)) * 0.02, "out": glorot(H, v), "bias": np.zeros(v), "wx": glorot(E, 4 * H),
                  "wh": orthogonal(H, 4 * H), "b": np.zeros(4 * H)}
        self.p = {k: a.astype(f32) for k, a in self.p.items()}

    def loss(self, text, with_gradient):
        p, (rows, steps) = self.p, text.shape
        h, c, total, kept = np.zeros((rows, H), f32), np.zeros((rows, H), f32), 0.0, []
        for t in range(steps - 1):
            x = p["emb"][text[:, t]]
            i, f, g, o = np.split(x @ p["wx"] + h @ p["wh"] + p["b"], 4, axis=1)
            i, f, g, o = sigmoid(i), sigmoid(f + 1), np.tanh(g), sigmoid(o)
            c2 = f * c + i * g
            h2 = o * np.tanh(c2)
            z = h2 @ p["out"] + p["bias"]
            z -= z.max(axis=1, keepdims=True)
            q = np.exp(z)
            q /= q.sum(axis=1, keepdims=True)
            total -= np.log(q[np.arange(rows), text[:, t + 1]]).mean()
            kept.append((x, h, c, i, f, g, o, c2, h2, q))
            h, c = h2, c2
        total /= steps - 1
        if not with_gradient:
            return total, None
        d = {k: np.zeros_like(a) for k, a in p.items()}
        dh, dc = np.zeros((rows, H), f32), np.zeros((rows, H), f32)
        for t in reversed(range(steps - 1)):
            x, h, c, i, f, g, o, c2, h2, q = kept[t]
            q[np.arange(rows), text[:, t + 1]] -= 1
            q /= rows * (steps - 1)
            d["out"] += h2.T @ q
            d["bias"] += q.sum(axis=0)
            dh = dh + q @ p["out"].T
            tc = np.tanh(c2)
            dc = dc + dh * o * (1 - tc * tc)
            da = np.concatenate([dc * g * i * (1 - i), dc * c * f * (1 - f), dc * i * (1 - g * g), dh * tc * o * (1 - o)], axis=1)
            d["wx"] += x.T @ da
            d["wh"] += h.T @ da
            d["b"] += da.sum(axis=0)
            np.add.at(d["emb"], text[:, t], da @ p["wx"].T)
            dh, dc = da @ p["wh"].T, dc * f
        return total, d


def reference(path):
    with open(path, encoding="utf-8", newline="") as file:
        text = file.read()
    vocabulary = sorted(set(text))
    place = {c: i for i, c in enumerate(vocabulary)}
    ids = np.array([place[c] for c in text], np.int32)
    w = len(ids) // (LENGTH + 1)
    pieces = ids[:w * (LENGTH + 1)].reshape(w, LENGTH + 1)
    k = w // 20
    held, train = pieces[:k], rng.permutation(pieces[k:])
    net = Lstm(SYMBOLS)
    m1, m2 = ({n: np.zeros_like(a) for n, a in net.p.items()} for _ in range(2))
    steps = len(train) // BATCH
    for t in range(1, steps + 1):
        _, d = net.loss(train[(t - 1) * BATCH:t * BATCH], True)
        norm = np.sqrt(sum((a * a).sum() for a in d.values()))
        for n, a in net.p.items():
            g = d[n] * min(1, 5 / norm)
            m1[n] = 0.9 * m1[n] + 0.1 * g
            m2[n] = 0.999 * m2[n] + 0.001 * g * g
            a -= (LR * (m1[n] / (1 - 0.9 ** t)) / (np.sqrt(m2[n] / (1 - 0.999 ** t)) + 1e-8)).astype(f32)
    losses = [net.loss(held[b:b + BATCH], False)[0] for b in range(0, len(held) - BATCH + 1, BATCH)]
    return float(np.mean(losses)), steps


mxc, text_path = sys.argv[1], os.path.abspath(sys.argv[2])
begin = time.time()
expected, steps = reference(text_path)
print(f"NumPy: test loss {expected:.4f} after {steps} steps, {time.time() - begin:.0f} s")
example = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/char_lstm.mx")
with tempfile.TemporaryDirectory() as folder:
    begin = time.time()
    ran = subprocess.run([os.path.abspath(mxc), "run", f"--logdir={folder}/log", example, "--", f"text={text_path}",
                          f"checkpoint={folder}/net.ckpt"], stdout=subprocess.PIPE, text=True, check=True)
found = float(re.search(r"test loss ([0-9.]+)", ran.stdout)[1])
print(f"mx:    test loss {found:.4f}, {time.time() - begin:.0f} s")
assert abs(found - expected) < 0.03, "the two differ by more than 0.03 nats"
