"""Types of generated programs, the names in scope, and the random choices that all parts share."""

import random
from dataclasses import dataclass, field

FLOATS = ["f32", "f32", "f32", "f64", "f16", "bf16"]
INTS = ["i64", "i64", "i32", "i32", "i8", "u8"]
ELEMENTS = FLOATS + INTS + ["bool"]
RESERVED = ("import from as const type struct model fn graph grad export extern mut static let var if else for in while return "
            "break continue try catch raise assert on where and or not true false").split()
WORDS = "param state sub dyn new limit test".split()  # have a meaning in some positions only
BUILTINS = "sum max print f32 i64 len str shape zeros concat Rng e T self device index axis".split()


@dataclass(frozen=True)
class Tensor:
    elem: str
    shape: tuple = ()

    def __str__(self):
        return self.elem + (f"[{', '.join(map(str, self.shape))}]" if self.shape else "")

    @property
    def is_float(self):
        return self.elem in ("f16", "bf16", "f32", "f64")

    @property
    def is_int(self):
        return self.elem in ("i8", "u8", "i32", "i64")


@dataclass(frozen=True)
class Tuple:
    parts: tuple

    def __str__(self):
        return f"({', '.join(map(str, self.parts))})"


@dataclass(frozen=True)
class Array:
    item: object
    count: int

    def __str__(self):
        return f"[{self.item}; {self.count}]"


@dataclass(frozen=True)
class Struct:
    name: str
    fields: tuple  # of (name, type)

    def __str__(self):
        return self.name


@dataclass(frozen=True)
class Function:
    params: tuple
    result: object

    def __str__(self):
        return f"fn({', '.join(map(str, self.params))}) -> {self.result}"


@dataclass(frozen=True)
class Plain:
    """A type that is a word: str, Rng, Device."""
    name: str

    def __str__(self):
        return self.name


STR, RNG = Plain("str"), Plain("Rng")
HOST_INT, BOOL = Tensor("i64"), Tensor("bool")


@dataclass
class Variable:
    name: str
    type: object
    mutable: bool = False
    is_host: bool = False  # an i64 that may be part of a size


@dataclass
class Declared:
    """A function of the program: its parameters as (name, type, "", "mut" or "static")."""
    name: str
    params: list
    result: object
    is_graph: bool = False
    kind: str = ""  # of its generic element type T
    sizes: list = field(default_factory=list)


class Choices:
    """Random choices from a seed, and the names in scope."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.scopes = [[]]
        self.functions = []
        self.structs = []
        self.imports = set()
        self.count = 0
        self.in_graph = self.in_function = False
        self.loops = 0
        self.sizes = []      # names of sizes in scope
        self.result = None   # what `return` takes
        self.budget = 60     # expressions that may still grow
        # Most programs hold no deliberate mistake, some a few.
        self.mistakes = self.random.choice([0.0, 0.0, 0.0, 0.003, 0.01, 0.03])

    def chance(self, p):
        return self.random.random() < p

    def pick(self, items):
        return items[self.random.randrange(len(items))]

    def odd(self):
        """Whether to make a mistake here."""
        return self.chance(self.mistakes)

    def fresh(self, stem="v"):
        if self.odd():
            return self.pick(RESERVED + WORDS + BUILTINS)
        if self.chance(0.03):
            return self.pick(WORDS)
        names = [v.name for v in self.scopes[-1]]
        if names and self.chance(0.05) and not self.in_graph:
            return self.pick(names)  # shadows
        self.count += 1
        return f"{stem}{self.count}"

    def declare(self, name, of, mutable=False, is_host=False):
        self.scopes[-1] = [v for v in self.scopes[-1] if v.name != name]
        self.scopes[-1].append(Variable(name, of, mutable, is_host))
        return name

    def visible(self):
        seen, found = set(), []
        for scope in reversed(self.scopes):
            for v in reversed(scope):
                if v.name not in seen:
                    seen.add(v.name)
                    found.append(v)
        return found

    def size(self):
        if self.sizes and self.chance(0.4):
            return self.pick(self.sizes)
        return self.random.choices([0, 1, 2, 3, 4, 5, 7, 16, 33], [1, 5, 10, 10, 6, 4, 3, 1, 1])[0]

    def shape(self, rank=None):
        if rank is None:
            rank = self.random.choices([0, 1, 2, 3, 4], [4, 6, 5, 2, 1])[0]
        return tuple(self.size() for _ in range(rank))

    def tensor(self, elems=None, rank=None):
        return Tensor(self.pick(elems or ELEMENTS), self.shape(rank))

    def any_type(self, depth=1):
        r = self.random.random()
        if r < 0.75 or depth == 0:
            return self.tensor()
        if r < 0.85 and not self.in_graph:
            return STR
        if r < 0.93:
            parts = tuple(self.any_type(depth - 1) for _ in range(self.random.randint(2, 3)))
            return Tuple(parts)
        if self.structs and r < 0.97:
            return self.pick(self.structs)
        return Array(self.tensor(rank=self.random.randint(0, 2)), self.random.randint(1, 3))


def product(shape):
    n = 1
    for s in shape:
        if not isinstance(s, int):
            return None
        n *= s
    return n


def is_known(shape):
    return all(isinstance(s, int) for s in shape)
