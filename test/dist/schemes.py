#!/usr/bin/env python3
"""Compares divided data in front of divided weights with the whole network.

  schemes.py MXC PROGRAM FOLDER
"""

import itertools
import os
import pathlib
import subprocess
import sys

import numpy as np
import safetensors_file


def whole(given, rows):
    """The sum of squares over all rows, and its gradients."""
    x, y = given["x"][:rows], given["y"][:rows]
    f = np.tanh(x @ given["w0"])
    h = np.tanh(f @ given["u1"])
    error = h @ given["u2"] - y
    g = 2 * error
    gh = (g @ given["u2"].T) * (1 - h**2)
    gf = (gh @ given["u1"].T) * (1 - f**2)
    return {"losses": (error**2).sum(), "g0": x.T @ gf, "g1": (f.T @ gh).T, "g2": h.T @ g}


def main():
    mxc, program, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    out = folder / "schemes"
    compared, worst = 0, 0.0
    for mode, engine, workers in itertools.product(([], ["--eager"]), ("threaded", "naive"), (1, 2, 4)):
        command = [mxc, "run", *mode, program, "--", f"workers={workers}", f"out={out}"]
        done = subprocess.run(command, env={**os.environ, "MX_ENGINE": engine}, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)} with {engine}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        given = safetensors_file.read(out)
        for name, wanted in whole(given, 8 * workers).items():
            for scheme in range(3):
                compared += 1
                worst = max(worst, np.abs(given[name][scheme] - wanted).max() / np.abs(wanted).max())
    print(f"{compared} values compared;", "equal" if worst < 1e-12 else f"off by {worst:.2e}")


main()
