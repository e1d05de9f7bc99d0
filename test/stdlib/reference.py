# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs cases of the standard library in one process and compares them with NumPy.

A case is mx text that leaves values behind and a function of these values that says what they must
be. Inputs and weights are drawn in mx and travel through a checkpoint, so NumPy computes in f64 from
the very same numbers.
"""
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

DTYPES = {"F16": np.float16, "F32": np.float32, "F64": np.float64, "I32": np.int32, "I64": np.int64, "BOOL": np.bool_,
          "U8": np.uint8}


def read(path):
    """The tensors of a safetensors file, numbers as f64."""
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        data = file.read()
    values = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        first, last = entry["data_offsets"]
        array = np.frombuffer(data[first:last], DTYPES[entry["dtype"]]).reshape(entry["shape"])
        values[name] = array.astype(np.float64) if array.dtype.kind == "f" else array
    return values


def write(path, values, exact=False):
    """A safetensors file of arrays, numbers as f32 if not `exact`."""
    header, data = {}, b""
    for name, value in values.items():
        value = np.asarray(value, np.float32 if value.dtype.kind == "f" and not exact else value.dtype, order="C")
        kind = next(k for k, dtype in DTYPES.items() if value.dtype == dtype)
        header[name] = {"dtype": kind, "shape": value.shape, "data_offsets": [len(data), len(data) + value.nbytes]}
        data += value.tobytes()
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text + data)


class Cases:
    def __init__(self, head):
        self.lines, self.cases, self.inputs = [head], [], []

    def add(self, name, code, values, expected, rtol=2e-4, atol=2e-5, inputs=None):
        """`values`: names or `name=expression` to hand over; `expected(v)` maps names to arrays. The code finds
        `inputs` in the file `given`."""
        at = len(self.cases)
        if inputs:
            code = f"let given = f\"{{folder}}/{at}.in\"\n{code.strip()}"
        self.inputs.append(inputs)
        body = "\n".join("  " + line for line in code.strip().split("\n"))
        self.lines.append(f"if true {{\n{body}\n  save(f\"{{folder}}/{at}\", {values})\n}}")
        self.cases.append((name, expected, rtol, atol))

    def run(self):
        mxc, failed = sys.argv[1], 0
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, "cases.mx")
            for at, inputs in enumerate(self.inputs):
                if inputs:
                    write(os.path.join(folder, f"{at}.in"), inputs)
            with open(program, "w") as file:
                file.write("\n".join([f"let folder = \"{folder}\""] + self.lines) + "\n")
            done = subprocess.run([mxc, "run", program], capture_output=True, text=True)
            if done.returncode:
                sys.exit(done.stdout + done.stderr)
            for at, (name, expected, rtol, atol) in enumerate(self.cases):
                given = read(os.path.join(folder, str(at)))
                wanted = expected(given)
                for key, want in wanted.items():
                    got, want = given[key], np.asarray(want)
                    if got.shape != want.shape:
                        print(f"{name}: {key} has shape {got.shape}, expected {want.shape}")
                        failed += 1
                    elif not np.allclose(got, want, rtol=rtol, atol=atol, equal_nan=True):
                        print(f"{name}: {key} differs by {np.max(np.abs(got - want))}\n{got}\n{want}")
                        failed += 1
        print(f"{len(self.cases)} cases, {failed} differ")
        sys.exit(1 if failed else 0)
