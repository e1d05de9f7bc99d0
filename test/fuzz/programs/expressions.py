"""Expressions of a wanted type. They are typed by construction, unless a mistake is due."""

from library import ODD_CALLS, UNARY, BINARY
from scope import (Array, BOOL, Choices, Function, HOST_INT, RNG, STR, Struct, Tensor, Tuple, is_known, product)

EXTREME = ["9223372036854775807", "-9223372036854775808", "9223372036854775808", "99999999999999999999999", "0xffffffffffffffff",
           "1e308", "1e-320", "1e400", "0.0", "-0.0", "inf", "nan", "2147483648", "-1", "1_000_000_000_000", "65504.0"]
UNKNOWN = ["nowhere", "nn.nothing", "x.y.z", "Foo[3]()", "sum()", "print", "()", "[]", "fn() { }", '"text"', "true", "f32", "1..3",
           "zeros()", "_", "[1, [2, 3]]", "[1.0, true]", "if true { 1 }", "grad(1.0) { 2.0 }", "graph { 1.0 }", "option(\"q\", 3)"]


class Expressions(Choices):
    def expr(self, of, depth=3):
        """Text of an expression of type `of`."""
        self.budget -= 1
        if self.odd():
            return self.mistake(of, depth)
        if isinstance(of, Tensor):
            return self.tensor_expr(of, depth if self.budget > 0 else 0)
        named = [v.name for v in self.visible() if v.type == of]
        if named and self.chance(0.6):
            return self.pick(named)
        if isinstance(of, Tuple):
            return f"({', '.join(self.expr(p, depth - 1) for p in of.parts)})"
        if isinstance(of, Array):
            return f"[{', '.join(self.expr(of.item, depth - 1) for _ in range(of.count))}]"
        if isinstance(of, Struct):
            return f"{of.name}({', '.join(f'{n}={self.expr(t, depth - 1)}' for n, t in of.fields)})"
        if isinstance(of, Function):
            return self.closure(of, depth)
        if of == RNG:
            return f"Rng({self.random.randint(0, 9)})"
        return self.text(depth)

    def mistake(self, of, depth):
        r = self.random.random()
        if r < 0.3:
            return self.pick(UNKNOWN)
        if r < 0.5:
            return self.pick(EXTREME)
        if r < 0.6 and self.visible():
            return self.pick(self.visible()).name
        if r < 0.8:
            return self.pick(ODD_CALLS).replace("X", self.expr(self.tensor(rank=self.random.randint(1, 3)), depth - 1))
        return self.expr(self.any_type(), depth - 1)

    # Text

    def text(self, depth):
        r = self.random.random()
        if r < 0.4 or depth <= 0:
            return self.pick(['"a"', '""', '"two words"', '"\\n\\t\\"\\\\"', '"é∑"', '"{}"', '"' + "x" * self.random.choice([1, 80]) + '"'])
        if r < 0.6:
            return f"str({self.expr(self.any_type(0), depth - 1)})"
        if r < 0.75:
            return f"{self.text(depth - 1)} + {self.text(depth - 1)}"
        return self.f_string(depth)

    def f_string(self, depth):
        parts = []
        for _ in range(self.random.randint(1, 3)):
            inner = self.plain(self.expr(self.tensor(rank=self.pick([0, 0, 1])), depth - 1))
            form = self.pick(["", "", "", ":g", ":.3f", ":8", ":e", ":>10"]) if not self.odd() else self.pick(
                [":", ":zz", ":.99999f", ":.-1f", ":{x}", ":99999999999", ":%d"])
            parts.append("{" + inner + form + "}")
        return 'f"' + self.pick(["", "x ", "{{}} "]) + " ".join(parts) + '"'

    def plain(self, text):
        """An expression that may be in a string: without strings, lines and format marks."""
        return text if not set(text) & set('"\n:{}\\') else "1"

    # Tensors

    def tensor_expr(self, t, depth):
        named = [v.name for v in self.visible() if v.type == t]
        if named and self.chance(0.75 if depth <= 0 else 0.3):
            return self.pick(named)
        if depth <= 0:
            return self.leaf(t)
        ways = [self.leaf, self.unary, self.binary, self.binary, self.cast, self.reduced, self.moved, self.moved, self.indexed, self.chosen,
                self.product_of, self.called, self.called, self.comprehended, self.placed, self.joined, self.in_block,
                self.library, self.part_of, self.scanned, self.piped, self.drawn, self.gathered]
        for _ in range(6):
            found = self.pick(ways)(t, depth - 1) if depth > 0 else None
            if found:
                return found
        return self.leaf(t)

    def number(self, t):
        if self.odd():
            return self.pick(EXTREME)
        if t.elem == "bool":
            return self.pick(["true", "false"])
        if t.is_float:
            return self.pick(["0.5", "1.0", "-2.0", "3.25", "0.0", "1e-3", "100.0"])
        return str(self.random.randint(0, 5) if t.elem == "u8" else self.random.randint(-3, 9))

    def leaf(self, t, depth=0):
        if not t.shape:
            n = self.number(t)
            if t.elem == "i64" and self.sizes and self.chance(0.3):
                return self.pick(self.sizes)
            return n if t.elem in ("f32", "i64", "bool") else f"{t.elem}({n})"
        shape = f"[{', '.join(map(str, t.shape))}]"
        n = product(t.shape)
        if n and n <= 12 and self.chance(0.5):
            text = self.nested(t, t.shape)
            return text if t.elem in ("f32", "i64", "bool") else f"{t.elem}({text})"
        if t.elem == "bool":
            return self.pick([f"(zeros({shape}) > 0.5)", f"(ones({shape}) > 0.5)"])
        if n and self.chance(0.2) and len(t.shape) == 1:
            return f"iota({t.shape[0]}, dtype={t.elem})"
        if t.elem == "f32" and self.chance(0.4):
            return f"{self.pick(['zeros', 'ones'])}({shape})" if self.chance(0.5) else f"full({self.number(t)}, {shape})"
        return f"{self.pick(['zeros', 'ones'])}({shape}, {self.pick(['', 'dtype='])}{t.elem})"

    def nested(self, t, shape):
        if not shape:
            return self.number(t)
        return f"[{', '.join(self.nested(t, shape[1:]) for _ in range(shape[0]))}]"

    def unary(self, t, depth):
        if t.elem == "bool":
            inner = self.expr(t, depth)
            return f"(not {inner})" if not t.shape else None
        names = UNARY["float" if t.is_float else "int"]
        if self.chance(0.2) and t.elem != "u8":
            return f"(-{self.expr(t, depth)})"
        return self.call(self.pick(names), [self.expr(t, depth)])

    def call(self, name, args):
        """A call as f(x, y), x.f(y) or x |> f(y)."""
        r = self.random.random()
        if r < 0.6 or not args or "=" in args[0] or args[0].startswith(("mut", "-")):
            return f"{name}({', '.join(args)})"
        if r < 0.9:
            return f"({args[0]}).{name}({', '.join(args[1:])})"
        return f"({args[0]} |> {name}{'(' + ', '.join(args[1:]) + ')' if args[1:] else ''})"

    def smaller(self, shape):
        """A shape that broadcasts to `shape` and is not ambiguous."""
        if not shape or self.chance(0.5):
            return shape
        if self.chance(0.5):
            return ()
        return tuple(1 if self.chance(0.4) else s for s in shape)

    def operands(self, t, depth):
        other = Tensor(t.elem, self.smaller(t.shape))
        pair = [self.expr(t, depth), self.expr(other, depth)]
        if self.chance(0.3):
            pair[1] = self.number(t)
        if self.chance(0.5):
            pair.reverse()
        return pair

    def binary(self, t, depth):
        if t.elem == "bool":
            if not t.shape and self.chance(0.4):
                return f"({self.expr(t, depth)} {self.pick(['and', 'or'])} {self.expr(t, depth)})"
            of = Tensor(self.pick(FLOATS_AND_INTS), t.shape)
            a, b = self.operands(of, depth)
            return f"({a} {self.pick(['<', '<=', '>', '>=', '==', '!='])} {b})"
        a, b = self.operands(t, depth)
        ops = ["+", "-", "*", "+", "-", "*"] + (["/"] if t.is_float else ["//", "%"])
        if self.chance(0.25):
            return self.call(self.pick(BINARY["float" if t.is_float else "int"]), [a, b])
        if t.is_float and self.chance(0.1):
            return f"({a} ** {self.pick(['2', '2.0', '3', '0.5', '-1.0'])})"
        return f"({a} {self.pick(ops)} {b})"

    def cast(self, t, depth):
        source = Tensor(self.pick(FLOATS_AND_INTS + ["bool"]), t.shape)
        return f"{t.elem}({self.expr(source, depth)})"

    def axis(self, rank):
        if self.odd():
            return self.pick([rank, -rank - 1, 99, -99, 9223372036854775807])
        return self.random.randint(-rank, rank - 1)

    def reduced(self, t, depth):
        rank = len(t.shape) + 1
        at = self.random.randrange(rank)
        inner = t.shape[:at] + (self.size() or 2,) + t.shape[at:]
        axis = at if self.chance(0.6) else at - rank
        if self.odd():
            axis = self.axis(rank)
        if t.elem == "bool":
            names, elem = ["any", "all"], self.pick(["bool", "f32", "i32"])
        elif t.elem == "i32" and self.chance(0.5):
            names, elem = ["argmax", "argmin"], self.pick(["f32", "i64", "f64"])
        else:
            names = ["sum", "max", "min", "prod"] + (["mean", "std", "variance", "norm", "logsumexp"] if t.is_float else [])
            elem = t.elem
        x = self.expr(Tensor(elem, inner), depth)
        if not t.shape and self.chance(0.5) and not names[0].startswith("arg"):
            return self.call(self.pick(names), [x])
        return self.call(self.pick(names), [x, f"axis={axis}"])

    def scanned(self, t, depth):
        if not t.shape:
            return None
        names = ["flip"] if t.elem == "bool" else ["cumsum", "cumprod", "sort", "flip"] + (["softmax", "log_softmax"] if t.is_float else [])
        if t.elem == "i32" and self.chance(0.4):
            return self.call("argsort", [self.expr(Tensor(self.pick(["f32", "i32"]), t.shape), depth)])
        if self.chance(0.2):
            return self.call("roll", [self.expr(t, depth), str(self.random.randint(-9, 9)), f"axis={self.axis(len(t.shape))}"])
        return self.call(self.pick(names), [self.expr(t, depth), f"axis={self.axis(len(t.shape))}"])

    def moved(self, t, depth):
        shape, r = t.shape, self.random.random()
        text = f"[{', '.join(map(str, shape))}]"
        if r < 0.25 and len(shape) >= 2:
            inner = shape[:-2] + (shape[-1], shape[-2])
            return f"({self.expr(Tensor(t.elem, inner), depth)}).T"
        if r < 0.4 and shape:
            order = list(range(len(shape)))
            self.random.shuffle(order)
            inner = [0] * len(shape)
            for to, source in enumerate(order):
                inner[source] = shape[to]
            return self.call("transpose", [self.expr(Tensor(t.elem, tuple(inner)), depth), str(order)])
        n = product(shape)
        if r < 0.65 and n:
            inner = self.factors(n)
            if self.chance(0.3) and shape:
                at = self.random.randrange(len(shape))
                text = f"[{', '.join('_' if i == at else str(s) for i, s in enumerate(shape))}]"
            return self.call("reshape", [self.expr(Tensor(t.elem, inner), depth), text])
        if r < 0.75 and shape:
            inner = tuple(1 if self.chance(0.5) else s for s in shape)
            return self.call("broadcast", [self.expr(Tensor(t.elem, inner), depth), text])
        if r < 0.85:
            at = self.random.randint(0, len(shape))
            return self.call("squeeze", [self.expr(Tensor(t.elem, shape[:at] + (1,) + shape[at:]), depth), f"axis={at}"])
        if shape and is_known(shape) and all(shape):
            before = [self.random.randint(0, s - 1) for s in shape]
            inner = tuple(s - b for s, b in zip(shape, before))
            return self.call("pad", [self.expr(Tensor(t.elem, inner), depth), str(before), str([0] * len(shape))])
        return None

    def factors(self, n):
        found = []
        for p in (2, 3, 5, 7):
            while n % p == 0 and self.chance(0.8):
                found.append(p)
                n //= p
        if n > 1 or not found:
            found.append(n)
        while len(found) > 3:
            found = [found[0] * found[1]] + found[2:]
        self.random.shuffle(found)
        return tuple(found)

    def slice_of(self, s):
        """An index whose result has size s, and the size that it is taken from."""
        if not isinstance(s, int):
            return (":", s) if self.chance(0.7) else (f"1:{s} + 1", f"{s} + 2")
        r, low = self.random.random(), self.random.randint(0, 2)
        if self.odd():
            return self.pick([f"{s}:0", "::0", "::-1", "-99:99", f"{s + 9}:", "1.5", "true", "nowhere:", "::9223372036854775807"]), s
        if r < 0.3:
            return ":", s
        if r < 0.5:
            return f"{low}:{low + s}", low + s + self.random.randint(0, 2)
        if r < 0.6:
            return f"{low}:", low + s
        if r < 0.7:
            return "::-1", s
        if r < 0.8 and s:
            return "::2", 2 * s - self.random.randint(0, 1)
        hosts = [v.name for v in self.visible() if v.is_host and not v.mutable]
        if hosts:
            h = self.pick(hosts)
            return f"{h}:{h} + {s}", s + 3
        return f":{s}", s + low

    def indexed(self, t, depth):
        indices, inner = [], []
        for s in t.shape:
            text, size = self.slice_of(s)
            indices.append(text)
            inner.append(size)
        for _ in range(self.random.randint(0 if t.shape else 1, 2)):
            at = self.random.randint(0, len(indices))
            size = self.random.randint(1, 4)
            hosts = [v.name for v in self.visible() if v.type == HOST_INT and v.name.startswith("v")]
            i = self.pick(hosts) if hosts and self.chance(0.3) else str(self.random.randint(-size, size - 1 + self.odd()))
            indices.insert(at, i)
            inner.insert(at, size)
        if len(inner) > 5:
            return None
        if t.elem != "bool" and self.odd():
            indices = ["nowhere > 0"]
        x = self.expr(Tensor(t.elem, tuple(inner)), depth)
        return f"({x})[{', '.join(indices)}]" if indices else x

    def gathered(self, t, depth):
        if not t.shape:
            return None
        k, n = t.shape[0], self.random.randint(1, 5)
        index = self.expr(Tensor("i32", (k,)), depth - 1)
        if self.chance(0.8):
            index = f"({index} % {n})"
        x = self.expr(Tensor(t.elem, (n,) + t.shape[1:]), depth)
        r = self.random.random()
        if r < 0.4:
            return f"({x})[{index}]"
        if r < 0.6:
            return f"take({x}, {index})"
        if len(t.shape) == 1 and t.is_float:
            return f"one_hot({index}, {n}, dtype={t.elem})[:, 0]"
        base = self.expr(t, depth)
        rows = Tensor(t.elem, (n,) + t.shape[1:])
        if t.elem == "bool" or not isinstance(k, int) or k == 0:
            return None
        ids = f"(iota({n}) % {k})"
        return f"{self.pick(['scatter_add', 'scatter_max', 'scatter_set'])}({base}, {ids}, {self.expr(rows, depth)})"

    def chosen(self, t, depth):
        if self.chance(0.5):
            mask = self.expr(Tensor("bool", t.shape if self.chance(0.7) else ()), depth)
            return f"select({mask}, {self.expr(t, depth)}, {self.expr(t, depth)})"
        return f"(if {self.expr(BOOL, depth)} {{ {self.expr(t, depth)} }} else {{ {self.expr(t, depth)} }})"

    def product_of(self, t, depth):
        if t.elem == "bool":
            return None
        k, shape = self.size(), t.shape
        if len(shape) == 2:
            a, b = Tensor(t.elem, (shape[0], k)), Tensor(t.elem, (k, shape[1]))
        elif len(shape) == 1:
            a, b = Tensor(t.elem, (shape[0], k)), Tensor(t.elem, (k,))
        elif not shape:
            a = b = Tensor(t.elem, (k,))
        elif len(shape) == 3:
            a, b = Tensor(t.elem, shape[:2] + (k,)), Tensor(t.elem, (k, shape[2]) if self.chance(0.5) else (shape[0], k, shape[2]))
        else:
            return None
        if len(shape) == 2 and self.chance(0.3):
            return f'einsum("a b, b c -> a c", {self.expr(a, depth)}, {self.expr(b, depth)})'
        return f"({self.expr(a, depth)} @ {self.expr(b, depth)})"

    def joined(self, t, depth):
        if not t.shape or not isinstance(t.shape[0], int) or t.shape[0] < 2:
            return None
        n, rest = t.shape[0], t.shape[1:]
        if self.chance(0.4) and n <= 3:
            return f"stack({', '.join(self.expr(Tensor(t.elem, rest), depth - 1) for _ in range(n))})"
        k = self.random.randint(1, n - 1)
        return f"concat({self.expr(Tensor(t.elem, (k,) + rest), depth)}, {self.expr(Tensor(t.elem, (n - k,) + rest), depth)})"

    def comprehended(self, t, depth):
        if not 1 <= len(t.shape) <= 2 or any(s == 0 for s in t.shape):
            return None
        self.scopes.append([])
        names = [self.declare(self.fresh("j"), HOST_INT) for _ in t.shape]
        body = self.expr(Tensor(t.elem), min(depth, 1))
        if t.elem == "i64" and self.chance(0.5):
            body = f"({' + '.join(names)})"
        self.scopes.pop()
        return f"[{body} for {', '.join(f'{n} in 0..{s}' for n, s in zip(names, t.shape))}]"

    def placed(self, t, depth):
        if not self.chance(0.3):
            return None
        device = self.pick(["cpu:0", "cpu:0", "cpu:1"]) if not self.odd() else self.pick(["cpu:99", "", "tpu:0", "cpu", "cpu:-1", "gpu:0"])
        inner = f"on device(\"{device}\") {{ {self.expr(t, depth)} }}"
        return f"({inner}).to(device(\"cpu:0\"))"

    def in_block(self, t, depth):
        if self.in_graph or not self.chance(0.3):
            return None
        self.in_graph = True
        inner = self.expr(t, depth)
        self.in_graph = False
        return f"(graph {{ {inner} }})"

    def called(self, t, depth):
        options = []
        for f in self.functions:
            if any(mode == "mut" for _, _, mode in f.params) or not isinstance(f.result, Tensor):
                continue
            bound = unify(f.result, t, f)
            if bound is not None:
                options.append((f, bound))
        if not options:
            return None
        f, bound = self.pick(options)
        return self.call(f.name, self.arguments(f, bound, depth))

    def completed(self, f, bound):
        """`bound` with a value for each size and the element type of a function."""
        bound = dict(bound)
        for s in f.sizes:
            if s not in bound:
                bound[s] = self.random.randint(1, 4)
        if f.kind and "T" not in bound:
            bound["T"] = {"float": "f32", "int": "i32", "num": "f64"}.get(f.kind, "f32")
        return bound

    def arguments(self, f, bound, depth):
        bound = self.completed(f, bound)
        args, by_name = [], False
        for name, of, mode in f.params:
            if mode == "static":
                text = str(bound.get(name, self.random.randint(0, 3)))
            elif mode == "mut":
                text = "mut " + (self.mutable(substitute(of, bound)) or "nowhere")
            else:
                text = self.expr(substitute(of, bound), depth - 1)
            by_name = by_name or (len(args) > 0 and self.chance(0.1))
            args.append(f"{name}={text}" if by_name else text)
        if self.odd():
            self.pick([lambda: args.append("1"), lambda: args and args.pop(), args.reverse])()
        return args

    def mutable(self, of):
        found = [v.name for v in self.visible() if v.mutable and not v.is_host and v.type == of]
        return self.pick(found) if found else None

    def library(self, t, depth):
        from library import call_for
        return call_for(self, t, depth)

    def drawn(self, t, depth):
        rng = self.mutable(RNG)
        if not rng and self.in_graph:
            return None
        first = f"mut {rng}, " if rng else ""
        shape = f"[{', '.join(map(str, t.shape))}]"
        if t.elem == "bool":
            return f"bernoulli({first}{shape}, p={self.pick(['0.5', '0.0', '1.0', '1.5' if self.odd() else '0.1'])})"
        if t.elem == "i32":
            return f"randint({first}{shape}, high={self.pick(['10', '1', '2147483647', '0' if self.odd() else '5'])})"
        return f"{self.pick(['normal', 'uniform'])}({first}{shape})" if t.elem == "f32" else None

    def part_of(self, t, depth):
        """A field, a part of a tuple or an item of an array."""
        found = []
        for v in self.visible():
            if isinstance(v.type, Struct):
                found += [f"{v.name}.{n}" for n, of in v.type.fields if of == t]
            elif isinstance(v.type, Tuple):
                found += [f"{v.name}[{i}]" for i, of in enumerate(v.type.parts) if of == t]
            elif isinstance(v.type, Array) and v.type.item == t:
                found.append(f"{v.name}[{self.random.randrange(v.type.count)}]")
        return self.pick(found) if found else None

    def piped(self, t, depth):
        """A call of a closure in scope."""
        for v in self.visible():
            if isinstance(v.type, Function) and v.type.result == t and not self.in_graph:
                return f"{v.name}({', '.join(self.expr(p, depth - 1) for p in v.type.params)})"
        return None

    def closure(self, of, depth):
        self.scopes.append([])
        names = [self.declare(self.fresh("a"), p) for p in of.params]
        held, self.in_function = self.in_function, True
        body = self.expr(of.result, max(depth - 1, 1))
        self.in_function = held
        self.scopes.pop()
        return f"fn({', '.join(f'{n}: {p}' for n, p in zip(names, of.params))}) {{ {body} }}"


