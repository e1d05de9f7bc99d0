"""Writes programs as mx, runs them in every mode, and compares what they print with the reference."""

import importlib.util
import os
import re
import shutil
import sys
from dataclasses import dataclass

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "ops"))
from mxtext import NP as NATIVE, parse, show, typed  # noqa: E402
from program import function, results, tuple_text  # noqa: E402
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import patience  # noqa: E402

CPU_SECONDS = 280  # of one batch of programs; what takes longer does not end

HELPERS = """fn twice[T: num](x: T[...S]) -> T[...S] { x + x }
fn shifted[T: float](x: T[...S]) -> T[...S] { x * 0.5 - x }
const d0 = device("cpu:0")
const d1 = device("cpu:1")
"""


@dataclass
class Mode:
    """A way to run. Modes with `same_bits` print exactly what `graph` prints."""
    name: str
    options: list
    threads: int = 1
    devices: str = ""  # "second": the graph runs on cpu:1; "both": ops are spread over two
    same_bits: bool = False
    ahead: bool = False  # graphs are exported and built, then called from here
    guarded: bool = False  # slow: each kernel is watched


GRAPH = Mode("graph", [])
CUT = "--internal-chunk=1"  # each iteration of a loop is a chunk of its own
MODES = [GRAPH, Mode("eager", ["--eager"]), Mode("two threads", [CUT], threads=2, same_bits=True),
         Mode("eager, two threads", ["--eager", CUT], threads=2)]
MODES += [Mode(f"without {p}", [f"--disable={p}"], same_bits=p in ("hoist", "tile-chains", "prepack", "schedule", "in-place", "co-share"))
          for p in ("fuse", "simplify", "cse", "hoist", "tile-chains", "prepack", "schedule", "in-place", "co-share")]
# Matrices between products in blocks of a few rows, with room of their own and watched below.
MODES += [Mode("blocks", ["--internal-block=64", CUT], threads=2, same_bits=True)]
AHEAD = Mode("built ahead", ["--target-cpu", "native"], same_bits=True, ahead=True)
# Under guard, what holds nothing is poison, and a kernel that reads it or writes elsewhere is found.
MODES += [Mode(f"guarded{name}", ["--check=memory", *options], same_bits=True, guarded=True) for name, options in (
    ("", []), (", blocks", ["--internal-block=64"]), (", as many buffers as kernels", ["--disable=schedule,in-place,co-share"]),
    (", in place", ["--disable=schedule,co-share"]), (", shared", ["--disable=schedule,in-place"]))]
MODES += [Mode("guarded, eager", ["--eager", "--check=memory"], guarded=True)]
MODES += [Mode("second device", [], devices="second", same_bits=True), Mode("both devices", [], devices="both")]


@dataclass
class Failure:
    program: object
    mode: str
    reason: str


def on_second(statement, line):
    """Every other op on the second device; what it gives is brought back."""
    match = re.fullmatch(r"let (\w+) = (.*)", line)
    if not match or not statement.args or int(re.sub(r"\D", "", statement.name)) % 2:
        return line
    return f"let {match.group(1)} = (on d1 {{ {match.group(2)} }}).to(d0)"


class Batch:
    """Programs that run together: what they shall give, and their texts, made once for all modes."""

    def __init__(self, programs):
        self.programs = programs
        self.types = [{} for _ in programs]
        self.wants = [results(p, t) for p, t in zip(programs, self.types)]
        self.calls = {}
        self.functions = {}

    def declared(self, mode):
        """The lines of all functions; spread over two devices they are others."""
        both = mode.devices == "both"
        if both not in self.functions:
            self.functions[both] = [
                line for k, program in enumerate(self.programs)
                for line in function(program, f"g{k}", is_graph=not both, placed=on_second if both else None,
                                     known=(self.types[k], self.wants[k]))]
        return self.functions[both]

    def called(self, mode):
        """The lines that make the inputs, call, and print what comes back."""
        second = mode.devices == "second"
        if second not in self.calls:
            self.calls[second] = [line for k in range(len(self.programs)) for line in self.call(k, second)]
        return self.calls[second]

    def call(self, k, second):
        program, wants = self.programs[k], self.wants[k]
        lines, names = [], []
        for name, value in program.inputs.items():
            names.append(f"p{k}_{name}")
            lines.append(typed(names[-1], value.ref.astype(NATIVE[value.elem])))
        names += [str(n) for n in program.counts.values()]
        outs = [f"r{k}_{i}" for i in range(len(wants))]
        call = f"g{k}({', '.join(names)})"
        lines.append(f"let {tuple_text(outs)} = " + (f"on d1 {{ {call} }}" if second else call))
        for i, (out, want) in enumerate(zip(outs, wants)):
            lines.append(f'print("#{k} {i}")')
            lines += show(out, want.elem, want.shape, f"s{k}_{i}")
        return lines

    def source(self, mode):
        """One file with all programs: for each a function, its inputs, a call, and its results printed."""
        if mode.ahead:
            lines = ["export " + line if line.startswith("graph fn") else line for line in self.declared(mode)]
        else:
            lines = self.declared(mode) + self.called(mode)
        return "\n".join([HELPERS, *lines]) + "\n"


