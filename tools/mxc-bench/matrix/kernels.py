# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows of single kernels: bf16 matmul, convolutions, elementwise chains, softmax and norms, attention, embeddings. f32
matmul is `mxc-bench matmul`, which calls all sides from C++."""
import numpy

from row import (Row, Tensor, bf16_bits, bf16_numbers, counted, jax_and_iree, jax_function, jax_gradient, numpy_function, signature,
                 torch_gradient, torch_inference)


def matmul_bf16(n):
    tensors = [Tensor("x", (n, n), type="bf16"), Tensor("y", (n, n), type="bf16")]
    source = f"graph fn run({signature(tensors)}) -> bf16[{n}, {n}] {{ x @ y }}\n"
    return Row("matmul", f"matmul {n}x{n}x{n} bf16", source, tensors, {
        "torch": torch_inference(lambda torch: lambda a, b: a @ b),
        "jax": jax_function(lambda jax: lambda a, b: a @ b),
        "numpy": numpy_function(lambda a, b: bf16_bits(bf16_numbers(a) @ bf16_numbers(b)))},
        goal=1.0, flops=2 * n ** 3, tolerance=1e-2, quick=n <= 512)


def convolution(name, batch, size, inputs, outputs, kernel, stride, pad, groups=1, part="forward", quick=False):
    out = (size + 2 * pad - kernel) // stride + 1
    tensors = [Tensor("x", (batch, inputs, size, size)), Tensor("w", (outputs, inputs // groups, kernel, kernel))]
    y = (batch, outputs, out, out)
    call = f"conv2d(x, w, stride={stride}, pad={pad}, groups={groups})"
    by = ["input gradient", "filter gradient"].index(part) if part != "forward" else None
    if by is None:
        source = f"graph fn run({signature(tensors)}) -> f32{list(y)} {{ {call} }}\n"
    else:
        tensors.append(Tensor("g", y))
        source = (f"graph fn run({signature(tensors)}) -> f32{list(tensors[by].shape)} {{\n"
                  f"  let (_, d) = grad({tensors[by].name}) {{ ({call} * g).sum() }}\n  d\n}}\n")

    def torch_conv(torch):
        return lambda x, w: torch.nn.functional.conv2d(x, w, stride=stride, padding=pad, groups=groups)

    def jax_conv(jax):
        return lambda x, w: jax.lax.conv_general_dilated(x, w, (stride, stride), [(pad, pad)] * 2,
                                                         feature_group_count=groups)

    def onnx(graph):
        return graph.model(graph.op("Conv", "x", "w", strides=[stride] * 2, pads=[pad] * 4, group=groups), y)
    if by is None:
        peers = {"torch": torch_inference(torch_conv), "jax": jax_function(jax_conv), "onnx": (onnx, [0])}
    else:
        peers = {"torch": torch_gradient(torch_conv, by), "jax": jax_gradient(jax_conv, by)}
    return Row("convolution", f"conv {name} {part}", source, tensors, peers, goal=0.9 if by is None else 0.8,
               flops=2 * batch * outputs * out * out * inputs // groups * kernel * kernel, tolerance=2e-3,
               quick=quick)


def pointwise(name, text, torch, jax, shape, copy_goal, plain=None, extra=(), slope=False, quick=False):
    """An elementwise chain or a row kernel; with `slope` the gradient of the result times g with respect to x."""
    tensors = [Tensor("x", shape), *extra] + [Tensor("g", shape, 0.5)] * slope
    body = text
    if slope:
        lines = text.split("\n")
        lines[-1] = f"(({lines[-1]}) * g).sum()"
        body = "let (_, d) = grad(x) {\n" + "\n".join(lines) + "\n}\nd"
    source = f"graph fn run({signature(tensors)}) -> f32{list(shape)} {{\n{body}\n}}\n"
    peers = {"torch": torch_gradient(torch, 0) if slope else torch_inference(torch),
             **({"jax": jax_gradient(jax, 0)} if slope else jax_and_iree(jax))}
    if plain and not slope:
        peers["numpy"] = numpy_function(plain)
    return Row("rows", name + " backward" * slope, source, tensors, peers, copy_goal=copy_goal,
               bytes=4 * (3 if slope else 2) * counted(shape), quick=quick)


def element_rows(many=(4096, 4096)):
    wide = [Tensor("w", many[1:]), Tensor("b", many[1:])]
    chain = "minimum(maximum((((x + 1.0) * 0.5 - 0.25) * x + 2.0) * 0.125 - x, -4.0), 4.0) + 0.5"
    size = "16M" if many == (4096, 4096) else f"{many[0]}x{many[1]}"
    yield pointwise(f"relu(x*w+b) {size}", "maximum(x * w + b, 0.0)", lambda torch: lambda x, w, b: torch.relu(x * w + b),
                    lambda jax: lambda x, w, b: jax.numpy.maximum(x * w + b, 0.0), many, 0.9,
                    plain=lambda x, w, b: (x * w + b).clip(0), extra=wide)
    yield pointwise(f"ten ops {size}", chain,
                    lambda torch: lambda x: torch.clamp((((x + 1.0) * 0.5 - 0.25) * x + 2.0) * 0.125 - x, -4.0, 4.0) + 0.5,
                    lambda jax: lambda x: jax.numpy.clip((((x + 1.0) * 0.5 - 0.25) * x + 2.0) * 0.125 - x, -4.0, 4.0) + 0.5,
                    many, 0.9, plain=lambda x: ((((x + 1) * 0.5 - 0.25) * x + 2) * 0.125 - x).clip(-4, 4) + 0.5,
                    quick=True)


def row_rows(rows, width, quick=False):
    shape, size = (rows, width), f"{rows}x{width}"

    def jax_norm(jax):
        def norm(x, w, b):
            d = x - x.mean(1, keepdims=True)
            return d * jax.lax.rsqrt((d * d).mean(1, keepdims=True) + 1e-5) * w + b
        return norm

    def numpy_softmax(x):
        e = numpy.exp(x - x.max(1, keepdims=True))
        return e / e.sum(1, keepdims=True)

    def numpy_norm(x, w, b):
        d = x - x.mean(1, keepdims=True)
        return d / numpy.sqrt((d * d).mean(1, keepdims=True) + 1e-5) * w + b
    for slope in (False, True):
        yield pointwise(f"softmax {size}", "softmax(x, axis=1)", lambda torch: lambda x: torch.softmax(x, 1),
                        lambda jax: lambda x: jax.nn.softmax(x, axis=1), shape, 0.6, plain=numpy_softmax, slope=slope,
                        quick=quick and not slope)
        yield pointwise(f"layer norm {size}", "let m = x.mean(axis=1, keep=true)\nlet d = x - m\n"
                        "d * rsqrt((d * d).mean(axis=1, keep=true) + 1e-5) * w + b",
                        lambda torch: lambda x, w, b: torch.nn.functional.layer_norm(x, [width], w, b), jax_norm, shape,
                        0.8, plain=numpy_norm, extra=[Tensor("w", (width,)), Tensor("b", (width,))], slope=slope,
                        quick=quick and not slope)
        yield pointwise(f"gelu {size}", "0.5 * x * (1.0 + erf(x * 0.7071067811865476))",
                        lambda torch: torch.nn.functional.gelu,
                        lambda jax: lambda x: jax.nn.gelu(x, approximate=False), shape, 0.5, slope=slope)


def attention_text(width):
    return f"softmax(q @ transpose(k, [0, 1, 3, 2]) * {width ** -0.5}, axis=3) @ v"


def attention(batch=4, heads=8, steps=512, width=64):
    shape = (batch, heads, steps, width)
    tensors = [Tensor(name, shape) for name in "qkv"]
    scale = width ** -0.5
    source = (f"graph fn run({signature(tensors)}) -> f32{list(shape)} {{\n"
              f"  {attention_text(width)}\n}}\n")

    def plain(q, k, v):
        scores = q @ k.transpose(0, 1, 3, 2) * numpy.float32(scale)
        e = numpy.exp(scores - scores.max(3, keepdims=True))
        return e / e.sum(3, keepdims=True) @ v

    def onnx(graph):
        swapped = graph.op("Transpose", "k", perm=[0, 1, 3, 2])
        scores = graph.op("Mul", graph.op("MatMul", "q", swapped), graph.constant(numpy.float32(scale)))
        return graph.model(graph.op("MatMul", graph.op("Softmax", scores, axis=3), "v"), shape)
    return Row("attention", f"attention {batch}x{heads}x{steps}x{width}", source, tensors, {
        "torch": torch_inference(lambda torch: torch.nn.functional.scaled_dot_product_attention),
        **jax_and_iree(lambda jax: lambda q, k, v: jax.nn.softmax(q @ k.swapaxes(2, 3) * scale, axis=3) @ v),
        "onnx": (onnx, [0, 1, 2]), "numpy": numpy_function(plain)},
        goal=0.8, flops=4 * batch * heads * steps * steps * width, tolerance=1e-3, quick=True)


def attention_gradients(batch=4, heads=8, steps=512, width=64):
    """Forward and backward; the sum of the three gradients."""
    shape = (batch, heads, steps, width)
    tensors = [Tensor(name, shape) for name in "qkvg"]
    scale = width ** -0.5
    source = (f"graph fn run({signature(tensors)}) -> f32{list(shape)} {{\n  let (_, (a, b, c)) = grad(q, k, v) {{\n"
              f"    ({attention_text(width)} * g).sum()\n  }}\n  a + b + c\n}}\n")

    def torch_step(torch, q, k, v, g):
        parts = [x.requires_grad_() for x in (q, k, v)]
        call = torch.nn.functional.scaled_dot_product_attention
        return lambda: sum(torch.autograd.grad((call(*parts) * g).sum(), parts))

    def jax_step(jax):
        def value(q, k, v, g):
            return (jax.nn.softmax(q @ k.swapaxes(2, 3) * scale, axis=3) @ v * g).sum()
        return lambda *values: sum(jax.grad(value, argnums=(0, 1, 2))(*values))
    return Row("attention", f"attention {batch}x{heads}x{steps}x{width}, gradients", source, tensors,
               {"torch": torch_step, "jax": jax_function(jax_step)},
               goal=0.8, flops=12 * batch * heads * steps * steps * width, tolerance=1e-3)


def embedding(rows=1_000_000, width=64, count=4096):
    """A step reads and updates few rows of a large table."""
    tensors = [Tensor("w", (rows, width)), Tensor("i", (count,), below=rows), Tensor("g", (count, width))]
    source = (f"graph fn run({signature(tensors, mut=[0])}) -> f32 {{\n"
              "  let (l, d) = grad(w) { (w[i] * g).sum() }\n  w = w - 0.01 * d\n  l\n}\n")

    def torch_step(torch, w, i, g):
        w, i = w.requires_grad_(), i.long()
        optimizer = torch.optim.SGD([w], lr=0.01)

        def step():
            optimizer.zero_grad(set_to_none=True)
            loss = (torch.nn.functional.embedding(i, w, sparse=True) * g).sum()
            loss.backward()
            optimizer.step()
            return loss.detach()
        return step

    def jax_step(jax, w, i, g):
        def change(w, i, g):
            loss, d = jax.value_and_grad(lambda taken: (taken * g).sum())(w[i])
            return loss, w.at[i].add(-0.01 * d)
        change, state = jax.jit(change, donate_argnums=0), [w]

        def step():
            loss, state[0] = jax.block_until_ready(change(state[0], i, g))
            return loss
        return step

    def numpy_step(_, w, i, g):
        w = w.copy()

        def step():
            loss = (w[i] * g).sum()
            numpy.subtract.at(w, i, numpy.float32(0.01) * g)
            return loss
        return step
    size = "1Mx64" if (rows, width) == (1_000_000, 64) else f"{rows}x{width}"
    return Row("training", f"embedding {size}, {count} rows, step", source, tensors,
               {"torch": torch_step, "jax": jax_step, "numpy": numpy_step}, goal=1.0, changed=(0,), tolerance=1e-2)
