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

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "grad"))
from lstm_reference import adam, loss_and_gradients  # noqa: E402

LENGTH, BATCH, SYMBOLS, E, H, LR = 64, 32, 96, 32, 128, 4e-3
rng = np.random.default_rng(0)
f32 = np.float32


def orthogonal(rows, columns):
    q, r = np.linalg.qr(rng.normal(size=(columns, rows)))
    return (q * np.sign(np.diag(r))).T


def parameters(v):
    def glorot(a, b):
        bound = (6 / (a + b)) ** 0.5
        return rng.uniform(-bound, bound, (a, b))
    p = {"emb": rng.normal(size=(v, E)) * 0.02, "ow": glorot(H, v), "ob": np.zeros(v), "wx": glorot(E, 4 * H),
         "wh": orthogonal(H, 4 * H), "b": np.zeros(4 * H)}
    return {k: a.astype(f32) for k, a in p.items()}


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
    p, moments = parameters(SYMBOLS), {}
    steps = len(train) // BATCH
    for t in range(1, steps + 1):
        _, d = loss_and_gradients(p, train[(t - 1) * BATCH:t * BATCH])
        adam(p, d, moments, t, LR, 5)
    losses = [loss_and_gradients(p, held[b:b + BATCH], False)[0] for b in range(0, len(held) - BATCH + 1, BATCH)]
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
