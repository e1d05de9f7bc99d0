# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""All rows of the matrix that this folder's programs measure. Arrays are made when a row is asked for its arguments."""
import dataclasses

import eager
import functions
import kernels
import networks


def all_rows():
    yield networks.mlp()
    yield networks.tiny()
    yield networks.lenet()
    yield networks.lstm()
    yield networks.mlp_inference()
    yield networks.transformer(256, 1, training=False, quick=True)
    yield networks.transformer(512, 1, training=False)
    yield kernels.attention()
    yield kernels.attention_gradients()
    yield networks.transformer(256, 8, training=True)
    yield networks.resnet_inference(18, quick=True)
    yield networks.resnet_inference(50)
    for part in ("forward", "input gradient", "filter gradient"):
        yield kernels.convolution("3x3 56x56 64-64 b8", 8, 56, 64, 64, 3, 1, 1, part=part, quick=True)
        yield kernels.convolution("3x3 14x14 256-256 b8", 8, 14, 256, 256, 3, 1, 1, part=part)
        yield kernels.convolution("1x1 56x56 64-256 b8", 8, 56, 64, 256, 1, 1, 0, part=part)
        yield kernels.convolution("3x3/2 28x28 128-128 b8", 8, 28, 128, 128, 3, 2, 1, part=part)
        yield kernels.convolution("depthwise 3x3 56x56 64 b8", 8, 56, 64, 64, 3, 1, 1, groups=64, part=part)
        yield kernels.convolution("7x7/2 224x224 3-64 b8", 8, 224, 3, 64, 7, 2, 3, part=part)
    yield networks.resnet_step(18)
    for n in (512, 1024):
        yield kernels.matmul_bf16(n)
    yield from kernels.element_rows()
    yield from kernels.row_rows(16384, 1024)
    yield from kernels.row_rows(4096, 1024, quick=True)  # fits in a large L3, where a copy is faster than in memory
    yield from functions.function_rows()
    yield kernels.embedding()
    yield from eager.eager_rows()
    yield of_memory(networks.resnet_step(50))
    yield of_memory(networks.lstm(steps=1000))


def small_rows():
    """The same rows in small sizes, for tests."""
    yield networks.mlp(batch=5, wide=20, hidden=7, classes=3)
    yield networks.tiny()
    yield networks.mlp_inference(3, (20, 7, 4))
    yield networks.transformer(32, 2, training=False, steps=5, heads=2)
    yield kernels.attention(2, 2, 9, 8)
    yield kernels.attention_gradients(2, 2, 9, 8)
    yield kernels.matmul_bf16(33)
    yield from kernels.element_rows((7, 33))
    yield from kernels.row_rows(5, 33)
    yield from functions.function_rows(77)
    yield kernels.embedding(50, 3, 20)


def of_memory(row):
    return dataclasses.replace(row, group="memory", name=row.name + ", peak memory", goal=1.5, memory=True, quick=False,
                               first_result=False)
