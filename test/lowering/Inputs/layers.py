"""Prints a graph of as many equal layers as the argument says, each with a location of its own."""

import sys

count = int(sys.argv[1])
vector, matrix = "!mx.tensor<f32[8, 16]>", "!mx.tensor<f32[16, 16]>"
weights = ", ".join(f"%w{i}: {matrix}" for i in range(count))
print(f"mx.graph @net(%x0: {vector}, {weights}) -> {vector} {{")
for i in range(count):
    print(f"""  %x{i + 1} = mx.kernel(%x{i}, %w{i}) : ({vector}, {matrix}) -> {vector} {{
  ^bb0(%x: {vector}, %w: {matrix}):
    %y = mx.matmul %x, %w : ({vector}, {matrix}) -> {vector} loc("net.mx":{i + 1}:5)
    %z = mx.tanh %y : ({vector}) -> {vector} loc("net.mx":{i + 1}:9)
    mx.yield %z : {vector}
  }} loc("net.mx":{i + 1}:1)""")
print(f"  mx.return %x{count} : {vector}\n}}")
