# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""examples/char_lstm.mx on a text, beside the same training in NumPy: the test losses must be within 0.03 nats.

usage: char_lstm_text.py [--epochs N] [--seeds N] [--own] MXC TEXT…

Same pieces of text, sizes, optimizer and number of steps, and for each seed the same initial weights and orders of the pieces:
the example is run up to its first step with these lines behind it, which save both. So what is left between the two is rounding
and mistakes. With --own NumPy trains once more for each seed, from weights and orders of its own random numbers: then the means
over the seeds must be within 0.03 nats.

Test losses that this script printed (NumPy 1.24, one core):

    text                                                epochs  steps  seed    NumPy       mx  own NumPy
    GPL-2, GPL-3, LGPL-2.1 and MPL-1.1 of Debian 12          1     48     0   3.1263   3.1263
    the 13 licences of test/nightly/char-lstm.sh             4    428     0   1.8036   1.7978     1.8085
                                                                          1   1.8637   1.8684     1.8170
                                                                          2   1.7921   1.7963     1.8315
                                                                          3   1.7737   1.7710     1.8201
    first 300,000 characters of Shakespeare's plays          1    137     0   2.4981   2.4981     2.4633
                                                                          1   2.4380   2.4380     2.4518
                                                                          2   2.4851   2.4851     2.4745
                                                                          3   2.4447   2.4447     2.4463
    all 1,115,394 of them                                    2   1018     0   1.9078   1.9081     1.9454
                                                                          1   1.9015   1.9021     1.9256
                                                                          2   1.9524   1.9521     1.9089
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile
import time

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # small products: threads would wait for each other
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "grad"), os.path.join(HERE, "..", "ops")]
from lstm_reference import adam, loss_and_gradients  # noqa: E402
from mxtext import saved  # noqa: E402

EXAMPLE = os.path.join(HERE, "../../examples/char_lstm.mx")
LENGTH, BATCH, SYMBOLS, E, H, LR, CLIP = 64, 32, 96, 32, 128, 4e-3, 5
f32 = np.float32

# Replaces the training: the same calls on the same generator.
START = """
let order_of = data.rows(iota(W - K))
let in_epoch = (W - K) // 32
var order = zeros([epochs * in_epoch, 32], dtype=i32)
var n = 0
for epoch in 0..epochs {
  for rows in data.loader(order_of, batch=32, shuffle=mut rng, last="drop") {
    order[n] = i32(rows)
    n += 1
  }
}
save(checkpoint, net, order=order)
"""


def own_start(seed, pieces, epochs):
    """Weights and orders as the example describes them, from NumPy's random numbers."""
    rng = np.random.default_rng(seed)

    def glorot(a, b):
        return rng.uniform(-(6 / (a + b)) ** 0.5, (6 / (a + b)) ** 0.5, (a, b))
    q, r = np.linalg.qr(rng.normal(size=(4 * H, H)))
    p = {"emb": rng.normal(size=(SYMBOLS, E)) * 0.02, "ow": glorot(H, SYMBOLS), "ob": np.zeros(SYMBOLS),
         "wx": glorot(E, 4 * H), "wh": (q * np.sign(np.diag(r))).T, "b": np.zeros(4 * H)}
    steps = pieces // BATCH
    order = np.concatenate([rng.permutation(pieces)[:steps * BATCH].reshape(steps, BATCH) for _ in range(epochs)])
    return {k: a.astype(f32) for k, a in p.items()}, order


def pieces_of(text):
    index = {c: i for i, c in enumerate(sorted(set(text)))}
    ids = np.array([index[c] for c in text], np.int32)
    count = len(ids) // (LENGTH + 1)
    pieces = ids[:count * (LENGTH + 1)].reshape(count, LENGTH + 1)
    return pieces[count // 20:], pieces[:count // 20]


def train_numpy(p, order, train, held):
    moments = {}
    for t, rows in enumerate(order, 1):
        _, d = loss_and_gradients(p, train[rows])
        adam(p, d, moments, t, LR, CLIP)
    losses = [loss_and_gradients(p, held[b:b + BATCH], False)[0] for b in range(0, len(held) - BATCH + 1, BATCH)]
    return float(np.mean(losses))


def run(mxc, program, folder, *options):
    done = subprocess.run([mxc, "run", f"--logdir={folder}/log", program, "--", *options], stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"{program} ended with {done.returncode}")
    return done.stdout


def start_of(mxc, folder, text, epochs, seed):
    """The example's initial weights and the orders of its epochs."""
    with open(EXAMPLE, encoding="utf-8") as file:
        program, found, _ = file.read().partition("if exists(checkpoint)")
    assert found, "the example has changed: where does its training begin?"
    with open(f"{folder}/start.mx", "w", encoding="utf-8") as file:
        file.write(program + START)
    path = f"{folder}/start{seed}.ckpt"
    run(mxc, f"{folder}/start.mx", folder, f"text={text}", f"checkpoint={path}", f"epochs={epochs}", f"seed={seed}")
    t = saved(path)
    names = {"emb": "net.emb.w", "ow": "net.out.w", "ob": "net.out.b", "wx": "net.wx", "wh": "net.wh", "b": "net.b"}
    return {k: t[name].copy() for k, name in names.items()}, t["order"]


parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--epochs", type=int, default=1)
parser.add_argument("--seeds", type=int, default=1)
parser.add_argument("--own", action="store_true")
parser.add_argument("mxc")
parser.add_argument("text", nargs="+")
options = parser.parse_args()
mxc, failed, results = os.path.abspath(options.mxc), False, []
with tempfile.TemporaryDirectory() as folder:
    text = ""
    for path in options.text:
        with open(path, encoding="utf-8", newline="") as file:
            text += file.read()
    text_path = f"{folder}/text.txt"
    with open(text_path, "w", encoding="utf-8", newline="") as file:
        file.write(text)
    train, held = pieces_of(text)
    for seed in range(options.seeds):
        p, order = start_of(mxc, folder, text_path, options.epochs, seed)
        begin = time.time()
        expected = train_numpy(p, order, train, held)
        middle = time.time()
        printed = run(mxc, EXAMPLE, folder, f"text={text_path}", f"checkpoint={folder}/net{seed}.ckpt",
                      f"epochs={options.epochs}", f"seed={seed}")
        found = float(re.findall(r"test loss ([0-9.]+)", printed)[-1])
        end = time.time()
        own = train_numpy(*own_start(seed, len(train), options.epochs), train, held) if options.own else float("nan")
        results.append((expected, found, own))
        print(f"{len(order)} steps, seed {seed}: NumPy {expected:.4f} in {middle - begin:.0f} s, mx {found:.4f} in "
              f"{end - middle:.0f} s" + (f", NumPy by its own random numbers {own:.4f}" if options.own else ""), flush=True)
        failed |= not abs(found - expected) < 0.03
if options.own:
    _, mx, own = np.mean(results, axis=0)
    print(f"means: mx {mx:.4f}, NumPy by its own random numbers {own:.4f}")
    failed |= not abs(mx - own) < 0.03
if failed:
    sys.exit("more than 0.03 nats apart")
print("within 0.03 nats")