FLOATS_AND_INTS = ["f32", "f32", "f64", "i64", "i32", "f16", "u8"]


def unify(pattern, wanted, f):
    """What sizes and the element type of a function must be for its result to be `wanted`, or None."""
    if len(pattern.shape) != len(wanted.shape):
        return None
    bound = {}
    if pattern.elem == "T":
        if f.kind == "float" and not wanted.is_float or f.kind == "int" and not wanted.is_int or wanted.elem == "bool":
            return None
        bound["T"] = wanted.elem
    elif pattern.elem != wanted.elem:
        return None
    for p, w in zip(pattern.shape, wanted.shape):
        if isinstance(p, str) and p in f.sizes:
            if bound.setdefault(p, w) != w:
                return None
        elif p != w:
            return None
    return bound


def substitute(of, bound):
    if isinstance(of, Tensor):
        return Tensor(bound.get(of.elem, of.elem), tuple(bound.get(s, s) for s in of.shape))
    if isinstance(of, Tuple):
        return Tuple(tuple(substitute(p, bound) for p in of.parts))
    if isinstance(of, Function):
        return Function(tuple(substitute(p, bound) for p in of.params), substitute(of.result, bound))
    if isinstance(of, Array):
        return Array(substitute(of.item, bound), of.count)
    return of
