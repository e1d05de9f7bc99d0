"""Calls of primitives and of the standard library, with usual and with odd arguments, and scenes of several lines."""

from scope import STR, RNG, Tensor, is_known

UNARY = {
    "float": ("exp log log1p expm1 sqrt rsqrt sin cos tan tanh erf floor ceil round abs sign sigmoid square stop relu "
              "zeros_like ones_like").split(),
    "int": "abs sign square stop zeros_like ones_like bit_not".split(),
}
UNARY["float"].remove("relu")
BINARY = {
    "float": ["maximum", "minimum", "atan2"],
    "int": ["maximum", "minimum", "bit_and", "bit_or", "bit_xor", "shift_left", "shift_right"],
}
ACTIVATIONS = ("relu relu6 leaky_relu elu selu gelu gelu_exact silu softplus log_sigmoid softsign mish hard_sigmoid hard_swish").split()
MATH = "sinh cosh asinh asin acos atan atanh radians log2 exp2 sinc normal_density normal_share".split()
LOSSES = "mse l1 l2 bce huber hinge squared_hinge logistic poisson".split()

# X stands for a tensor of some type.
ODD_CALLS = [
    "X.sum(axis=7)", "X.sum(axis=[0, 0])", "X.sum(axis=[])", "X.sum(axis=1.5)", "X.sum(keep=3)", "X.top_k(99)", "X.top_k(0)",
    "X.reshape([-1])", "X.reshape([_, _])", "X.reshape([])", "X.reshape([0])", "X.reshape([9223372036854775807, 2])", "X.split(0)",
    "X.split(-2)", "X.split(99)", "X.tile([0])", "X.tile([-1])", "X.tile([99999999999])", "X.pad([-1], [0])", "X.pad([0], [0], mode=\"wrong\")",
    "X.pad([1], [1], mode=\"reflect\")", "X.pad([99999999999], [0])", "X.roll(9223372036854775807)", "X.roll(-9223372036854775807)", "X.squeeze(axis=0)",
    "X.transpose([0, 0])", "X.transpose([9])", "X.transpose([])", "X[99]", "X[-99]", "X[:, :, :, :, :, :]", "X[...]", "X[..., ...]", "X[new, new, new]",
    "X[1:0]", "X[::0]", "X[::-2]", "X[0.5]", "X[\"a\"]", "X[9223372036854775807:]", "X[i32([0, 99])]", "X[i32([-99])]",
    "X[zeros([0], i32)]", "X.take(i32([0, 99]), axis=0)", "X.take(zeros([0], i32))", "X.take_along(zeros([1], i32))",
    "X.T.T", "X @ X", "X @ X.T", "X.rearrange(\"a b -> b a\")", "X.rearrange(\"a -> a a\")", "X.rearrange(\"\")", "X.rearrange(\"(a b) -> a b\", a=0)",
    "X.rearrange(\"(a b) -> a b\", a=-1)", "X.rearrange(\"a ... -> ... a\")", "einsum(\"a, a ->\", X, X)", "einsum(\"a b -> b\", X)", "einsum(\"\", X)",
    "einsum(\"i j, j k\", X, X)", "one_hot(i32([0, 5, -1]), 3)", "one_hot(i32([0]), -1)", "one_hot(i32([0]), 0)", "iota(-1)", "iota(0)", "eye(0)",
    "eye(-3)", "linspace(0.0, 1.0, 0)", "linspace(0.0, 1.0, 1)", "linspace(0.0, 1.0, -1)", "zeros([-1])", "zeros([0, 0])", "zeros([1, 1, 1, 1, 1, 1, 1, 1, 1, 1])",
    "zeros([1000000000, 1000000000, 1000000000])", "ones([9223372036854775807])", "tril([0, 3])", "triu([-1, 2])", "tril([3])",
    "cholesky(-eye(2))", "cholesky(zeros([0, 0]))", "solve(zeros([2, 2]), ones([2, 1]))", "qr(ones([3, 2]))", "qr(ones([2, 3]))",
    "svd(zeros([3, 2]))", "eigh(full(nan, [2, 2]))", "triangular_solve(zeros([2, 2]), ones([2, 1]), lower=false)", "eigh(ones([2, 2]))",
    "conv2d(zeros([1, 1, 3, 3]), zeros([1, 1, 3, 3]), stride=0)", "conv2d(zeros([1, 1, 3, 3]), zeros([1, 1, 5, 5]))",
    "conv1d(zeros([1, 2, 3]), zeros([2, 1, 3]), groups=0)", "conv1d(zeros([1, 2, 3]), zeros([2, 1, 3]), groups=2)", "conv1d(zeros([0, 2, 3]), zeros([2, 2, 3]))",
    "conv2d(zeros([1, 1, 3, 3]), zeros([1, 1, 3, 3]), pad=-1)", "maxpool2d(ones([1, 1, 4, 4]), 0)", "maxpool2d(ones([1, 1, 4, 4]), 2, stride=0)",
    "maxpool2d(ones([1, 1, 4, 4]), 9)", "avgpool2d(ones([1, 1, 4, 4]), 2, pad=5)", "avgpool2d(ones([1, 1, 4, 4]), -2)", "X.cumsum(axis=9)", "X.sort(axis=-9)",
    "X.flip(axis=[0, 0])", "X.softmax(axis=[])", "X.norm(axis=0)", "X.argmax(axis=[0, 1])", "X.argmax()", "zeros([0]).max()", "zeros([0]).argmax()",
    "zeros([0]).mean()", "zeros([0, 3]).sum(axis=0)", "zeros([0, 3]).max(axis=0)", "zeros([3, 0]).argmin(axis=1)", "zeros([0]).sort()", "zeros([0]).top_k(1)",
    "nonzero(X > 0)", "nonzero(ones([3]) > 0.5)", "nonzero(ones([3]) > 0.5, max=0)", "nonzero(ones([3]) > 0.5, max=-1)", "unique(X)",
    "unique(zeros([0]))", "bernoulli([3], p=2.0)", "bernoulli([3], p=nan)", "randint([3], high=0)", "randint([3], low=5, high=2)", "categorical(zeros([2, 0]))",
    "categorical(full(nan, [2, 3]))", "permutation(0)", "permutation(-1)", "normal([-2])", "normal([2], std=-1.0)", "uniform([2], low=3.0, high=1.0)",
    "X // 0", "X % 0", "X / 0", "X ** X", "X ** -1", "2 ** X", "1 // 0", "1 % 0", "shift_left(1, 99)", "shift_right(1, -1)", "i8(300)", "u8(-1)", "i32(1e20)",
    "i64(nan)", "i64(inf)", "bool(nan)", "f16(1e10)", "-9223372036854775808 // -1", "abs(-9223372036854775808)", "X.to(device(\"cpu:1\"))", "vmap(fn(a: f32) { a }, X)",
    "vmap(fn(a: f32[2]) { a.sum() }, ones([3, 2]))", "jvp(fn(a: f32[2]) { a * a }, ones([2]), ones([2]))", "jvp(fn(a: f32[2]) { a.sort() }, ones([3]), ones([2]))",
    "allclose(X, X)", "allclose(nan, nan)", "len(X)", "len(3)", "str(X)", "str((1, 2.0))", "X.shape[0]", "X.shape[9]", "X.shape", "f32(X)", "i8(X)", "bool(X)",
    "fan_in([])", "fan_out([3])", "fan_in([-1, 2])", "leaves(X)", "exists(\"\")", "concat(X)", "concat()", "stack()", "stack(X, X, axis=9)",
    "concat(X, zeros([0]))", "scatter_add(zeros([3]), i32([5]), ones([1]))", "scatter_add(zeros([3]), i32([0, 0]), ones([2]))",
    "scatter_set(zeros([0]), zeros([0], i32), zeros([0]))", "scatter_max(zeros([3]), i32([-1]), ones([1]))", "full(X, [2])", "full(nan, [0])",
    "X.broadcast([2])", "X.broadcast([0])", "X.broadcast([])", "select(X > 0, X, X)", "select(true, 1, 2.0)", "Rng(-1)", "Rng(3).split(0)",
    "Rng(3).split(-1)", "Rng(3).fork(\"\")", "f\"{X}\"", "f\"{1:.50f}\"", "f\"{1.5:d}\"", "option(\"a\", 1.5)", "option(\"a\", X)", "X.shape == [1]",
]
# Classes of programs that failed once: lines at the top of a file.
FOUND = {
    "size-of-variable": [["for i in 1..3 { print(ones([4])[i : i + 2], zeros([i, i + 1]).sum()) }"], ["var n = 3", "graph { print(ones([n]).sum()) }"],
                         ["fn rows(x: f32[N], n: i64) -> f32 { x[:n].sum() + zeros([n]).sum() }", "print(rows([1.0, 2.0], 1))"]],
    "mask": [["print(ones([3])[ones([3]) > 0.5])"], ["graph fn chosen(x: f32[N]) -> f32 { x[x > 0.0].sum() }", "print(chosen([1.0]))"]],
    "index-of-type": [["let a = f32[:]"], ["print((i32)[3, new])"], ["import nn", "let net = nn.Dense[1:2, 3]()"]],
    "main": [["fn main() { print(1) }"], ["fn main() -> i64 { 1 }", "main()"]],
    "gpu": [["let d = device(\"gpu:0\")", "print(on d { ones([2]) })"]],
    "static-recursion": [["fn down(static n: i64) -> i64 { if n == 0 { 0 } else { down(n - 1) } }", "print(down(3))"],
                         ["fn up(static n: i64) -> i64 { up(n + 1) }", "print(up(0))"]],
    "tuple-of-tuples": [["let t = ((1, 2.0), (true, [1.0]))", "let ((a, b), (c, d)) = t", "print(a, b, c, d, t)"],
                        ["graph fn both(x: f32) -> ((f32, f32), f32) { ((x, x), x) }", "print(both(1.0))"]],
    "static-sizes": [["graph fn cut(x: f32[N]) -> f32[N - 5] { x[5:] }", "print(cut(ones([3])))"],
                     ["graph fn wide(x: f32[N]) -> f32 { zeros([N * 4611686018427387904, 4]).sum() }", "print(wide(ones([3])))"],
                     ["fn less(static n: i64) -> f32 { graph { zeros([n - 5]).sum() } }", "print(less(3))"]],
    "dilation": [["print(conv2d(zeros([1, 1, 3, 3]), zeros([1, 1, 1, 1]), dilation=0))"], ["print(conv1d(zeros([1, 1, 3]), zeros([1, 1, 1]), dilation=-1))"]],
    "top-k": [["print(ones([3]).top_k(-1))"], ["graph fn best(x: f32[N]) -> f32 { let (v, _) = top_k(x, -1); v.sum() }", "print(best(ones([3])))"]],
    "split-many": [["print(len(Rng(3).split(20000)))"]],
    "field-and-method": [["struct Both {", "  x: f32", "  fn x() -> f32 { 1.0 }", "}", "print(Both(x=2.0).x)"]],
    "model-in-graph": [["import nn", "graph fn made(x: f32[N, 3]) -> f32[N, 2] { nn.Dense[3, 2]()(x) }", "print(made(ones([2, 3])))"]],
    "alias-brackets": [["type V = f32[3]", "let v: V[2] = zeros()"], ["import nn", "type Net = nn.Dense[2, 3]", "let net = Net[4]()"]],
    "concat-equal": [["print(concat(ones([2, 2]), ones([2, 2]), axis=1))"], ["graph fn twice(x: f32[N]) -> f32[2 * N] { concat(x, x) }", "print(twice([1.0]))"]],
    "integer-mean": [["print([1, 2].mean())"], ["print([[1], [2]].std(axis=0), [1, 2].norm())"]],
}


