# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows of single elementwise functions, f32 and f64: a million elements, which fit in the caches."""
import math

import numpy

from row import Row, Tensor, numpy_function, signature, torch_inference

ANY, POSITIVE = (3.0, 0.0), (0.25, 2.0)  # scale and offset of the numbers

# The text in mx, the same of torch, the same of NumPy, the arguments.
FUNCTIONS = {
    "exp": ("exp(x)", lambda torch: torch.exp, numpy.exp, [ANY]),
    "expm1": ("expm1(x)", lambda torch: torch.expm1, numpy.expm1, [ANY]),
    "log": ("log(x)", lambda torch: torch.log, numpy.log, [POSITIVE]),
    "log1p": ("log1p(x)", lambda torch: torch.log1p, numpy.log1p, [POSITIVE]),
    "tanh": ("tanh(x)", lambda torch: torch.tanh, numpy.tanh, [ANY]),
    "erf": ("erf(x)", lambda torch: torch.erf, numpy.vectorize(math.erf, otypes="d"), [ANY]),
    "sin": ("sin(x)", lambda torch: torch.sin, numpy.sin, [ANY]),
    "cos": ("cos(x)", lambda torch: torch.cos, numpy.cos, [ANY]),
    "tan": ("tan(x)", lambda torch: torch.tan, numpy.tan, [ANY]),
    "atan2": ("atan2(x, y)", lambda torch: torch.atan2, numpy.arctan2, [ANY, ANY]),
    "x ** y": ("x ** y", lambda torch: torch.pow, numpy.power, [POSITIVE, ANY]),
    "x ** 2.5": ("x ** 2.5", lambda torch: lambda x: x ** 2.5, lambda x: x ** 2.5, [POSITIVE]),
    "x ** 3": ("x ** 3.0", lambda torch: lambda x: x ** 3, lambda x: x * x * x, [ANY]),
    "x % y": ("x % y", lambda torch: torch.remainder, numpy.remainder, [ANY, ANY]),
    "gelu by tanh": ("0.5 * x * (1.0 + tanh(0.7978845608028654 * (x + 0.044715 * x ** 3.0)))",
                     lambda torch: lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
                     lambda x: 0.5 * x * (1 + numpy.tanh(0.7978845608028654 * (x + 0.044715 * x ** 3))), [ANY]),
}


def function_rows(count=1 << 20):
    size = "1M" if count == 1 << 20 else str(count)
    for type in ("f32", "f64"):
        for name, (text, torch, plain, spans) in FUNCTIONS.items():
            tensors = [Tensor(letter, (count,), *span, type=type) for letter, span in zip("xy", spans)]
            source = f"graph fn run({signature(tensors)}) -> {type}[{count}] {{ {text} }}\n"
            peers = {"torch": torch_inference(torch)}
            if name != "erf" or count < 1000:  # in Python, one by one
                peers["numpy"] = numpy_function(plain)
            yield Row("functions", f"{name} {type} {size}", source, tensors, peers, goal=1.0, quick=name in ("sin", "x ** 3"))
