# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The rows of the matrix: each is an ordinary mx program with a graph `run`, its arguments, and the same
in PyTorch; for products also in NumPy, which is OpenBLAS; some in JAX. A peer is a function of the library and
the arguments that gives what is timed. Its work is in floating-point operations or bytes, whatever limits the
row; `wrap` is torch.compile or nothing."""
import math

import numpy as np


class Row:
    def __init__(self, name, source, arguments, peer, changed=(), flops=0, bytes=0, tolerance=1e-4, quick=True,
                 plain=None, jax=None):
        self.name, self.source, self.arguments, self.peer, self.plain = name, source, arguments, peer, plain
        self.jax = jax  # of (jax, jax.numpy, arguments), a function of these
        self.changed, self.flops, self.bytes, self.tolerance, self.quick = changed, flops, bytes, tolerance, quick


def normal(*shape, scale=1.0):
    return (np.random.default_rng(math.prod(shape) + len(shape)).standard_normal(shape) * scale).astype(np.float32)


def labels(count, classes):
    return np.random.default_rng(count).integers(0, classes, count).astype(np.int32)


# ------------------------------------------------------------------------------------------- products

def product(m, n, k, form="nn"):
    x, y = {"nn": ((m, k), (k, n)), "tn": ((k, m), (k, n)), "nt": ((m, k), (n, k))}[form]
    text = {"nn": "x @ y", "tn": "x.T @ y", "nt": "x @ y.T"}[form]
    source = f"graph fn run(x: f32{list(x)}, y: f32{list(y)}) -> f32[{m}, {n}] {{ {text} }}\n"

    def peer(torch, a, b):
        left, right = a.t() if form == "tn" else a, b.t() if form == "nt" else b
        return lambda: left @ right

    def plain(a, b):
        left, right = a.T if form == "tn" else a, b.T if form == "nt" else b
        return lambda: left @ right
    return Row(f"matmul {m}x{n}x{k} {form}", source, [normal(*x), normal(*y)], peer, flops=2 * m * n * k,
               tolerance=1e-3, quick=m <= 1024, plain=plain,
               jax=lambda jax, jnp: lambda a, b: (a.T if form == "tn" else a) @ (b.T if form == "nt" else b))


def convolution(name, batch, size, inputs, outputs, window, stride, pad, groups=1, part="forward"):
    places = (size + 2 * pad - window) // stride + 1
    x, w = [batch, inputs, size, size], [outputs, inputs // groups, window, window]
    y = [batch, outputs, places, places]
    call = f"conv2d(x, w, stride={stride}, pad={pad}, groups={groups})"
    if part == "forward":
        source = f"graph fn run(x: f32{x}, w: f32{w}) -> f32{y} {{ {call} }}\n"
        arguments = [normal(*x), normal(*w)]
    else:
        by = "x" if part == "by input" else "w"
        source = (f"graph fn run(x: f32{x}, w: f32{w}, g: f32{y}) -> f32{x if by == 'x' else w} {{\n"
                  f"  let (_, d) = grad({by}) {{ ({call} * g).sum() }}\n  d\n}}\n")
        arguments = [normal(*x), normal(*w), normal(*y)]

    def peer(torch, x, w, g=None):
        f, options = torch.nn.functional, dict(stride=stride, padding=pad, groups=groups)
        if part == "forward":
            return lambda: f.conv2d(x, w, **options)
        by = x if part == "by input" else w
        by.requires_grad_()
        y = f.conv2d(x, w, **options)
        return lambda: torch.autograd.grad(y, by, g, retain_graph=True)[0]
    return Row(f"conv {name} {part}", source, arguments, peer, tolerance=2e-3,
               flops=2 * batch * outputs * places * places * inputs // groups * window * window)


# ------------------------------------------------------------------------------------- lines and rows

def pointwise(name, text, function, shape, tolerance=1e-4, extra=(), slope=False, jax=None):
    """Elements or rows; with `slope` the gradient by x of the result times g. `function` is PyTorch's."""
    params = "".join(f", {n}: f32{list(s)}" for n, s in extra)
    if slope:
        lines = text.split("\n")
        lines[-1] = f"(({lines[-1]}) * g).sum()"
        body = "let (_, d) = grad(x) {\n" + "\n".join(lines) + "\n}\nd"
        params += f", g: f32{list(shape)}"
    else:
        body = text
    source = f"import nn\ngraph fn run(x: f32{list(shape)}{params}) -> f32{list(shape)} {{\n{body}\n}}\n"
    arguments = [normal(*shape)] + [normal(*s) for _, s in extra] + [normal(*shape, scale=0.5)] * slope

    def peer(torch, x, *rest, wrap=None):
        used = wrap(function(torch)) if wrap else function(torch)
        if not slope:
            return lambda: used(x, *rest)
        x.requires_grad_()
        y = used(x, *rest[:-1])
        return lambda: torch.autograd.grad(y, x, rest[-1], retain_graph=True)[0]
    return Row(name + " backward" * slope, source, arguments, peer, bytes=4 * (3 if slope else 2) * math.prod(shape),
               tolerance=tolerance, jax=None if slope else jax)


