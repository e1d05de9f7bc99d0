# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a row of the matrix is: an ordinary mx program with a graph `run`, its arguments, and the same in other libraries.

A peer is a function of the library and of the arguments as its arrays that gives what is timed, without arguments. The
peer `onnx` is a function of an `OnnxGraph` and the indices of its inputs; `iree` is a function of JAX that gives the
function to compile.
"""
import dataclasses
import math

import numpy as np


@dataclasses.dataclass(frozen=True)
class Tensor:
    """An argument: normal numbers times `scale` plus `offset`; whole numbers where `below` is their end."""
    name: str
    shape: tuple
    scale: float = 1.0
    offset: float = 0.0
    below: int = 0
    type: str = "f32"

    @property
    def text(self):
        return f"{self.name}: {'i32' if self.below else self.type}{list(self.shape)}"

    def array(self, seed):
        generator = np.random.default_rng(seed)
        if self.below:
            return generator.integers(0, self.below, self.shape).astype(np.int32)
        numbers = generator.standard_normal(self.shape, dtype=np.float32) if self.scale else np.zeros(self.shape, np.float32)
        numbers = numbers * np.float32(self.scale) + np.float32(self.offset)
        if self.type == "f64":  # with all of their bits
            return numbers + generator.standard_normal(self.shape) * 2.0 ** -30
        return bf16_bits(numbers) if self.type == "bf16" else numbers


@dataclasses.dataclass
class Row:
    group: str  # of report.GROUPS
    name: str
    source: str
    tensors: list
    peers: dict
    goal: float = 0  # the best peer's time / ours, at least
    copy_goal: float = 0  # the time of a copy of as many bytes / ours, at least
    changed: tuple = ()  # indices of the arguments that a call changes
    flops: int = 0
    bytes: int = 0  # read and written, where memory limits it
    tolerance: float = 1e-4
    quick: bool = False  # part of `--quick`
    memory: bool = False  # its bytes are measured, not its time
    first_result: bool = False  # the time from source to first result is a row too

    def arguments(self):
        return [tensor.array(seed) for seed, tensor in enumerate(self.tensors)]


def bf16_bits(numbers):
    """Rounded to the nearest, to even. NumPy has no bf16: its bits are kept as uint16."""
    bits = numbers.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def bf16_numbers(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


def signature(tensors, mut=()):
    return ", ".join(("mut " if i in mut else "") + tensor.text for i, tensor in enumerate(tensors))


def counted(shape):
    return math.prod(shape)


# -------------------------------------------------------------------------------- what peers have in common

def torch_inference(function):
    """`function` of torch gives a function of the arguments."""
    def peer(torch, *values, wrap=None):
        used = wrap(function(torch)) if wrap else function(torch)

        def step():
            with torch.inference_mode():
                return used(*values)
        return step
    return peer


def torch_gradient(function, by):
    """The gradient by one argument; the last one is the gradient of the result. What goes forward is not timed."""
    def peer(torch, *values, wrap=None):
        used = wrap(function(torch)) if wrap else function(torch)
        values[by].requires_grad_()
        y = used(*values[:-1])
        return lambda: torch.autograd.grad(y, values[by], values[-1], retain_graph=True)[0]
    return peer


def jax_function(function):
    def peer(jax, *values):
        used = jax.jit(function(jax))
        return lambda: used(*values).block_until_ready()
    return peer


def jax_and_iree(function):
    return {"jax": jax_function(function), "iree": function}


def jax_gradient(function, by):
    def slope(jax):
        used = function(jax)

        def run(*values):
            def of(one):
                return used(*values[:by], one, *values[by + 1:-1])
            return jax.vjp(of, values[by])[1](values[-1])[0]
        return run
    return jax_function(slope)


def numpy_function(function):
    return lambda _, *values: lambda: function(*values)


class OnnxGraph:
    """An ONNX model as it is written: weights are constants, as exporters make them."""

    def __init__(self, onnx, tensors, arrays, given):
        """`given` are the indices of the arguments that stay arguments of the model."""
        self.onnx, self.nodes, self.constants = onnx, [], []
        self.arrays = {tensor.name: array for tensor, array in zip(tensors, arrays)}
        self.inputs = [onnx.helper.make_tensor_value_info(tensors[i].name, onnx.TensorProto.FLOAT, tensors[i].shape)
                       for i in given]
        for i, tensor in enumerate(tensors):
            if i not in given:
                self.constant(self.arrays[tensor.name], tensor.name)

    def constant(self, array, name=None):
        name = name or f"c{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(np.asarray(array), name))
        return name

    def op(self, kind, *inputs, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def model(self, output, shape):
        """The bytes of a file."""
        onnx = self.onnx
        result = onnx.helper.make_tensor_value_info(output, onnx.TensorProto.FLOAT, shape)
        used = {name for node in self.nodes for name in node.input}
        graph = onnx.helper.make_graph(self.nodes, "row", self.inputs, [result], [c for c in self.constants if c.name in used])
        model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=9)
        onnx.checker.check_model(model)
        return model.SerializeToString()