def call_for(g, t, depth):
    """A call of the library that gives `t`, or None."""
    if not t.is_float:
        return None
    r = g.random.random()
    if r < 0.4 and t.elem == "f32":
        g.imports.add("nn")
        return f"nn.{g.pick(ACTIVATIONS)}({g.expr(t, depth)})"
    if r < 0.6:
        g.imports.add("math")
        return f"math.{g.pick(MATH)}({g.expr(t, depth)})"
    if not t.shape:
        g.imports.add("loss")
        x = Tensor(t.elem, g.shape(g.random.randint(1, 2)))
        return f"loss.{g.pick(LOSSES)}({g.expr(x, depth)}, {g.expr(x, depth)})"
    if len(t.shape) == 2 and t.elem == "f32" and is_known(t.shape) and not g.in_graph and not g.in_function:
        g.imports.add("nn")
        d = g.random.randint(1, 4)
        return f"nn.Dense[{d}, {t.shape[1]}]()({g.expr(Tensor('f32', (t.shape[0], d)), depth)})"
    return None


def scenes(g, top):
    """Some lines that belong together; at the top of a file also with declarations."""
    return g.pick(([training, training] if top else []) + [loading, attention, recurrent, pictures, checkpoint, metrics, generators, curves])(g)


def number(g, usual, odd):
    return str(g.pick(odd)) if g.odd() else str(g.pick(usual))