def pointwise_rows():
    many, row = [4096, 4096], [4096, 1024]
    chain = "minimum(maximum((((x + 1.0) * 0.5 - 0.25) * x + 2.0) * 0.125 - x, -4.0), 4.0) + 0.5"
    yield pointwise("relu(x*w+b) 16M", "maximum(x * w + b, 0.0)", lambda torch: lambda x, w, b: torch.relu(x * w + b),
                    many, extra=[("w", [4096]), ("b", [4096])],
                    jax=lambda jax, jnp: lambda x, w, b: jnp.maximum(x * w + b, 0.0))
    yield pointwise("ten ops 16M", chain,
                    lambda torch: lambda x: torch.clamp((((x + 1.0) * 0.5 - 0.25) * x + 2.0) * 0.125 - x, -4.0, 4.0) + 0.5,
                    many, jax=lambda jax, jnp: lambda x: jnp.clip((((x + 1.0) * 0.5 - 0.25) * x + 2.0) * 0.125 - x, -4.0, 4.0) + 0.5)
    for slope in (False, True):
        yield pointwise("softmax 4096x1024", "softmax(x, axis=1)", lambda torch: lambda x: torch.softmax(x, 1), row,
                        slope=slope, jax=lambda jax, jnp: lambda x: jax.nn.softmax(x, axis=1))
        yield pointwise("layer norm 4096x1024",
                        "let m = x.mean(axis=1, keep=true)\nlet d = x - m\n"
                        "d * rsqrt((d * d).mean(axis=1, keep=true) + 1e-5) * w + b",
                        lambda torch: lambda x, w, b: torch.nn.functional.layer_norm(x, [1024], w, b), row,
                        extra=[("w", [1024]), ("b", [1024])], slope=slope)
        yield pointwise("gelu 4096x1024", "0.5 * x * (1.0 + erf(x * 0.7071067811865476))",
                        lambda torch: lambda x: torch.nn.functional.gelu(x), row, slope=slope,
                        jax=lambda jax, jnp: lambda x: jax.nn.gelu(x, approximate=False))


def attention():
    shape = [4, 8, 512, 64]
    source = (f"graph fn run(q: f32{shape}, k: f32{shape}, v: f32{shape}) -> f32{shape} {{\n"
              "  softmax(q @ transpose(k, [0, 1, 3, 2]) * 0.125, axis=3) @ v\n}\n")
    return Row("attention 4x8x512x64", source, [normal(*shape), normal(*shape, scale=0.9), normal(*shape, scale=1.1)],
               lambda torch, q, k, v: lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v),
               flops=4 * 4 * 8 * 512 * 512 * 64, tolerance=1e-3)


