"""Reads a safetensors file, by the format's description alone."""

import json
import struct

import numpy as np

TYPES = {"F32": np.float32, "F64": np.float64, "I32": np.int32, "I64": np.int64}


def read(path):
    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8:8 + length])
    header.pop("__metadata__", None)
    out = {}
    for name, tensor in header.items():
        begin, end = (8 + length + at for at in tensor["data_offsets"])
        out[name] = np.frombuffer(content[begin:end], TYPES[tensor["dtype"]]).reshape(tensor["shape"])
    return out