def same(one, other, elem):
    """Whether two results, printed or as arrays, have the same bits; a NaN is a NaN."""
    if isinstance(one, str) and isinstance(other, str):
        return one == other
    a, b = (parse(x, elem)[0] if isinstance(x, str) else x for x in (one, other))
    if a is None or b is None or a.size != b.size:
        return False
    if elem not in ("f16", "f32", "f64"):
        return bool((a == b).all())
    a, b = a.astype(np.float64), b.astype(np.float64)
    return bool(((a == b) & (np.signbit(a) == np.signbit(b)) | np.isnan(a) & np.isnan(b)).all())


def difference(result, want):
    """Why a result, printed or as an array, is not `want`, or nothing."""
    if isinstance(result, str):
        got, shape = parse(result, want.elem)
    else:
        got, shape = result, None
    if got is None or got.size != want.size:
        return f"{0 if got is None else got.size} elements instead of {want.size}"
    if shape is not None and shape != f"{want.elem}[{', '.join(map(str, want.shape))}]":
        return f"{shape} instead of {want.type_text()}"
    ref = want.ref.reshape(-1)
    if not want.is_float:
        wrong = np.flatnonzero(got != ref)
        return f"element {wrong[0]} is {got[wrong[0]]}, not {ref[wrong[0]]}" if wrong.size else None
    err = want.err.reshape(-1)
    wide = got.astype(np.longdouble)
    with np.errstate(all="ignore"):
        good = (wide == ref) | (np.isnan(wide) & np.isnan(ref)) | (np.abs(wide - ref) <= err)
    wrong = np.flatnonzero(~good)
    if not wrong.size:
        return None
    i = wrong[0]
    return f"element {i} is {got[i]!r}, not {float(ref[i])!r} +- {float(err[i]):.3g}"


class Runner:
    def __init__(self, mxc, folder, extra=()):
        self.mxc, self.folder, self.extra = mxc, folder, list(extra)
        self.runs = 0

    def cache(self, mode):
        # Spread over two devices, a program is a function: op by op as well.
        return os.path.join(self.folder, "eager" if "--eager" in mode.options or mode.devices == "both" else "graphs")

    def forget_kernels(self):
        """Kernels of graphs are rarely met again, and would fill the disk. Those of single ops are."""
        shutil.rmtree(self.cache(GRAPH), ignore_errors=True)

    def run(self, batch, mode):
        """The printed blocks by program and output, or the text of an error."""
        path = os.path.join(self.folder, f"random-{os.getpid()}.mx")
        with open(path, "w") as f:
            f.write(batch.source(mode))
        if mode.ahead:
            return self.build(batch.programs, mode, path)
        env = dict(os.environ, MX_NUM_THREADS=str(mode.threads))
        command = [self.mxc, "run", f"--cache={self.cache(mode)}", *mode.options, *self.extra, path]
        self.runs += 1
        done = patience.run(command, CPU_SECONDS, capture_output=True, text=True, env=env)
        if done.returncode != 0:
            return None, f"exit code {done.returncode}: {done.stderr[:2000]}"
        blocks = {}
        for block in re.split(r"^#", done.stdout, flags=re.M)[1:]:
            head, _, body = block.partition("\n")
            blocks[tuple(map(int, head.split()))] = body.replace("-nan", " nan")
        return blocks, None

    def build(self, programs, mode, path):
        """The same of graphs that are built ahead: arrays instead of text."""
        self.runs += 1
        name = f"ahead_{os.getpid()}_{self.runs}"  # a library that is loaded stays
        module_path = os.path.join(self.folder, name + ".py")
        done = patience.run([self.mxc, "build", "--python", *mode.options, path, "-o", module_path], CPU_SECONDS,
                            capture_output=True, text=True)
        if done.returncode != 0:
            return None, f"exit code {done.returncode}: {done.stderr[:2000]}"
        spec = importlib.util.spec_from_file_location(name, module_path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        blocks = {}
        for k, program in enumerate(programs):
            inputs = [value.ref.astype(NATIVE[value.elem]) for value in program.inputs.values()]
            try:
                outs = getattr(module, f"g{k}")(*inputs, *program.counts.values())
            except module.Error as error:
                return None, str(error)
            for i, out in enumerate(outs if isinstance(outs, tuple) else (outs,)):
                blocks[k, i] = np.asarray(out).reshape(-1)
        return blocks, None

    def check(self, programs, modes):
        """Failures of the programs in the modes, the first of each program."""
        failures, graph_blocks, batch = {}, None, Batch(programs)
        for mode in modes:
            blocks, error = self.run(batch, mode)
            if error and len(programs) > 1:  # whose is it?
                for k, program in enumerate(programs):
                    for failure in self.check([program], [GRAPH, mode] if mode.same_bits else [mode]):
                        failures.setdefault(k, failure)
                continue
            if error:
                return [Failure(programs[0], mode.name, error)]
            if mode is GRAPH:
                graph_blocks = blocks
            for k, program in enumerate(programs):
                for i, want in enumerate(batch.wants[k]):
                    body = blocks.get((k, i), "")
                    reason = difference(body, want)
                    if not reason and mode.same_bits and graph_blocks and not same(body, graph_blocks.get((k, i), ""), want.elem):
                        reason = "other bits than the graph on one thread"
                    if reason:
                        failures.setdefault(k, Failure(program, mode.name, f"{program.outputs[i]}: {reason}"))
        return list(failures.values())
