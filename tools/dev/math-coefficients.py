#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The coefficients of the polynomials in compiler/Lowering/Emit{Trigonometry,Exponentials,Power}.cpp, the highest power
first, with the largest error of each. Needs mpmath. Usage: tools/dev/math-coefficients.py [NAME ...]

Minimax polynomials, by Remez' algorithm in 240 bits: p minimises the maximum of |weight * (p - function)|. Errors
are relative to the result, those of erf far from 0 absolute. The last digits depend on the ends of intervals, and do not
matter.
"""
import sys

import mpmath as mp

mp.mp.prec = 240
TINY = mp.mpf("1e-14")
MORE = 1 + mp.mpf(2) ** -10  # reduced arguments may be a little beyond the half


def extremes(error, low, high, count):
    """Where the error is largest between its zeros."""
    many = 16 * count
    grid = [(low + high) / 2 - (high - low) / 2 * mp.cos(mp.pi * i / many) for i in range(many + 1)]
    errors = [error(x) for x in grid]
    parts, start = [], 0
    for i in range(1, many + 1):
        if mp.sign(errors[i]) != mp.sign(errors[start]):
            parts.append(range(start, i))
            start = i
    parts.append(range(start, many + 1))
    best = [max(part, key=lambda i: abs(errors[i])) for part in parts]
    while len(best) > count:
        best.pop(0 if abs(errors[best[0]]) < abs(errors[best[-1]]) else -1)
    return [grid[i] for i in best], [abs(errors[i]) for i in best]


def remez(function, weight, low, high, degree):
    count = degree + 2
    points = [(low + high) / 2 - (high - low) / 2 * mp.cos(mp.pi * (i + mp.mpf(0.5)) / count) for i in range(count)]
    for _ in range(25):
        matrix, right = mp.matrix(count, count), mp.matrix(count, 1)
        for i, x in enumerate(points):
            for power in range(degree + 1):
                matrix[i, power] = x ** power
            matrix[i, degree + 1] = (-1) ** i / weight(x)
            right[i] = function(x)
        solved = mp.lu_solve(matrix, right)
        found = [solved[i] for i in range(degree, -1, -1)]
        points, errors = extremes(lambda x: weight(x) * (mp.polyval(found, x) - function(x)), low, high, count)
        if len(points) < count or max(errors) < mp.mpf("1.02") * min(errors):
            break
    return found, max(errors)


def precisely(function):
    def computed(x):
        with mp.workprec(500):
            return +function(mp.mpf(x))
    return computed


def sine(limit, degree):
    return (lambda u: (mp.sin(mp.sqrt(u)) - mp.sqrt(u)) / (u * mp.sqrt(u)), lambda u: u * mp.sqrt(u) / mp.sin(mp.sqrt(u)),
            TINY, (limit * MORE) ** 2, degree)


def cosine(degree):
    return lambda u: (mp.cos(mp.sqrt(u)) - 1 + u / 2) / u ** 2, lambda u: u * u, TINY, (mp.pi / 4 * MORE) ** 2, degree


def arctangent(degree):
    return (lambda z: (mp.atan(mp.sqrt(z)) - mp.sqrt(z)) / (z * mp.sqrt(z)), lambda z: z, TINY, mp.tan(mp.pi / 8) ** 2, degree)


def logarithm(s):
    return mp.log((1 + s) / (1 - s))


ROOT = ((mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)) ** 2
LN2 = mp.log(2)
START, END = (mp.mpf("0.84375") - 3) / (mp.mpf("0.84375") + 3), mp.mpf(1) / 3


def far(t):
    return 3 * (1 + t) / (1 - t)


POLYNOMIALS = {
    "sine, f32": sine(mp.pi / 2, 4), "sine, f64": sine(mp.pi / 2, 7),
    "short sine, f32": sine(mp.pi / 4, 3), "short sine, f64": sine(mp.pi / 4, 5),
    "cosine, f32": cosine(2), "cosine, f64": cosine(5),
    "arctangent, f32": arctangent(5), "arctangent, f64": arctangent(11),
    "exponential": (lambda r: (mp.exp(r) - 1 - r) / r ** 2 if abs(r) > 1e-30 else mp.mpf(0.5),
                    lambda r: max(r * r, mp.mpf("1e-7")), -LN2 / 2, LN2 / 2, 10),
    "power of 2, f32": (lambda r: mp.mpf(2) ** r, lambda r: 1, mp.mpf(-0.5), mp.mpf(0.5), 7),
    "logarithm": (lambda z: (logarithm(mp.sqrt(z)) / mp.sqrt(z) - 2) / z, lambda z: z / 2, TINY, ROOT, 6),
    "logarithm of a power, f32": (lambda z: (logarithm(mp.sqrt(z)) / mp.sqrt(z) - 2) / z, lambda z: z / 2, TINY, ROOT, 4),
    "logarithm of a power, f64": (lambda z: ((logarithm(mp.sqrt(z)) / mp.sqrt(z) - 2) / z - mp.mpf(2) / 3) / z,
                                  lambda z: z * z / 2, TINY, ROOT, 6),
    "erf near 0": (lambda u: mp.erf(mp.sqrt(u)) / mp.sqrt(u) - 1, lambda u: mp.sqrt(u) / mp.erf(mp.sqrt(u)), TINY,
                   mp.mpf("0.84375") ** 2, 11),
    "erf far from 0": (lambda t: mp.erfc(far(t)) * mp.exp(far(t) ** 2), lambda t: mp.exp(-far(t) ** 2), START, END, 12),
}

for name, (function, *rest) in POLYNOMIALS.items():
    if not sys.argv[1:] or name in sys.argv[1:]:
        coefficients, error = remez(precisely(function), *rest)
        print(f"{name}: 2**{float(mp.log(error, 2)):.1f}\n  {', '.join(repr(float(c)) for c in coefficients)}")
