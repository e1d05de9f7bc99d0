#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Counts what the reverse pass keeps: stacks of loops, copies of them, and buffers between passes.

Usage: kept.py MXC

Each case is a graph with a gradient in it. What is counted is the plan (`--emit=mxrt`): a stack is
memory for a tensor whose first size is the number of trips. Prints what is wrong; exits with 1 then.
"""
import re
import subprocess
import sys
import tempfile

MXC = sys.argv[1]
wrong = []


def emitted(stage, text):
    with tempfile.NamedTemporaryFile("w", suffix=".mx") as file:
        file.write(text)
        file.flush()
        done = subprocess.run([MXC, "run", f"--emit={stage}", file.name], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{text}\n{done.stderr[:2000]}")
    return done.stdout


def plan(text):
    """Slices by type, without those that share an offset; copies by type; kernels; loops."""
    out = emitted("mxrt", text)
    slices = {}
    for offset, shape in re.findall(r"mxrt\.slice (\d+) bytes \d+ : <(\w+\[[0-9, ]*\])>", out):
        slices.setdefault(shape, set()).add(offset)
    copies = re.findall(r"mxrt\.copy .* : <(\w+\[[0-9, ]*\])>, ", out)
    return slices, copies, out


def expect(what, got, want):
    if got != want:
        wrong.append(f"{what}: {got}, not {want}")


def stacks(slices, trips):
    return sorted(shape for shape, at in slices.items() for _ in at if re.match(rf"\w+\[{trips}\b", shape))


def loop(body, trips, setup="", after="h.sum()", by="w", header=""):
    return f"""
graph fn f(w: f32[5, 5], x: f32[3, 5]) -> f32[5, 5] {{
  let (_, g) = grad({by}) {{
    var h = x
    {setup}
    {header}
    for t in 0..{trips} {{ {body} }}
    {after}
  }}
  g
}}
print(f(ones([5, 5]), ones([3, 5])))
"""


# One stack for the one value that the reverse pass needs; it is never copied.
for trips in (7, 700):
    slices, copies, text = plan(loop("h = tanh(h @ w)", trips))
    expect(f"stacks of {trips} trips", stacks(slices, trips), [f"f32[{trips}, 3, 5]"])
    expect("copies of stacks", [c for c in copies if c.startswith(f"f32[{trips}")], [])
    expect("loops", text.count("scf.for "), 2)
    expect("the stack is written over", len(re.findall(r"_over_0 reads\(%\d+, %\d+, %\d+ : "
                                                       rf"!mxrt.buffer<f32\[{trips}, ", text)), 1)
short = plan(loop("h = tanh(h @ w)", 7))[2].count("mxrt.call")
expect("calls do not depend on the number of trips", short, text.count("mxrt.call"))

# A sum needs nothing of what it carries.
slices, _, _ = plan(loop("h = h + x * w[0]", 7))
expect("stacks of a sum", stacks(slices, 7), [])

# Two carried values, both needed.
slices, copies, _ = plan(loop("(h, c) = (tanh(c @ w), h * c)", 7, setup="var c = x"))
expect("stacks of two values", stacks(slices, 7), ["f32[7, 3, 5]"] * 2)
expect("their copies", [c for c in copies if c.startswith("f32[7")], [])

# Of an array that is indexed, the indexed slices are kept, not a whole array for each iteration.
slices, copies, _ = plan(loop("r[t + 1] = sin(r[t]) @ w", 7, setup="var r = zeros([8, 5])\n    r[0] = x[0]",
                              after="r.sum()"))
expect("stacks of an array", stacks(slices, 7), ["f32[7, 5]"])
expect("copies of the array in the loop", [c for c in copies if c == "f32[8, 5]"], [])

# Matmuls of many terms are kept, with the ops on them, and not computed again; of few terms (above) they are.
def wide(body, terms, trips=7, after="h.sum()", setup=""):
    return f"""
