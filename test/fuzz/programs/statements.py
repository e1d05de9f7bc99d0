"""Statements, functions and whole programs."""

from breakage import broken, extreme_line
from expressions import Expressions, substitute
from library import FOUND, scenes
from scope import (Array, BOOL, Declared, Function, HOST_INT, RNG, STR, Struct, Tensor, Tuple, is_known)


def indented(lines):
    return ["  " + line for line in lines]


class Program(Expressions):
    # Statements: each gives lines.

    def block(self, count, depth):
        self.scopes.append([])
        lines = []
        for _ in range(count):
            lines += self.statement(depth)
        self.scopes.pop()
        return indented(lines) or ["  let _ = 0"]

    def statement(self, depth):
        ways = [self.bound] * 6 + [self.assigned] * 4 + [self.printed] * 3 + [self.differentiated, self.checked, self.called_for_effect]
        if depth > 0:
            ways += [self.counted, self.repeated, self.branched, self.caught, self.walked, self.nested_function]
        if self.loops:
            ways.append(self.ended)
        if self.in_function:
            ways.append(self.returned)
        if not self.in_graph and self.chance(0.1):
            return scenes(self, top=not self.in_function and len(self.scopes) == 1)
        if not self.in_graph:
            ways += [self.compiled, self.raised, self.waited]
        if self.odd():
            return [extreme_line(self)]
        for _ in range(5):
            lines = self.pick(ways)(depth)
            if lines:
                return lines
        return self.bound(depth)

    def bound(self, depth):
        of = self.any_type() if self.chance(0.85) or self.in_graph else Function((self.tensor(rank=1),), self.tensor(rank=0))
        value = self.expr(of, self.random.randint(1, 3))
        mutable = self.chance(0.45)
        keyword = "var" if mutable else "const" if self.chance(0.03) and not self.in_function else "let"
        if isinstance(of, Tuple) and self.chance(0.5):
            names = [self.declare(self.fresh(), p, mutable) for p in of.parts]
            return [f"{keyword} ({', '.join(names)}) = {value}"]
        name = self.fresh()
        annotated = f": {of}" if self.chance(0.3) and not isinstance(of, Function) else ""
        if isinstance(of, Array) and not annotated:
            annotated = f": {of}"
        self.declare(name, of, mutable)
        return [f"{keyword} {name}{annotated} = {value}"]

    def assigned(self, depth):
        found = [v for v in self.visible() if v.mutable and isinstance(v.type, (Tensor, Tuple, Array, Struct)) and not v.is_host]
        if self.odd():
            found = [v for v in self.visible() if not v.is_host]
        if not found:
            return None
        v = self.pick(found)
        if isinstance(v.type, Struct):
            n, of = self.pick(v.type.fields)
            return [f"{v.name}.{n} = {self.expr(of, 2)}"]
        if isinstance(v.type, Array):
            return [f"{v.name}[{self.random.randrange(v.type.count)}] = {self.expr(v.type.item, 2)}"]
        if isinstance(v.type, Tensor) and v.type.shape and self.chance(0.4):
            indices, shape = [], []
            for s in v.type.shape:
                if isinstance(s, int) and s > 0 and self.chance(0.5):
                    indices.append(str(self.random.randint(-s, s - 1)))
                else:
                    indices.append(":")
                    shape.append(s)
            op = self.pick(["=", "=", "+=", "*="]) if v.type.elem != "bool" else "="
            return [f"{v.name}[{', '.join(indices)}] {op} {self.expr(Tensor(v.type.elem, tuple(shape)), 2)}"]
        if isinstance(v.type, Tensor) and v.type.elem != "bool" and self.chance(0.4):
            return [f"{v.name} {self.pick(['+=', '-=', '*='])} {self.expr(v.type, 2)}"]
        return [f"{v.name} = {self.expr(v.type, 2)}"]

    def printed(self, depth):
        return [f"print({', '.join(self.expr(self.any_type(), 2) for _ in range(self.random.randint(1, 2)))})"]

    def differentiated(self, depth):
        targets = [v for v in self.visible() if isinstance(v.type, Tensor) and v.type.elem in ("f32", "f64")]
        if not targets:
            return None
        chosen = [self.pick(targets)]
        if len(targets) > 1 and self.chance(0.3):
            chosen = self.random.sample(targets, 2)
        result = Tensor(chosen[0].type.elem)
        self.scopes.append([])
        inner = [] if self.chance(0.6) else self.bound(0)
        inner.append(" + ".join(f"({self.expr(c.type, 2)} * {c.name}).sum()" for c in chosen if c.type.elem == result.elem))
        self.scopes.pop()
        names = [self.fresh("g") for _ in chosen]
        value = self.declare(self.fresh("l"), result)
        for n, c in zip(names, chosen):
            self.declare(n, c.type)
        left = names[0] if len(names) == 1 else f"({', '.join(names)})"
        return [f"let ({value}, {left}) = grad({', '.join(c.name for c in chosen)}) {{", *indented(inner), "}"]

    def checked(self, depth):
        condition = self.expr(BOOL, 2) if self.chance(0.3) else "true"
        return [f"assert {condition}" + (f", {self.expr(STR, 2)}" if self.chance(0.3) and not self.in_graph else "")]

    def called_for_effect(self, depth):
        found = [f for f in self.functions if f.result is None or any(m == "mut" for _, _, m in f.params)]
        if not found:
            return None
        f = self.pick(found)
        bound = self.completed(f, {})
        lines = []
        for _, of, mode in f.params:
            of = substitute(of, bound)
            if mode == "mut" and not self.mutable(of):
                value = self.expr(of, 1)
                lines.append(f"var {self.declare(self.fresh(), of, mutable=True)}: {of} = {value}")
        return lines + [f"{f.name}({', '.join(self.arguments(f, bound, 2))})"]

    def counted(self, depth):
        end = str(self.random.randint(0, 4)) if not self.sizes or self.chance(0.5) else self.pick(self.sizes)
        if self.chance(0.2):
            end = f"({self.expr(HOST_INT, 1)} % 5)"
        self.scopes.append([])
        i = self.declare(self.fresh("j"), HOST_INT, is_host=True)
        self.loops += 1
        body = self.block(self.random.randint(1, 3), depth - 1)
        self.loops -= 1
        self.scopes.pop()
        attribute = ["@remat(every=2)"] if self.chance(0.03) else []
        return attribute + [f"for {i} in {self.pick(['0', '0', '1', '-2'])}..{end} {{", *body, "}"]

    def repeated(self, depth):
        n = self.declare(self.fresh("n"), HOST_INT, mutable=True, is_host=True)
        limit = f" limit {self.random.randint(0, 9)}" if self.chance(0.6) else ""
        self.loops += 1
        body = self.block(self.random.randint(1, 2), depth - 1)
        self.loops -= 1
        return [f"var {n} = 0", f"while {n} < {self.random.randint(1, 4)}{limit} {{", f"  {n} += 1", *body, "}"]

    def branched(self, depth):
        lines = [f"if {self.expr(BOOL, 2)} {{", *self.block(self.random.randint(1, 2), depth - 1)]
        if self.chance(0.3):
            lines += [f"}} else if {self.expr(BOOL, 1)} {{", *self.block(1, depth - 1)]
        if self.chance(0.6):
            lines += ["} else {", *self.block(self.random.randint(1, 2), depth - 1)]
        return lines + ["}"]

    def caught(self, depth):
        if self.in_graph and not self.odd():
            return None
        tried = self.block(self.random.randint(1, 3), depth - 1)
        if self.chance(0.5):
            tried.append("  " + self.pick(['raise Error("x")', "assert false", "let zero = i64(zeros([])); print(1 // zero)", "let five = i64(full(5.0, [])); print([1.0, 2.0][five])", "print(iota(3) // (iota(3) - 1))",
                                           "print(eye(2)[iota(3)])", "print(solve(zeros([2, 2]), ones([2, 1])))"]))
        self.scopes.append([])
        e = self.fresh("e")
        handled = [f"  print({self.pick([e, e + '.code', e + '.message', e + '.location', '1'])})"] + self.block(self.random.randint(0, 1), depth - 1)
        if self.chance(0.05):
            handled.append(f"  raise {e}")
        self.scopes.pop()
        return ["try {", *tried, f"}} catch {e} {{", *handled, "}"]

    def walked(self, depth):
        arrays = [v for v in self.visible() if isinstance(v.type, Array)]
        if not arrays:
            return None
        v = self.pick(arrays)
        mut = "mut " if v.mutable and self.chance(0.4) else ""
        self.scopes.append([])
        i = self.declare(self.fresh("x"), v.type.item, mutable=bool(mut))
        self.loops += 1
        body = self.block(1, depth - 1)
        self.loops -= 1
        self.scopes.pop()
        return [f"for {mut}{i} in {v.name} {{", *body, "}"]

    def ended(self, depth):
        return [f"if {self.expr(BOOL, 1)} {{ {self.pick(['break', 'continue'])} }}"]

    def returned(self, depth):
        if self.result is None:
            return [f"if {self.expr(BOOL, 1)} {{ return }}"]
        return [f"if {self.expr(BOOL, 1)} {{ return {self.expr(self.result, 2)} }}"]

    def raised(self, depth):
        return [f"if {self.expr(BOOL, 1)} {{ raise Error({self.text(1)}) }}"] if self.chance(0.3) else None

    def waited(self, depth):
        found = self.visible()
        return [f"wait({self.pick(found).name})" if found and self.chance(0.5) else "sync()"] if self.chance(0.3) else None

    def compiled(self, depth):
        if self.in_graph or self.in_function:
            return None
        found = [v for v in self.visible() if v.mutable and not v.is_host and isinstance(v.type, Tensor)]
        self.in_graph = True
        self.loops, loops = 0, self.loops
        body = self.block(self.random.randint(1, 3), depth - 1)
        if found and self.chance(0.6):
            v = self.pick(found)
            body.append(f"  {v.name} = {self.expr(v.type, 2)}")
        self.loops = loops
        self.in_graph = False
        return ["graph {", *body, "}"]

    def nested_function(self, depth):
        if not self.chance(0.2) or self.in_graph:
            return None
        return self.function(graph=False, nested=True)

    # Declarations

    def function(self, graph=None, nested=False):
        graph = self.chance(0.5) if graph is None else graph
        self.count += 1
        name = f"h{self.count}" if not self.odd() else self.fresh("f")
        generic = self.pick(["float", "num", "int"]) if self.chance(0.15) else ""
        sizes = self.random.sample(["N", "M", "K", "D"], self.random.randint(0, 2))
        held = (self.scopes, self.sizes, self.in_graph, self.in_function, self.result, self.loops)
        # A graph sees its parameters only.
        self.scopes = [[]] if graph or self.chance(0.7) else [list(s) for s in self.scopes] + [[]]
        self.sizes, self.in_graph, self.in_function, self.loops = sizes, graph, True, 0
        params = []
        for i in range(self.random.randint(0 if not sizes else 1, 3)):
            of, mode = self.tensor(), ""
            if generic and self.chance(0.6):
                of = Tensor("T", of.shape)
            if self.chance(0.1) and self.structs:
                of = self.pick(self.structs)
            elif self.chance(0.06) and not graph:
                of = Function((Tensor("f32"),), Tensor("f32"))
            elif self.chance(0.1):
                of, mode = RNG, "mut"
            elif self.chance(0.1):
                of, mode = HOST_INT, "static"
            elif self.chance(0.12):
                mode = "mut"
            params.append((f"p{i}", of, mode))
        # Each size is bound by a plain tensor.
        for s in sizes:
            if not any(isinstance(of, Tensor) and s in of.shape and m != "static" for _, of, m in params):
                params.append((f"q{s}", Tensor("f32", (s,)), ""))
        for n, of, mode in params:
            self.declare(n, Tensor("f32", of.shape) if isinstance(of, Tensor) and of.elem == "T" else of, mode == "mut", mode == "static")
        result = None if self.chance(0.15) else self.tensor()
        if generic and result and not any(isinstance(of, Tensor) and of.elem == "T" for _, of, _ in params):
            generic = ""
        if generic and result:
            same = [of for _, of, _ in params if isinstance(of, Tensor) and of.elem == "T"]
            result = self.pick(same)
        if self.chance(0.06) and result and not generic:
            result = Tuple((result, self.tensor()))
        self.result = result
        self.budget += 15
        body = self.block(self.random.randint(0, 3), 1) if not generic else []
        body = [line for line in body if line != "  let _ = 0"]
        if result:
            if generic:
                p = self.pick([n for n, of, _ in params if of == result])
                last = self.pick([p, f"{p} + {p}", f"{p} * 2 - {p}", f"maximum({p}, {p})"])
            else:
                last = self.expr(result, 3)
            body.append("  " + self.pick([last, last, f"return {last}"]))
        where = f" where {self.pick(['N <= 99', 'N == N', 'N % 1 == 0', 'N > 3'])}" if "N" in sizes and self.chance(0.1) else ""
        head = ", ".join(f"{m + ' ' if m else ''}{n}: {of}" for n, of, m in params)
        brackets = f"[T: {generic}]" if generic else ""
        attribute = [self.pick(["@remat", "@amp", "@amp(f16)", '@max_bytes("64MiB")'])] if self.chance(0.06) and not nested else []
        if attribute and "max_bytes" in attribute[0] and not graph:
            attribute = []
        lines = attribute + [f"{'graph ' if graph else ''}fn {name}{brackets}({head}){f' -> {result}' if result else ''}{where} {{",
                             *body, "}"]
        self.scopes, self.sizes, self.in_graph, self.in_function, self.result, self.loops = held
        if not nested or self.chance(0.5):
            self.functions.append(Declared(name, params, result, graph, generic, sizes))
        return lines

    def recursive(self):
        self.count += 1
        n = f"r{self.count}"
        self.functions.append(Declared(n, [("n", HOST_INT, "")], HOST_INT))
        step = self.pick(["n - 1", "n // 2", "n - 2"])
        if self.odd():
            step = self.pick(["n", "n + 1"])
        return [f"fn {n}(n: i64) -> i64 {{ if n {self.pick(['<=', '<'])} 1 {{ 1 }} else {{ {n}({step}) {self.pick(['+', '*'])} n }} }}"]

    def struct(self):
        self.count += 1
        fields = tuple((f"x{i}", self.tensor()) for i in range(self.random.randint(1, 3)))
        of = Struct(f"S{self.count}", fields)
        lines = [f"struct {of.name} {{", *[f"  {n}: {t}" + (f" = {self.leaf(t)}" if self.chance(0.3) else "") for n, t in fields]]
        n, t = fields[0]
        if self.chance(0.5):
            lines.append(f"  fn first() -> {t} {{ {n} }}")
        if self.chance(0.4):
            lines.append(f"  mut fn change(v: {t}) {{ {n} = v }}")
        if self.odd():
            lines.append(f"  fn {n}() -> {t} {{ {n} }}")
        self.structs.append(of)
        return lines + ["}"]

    def model(self):
        self.count += 1
        self.imports.add("nn")
        k, d, h = self.count, self.random.randint(1, 4), self.random.randint(1, 4)
        depth = str(self.random.randint(1, 3)) if not self.odd() else self.pick(["0", "-1", "1000", "1.5"])
        self.sizes, held = ["D", "H"], self.scopes
        self.scopes = [[]]
        self.declare("x", Tensor("f32", ("N", "D")))
        self.declare("w", Tensor("f32", ("D", "H")))
        self.in_function = True
        inner = self.expr(Tensor("f32", ("D", "H")), 2)
        self.sizes, self.scopes, self.in_function = [], held, False
        lines = [f"model M{k}[D, H](static depth: i64 = 1) {{", "  param w: f32[D, H] = nn.glorot()" if self.chance(0.3) else
                 f"  param w: f32[D, H] = {self.pick(['zeros()', 'ones()', 'normal()'])}",
                 "  state seen: f32 = 0.0", f"  sub mid: [nn.{self.pick(['Dense', 'Linear'])}[H, H]; depth]",
                 "  fn call(x: f32[N, D]) -> f32[N, H] {", f"    var h = x @ ({inner} + w)",
                 "    for layer in mid { h = tanh(layer(h)) }", "    h", "  }", "}",
                 f"var m{k} = M{k}[{d}, {h}](depth={depth})", f"let (lm{k}, gm{k}) = grad(m{k}) {{ m{k}(ones([2, {d}])).sum() }}",
                 f"m{k} -= 0.1 * gm{k}", f"print(lm{k}, m{k}.w.shape)"]
        if self.chance(0.3):
            lines.append(f"summary(m{k})")
        return lines

    def test_block(self):
        return [f'test "{self.pick(["one", "two", ""])}" {{', *self.block(self.random.randint(1, 3), 1), "}"]

    def found(self):
        """Lines of a class that failed once."""
        return self.pick(FOUND[self.pick(sorted(FOUND))]) if self.chance(0.1) else []

    def program(self):
        lines = []
        for _ in range(self.random.randint(0, 3)):
            lines += self.pick([self.function, self.function, self.function, self.struct, self.recursive])()
        if self.chance(0.08):
            lines += self.model()
        if self.chance(0.1):
            lines += [f"const c0 = option(\"c0\", {self.random.randint(0, 3)})"]
            self.declare("c0", HOST_INT)
        for _ in range(self.random.randint(2, 8)):
            lines += self.statement(2) if self.chance(0.85) else self.function()
        if self.chance(0.05):
            lines += self.test_block()
        for line in self.found():
            if line.startswith("import "):
                self.imports.add(line.split()[1])
            else:
                lines.append(line)
        modules = sorted(self.imports)
        head = [f"import {', '.join(modules)}"] if modules else []
        if self.odd():
            head = [self.pick(["import nowhere", "import nn as n", "from nn import nothing", "import", "from math import pi, e"])] + head
        return head + lines


def generate(seed):
    """The text of the program of a seed."""
    program = Program(seed)
    lines = program.program()
    if program.chance(0.3):
        return broken(program.random, lines)
    return "\n".join(lines) + "\n"