def training(g):
    g.imports |= {"nn", "optim", "loss"}
    d, h, n = g.random.randint(1, 5), g.random.randint(1, 5), g.random.randint(1, 6)
    k = g.count = g.count + 1
    rule = g.pick("sgd nesterov signum lion adam adamw adabelief adamax nadam adagrad rmsprop adadelta lamb ftrl muon".split())
    struct = dict(sgd="Sgd", adamw="AdamW", adabelief="AdaBelief", rmsprop="RmsProp").get(rule, rule.capitalize())
    lines = [f"type Net{k} = nn.Dense[{d}, {h}]",
             f"graph fn step{k}(mut net: Net{k}, mut opt: optim.{struct}[Net{k}], x: f32[N, {d}], y: f32[N, {h}]) -> f32 {{",
             f"  let (l, g) = grad(net) {{ loss.{g.pick(['mse', 'l1', 'huber'])}(net(x), y) }}"]
    if g.chance(0.4):
        lines.append(f"  let g = optim.{g.pick(['clip_norm', 'clip_value'])}(g, {number(g, ['1.0', '0.1'], ['0.0', '-1.0', 'nan'])})")
    lines += ["  opt.step(mut net, g)", "  l", "}", f"var net{k} = Net{k}()",
              f"var opt{k} = optim.{rule}(net{k}, lr={number(g, ['0.1', '0.01'], ['nan', '-1.0', '1', 'inf'])})",
              f"for t in 0..{number(g, [1, 2, 3], [0, -1])} {{ print(step{k}(mut net{k}, mut opt{k}, ones([{n}, {d}]), ones([{n}, {h}]))) }}"]
    if g.chance(0.3):
        lines.append(f"summary(net{k})")
    return lines