graph fn f(w: f32[{terms}, {terms}], v: f32[{terms}, {terms}], x: f32[3, {terms}]) -> f32[{terms}, {terms}] {{
  let (_, g) = grad(w) {{
    var h = x
    {setup}
    for t in 0..{trips} {{ {body} }}
    {after}
  }}
  g
}}
print(f(0.01 * ones([{terms}, {terms}]), ones([{terms}, {terms}]), ones([3, {terms}])))
"""


def products(text):
    """Calls of kernels with a product in them."""
    kernels = [name for name, body in re.findall(r"mxrt\.kernel @(\w+)(\(.*?)\n  }\n", text, re.S) if "mx.matmul" in body]
    return sum(len(re.findall(rf"mxrt\.call @{name} ", text)) for name in kernels)


for terms, kept, calls in ((64, 2, 3), (32, 2, 3), (31, 1, 4)):
    slices, copies, text = plan(wide("h = tanh(h @ w + 1.0)", terms))
    expect(f"stacks of a product of {terms} terms", stacks(slices, 7), [f"f32[7, 3, {terms}]"] * kept)
    expect("products", products(text), calls)
    expect("copies of the stacks", [c for c in copies if c.startswith("f32[7")], [])
# Two products that are added are kept as their sum; what only they needed is not.
slices, _, text = plan(wide("h = tanh(h @ w + sin(c) @ v)\n c = c * 0.5", 64, setup="var c = x"))
expect("stacks of a sum of products", stacks(slices, 7), ["f32[7, 3, 64]"] * 2)
expect("products of such a sum", products(text), 4)

# The gradient of an array that each iteration writes a part of is changed where it is.
slices, copies, text = plan(wide("h = tanh(h @ w)\n out[t] = h", 64, setup="var out = zeros([7, 3, 64])",
                                 after="(out * out).sum()"))
expect("copies where parts are written", [c for c in copies if c.startswith("f32[7")], [])
expect("updates that copy", len(re.findall(r"kernel @k_[0-9a-f]+\((?:(?!\n  }\n).)*mx\.update", text, re.S)), 0)

# The gradient of a matrix that each iteration multiplies with is one matmul after the loop, where all its factors are
# kept anyway: h of each iteration for the matmul, and the gradient of z as that of all that the iterations read.
def layer(trips, z="z[t]", slots=None):
    return f"""
graph fn f(w: f32[64, 64], z: f32[{slots or trips}, 3, 64], x: f32[3, 64]) -> (f32[64, 64], f32[{slots or trips}, 3, 64]) {{
  let (_, g) = grad(w, z) {{
    var h = x
    for t in 0..{trips} {{ h = tanh({z} + h @ w) }}
    (h * h).sum()
  }}
  g
}}
print(f(0.01 * ones([64, 64]), ones([{slots or trips}, 3, 64]), ones([3, 64])))
"""


def loops(text):
    """Calls of products inside and outside of loops."""
    program = text[text.index("mxrt.program"):]
    inside = "".join(re.findall(r"scf\.for .*?\n    }\n", program, re.S))
    return products(text[:text.index("mxrt.program")] + inside), products(text)


slices, _, text = plan(layer(7))
expect("products in the loops, and in all", loops(text), (2, 3))
expect("stacks", sorted(set(stacks(slices, 7))), ["f32[7, 3, 64]"])
# Not if there is an index without an iteration, if iterations share one, or if what is multiplied is not kept.
expect("products with more slots", loops(plan(layer(7, slots=8))[2]), (3, 3))
expect("products of one slot", loops(plan(layer(7, z="z[3]"))[2]), (3, 3))
expect("products of the next slot", loops(plan(layer(7, z="z[t + 1]", slots=8))[2]), (3, 3))

# @remat: each fourth state, and those of one block.
slices, _, text = plan(loop("h = tanh(h @ w)", 16, header="@remat(every=4)"))
expect("stacks with @remat", stacks(slices, 16) + stacks(slices, 4), ["f32[4, 3, 5]"] * 2)
slices, _, _ = plan(loop("h = tanh(h @ w)", 22, header="@remat(every=4)"))
expect("stacks with a block that is not full", stacks(slices, 6) + stacks(slices, 4),
       ["f32[6, 3, 5]", "f32[4, 3, 5]"])

# Nested: one stack for the outer loop, one that each of its iterations uses again.
slices, _, _ = plan(loop("for k in 0..9 { h = tanh(h @ w) }", 7))
expect("stacks of nested loops", stacks(slices, 7) + stacks(slices, 9), ["f32[7, 3, 5]", "f32[9, 3, 5]"])

# An LSTM: nothing of the code depends on the number of steps, and of each step the two carried values are kept.
def lstm(steps):
    return f"""
