# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows of whole networks: training steps with gradient descent, whose result is the loss before the step, and
inference. Weights are arguments of `run`; in ONNX models they are constants, as exporters write them."""
import math

import numpy

from row import Row, Tensor, jax_and_iree, jax_function, numpy_function, signature, torch_inference

RATE = 0.01


def trained(name, goal, body, parameters, inputs, torch_value, jax_value, flops, tolerance=2e-3, quick=False):
    """`torch_value` and `jax_value` of the library give a function of lists of parameters and inputs; `flops` are those of
    matmul and convolutions, of the backward pass too."""
    tensors, own = parameters + inputs, range(len(parameters))
    names = ", ".join(t.name for t in parameters)
    slopes = ", ".join(f"d{i}" for i in own)
    source = (f"from loss import xent\n{body}\ngraph fn run({signature(tensors, mut=own)}) -> f32 {{\n"
              f"  let (l, ({slopes})) = grad({names}) {{ value({', '.join(t.name for t in tensors)}) }}\n" +
              "".join(f"  {t.name} = {t.name} - {RATE} * d{i}\n" for i, t in enumerate(parameters)) + "  l\n}\n")

    def torch_step(torch, *values, wrap=None):
        value = wrap(torch_value(torch)) if wrap else torch_value(torch)
        weights = [v.clone().requires_grad_() for v in values[:len(own)]]
        rest = [v.long() if v.dtype == torch.int32 else v for v in values[len(own):]]
        optimizer = torch.optim.SGD(weights, lr=RATE)

        def step():
            optimizer.zero_grad(set_to_none=True)
            loss = value(weights, rest)
            loss.backward()
            optimizer.step()
            return loss.detach()
        return step

    def jax_step(jax, *values):
        def change(weights, rest):
            loss, slope = jax.value_and_grad(jax_value(jax))(weights, rest)
            return loss, [w - RATE * d for w, d in zip(weights, slope)]
        change, state = jax.jit(change, donate_argnums=0), [list(values[:len(own)])]

        def step():
            loss, state[0] = jax.block_until_ready(change(state[0], values[len(own):]))
            return loss
        return step
    return Row("training", name, source, tensors, {"torch": torch_step, "jax": jax_step}, goal=goal, changed=tuple(own),
               flops=flops, tolerance=tolerance, quick=quick)


def xent(jax, scores, labels):
    return -jax.numpy.take_along_axis(jax.nn.log_softmax(scores), labels[:, None], 1).mean()


def max_pool(jax, x, window, stride, pad=0):
    around = [(0, 0), (0, 0), (pad, pad), (pad, pad)]
    return jax.lax.reduce_window(x, -jax.numpy.inf, jax.lax.max, (1, 1, window, window), (1, 1, stride, stride), around)


def convolved(jax, x, w, stride=1, pad=0):
    return jax.lax.conv_general_dilated(x, w, (stride, stride), [(pad, pad)] * 2)


def value_of(parameters, inputs, lines):
    return f"fn value({signature(parameters + inputs)}) -> f32 {{\n" + "\n".join(f"  {line}" for line in lines) + "\n}"


# ------------------------------------------------------------------------------------------ MLP and LeNet

def mlp(batch=64, wide=784, hidden=128, classes=10):
    parameters = [Tensor("w1", (wide, hidden), 0.05), Tensor("b1", (hidden,), 0.1),
                  Tensor("w2", (hidden, classes), 0.1), Tensor("b2", (classes,), 0.1)]
    inputs = [Tensor("x", (batch, wide)), Tensor("y", (batch,), below=classes)]

    def torch_value(torch):
        return lambda p, given: torch.nn.functional.cross_entropy(
            torch.relu(given[0] @ p[0] + p[1]) @ p[2] + p[3], given[1])

    def jax_value(jax):
        return lambda p, given: xent(jax, jax.nn.relu(given[0] @ p[0] + p[1]) @ p[2] + p[3], given[1])

    def numpy_step(_, w1, b1, w2, b2, x, y):
        p = [w1.copy(), b1.copy(), w2.copy(), b2.copy()]

        def step():
            h = (x @ p[0] + p[1]).clip(0)
            scores = h @ p[2] + p[3]
            e = numpy.exp(scores - scores.max(1, keepdims=True))
            share = e / e.sum(1, keepdims=True)
            loss = -numpy.log(share[range(len(y)), y]).mean()
            share[range(len(y)), y] -= 1
            d = share / numpy.float32(len(y))
            back = d @ p[2].T * (h > 0)
            for own, slope in zip(p, (x.T @ back, back.sum(0), h.T @ d, d.sum(0))):
                own -= numpy.float32(RATE) * slope
            return loss
        return step
    row = trained(f"MLP {wide}-{hidden}-{classes} b{batch} step", 3.0,
                  value_of(parameters, inputs, ["xent(maximum(x @ w1 + b1, 0.0) @ w2 + b2, y)"]),
                  parameters, inputs, torch_value, jax_value, 2 * batch * hidden * (2 * wide + 3 * classes), quick=True)
    row.peers["numpy"] = numpy_step
    return row


def lenet(batch=64):
    parameters = [Tensor("w1", (20, 1, 5, 5), 0.2), Tensor("b1", (20,), 0.1), Tensor("w2", (50, 20, 5, 5), 0.05),
                  Tensor("b2", (50,), 0.1), Tensor("w3", (800, 500), 0.03), Tensor("b3", (500,), 0.1),
                  Tensor("w4", (500, 10), 0.05), Tensor("b4", (10,), 0.1)]
    inputs = [Tensor("x", (batch, 1, 28, 28)), Tensor("y", (batch,), below=10)]
    body = value_of(parameters, inputs, [
        "let a = maxpool2d(maximum(conv2d(x, w1) + b1.reshape([20, 1, 1]), 0.0), 2)",
        "let c = maxpool2d(maximum(conv2d(a, w2) + b2.reshape([50, 1, 1]), 0.0), 2)",
        f"xent(maximum(c.reshape([{batch}, 800]) @ w3 + b3, 0.0) @ w4 + b4, y)"])

    def torch_value(torch):
        f = torch.nn.functional

        def value(p, given):
            a = f.max_pool2d(torch.relu(f.conv2d(given[0], p[0], p[1])), 2)
            c = f.max_pool2d(torch.relu(f.conv2d(a, p[2], p[3])), 2)
            return f.cross_entropy(torch.relu(c.flatten(1) @ p[4] + p[5]) @ p[6] + p[7], given[1])
        return value

    def jax_value(jax):
        def value(p, given):
            a = max_pool(jax, jax.nn.relu(convolved(jax, given[0], p[0]) + p[1][:, None, None]), 2, 2)
            c = max_pool(jax, jax.nn.relu(convolved(jax, a, p[2]) + p[3][:, None, None]), 2, 2)
            return xent(jax, jax.nn.relu(c.reshape(batch, 800) @ p[4] + p[5]) @ p[6] + p[7], given[1])
        return value
    flops = 2 * batch * (2 * 24 * 24 * 20 * 25 + 3 * (8 * 8 * 50 * 20 * 25 + 800 * 500 + 500 * 10))
    row = trained(f"LeNet b{batch} step", 1.5, body, parameters, inputs, torch_value, jax_value, flops, quick=True)
    row.first_result = True
    return row


# --------------------------------------------------------------------------------------------------- LSTM

def lstm(hidden=256, steps=50, batch=32):
    wide = 4 * hidden
    parameters = [Tensor(f"{name}{layer}", shape, 0.06) for layer in (1, 2)
                  for name, shape in (("wi", (hidden, wide)), ("wh", (hidden, wide)), ("b", (wide,)))]
    inputs = [Tensor("x", (steps, batch, hidden))]
    layer = f"""fn layer(wi: f32[{hidden}, {wide}], wh: f32[{hidden}, {wide}], b: f32[{wide}], xs: f32[T, B, {hidden}]) -> f32[T, B, {hidden}] {{
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
"""
    body = layer + value_of(parameters, inputs, ["let y = layer(wi2, wh2, b2, layer(wi1, wh1, b1, x))", "(y * y).mean()"])

    def torch_step(torch, *values):
        """The library's own LSTM, whose weights are transposed."""
        net = torch.nn.LSTM(hidden, hidden, 2)
        with torch.no_grad():
            for layer in (0, 1):
                wi, wh, b = values[3 * layer:3 * layer + 3]
                getattr(net, f"weight_ih_l{layer}").copy_(wi.t())
                getattr(net, f"weight_hh_l{layer}").copy_(wh.t())
                getattr(net, f"bias_ih_l{layer}").copy_(b)
                getattr(net, f"bias_hh_l{layer}").zero_()
        # It has a second vector of biases, which would learn too.
        optimizer = torch.optim.SGD([p for n, p in net.named_parameters() if "bias_hh" not in n], lr=RATE)

        def step():
            optimizer.zero_grad(set_to_none=True)
            y, _ = net(values[6])
            loss = (y * y).mean()
            loss.backward()
            optimizer.step()
            return loss.detach()
        return step

    def jax_value(jax):
        def one(wi, wh, b, xs):
            def iteration(state, z):
                h, c = state
                i, f, g, o = jax.numpy.split(z + h @ wh, 4, axis=1)
                c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jax.numpy.tanh(g)
                h = jax.nn.sigmoid(o) * jax.numpy.tanh(c)
                return (h, c), h
            nothing = jax.numpy.zeros((batch, hidden), jax.numpy.float32)
            return jax.lax.scan(iteration, (nothing, nothing), xs @ wi + b)[1]
        return lambda p, given: (one(*p[3:], one(*p[:3], given[0])) ** 2).mean()
    # Per step four matmuls forward, four for the gradients of weights, and three for those of inputs.
    row = trained(f"LSTM 2x{hidden} T{steps} b{batch} step", 1.2, body, parameters, inputs, None, jax_value,
                  11 * 2 * steps * batch * hidden * wide, quick=steps <= 50)
    row.peers["torch"] = torch_step
    row.first_result = True
    return row


# -------------------------------------------------------------------------------------------- transformer

def transformer(d, batch, training, steps=128, heads=None, quick=False):
    heads = heads or d // 64
    width, scale = d // heads, (d // heads) ** -0.5
    parameters = [Tensor("wqkv", (d, 3 * d), 0.06), Tensor("wo", (d, d), 0.06), Tensor("w1", (d, 4 * d), 0.06),
                  Tensor("w2", (4 * d, d), 0.03), Tensor("g1", (d,), 0, 1), Tensor("g2", (d,), 0, 1)]
    inputs, shape = [Tensor("x", (batch, steps, d))], (batch, steps, d)
    text = f"f32{list(shape)}"
    norm = f"""fn norm(x: {text}, g: f32[{d}]) -> {text} {{
  let c = x - x.mean(axis=2, keep=true)
  c * rsqrt((c * c).mean(axis=2, keep=true) + 1e-5) * g
}}
"""
    block = ["let qkv = (norm(x, g1) @ wqkv).reshape([%d, %d, 3, %d, %d])" % (batch, steps, heads, width)] + [
        f"let {name} = transpose(qkv[:, :, {i}], [0, 2, 1, 3])" for i, name in enumerate("qkv")] + [
        f"let p = softmax(q @ transpose(k, [0, 1, 3, 2]) * {scale}, axis=3)",
        f"let a = transpose(p @ v, [0, 2, 1, 3]).reshape({list(shape)})",
        "let h = x + a @ wo"]
    result = "h + maximum(norm(h, g2) @ w1, 0.0) @ w2"

    def torch_block(torch):
        f = torch.nn.functional

        def run(wqkv, wo, w1, w2, g1, g2, x):
            q, k, v = (f.layer_norm(x, [d], g1) @ wqkv).view(batch, steps, 3, heads, width).permute(2, 0, 3, 1, 4).unbind()
            a = f.scaled_dot_product_attention(q, k, v)
            h = x + a.transpose(1, 2).reshape(batch, steps, d) @ wo
            return h + torch.relu(f.layer_norm(h, [d], g2) @ w1) @ w2
        return run

    def jax_block(jax):
        def norm(x, g):
            c = x - x.mean(2, keepdims=True)
            return c * jax.lax.rsqrt((c * c).mean(2, keepdims=True) + 1e-5) * g

        def run(wqkv, wo, w1, w2, g1, g2, x):
            qkv = (norm(x, g1) @ wqkv).reshape(batch, steps, 3, heads, width)
            q, k, v = (qkv[:, :, i].transpose(0, 2, 1, 3) for i in range(3))
            a = jax.nn.softmax(q @ k.swapaxes(2, 3) * scale, axis=3) @ v
            h = x + a.transpose(0, 2, 1, 3).reshape(batch, steps, d) @ wo
            return h + jax.nn.relu(norm(h, g2) @ w1) @ w2
        return run

    def plain(wqkv, wo, w1, w2, g1, g2, x):
        def norm(x, g):
            c = x - x.mean(2, keepdims=True)
            return c / numpy.sqrt((c * c).mean(2, keepdims=True) + 1e-5) * g
        qkv = (norm(x, g1) @ wqkv).reshape(batch, steps, 3, heads, width)
        q, k, v = (qkv[:, :, i].transpose(0, 2, 1, 3) for i in range(3))
        e = numpy.exp(q @ k.transpose(0, 1, 3, 2) * numpy.float32(scale))
        h = x + (e / e.sum(3, keepdims=True) @ v).transpose(0, 2, 1, 3).reshape(batch, steps, d) @ wo
        return h + (norm(h, g2) @ w1).clip(0) @ w2

    def onnx(graph):
        def norm(x, g):
            return graph.op("LayerNormalization", x, g, axis=-1, epsilon=1e-5)

        def shaped(x, *sizes):
            return graph.op("Reshape", x, graph.constant(numpy.int64(sizes)))
        qkv = shaped(graph.op("MatMul", norm("x", "g1"), "wqkv"), batch, steps, 3, heads, width)
        parts = [graph.op("Gather", qkv, graph.constant(numpy.int64(i)), axis=2) for i in range(3)]
        q, k, v = (graph.op("Transpose", part, perm=perm)
                   for part, perm in zip(parts, ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3])))
        scores = graph.op("Mul", graph.op("MatMul", q, k), graph.constant(numpy.float32(scale)))
        a = graph.op("MatMul", graph.op("Softmax", scores, axis=3), v)
        a = shaped(graph.op("Transpose", a, perm=[0, 2, 1, 3]), batch, steps, d)
        h = graph.op("Add", "x", graph.op("MatMul", a, "wo"))
        up = graph.op("Relu", graph.op("MatMul", norm(h, "g2"), "w1"))
        return graph.model(graph.op("Add", h, graph.op("MatMul", up, "w2")), shape)
    name, flops = f"transformer block d{d} T{steps} b{batch}", 2 * batch * steps * (12 * d * d + 2 * steps * d)
    if training:
        body = norm + value_of(parameters, inputs, block + [f"let y = {result}", "(y * y).mean()"])
        return trained(name + " step", 1.0, body, parameters, inputs,
                       lambda torch: lambda p, given: (torch_block(torch)(*p, *given) ** 2).mean(),
                       lambda jax: lambda p, given: (jax_block(jax)(*p, *given) ** 2).mean(), 3 * flops, quick=True)
    source = f"{norm}graph fn run({signature(parameters + inputs)}) -> {text} {{\n  " + "\n  ".join(block + [result]) + "\n}\n"
    return Row("inference", name + " inference", source, parameters + inputs, first_result=quick, peers={
        "torch": torch_inference(torch_block), **jax_and_iree(jax_block), "onnx": (onnx, [6]),
        "numpy": numpy_function(plain)}, goal=0.8, tolerance=1e-3, quick=quick, flops=flops)