def attention_step():
    """Forward and backward; the sum of the three gradients."""
    shape = [4, 8, 512, 64]
    source = (f"graph fn run(q: f32{shape}, k: f32{shape}, v: f32{shape}, g: f32{shape}) -> f32{shape} {{\n"
              "  let (_, (a, b, c)) = grad(q, k, v) {\n"
              "    (softmax(q @ transpose(k, [0, 1, 3, 2]) * 0.125, axis=3) @ v * g).sum()\n  }\n  a + b + c\n}\n")

    def peer(torch, q, k, v, g):
        parts = [x.requires_grad_() for x in (q, k, v)]
        call = torch.nn.functional.scaled_dot_product_attention
        return lambda: sum(torch.autograd.grad((call(*parts) * g).sum(), parts))
    return Row("attention 4x8x512x64, gradients", source,
               [normal(*shape), normal(*shape, scale=0.9), normal(*shape, scale=1.1), normal(*shape, scale=0.7)],
               peer, flops=12 * 4 * 8 * 512 * 512 * 64, tolerance=1e-3)


def embedding():
    """A million rows, of which a step reads and changes 4096."""
    rows, width, count = 1_000_000, 64, 4096
    source = (f"graph fn run(mut w: f32[{rows}, {width}], i: i32[{count}], g: f32[{count}, {width}]) -> f32 {{\n"
              "  let (l, d) = grad(w) { (w[i] * g).sum() }\n  w = w - 0.01 * d\n  l\n}\n")

    def peer(torch, w, i, g):
        w, i = w.requires_grad_(), i.long()
        optimizer = torch.optim.SGD([w], lr=0.01)

        def step():
            optimizer.zero_grad(set_to_none=True)
            loss = (torch.nn.functional.embedding(i, w, sparse=True) * g).sum()
            loss.backward()
            optimizer.step()
            return loss.detach()
        return step
    return Row("embedding 1Mx64, 4096 rows, step", source, [normal(rows, width), labels(count, rows), normal(count, width)],
               peer, changed=[0], tolerance=1e-2, quick=False)


# ------------------------------------------------------------------------------------ training steps

def trained(name, body, parameters, inputs, forward, flops=0, rate=0.01, tolerance=2e-3, quick=True):
    """A step of gradient descent; the result is the loss before it. `parameters` are names and arrays."""
    params = "".join(f"mut {n}: f32{list(a.shape)}, " for n, a in parameters)
    given = ", ".join(f"{n}: {'i32' if a.dtype == np.int32 else 'f32'}{list(a.shape)}" for n, a in inputs)
    names = ", ".join(n for n, _ in parameters)
    update = "".join(f"  {n} = {n} - {rate} * d{i}\n" for i, (n, _) in enumerate(parameters))
    slopes = ", ".join(f"d{i}" for i in range(len(parameters)))
    source = (f"import nn\nfrom loss import xent\n{body}\n"
              f"graph fn run({params}{given}) -> f32 {{\n"
              f"  let (l, ({slopes})) = grad({names}) {{ value({names}, {', '.join(n for n, _ in inputs)}) }}\n"
              f"{update}  l\n}}\n")

    def peer(torch, *values, wrap=None):
        value = lambda own, rest: forward(torch, own, rest)
        value = wrap(value) if wrap else value
        own = [v.clone().requires_grad_() for v in values[:len(parameters)]]
        rest = [v.long() if v.dtype == torch.int32 else v for v in values[len(parameters):]]
        optimizer = torch.optim.SGD(own, lr=rate)

        def step():
            optimizer.zero_grad(set_to_none=True)
            loss = value(own, rest)
            loss.backward()
            optimizer.step()
            return loss.detach()
        return step
    return Row(name, source, [a for _, a in parameters] + [a for _, a in inputs], peer,
               changed=range(len(parameters)), flops=flops, tolerance=tolerance, quick=quick)


def mlp():
    parameters = [("w1", normal(784, 128, scale=0.05)), ("b1", normal(128, scale=0.1)),
                  ("w2", normal(128, 10, scale=0.1)), ("b2", normal(10, scale=0.1))]
    body = ("fn value(w1: f32[784, 128], b1: f32[128], w2: f32[128, 10], b2: f32[10], x: f32[B, 784], y: i32[B]) -> f32 {\n"
            "  xent(maximum(x @ w1 + b1, 0.0) @ w2 + b2, y)\n}")

    def forward(torch, p, given):
        return torch.nn.functional.cross_entropy(torch.relu(given[0] @ p[0] + p[1]) @ p[2] + p[3], given[1])
    return trained("MLP 784-128-10 b64 step", body, parameters, [("x", normal(64, 784)), ("y", labels(64, 10))], forward)


