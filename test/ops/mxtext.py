"""Arrays as mx text, and printed or saved tensors as arrays: what tests that compare with NumPy share."""

import json
import math
import re
import struct

import numpy as np

NP = {"bool": np.bool_, "i8": np.int8, "u8": np.uint8, "i32": np.int32, "i64": np.int64,
      "f16": np.float16, "f32": np.float32, "f64": np.float64}
# Tensors of more elements are printed in parts: longer ones are shown with gaps.
WHOLE = 36


def kind_of(x):
    return next((n for n, t in NP.items() if x.dtype == t), None)


def literal(x):
    """An array as mx text."""
    def number(v):
        if x.dtype == np.bool_:
            return "true" if v else "false"
        if x.dtype.kind in "iu":
            return str(int(v))
        v = float(v)
        if math.isnan(v):
            return "nan"
        if math.isinf(v):
            return "inf" if v > 0 else "-inf"
        return repr(v) if "e" in repr(v) or "." in repr(v) else repr(v) + ".0"

    def rows(a):
        return number(a) if a.ndim == 0 else "[" + ", ".join(rows(r) for r in a) + "]"

    if x.size == 0:
        return f"zeros([{', '.join(map(str, x.shape))}], dtype={kind_of(x)})"
    return rows(x)


def type_text(kind, shape):
    return kind + (f"[{', '.join(map(str, shape))}]" if len(shape) else "")


def typed(name, x):
    return f"let {name}: {type_text(kind_of(x), x.shape)} = {literal(x)}"


def show(text, kind, shape, name):
    """Statements that print a value with all its digits; long ones in parts that are shown whole.
    `name` is free for variables."""
    form = "d" if kind in ("i8", "u8", "i32", "i64") else ".17g"
    one = (lambda t: f"print({t})") if kind == "bool" else (lambda t: f'print(f"{{{t}:{form}}}")')
    size = int(np.prod(shape))
    if size <= WHOLE:
        return [one(text)]
    lines = [f"let {name}: {type_text(kind, shape)} = {text}", f"let {name}flat = {name}.reshape([{size}])"]
    for begin in range(0, size, WHOLE):
        lines.append(one(f"{name}flat[{begin}:{min(begin + WHOLE, size)}]"))
    return lines


def parse(body, kind):
    """The printed value as a flat array, and the type it was printed with."""
    head = r"([a-z]+[0-9]+|bool)(\[[0-9, ]*\])"
    heads = re.findall(head, body)
    # Of parts the program has checked the whole shape.
    shape = "".join(heads[0]) if len(heads) == 1 else None
    body = re.sub(head, "", body)
    words = re.findall(r"-?nan|-?inf|true|false|-?[0-9][0-9.e+-]*", body)
    if "..." in body or "…" in body:
        return None, shape
    if kind == "bool":
        return np.array([w == "true" for w in words], dtype=np.bool_), shape
    if kind in ("i8", "u8", "i32", "i64"):
        return np.array([int(w) for w in words], dtype=np.int64), shape
    return np.array([float(w) for w in words], dtype=np.float64), shape


def saved(path):
    """Name: array, of a file that `save` wrote, by the description of safetensors."""
    kinds = {kind.upper(): t for kind, t in NP.items()}
    with open(path, "rb") as file:
        content = file.read()
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8:8 + length])
    header.pop("__metadata__", None)
    return {name: np.frombuffer(content, kinds[t["dtype"]], int(np.prod(t["shape"])), 8 + length + t["data_offsets"][0])
            .reshape(t["shape"]) for name, t in header.items()}