def loading(g):
    g.imports.add("data")
    n, d, k = g.random.randint(1, 9), g.random.randint(1, 3), g.count
    g.count += 1
    lines = [f"let set{k} = data.rows(iota({n}), ones([{number(g, [n], [n + 1, 0])}, {d}]))"]
    source = f"set{k}"
    for _ in range(g.random.randint(0, 2)):
        source = g.pick([f"{source}.take({number(g, [2, 5], [-1, 0, 99])})", f"{source}.repeat({number(g, [1, 2], [0, -1])})",
                         f"{source}.shard({number(g, [0, 1], [-1, 9])}, {number(g, [2, 3], [0, -2])})",
                         f"{source}.map(fn(a, b) {{ (a * 2, b) }})", f"{source}.filter(fn(a, b) {{ a % 2 == 0 }})"])
    last = number(g, ['"keep"', '"drop"', '"pad"'], ['"other"', '""', "3"])
    lines.append(f"for (i, x) in data.loader({source}, batch={number(g, [1, 2, 4], [0, -1, 99])}, last={last}) {{ print(i, x.sum()) }}")
    return lines


def attention(g):
    g.imports.add("nn")
    b, t, d = g.random.randint(1, 2), g.random.randint(1, 5), g.random.randint(1, 4)
    return [f"let q{g.count} = normal([{b}, {t}, {d}])",
            f"print(graph {{ nn.attention(q{g.count}, q{g.count}, q{g.count}, causal={number(g, ['true', 'false'], ['3'])}).sum() }})"]


