"""Just enough of protobuf and ONNX to read the single-op test cases: models and tensors.

Field numbers are those of onnx.proto. Nothing is checked beyond what reading needs: the files come
with the package libonnx-testdata.
"""

import struct
from dataclasses import dataclass, field

import numpy as np

TYPES = {1: np.float32, 2: np.uint8, 3: np.int8, 4: np.uint16, 5: np.int16, 6: np.int32, 7: np.int64, 8: str,
         9: np.bool_, 10: np.float16, 11: np.float64, 12: np.uint32, 13: np.uint64}


def fields(data):
    """(number, value) of each field: an int, or bytes."""
    at = 0

    def varint():
        nonlocal at
        out = shift = 0
        while True:
            byte = data[at]
            at += 1
            out |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return out

    while at < len(data):
        key = varint()
        kind = key & 7
        if kind == 0:
            value = varint()
        elif kind == 2:
            length = varint()
            value, at = data[at:at + length], at + length
        elif kind == 5:
            value, at = data[at:at + 4], at + 4
        elif kind == 1:
            value, at = data[at:at + 8], at + 8
        else:
            raise ValueError(f"wire type {kind}")
        yield key >> 3, value


def signed(v):
    return v - (1 << 64) if v >= 1 << 63 else v


def numbers(value):
    """A repeated integer: one value, or packed ones."""
    if isinstance(value, int):
        return [signed(value)]
    out, at = [], 0
    while at < len(value):
        v = shift = 0
        while True:
            byte = value[at]
            at += 1
            v |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        out.append(signed(v))
    return out


def tensor(data):
    """A TensorProto as an array; None for texts and types NumPy lacks."""
    dims, kind, raw, items = [], 0, None, []
    for number, value in fields(data):
        if number == 1:
            dims += numbers(value)
        elif number == 2:
            kind = value
        elif number == 9:
            raw = value
        elif number == 4:  # float_data
            items += struct.unpack(f"<{len(value) // 4}f", value)
        elif number == 10:  # double_data
            items += struct.unpack(f"<{len(value) // 8}d", value)
        elif number in (5, 7, 11):
            items += numbers(value)
    dtype = TYPES.get(kind)
    if dtype is None or dtype is str:
        return None
    if raw is not None:
        return np.frombuffer(raw, dtype).reshape(dims)
    if dtype == np.float16:
        return np.array(items, np.uint16).view(np.float16).reshape(dims)
    return np.array(items).astype(dtype).reshape(dims)


@dataclass
class Node:
    op: str = ""
    inputs: list = field(default_factory=list)
    outputs: list = field(default_factory=list)
    attrs: dict = field(default_factory=dict)


def attribute(data):
    name, out, floats, ints, strings = "", None, [], [], []
    for number, value in fields(data):
        if number == 1:
            name = value.decode()
        elif number == 2:
            out = struct.unpack("<f", value)[0]
        elif number == 3:
            out = signed(value)
        elif number == 4:
            out = value.decode(errors="replace")
        elif number == 5:
            out = tensor(value)
        elif number == 6:
            out = "a graph"
        elif number == 7:
            floats += struct.unpack(f"<{len(value) // 4}f", value)
        elif number == 8:
            ints += numbers(value)
        elif number == 9:
            strings.append(value.decode(errors="replace"))
    return name, out if out is not None else floats or ints or strings


def node(data):
    out = Node()
    for number, value in fields(data):
        if number == 1:
            out.inputs.append(value.decode())
        elif number == 2:
            out.outputs.append(value.decode())
        elif number == 4:
            out.op = value.decode()
        elif number == 5:
            name, v = attribute(value)
            out.attrs[name] = v
    return out


@dataclass
class Model:
    nodes: list
    inputs: list  # names
    outputs: list
    opset: int


def value_name(data):
    return next(v.decode() for n, v in fields(data) if n == 1)


def model(data):
    out = Model([], [], [], 0)
    for number, value in fields(data):
        if number == 7:
            for inner, v in fields(value):
                if inner == 1:
                    out.nodes.append(node(v))
                elif inner == 11:
                    out.inputs.append(value_name(v))
                elif inner == 12:
                    out.outputs.append(value_name(v))
        elif number == 8:
            entry = dict(fields(value))
            if not entry.get(1):
                out.opset = entry.get(2, 0)
    return out
