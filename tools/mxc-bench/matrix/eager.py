# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows of single operations of eager code, beside PyTorch's: convolutions of all kinds, gathers, pooling, top-k."""
from row import Row, Tensor, signature, torch_inference


def result_of(torch_function):
    return lambda torch: torch_function(torch, torch.nn.functional)


# The text in mx, the result's type, the arguments, the same of torch and torch.nn.functional.
OPERATIONS = {
    "conv3d 3x3x3 16x16x16 32-32 b2": (
        "conv3d(x, w, pad=1)", "f32[2, 32, 16, 16, 16]", [Tensor("x", (2, 32, 16, 16, 16)), Tensor("w", (32, 32, 3, 3, 3))],
        lambda _, nn: lambda x, w: nn.conv3d(x, w, padding=1)),
    "depthwise 3x3 56x56 64 b8": (
        "conv2d(x, w, pad=1, groups=64)", "f32[8, 64, 56, 56]", [Tensor("x", (8, 64, 56, 56)), Tensor("w", (64, 1, 3, 3))],
        lambda _, nn: lambda x, w: nn.conv2d(x, w, padding=1, groups=64)),
    "grouped 3x3 28x28 128 in 8 b8": (
        "conv2d(x, w, pad=1, groups=8)", "f32[8, 128, 28, 28]", [Tensor("x", (8, 128, 28, 28)), Tensor("w", (128, 16, 3, 3))],
        lambda _, nn: lambda x, w: nn.conv2d(x, w, padding=1, groups=8)),
    "dilated 3x3 28x28 64-64 b8": (
        "conv2d(x, w, pad=2, dilation=2)", "f32[8, 64, 28, 28]", [Tensor("x", (8, 64, 28, 28)), Tensor("w", (64, 64, 3, 3))],
        lambda _, nn: lambda x, w: nn.conv2d(x, w, padding=2, dilation=2)),
    "transposed 4x4/2 14x14 64-64 b8": (
        "conv2d_transpose(x, w, stride=2, pad=1)", "f32[8, 64, 28, 28]", [Tensor("x", (8, 64, 14, 14)), Tensor("w", (64, 64, 4, 4))],
        lambda _, nn: lambda x, w: nn.conv_transpose2d(x, w, stride=2, padding=1)),
    "31x31 32x32 16-16 b2": (
        "conv2d(x, w, pad=15)", "f32[2, 16, 32, 32]", [Tensor("x", (2, 16, 32, 32)), Tensor("w", (16, 16, 31, 31))],
        lambda _, nn: lambda x, w: nn.conv2d(x, w, padding=15)),
    "take_along 1024x1024": (
        "take_along(x, i, axis=1)", "f32[1024, 1024]", [Tensor("x", (1024, 1024)), Tensor("i", (1024, 1024), below=1024)],
        lambda torch, _: lambda x, i: torch.take_along_dim(x, i.long(), 1)),
    "window_max 3/2 1024x1024": (
        "window_max(x, 3, stride=2, pad=1)", "f32[1024, 512]", [Tensor("x", (1024, 1024))],
        lambda _, nn: lambda x: nn.max_pool1d(x, 3, 2, 1)),
    "top_k(5) of 1M": (
        "let (largest, _) = top_k(x, 5); largest", "f32[5]", [Tensor("x", (1 << 20,))],
        lambda torch, _: lambda x: torch.topk(x, 5)[0]),
}


def eager_rows():
    for name, (text, result, tensors, function) in OPERATIONS.items():
        source = f"fn run({signature(tensors)}) -> {result} {{ {text} }}\n"
        yield Row("eager", f"eager {name}", source, tensors, {"torch": torch_inference(result_of(function))}, goal=1.0, tolerance=1e-3)
