"""Prints a graph of N equal dense layers: layers.py N"""

import sys

count = int(sys.argv[1])
x, w, b = "!mx.tensor<f32[B, 64]>", "!mx.tensor<f32[64, 64]>", "!mx.tensor<f32[64]>"
host = "!mx.tensor<f32[] on host>"
arguments = "".join(f", %w{i}: {w}, %b{i}: {b}" for i in range(count))
print(f'mx.graph @layers(%x0: {x}{arguments}) -> {x} attributes {{sizes = ["B"]}} {{')
print(f"  %zero = mx.constant 0.0 : f32 -> {host}")
for i in range(count):
    print(f"  %p{i} = mx.matmul %x{i}, %w{i} : ({x}, {w}) -> {x}")
    print(f"  %a{i} = mx.add %p{i}, %b{i} : ({x}, {b}) -> {x}")
    print(f"  %x{i + 1} = mx.maximum %a{i}, %zero : ({x}, {host}) -> {x}")
print(f"  mx.return %x{count} : {x}")
print("}")