def recurrent(g):
    g.imports.add("nn")
    i, h, k = g.random.randint(1, 3), g.random.randint(1, 3), g.count
    g.count += 1
    cell = g.pick(["Rnn", "Lstm", "Gru", "BiLstm", "BiGru"])
    return [f"let net{k} = nn.{cell}[{i}, {h}](depth={number(g, [1, 2], [0, -1, 100])})",
            f"summary(net{k}{g.pick(['', f', ones([2, 3, {i}])'])})"]


def pictures(g):
    g.imports.add("nn")
    c, k = g.random.randint(1, 3), g.count
    g.count += 1
    lines = [f"var net{k} = nn.{g.pick(['Conv', 'ConvNorm'])}[{c}, {g.random.randint(1, 3)}, {number(g, [1, 3], [0, -1, 9])}]"
             f"(stride={number(g, [1, 2], [0, -1])}, pad={number(g, [0, 1], [-1, 99])})"]
    call = f"net{k}(ones([1, {c}, 5, 5]){', false' if 'ConvNorm' in lines[0] else ''})"
    return lines + [f"print({call}.shape)", f"print(nn.{g.pick(['maxpool', 'avgpool'])}(ones([1, 1, 4, 4]), {number(g, [1, 2], [0, -1, 5])}).sum())"]


def checkpoint(g):
    k = g.count = g.count + 1
    path = number(g, [f'"saved{k}.safetensors"'], ['""', '"/nowhere/x"', '"."', '"saved.txt"'])
    return [f"var kept{k} = {g.expr(Tensor('f32', (2, 2)), 1)}", f"save({path}, kept{k}, n={number(g, [1, 2], ['nan', '(1, 2)', 'true'])})", f"var n{k} = 0",
            f"restore({path}, mut kept{k}, n=mut n{k})", f"print(kept{k}, n{k})"]


def metrics(g):
    g.imports.add("metrics")
    n, c = g.random.randint(1, 4), g.random.randint(1, 3)
    x, y = g.expr(Tensor("f32", (n, c)), 2), f"iota({n}) % {number(g, [c], [0, 9])}"
    return [f"print(metrics.{g.pick(['accuracy', 'perplexity'])}({x}, {y}))",
            f"print(metrics.confusion({y}, {y}, classes={number(g, [c, 4], [0, -1])}))",
            f"print(metrics.auc({g.expr(Tensor('f32', (n,)), 1)}, iota({n}) > {number(g, [0, 1], [9, -9])}))"]


def generators(g):
    name = g.declare(g.fresh("rng"), RNG, mutable=True)
    lines = [f"var {name} = Rng({number(g, [0, 7], [-1, '9223372036854775807', '1.5'])})"]
    if g.chance(0.5):
        lines.append(f"var child{g.count} = {name}.fork({g.expr(STR, 0)})")
        lines.append(f"print(normal(mut child{g.count}, {number(g, ['[2]', '[]', '[0]'], ['[-1]', '3'])}))")
    return lines


def curves(g):
    if g.chance(0.5) and "plot" not in g.imports:
        return [f"plot({g.expr(g.tensor(), 1)})"]
    g.imports.add("plot")
    kind = g.pick(["hist", "image"])
    return [f"plot.{kind}({g.expr(g.tensor(elems=['f32', 'i64'], rank=2 if kind == 'image' else None), 1)})"]