graph fn f(wx: f32[4, 20], wh: f32[5, 20], x: f32[{steps}, 3, 4]) -> (f32[4, 20], f32[5, 20]) {{
  let (_, g) = grad(wx, wh) {{
    var (h, c) = (zeros([3, 5]), zeros([3, 5]))
    for t in 0..{steps} {{
      let z = x[t] @ wx + h @ wh
      let next = sigmoid(z[:, 0:5]) * c + sigmoid(z[:, 5:10]) * tanh(z[:, 10:15])
      h = sigmoid(z[:, 15:20]) * tanh(next)
      c = next
    }}
    (h * c).sum()
  }}
  g
}}
print(f(ones([4, 20]), ones([5, 20]), ones([{steps}, 3, 4])))
"""


counted = []
for steps in (10, 1000):
    slices, copies, text = plan(lstm(steps))
    expect(f"stacks of an LSTM of {steps} steps", stacks(slices, steps), [f"f32[{steps}, 3, 5]"] * 2)
    expect("their copies", [c for c in copies if c.startswith(f"f32[{steps}")], [])
    counted.append((text.count("mxrt.call"), text.count("mxrt.slice"), text.count("scf."), len(text.splitlines())))
expect("calls, slices, loops and lines of 10 and of 1,000 steps", counted[0], counted[1])

# A chain of residual layers keeps the output of each tanh: the sums are not kept, nor copied.
chain = "".join(f"    h = h + tanh(h @ w)\n" for _ in range(12))
slices, copies, text = plan(f"""
graph fn f(w: f32[5, 5], x: f32[3, 5]) -> f32[5, 5] {{
  let (_, g) = grad(w) {{
    var h = x
{chain}    h.sum()
  }}
  g
}}
print(f(ones([5, 5]), ones([3, 5])))
""")
expect("copies in a residual chain", copies, [])
kept = sum(len(at) for shape, at in slices.items() if shape == "f32[3, 5]")
if kept > 2 * 12 + 3:
    wrong.append(f"a residual chain of 12 layers has {kept} buffers of its width")

# @remat of a function: its calls keep their arguments and nothing from inside, for the same bits.
def layers(mark):
    calls = "    h = layer(h, w)\n" * 12
    return f"""
{mark}
fn layer(x: f32[30, 50], w: f32[50, 50]) -> f32[30, 50] {{
  tanh(sin(tanh(x @ w) @ w) @ w) + x
}}
graph fn f(w: f32[50, 50], x: f32[30, 50]) -> f32[50, 50] {{
  let (_, g) = grad(w) {{
    var h = x
{calls}
    h.sum()
  }}
  g
}}
print(f(0.01 * ones([50, 50]), ones([30, 50])).sum())
"""


def bytes_of(text):
    return sum(map(int, re.findall(r'#mxrt\.arena<"[^"]*" (\d+)', emitted("mxrt", text))))


def result(text):
    with tempfile.NamedTemporaryFile("w", suffix=".mx") as file:
        file.write(text)
        file.flush()
        return subprocess.run([MXC, "run", file.name], capture_output=True, text=True).stdout


plain, again = layers(""), layers("@remat")
expect("result with @remat", result(again), result(plain))
if not bytes_of(again) < 0.5 * bytes_of(plain):
    wrong.append(f"@remat of a function needs {bytes_of(again)} bytes, without it {bytes_of(plain)}")

# Loops over sub-models are differentiated written out: no stacks, nothing runs twice, and equal layers share code.
def deep(layers):
    return f"""
model Layer[D] {{
  param w: f32[D, D] = ones()
  fn call(x: f32[B, D]) -> f32[B, D] {{ x + tanh(x @ w) }}
}}
model Net[D](static depth: i64) {{
  sub blocks: [Layer[D]; depth]
  fn call(x: f32[B, D]) -> f32[B, D] {{
    var h = x
    for b in blocks {{ h = b(h) }}
    h
  }}
}}
graph fn step(mut net: Net[D], x: f32[B, D]) -> f32 {{
  let (loss, g) = grad(net) {{ net(x).sum() }}
  net -= 0.1 * g
  loss
}}
var net = Net[5](depth={layers})
print(step(mut net, ones([3, 5])))
"""


kernels = []
for layers_of in (4, 13):
    slices, _, text = plan(deep(layers_of))
    expect("stacks of a loop over sub-models", stacks(slices, layers_of), [])
    bodies = dict(re.findall(r"mxrt\.kernel @(\w+)\((.*?)\n  }\n", text, flags=re.S))
    products = sum("mx.matmul" in bodies[name] for name in re.findall(r"mxrt\.call @(\w+)", text))
    expect(f"products of {layers_of} layers", products, 3 * layers_of - 1)
    kernels.append(len(bodies))
expect("kernels of 4 and of 13 layers", kernels[0], kernels[1])

# A relu keeps its output, perhaps a mask, and not its input.
out = emitted("mx-fused", """
graph fn f(w: f32[5, 7], v: f32[7, 2], x: f32[3, 5]) -> (f32[5, 7], f32[7, 2]) {
  let (_, g) = grad(w, v) { ((maximum(x @ w, 0.0) @ v) ** 2).sum() }
  g
}
print(f(ones([5, 7]), ones([7, 2]), ones([3, 5])))
""")
relu = [k for k in re.findall(r"mx\.kernel\(.*?\n    }", out, flags=re.S) if "mx.maximum" in k]
expect("kernels with the relu", len(relu), 1)
expect("outputs of the relu", re.search(r"mx\.yield .* : (.*)", relu[0]).group(1).count("f32[3, 7]"), 1)

# Rows that were taken are added where they came from, in a loop to the sum itself.
out = emitted("mx-fused", """
graph fn f(w: f32[50, 4], ids: i32[6, 3]) -> f32[50, 4] {
  let (_, g) = grad(w) {
    var s = 0.0
    for t in 0..6 { s += (take(w, ids[t]) ** 2).sum() }
    s
  }
  g
}
print(f(ones([50, 4]), zeros([6, 3], dtype=i32)))
""")
expect("scatter_add", out.count("mx.scatter_add"), 1)
expect("products for it", out.count("mx.matmul"), 0)
expect("sums of whole tables", len(re.findall(r"mx\.add .*f32\[50, 4\]", out)), 0)

if wrong:
    sys.exit("\n".join(wrong))
print("what is kept is what is needed")