def lenet():
    parameters = [("w1", normal(20, 1, 5, 5, scale=0.2)), ("b1", normal(20, scale=0.1)),
                  ("w2", normal(50, 20, 5, 5, scale=0.05)), ("b2", normal(50, scale=0.1)),
                  ("w3", normal(800, 500, scale=0.03)), ("b3", normal(500, scale=0.1)),
                  ("w4", normal(500, 10, scale=0.05)), ("b4", normal(10, scale=0.1))]
    types = ", ".join(f"{n}: f32{list(a.shape)}" for n, a in parameters)
    body = (f"fn value({types}, x: f32[B, 1, 28, 28], y: i32[B]) -> f32 {{\n"
            "  let a = maxpool2d(maximum(conv2d(x, w1) + b1.reshape([20, 1, 1]), 0.0), 2)\n"
            "  let c = maxpool2d(maximum(conv2d(a, w2) + b2.reshape([50, 1, 1]), 0.0), 2)\n"
            "  xent(maximum(c.reshape([x.shape[0], 800]) @ w3 + b3, 0.0) @ w4 + b4, y)\n}")

    def forward(torch, p, given):
        f = torch.nn.functional
        a = f.max_pool2d(torch.relu(f.conv2d(given[0], p[0], p[1])), 2)
        c = f.max_pool2d(torch.relu(f.conv2d(a, p[2], p[3])), 2)
        return f.cross_entropy(torch.relu(c.flatten(1) @ p[4] + p[5]) @ p[6] + p[7], given[1])
    return trained("LeNet b64 step", body, parameters, [("x", normal(64, 1, 28, 28)), ("y", labels(64, 10))], forward)


def lstm():
    hidden, steps, batch = 256, 50, 32
    parameters = []
    for layer in (1, 2):
        parameters += [(f"wi{layer}", normal(hidden, 4 * hidden, scale=0.06)),
                       (f"wh{layer}", normal(hidden, 4 * hidden, scale=0.06)),
                       (f"b{layer}", normal(4 * hidden, scale=0.06))]
    body = f"""fn layer(wi: f32[{hidden}, {4 * hidden}], wh: f32[{hidden}, {4 * hidden}], b: f32[{4 * hidden}], xs: f32[T, B, {hidden}]) -> f32[T, B, {hidden}] {{
  let all = xs @ wi + b
  var h = zeros([xs.shape[1], {hidden}])
  var c = zeros([xs.shape[1], {hidden}])
  var out = zeros([xs.shape[0], xs.shape[1], {hidden}])
  for t in 0..xs.shape[0] {{
    let z = all[t] + h @ wh
    let (i, f, g, o) = split(z, 4, axis=1)
    c = sigmoid(f) * c + sigmoid(i) * tanh(g)
    h = sigmoid(o) * tanh(c)
    out[t] = h
  }}
  out
}}
fn value(wi1: f32[{hidden}, {4 * hidden}], wh1: f32[{hidden}, {4 * hidden}], b1: f32[{4 * hidden}], wi2: f32[{hidden}, {4 * hidden}], wh2: f32[{hidden}, {4 * hidden}], b2: f32[{4 * hidden}], x: f32[T, B, {hidden}]) -> f32 {{
  let y = layer(wi2, wh2, b2, layer(wi1, wh1, b1, x))
  (y * y).mean()
}}"""

    def peer(torch, *values):
        own = values[:6]
        net = torch.nn.LSTM(hidden, hidden, 2)
        with torch.no_grad():
            for layer in (0, 1):
                wi, wh, b = own[3 * layer:3 * layer + 3]
                getattr(net, f"weight_ih_l{layer}").copy_(wi.t())
                getattr(net, f"weight_hh_l{layer}").copy_(wh.t())
                getattr(net, f"bias_ih_l{layer}").copy_(b)
                getattr(net, f"bias_hh_l{layer}").zero_()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)

        def step():
            optimizer.zero_grad(set_to_none=True)
            y, _ = net(values[6])
            loss = (y * y).mean()
            loss.backward()
            optimizer.step()
            return loss.detach()
        return step
    row = trained("LSTM 2x256 T50 b32 step", body, parameters, [("x", normal(steps, batch, hidden))], None)
    row.peer = peer
    return row


