# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints the processor time of a call of a small graph from Python, in microseconds: the median of ten runs."""

import statistics
import time

import mx
import numpy as np

half = mx.compile("graph fn half(x: f32[N]) -> f32[N] { x / 2.0 }\n").half
x = np.zeros(4, np.float32)


def once(calls=20000):
    start = time.process_time()
    for _ in range(calls):
        half(x)
    return (time.process_time() - start) / calls * 1e6


once()
print(f"{statistics.median(once() for _ in range(10)):.2f} µs a call")
