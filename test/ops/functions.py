"""The functions of runtime/include/mxrt/functions.def: what NumPy says about them, and where. compare_with_numpy.py
compares their values, check_gradients.py their gradients."""

import math

import numpy as np

ALL, POSITIVE = "all", "positive"

# name: (the function, the numbers for which it is tested); ALL includes NaN, infinities and zeros.
FUNCTIONS = {
    "exp": (np.exp, ALL),
    "log": (np.log, POSITIVE),
    "log1p": (np.log1p, POSITIVE),
    "expm1": (np.expm1, ALL),
    "sin": (np.sin, ALL),
    "cos": (np.cos, ALL),
    "tan": (np.tan, POSITIVE),
    "tanh": (np.tanh, ALL),
    # NumPy has no error function.
    "erf": (np.vectorize(math.erf, otypes=[float]), ALL),
}