# ------------------------------------------------------------------------------------------------- ResNet

class ResNet:
    """The layers of ResNet-18 or ResNet-50 on images of 224 x 224, described once for all libraries. A unit is a
    convolution with its normalisation: from the value `x` to the value `y`; `after` is relu, or what is added before it."""

    def __init__(self, depth):
        self.depth, self.units, self.flops = depth, [], 0
        self.unit("x", "stem", 3, 64, 7, 2, 3, "relu", 112)
        self.stem_flops = self.flops
        channels, size = 64, 56
        blocks, self.last = {18: ((2, 2, 2, 2), 512), 50: ((3, 4, 6, 3), 2048)}[depth]
        number = 0
        for stage, count in enumerate(blocks):
            for i in range(count):
                wide, stride = 64 << stage, 2 if stage > 0 and i == 0 else 1
                out = wide if depth == 18 else 4 * wide
                size, h = size // stride, f"h{number}"
                around = h
                if stride == 2 or channels != out:
                    around = f"r{number}"
                    self.unit(h, around, channels, out, 1, stride, 0, None, size)
                if depth == 18:
                    self.unit(h, f"a{number}", channels, wide, 3, stride, 1, "relu", size)
                    self.unit(f"a{number}", f"h{number + 1}", wide, out, 3, 1, 1, around, size)
                else:
                    self.unit(h, f"a{number}", channels, wide, 1, 1, 0, "relu", size * stride)
                    self.unit(f"a{number}", f"c{number}", wide, wide, 3, stride, 1, "relu", size)
                    self.unit(f"c{number}", f"h{number + 1}", wide, out, 1, 1, 0, around, size)
                channels, number = out, number + 1
        self.end = f"h{number}"

    def unit(self, x, y, inputs, outputs, window, stride, pad, after, size):
        self.units.append((x, y, inputs, outputs, window, stride, pad, after))
        self.flops += 2 * inputs * outputs * window * window * size * size

    def parameters(self, training):
        """Per unit the filter, scale and shift; for inference the filter, and scale, shift, mean and variance as one tensor."""
        out = []
        for n, (_, _, inputs, outputs, window, *_) in enumerate(self.units):
            out += [Tensor(f"w{n}", (outputs, inputs, window, window), math.sqrt(2 / (inputs * window * window))),
                    *([Tensor(f"g{n}", (outputs,), 0, 1), Tensor(f"b{n}", (outputs,), 0)] if training else
                      [Tensor(f"s{n}", (4, outputs), 0.05, 1)])]
        return out + [Tensor("w", (self.last, 1000), 0.04), Tensor("b", (1000,), 0)]

    def lines(self, training):
        for n, (x, y, _, _, _, stride, pad, after) in enumerate(self.units):
            state = f"g{n}, b{n}" if training else f"s{n}"
            text = f"norm(conv2d({x}, w{n}, stride={stride}, pad={pad}), {state})"
            text = f"{text} + {after}" if after not in (None, "relu") else text
            yield f"let {y} = " + (f"maximum({text}, 0.0)" if after else text)
            if y == "stem":
                yield "let h0 = maxpool2d(stem, 3, stride=2, pad=1)"

    def scores(self, p, x, training, unit, relu, pool, mean):
        """With the functions of a library."""
        values, each = {"x": x}, 3 if training else 2
        for n, (x, y, _, _, _, stride, pad, after) in enumerate(self.units):
            value = unit(values[x], p[each * n], p[each * n + 1:each * n + each], stride, pad)
            if after not in (None, "relu"):
                value = value + values[after]
            values[y] = relu(value) if after else value
            if y == "stem":
                values["h0"] = pool(values[y])
        return mean(values[self.end]) @ p[-2] + p[-1]

    def torch(self, torch, p, x, training):
        f = torch.nn.functional

        def unit(x, w, state, stride, pad):
            g, b, mean, variance = (*state, None, None) if training else state[0]
            return f.batch_norm(f.conv2d(x, w, stride=stride, padding=pad), mean, variance, g, b, training=training)
        return self.scores(p, x, training, unit, torch.relu, lambda x: f.max_pool2d(x, 3, 2, 1), lambda x: x.mean((2, 3)))

    def jax(self, jax, p, x, training):
        def unit(x, w, state, stride, pad):
            x = convolved(jax, x, w, stride, pad)
            g, b, mean, variance = (*state, x.mean((0, 2, 3)), x.var((0, 2, 3))) if training else state[0]
            scale = g * jax.lax.rsqrt(variance + 1e-5)
            return x * scale[:, None, None] + (b - mean * scale)[:, None, None]
        return self.scores(p, x, training, unit, jax.nn.relu, lambda x: max_pool(jax, x, 3, 2, 1), lambda x: x.mean((2, 3)))

    def onnx(self, graph):
        values = {"x": "x"}
        for n, (x, y, _, _, window, stride, pad, after) in enumerate(self.units):
            value = graph.op("Conv", values[x], f"w{n}", strides=[stride] * 2, pads=[pad] * 4)
            state = [graph.constant(part) for part in graph.arrays[f"s{n}"]]
            value = graph.op("BatchNormalization", value, *state, epsilon=1e-5)
            if after not in (None, "relu"):
                value = graph.op("Add", value, values[after])
            values[y] = graph.op("Relu", value) if after else value
            if y == "stem":
                values["h0"] = graph.op("MaxPool", values[y], kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
        flat = graph.op("Flatten", graph.op("GlobalAveragePool", values[self.end]))
        return graph.model(graph.op("Gemm", flat, "w", "b"), (1, 1000))


def resnet_step(depth, batch=16):
    """Normalised by the batch."""
    net = ResNet(depth)
    parameters = net.parameters(True)
    inputs = [Tensor("x", (batch, 3, 224, 224)), Tensor("y", (batch,), below=1000)]
    norm = ("fn norm(x: f32[B, C, H, W], g: f32[C], b: f32[C]) -> f32[B, C, H, W] {\n"
            "  let scale = g / (x.variance(axis=[0, 2, 3]) + 1e-5).sqrt()\n"
            "  x * scale[:, new, new] + (b - x.mean(axis=[0, 2, 3]) * scale)[:, new, new]\n}\n")
    body = norm + value_of(parameters, inputs, [*net.lines(True), f"xent({net.end}.mean(axis=[2, 3]) @ w + b, y)"])
    return trained(f"ResNet-{depth} b{batch} step", 0.8, body, parameters, inputs,
                   lambda torch: lambda p, given: torch.nn.functional.cross_entropy(net.torch(torch, p, given[0], True), given[1]),
                   lambda jax: lambda p, given: xent(jax, net.jax(jax, p, given[0], True), given[1]),
                   batch * (3 * net.flops - net.stem_flops), tolerance=5e-3)


def resnet_inference(depth, quick=False):
    net = ResNet(depth)
    tensors = net.parameters(False) + [Tensor("x", (1, 3, 224, 224))]
    norm = ("fn norm(x: f32[B, C, H, W], s: f32[4, C]) -> f32[B, C, H, W] {\n"
            "  let scale = s[0] / (s[3] + 1e-5).sqrt()\n"
            "  x * scale[:, new, new] + (s[1] - s[2] * scale)[:, new, new]\n}\n")
    source = (f"{norm}graph fn run({signature(tensors)}) -> f32[1, 1000] {{\n  " + "\n  ".join(net.lines(False)) +
              f"\n  {net.end}.mean(axis=[2, 3]) @ w + b\n}}\n")
    return Row("inference", f"ResNet-{depth} b1 inference", source, tensors, first_result=depth == 50, peers={
        "torch": torch_inference(lambda torch: lambda *values: net.torch(torch, values[:-1], values[-1], False)),
        "jax": jax_function(lambda jax: lambda *values: net.jax(jax, values[:-1], values[-1], False)),
        "onnx": (net.onnx, [len(tensors) - 1])}, goal=0.6, flops=net.flops, tolerance=2e-3, quick=quick)


# ----------------------------------------------------------------------------------------- inference of MLPs

def tiny():
    return mlp_inference(1, (64, 32, 8), 0.1, "tiny MLP 64-32-8 b1, from Python", quick=True)


def mlp_inference(batch=64, widths=(784, 256, 10), scale=0.05, name=None, quick=False):
    wide, hidden, classes = widths
    tensors = [Tensor("w1", (wide, hidden), scale), Tensor("b1", (hidden,)), Tensor("w2", (hidden, classes), scale),
               Tensor("b2", (classes,)), Tensor("x", (batch, wide))]
    source = (f"graph fn run({signature(tensors)}) -> f32[{batch}, {classes}] {{\n"
              "  maximum(x @ w1 + b1, 0.0) @ w2 + b2\n}\n")

    def onnx(graph):
        hidden = graph.op("Relu", graph.op("Gemm", "x", "w1", "b1"))
        return graph.model(graph.op("Gemm", hidden, "w2", "b2"), (batch, classes))
    return Row("inference", name or f"MLP {wide}-{hidden}-{classes} b{batch} inference", source, tensors, peers={
        "torch": torch_inference(lambda torch: lambda w1, b1, w2, b2, x: torch.relu(x @ w1 + b1) @ w2 + b2),
        **jax_and_iree(lambda jax: lambda w1, b1, w2, b2, x: jax.nn.relu(x @ w1 + b1) @ w2 + b2),
        "onnx": (onnx, [4]),
        "numpy": numpy_function(lambda w1, b1, w2, b2, x: (x @ w1 + b1).clip(0) @ w2 + b2)},
        goal=3.0 if batch == 1 else 1.0, flops=0 if batch == 1 else 2 * batch * hidden * (wide + classes), quick=quick, first_result=batch > 1)