def transformer():
    d, heads, steps, batch = 256, 4, 128, 8
    parameters = [("wqkv", normal(d, 3 * d, scale=0.06)), ("wo", normal(d, d, scale=0.06)),
                  ("w1", normal(d, 4 * d, scale=0.06)), ("w2", normal(4 * d, d, scale=0.03)),
                  ("g1", np.ones(d, np.float32)), ("g2", np.ones(d, np.float32))]
    types = ", ".join(f"{n}: f32{list(a.shape)}" for n, a in parameters)
    body = f"""fn norm(x: f32[B, T, {d}], g: f32[{d}]) -> f32[B, T, {d}] {{
  let c = x - x.mean(axis=2, keep=true)
  c * rsqrt((c * c).mean(axis=2, keep=true) + 1e-5) * g
}}
fn value({types}, x: f32[{batch}, {steps}, {d}]) -> f32 {{
  let qkv = (norm(x, g1) @ wqkv).reshape([{batch}, {steps}, 3, {heads}, {d // heads}])
  let q = transpose(qkv[:, :, 0], [0, 2, 1, 3])
  let k = transpose(qkv[:, :, 1], [0, 2, 1, 3])
  let v = transpose(qkv[:, :, 2], [0, 2, 1, 3])
  let p = softmax(q @ transpose(k, [0, 1, 3, 2]) * {1 / math.sqrt(d // heads)}, axis=3)
  let a = transpose(p @ v, [0, 2, 1, 3]).reshape([{batch}, {steps}, {d}])
  let h = x + a @ wo
  let y = h + maximum(norm(h, g2) @ w1, 0.0) @ w2
  (y * y).mean()
}}"""

    def forward(torch, p, given):
        f, x = torch.nn.functional, given[0]
        qkv = (f.layer_norm(x, [d], p[4]) @ p[0]).view(batch, steps, 3, heads, d // heads).permute(2, 0, 3, 1, 4)
        q, k, v = qkv[0], qkv[1], qkv[2]
        a = torch.softmax(q @ k.transpose(2, 3) * (1 / math.sqrt(d // heads)), 3) @ v
        h = x + a.transpose(1, 2).reshape(batch, steps, d) @ p[1]
        y = h + torch.relu(f.layer_norm(h, [d], p[5]) @ p[2]) @ p[3]
        return (y * y).mean()
    return trained("transformer block d256 T128 b8 step", body, parameters, [("x", normal(batch, steps, d))], forward)


def resnet18():
    """On 16 pictures of 224 x 224; normalised by the batch."""
    parameters, lines, calls = [], [], []

    def unit(x, y, inputs, outputs, window, stride, pad, after):
        """A convolution and its normalisation, from the value x to the value y; `after` is relu, or what is added before it."""
        n = len(calls)
        parameters.extend([(f"w{n}", normal(outputs, inputs, window, window, scale=math.sqrt(2 / (inputs * window * window)))),
                           (f"g{n}", np.ones(outputs, np.float32)), (f"b{n}", np.zeros(outputs, np.float32))])
        text = f"norm(conv2d({x}, w{n}, stride={stride}, pad={pad}), g{n}, b{n})"
        text = f"{text} + {after}" if after not in (None, "relu") else text
        lines.append(f"  let {y} = " + (f"maximum({text}, 0.0)" if after else text))
        calls.append((x, y, stride, pad, after))

    unit("x", "stem", 3, 64, 7, 2, 3, "relu")
    lines.append("  let h0 = maxpool2d(stem, 3, stride=2, pad=1)")
    channels = 64
    for block, wide in enumerate((64, 64, 128, 128, 256, 256, 512, 512)):
        h, stride = f"h{block}", 2 if wide != channels else 1
        unit(h, f"a{block}", channels, wide, 3, stride, 1, "relu")
        around = h
        if stride == 2:
            around = f"r{block}"
            unit(h, around, channels, wide, 1, 2, 0, None)
        unit(f"a{block}", f"h{block + 1}", wide, wide, 3, 1, 1, around)
        channels = wide
    parameters += [("w", normal(512, 1000, scale=0.04)), ("b", np.zeros(1000, np.float32))]
    types = ", ".join(f"{n}: f32{list(a.shape)}" for n, a in parameters)
    body = ("fn norm(x: f32[B, C, H, W], g: f32[C], b: f32[C]) -> f32[B, C, H, W] {\n"
            "  let scale = g / (x.variance(axis=[0, 2, 3]) + 1e-5).sqrt()\n"
            "  x * scale[:, new, new] + (b - x.mean(axis=[0, 2, 3]) * scale)[:, new, new]\n}\n"
            f"fn value({types}, x: f32[B, 3, 224, 224], y: i32[B]) -> f32 {{\n" + "\n".join(lines) +
            "\n  xent(h8.mean(axis=[2, 3]) @ w + b, y)\n}")

    def forward(torch, p, given):
        f, values = torch.nn.functional, {"x": given[0]}
        for n, (x, y, stride, pad, after) in enumerate(calls):
            w, g, b = p[3 * n:3 * n + 3]
            value = f.batch_norm(f.conv2d(values[x], w, stride=stride, padding=pad), None, None, g, b, training=True)
            if after not in (None, "relu"):
                value = value + values[after]
            values[y] = torch.relu(value) if after else value
            if y == "stem":
                values["h0"] = f.max_pool2d(values[y], 3, 2, 1)
        return f.cross_entropy(values["h8"].mean((2, 3)) @ p[-2] + p[-1], given[1])
    return trained("ResNet-18 b16 step", body, parameters, [("x", normal(16, 3, 224, 224)), ("y", labels(16, 1000))],
                   forward, quick=False)


def tiny():
    parameters = [normal(64, 32, scale=0.1), normal(32), normal(32, 8, scale=0.1), normal(8), normal(1, 64)]
    source = ("graph fn run(w1: f32[64, 32], b1: f32[32], w2: f32[32, 8], b2: f32[8], x: f32[1, 64]) -> f32[1, 8] {\n"
              "  maximum(x @ w1 + b1, 0.0) @ w2 + b2\n}\n")
    return Row("tiny MLP 64-32-8 b1, from Python", source, parameters,
               lambda torch, w1, b1, w2, b2, x: lambda: torch.relu(x @ w1 + b1) @ w2 + b2)


def all_rows():
    yield mlp()
    yield lenet()
    yield lstm()
    yield transformer()
    yield resnet18()
    yield tiny()
    for n in (64, 128, 256, 512, 1024, 2048, 255, 257, 1000):
        yield product(n, n, n)
    yield product(64, 512, 784)
    yield product(32, 4096, 1024)
    yield product(512, 512, 512, "tn")
    yield product(512, 512, 512, "nt")
    for part in ("forward", "by input", "by window"):
        yield convolution("3x3 56x56 64-64 b8", 8, 56, 64, 64, 3, 1, 1, part=part)
        yield convolution("3x3 14x14 256-256 b8", 8, 14, 256, 256, 3, 1, 1, part=part)
        yield convolution("1x1 56x56 64-256 b8", 8, 56, 64, 256, 1, 1, 0, part=part)
        yield convolution("3x3/2 28x28 128-128 b8", 8, 28, 128, 128, 3, 2, 1, part=part)
        yield convolution("depthwise 3x3 56x56 64 b8", 8, 56, 64, 64, 3, 1, 1, groups=64, part=part)
    yield convolution("7x7/2 224x224 3-64 b8", 8, 224, 3, 64, 7, 2, 3)
    yield attention()
    yield attention_step()
    yield embedding()
    yield from pointwise_rows()
