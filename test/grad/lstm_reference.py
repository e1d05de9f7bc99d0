# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A character LSTM in NumPy with its gradient written out by hand, and Adam with clipping: what programs in mx are compared with.

Parameters: emb [V, E], wx [E, 4H], wh [H, 4H], b [4H], ow [H, V], ob [V]; gates in the order i, f, g, o."""
import numpy as np

f32 = np.float32


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def loss_and_gradients(p, text, with_gradients=True):
    """The mean loss of a character LSTM over texts [B, T], and its gradients by backpropagation through time."""
    (B, T), H = text.shape, p["wh"].shape[0]
    h, c, states, total = np.zeros((B, H), f32), np.zeros((B, H), f32), [], f32(0)
    for t in range(T - 1):
        x = p["emb"][text[:, t]]
        i, f, g, o = np.split(x @ p["wx"] + h @ p["wh"] + p["b"], 4, axis=1)
        i, f, g, o = sigmoid(i), sigmoid(f + 1), np.tanh(g), sigmoid(o)
        c2 = f * c + i * g
        h2 = o * np.tanh(c2)
        logits = h2 @ p["ow"] + p["ob"]
        logits = logits - logits.max(axis=1, keepdims=True)
        soft = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        total += -np.log(soft[np.arange(B), text[:, t + 1]]).mean()
        states.append((x, h, c, i, f, g, o, c2, h2, soft))
        h, c = h2, c2
    if not with_gradients:
        return total / f32(T - 1), None
    d = {k: np.zeros_like(v) for k, v in p.items()}
    dh, dc = np.zeros((B, H), f32), np.zeros((B, H), f32)
    for t in reversed(range(T - 1)):
        x, h, c, i, f, g, o, c2, h2, soft = states[t]
        dl = soft.copy()
        dl[np.arange(B), text[:, t + 1]] -= 1
        dl /= f32(B * (T - 1))
        d["ow"] += h2.T @ dl
        d["ob"] += dl.sum(axis=0)
        dh = dh + dl @ p["ow"].T
        tanh = np.tanh(c2)
        dc = dc + dh * o * (1 - tanh**2)
        gates = np.concatenate([dc * g * i * (1 - i), dc * c * f * (1 - f), dc * i * (1 - g**2),
                                dh * tanh * o * (1 - o)], axis=1)
        d["wx"] += x.T @ gates
        d["wh"] += h.T @ gates
        d["b"] += gates.sum(axis=0)
        np.add.at(d["emb"], text[:, t], gates @ p["wx"].T)
        dh, dc = gates @ p["wh"].T, dc * f
    return total / f32(T - 1), d


def adam(p, d, moments, step, lr, clip):
    """One step, 1 being the first, on all parameters; `moments` is empty at first."""
    norm = np.sqrt(sum(float((g * g).sum()) for g in d.values()))
    scale = min(1.0, clip / norm)
    for k in p:
        first, second = moments.get(k, (np.zeros_like(p[k]), np.zeros_like(p[k])))
        g = d[k] * f32(scale)
        first, second = 0.9 * first + 0.1 * g, 0.999 * second + 0.001 * g * g
        moments[k] = first, second
        p[k] = (p[k] - lr * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)).astype(f32)
