# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the matrix does with results and with peers that fail. Usage: logic.py REPOSITORY RECORDED WRITTEN SVG MARKDOWN"""
import argparse
import copy
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import sys
import tempfile
import types
import xml.dom.minidom

HERE = pathlib.Path(__file__).resolve().parent
MATRIX = pathlib.Path(sys.argv[1]) / "tools/mxc-bench/matrix"
sys.path.insert(0, str(MATRIX))
sys.dont_write_bytecode = True
import chart  # noqa: E402
import compare  # noqa: E402
import environment  # noqa: E402
import old_names  # noqa: E402
import parts  # noqa: E402
import peers  # noqa: E402
import report  # noqa: E402
import rows  # noqa: E402
import tables  # noqa: E402

loader = importlib.machinery.SourceFileLoader("run", str(MATRIX / "run"))
run = importlib.util.module_from_spec(importlib.util.spec_from_loader("run", loader))
loader.exec_module(run)
recorded = json.loads(pathlib.Path(sys.argv[2]).read_text())

# What was written is what was read; the picture is XML and has the rows with a ratio that says something.
assert json.loads(pathlib.Path(sys.argv[3]).read_text()) == recorded
picture = xml.dom.minidom.parse(sys.argv[4])
titles = [t.firstChild.data for t in picture.getElementsByTagName("title")]
assert titles == ["MLP step"] and len(picture.getElementsByTagName("circle")) == 1, titles  # the other ratio is noisy
xml.dom.minidom.parseString(chart.drawn({**recorded, "results": []}))
ops = [{**recorded["results"][3], "row": f"an <op> {ratio}", "ratio": ratio, "quartiles": [ratio] * 2} for ratio in (1.25, 100.0, 0.01, 2.0 ** 3)]
picture = xml.dom.minidom.parseString(chart.drawn({**recorded, "results": ops}))
circles = picture.getElementsByTagName("circle")
assert [t.parentNode.tagName for t in picture.getElementsByTagName("title")] == ["circle", "path", "path", "circle"]
assert all(chart.LEFT <= float(c.getAttribute("cx")) <= chart.WIDTH - chart.RIGHT for c in circles)
assert [report.met(r) for r in recorded["results"]] == [True, False, True, False, None, None]

# What a ratio says, and the share of the limit.
assert [report.verdict(r) for r in recorded["results"]] == ["faster", "noisy", None, "faster", None, None]
assert report.verdict({"ratio": 0.9, "quartiles": [0.8, 0.95], "best": "torch", "threads": 1}) == "slower"
assert report.verdict({"ratio": 1.0, "quartiles": [0.95, 1.05], "best": "torch", "threads": 1}) == "even"
assert report.verdict({"ratio": 2.0, "best": "jax", "threads": 1}) == "faster"  # a single CPU time
assert report.verdict({"ratio": 2.0, "best": "python3", "threads": ""}) is None  # single wall times
assert report.verdict({"ratio": 1.8, "quartiles": [1.8, 1.8], "best": report.OWN, "threads": 1}) is None
assert [report.limit(recorded, r) for r in recorded["results"]] == [None, 0.44, 0.7, None, None, None]
half = {"row": "matmul bf16", "unit": "us", "mx": 10.0, "threads": 1, "flops": 10 ** 6}
assert report.limit(recorded, half) == 0.5 and report.limit({}, half) is None
assert tables.quantity(1234.5, "us") == "1.23 ms" and tables.quantity(0.4, "us") == "0.40 us" and tables.quantity(2.5e6, "us") == "2.50 s"
assert tables.quantity(0.0123, "us") == "0.012 us" and tables.quantity(1500, "ms") == "1.50 s" and tables.quantity(1200.4, "MB") == "1,200 MB"

# Wall time on a machine that others use is an upper bound; rows with quartiles are not, nor are bytes.
assert [tables.at_most(recorded, r) for r in recorded["results"][:5]] == [False, False, False, True, True]
assert not tables.at_most({**recorded, "load": [0.3, 1.1]}, recorded["results"][4])
assert not tables.at_most(recorded, {**recorded["results"][4], "unit": "MB"})

# Rows measured again replace those of an older file and say of which commit they are; others stay.
again = {"commit": "4567def", "versions": {"torch": "10", "iree": "3"}, "load": [2.0], "results": [
    {**recorded["results"][0], "mx": 100.0}, {**recorded["results"][0], "threads": 2}]}
both = report.joined(recorded, again)
assert [(r["row"], r["threads"], r.get("commit")) for r in both["results"]] == [
    ("MLP step", 1, "4567def"), *((r["row"], r["threads"], None) for r in recorded["results"][1:]), ("MLP step", 2, "4567def")]
assert both["results"][0]["mx"] == 100.0 and both["versions"] == {"torch": "9.9", "jax": "0.9", "iree": "3"}
assert "Measured at commit 4567def: MLP step; MLP step, 2 threads." in tables.page(both, "some.json")
assert "commit" not in report.joined(recorded, {**again, "commit": "0123abc"})["results"][0]

# Old names of rows and parts, with a note.
notes = []
assert old_names.renamed("conv .* by window|softmax", notes.append) == "conv .* filter gradient|softmax"
assert notes == ["note: `by window` is now called `filter gradient`"]
assert old_names.renamed("softmax", notes.append) == "softmax" and len(notes) == 1

# Files that cannot be read.
for name, text in (("old.json", '{"results": []}'), ("text.json", "no"), ("list.json", "[2]"), ("missing.json", None)):
    path = pathlib.Path(sys.argv[3]).parent / name
    if text is not None:
        path.write_text(text)
    try:
        report.read(path)
    except report.Unreadable as failure:
        assert name in str(failure)
    else:
        raise AssertionError(name)

# The regression check: a tenth is allowed, and what failed is slower.
now = copy.deepcopy(recorded["results"])
assert not list(report.fallen(now, recorded["results"]))
now[0]["ratio"], now[1]["ratio"], now[2]["of_memcpy"] = 3.2, 0.85, 0.5
now[3] = {"group": "eager", "row": "independent op", "threads": "", "error": "crashed"}
slower = list(report.fallen(now, recorded["results"]))
assert slower == ["LeNet <b64> step on 2: 1.00 before, 0.85 now", "softmax on 1: 0.70 before, 0.50 now",
                  "independent op on : 1.25 before, now crashed"], slower

# A process that dies is followed by one without what it died of.
given = argparse.Namespace(rows="", quick=False, row_seconds=60.0, compiled=False, peers="", build=pathlib.Path("."))
results, about, _ = run.measured_rows(given, 1, command=[sys.executable, HERE / "crashing.py"])
assert [r["row"] for r in results] == ["a", "b", "c", "d"] and about["versions"] == {"bad": "1"}
assert results[1]["notes"] == {"bad": "crashed with SIGKILL"} and results[2]["group"] == "rows"
assert results[2]["error"] == "interleaved blocks: crashed with SIGKILL" and results[3]["mx"] == 1.0

# A library that does not load, one that fails in a row, one that computes something else.
sys.modules["torch"] = None
sys.modules["openvino"] = types.ModuleType("openvino")  # without what is asked of it
there, words = peers.load(1, False, only=["torch", "openvino", "numpy"])
assert [p.name for p in there] == ["numpy"] and words["torch"] == "is not installed", words
assert words["openvino"].startswith("AttributeError"), words


class Peer(peers.NumPy):
    def __init__(self, name, step):
        self.name, self.made = name, step

    def step(self, row, arrays):
        return self.made(super().step(row, arrays))


def failing(_):
    raise ValueError("no such thing\nand more")


class Mx:
    """NumPy instead of mx, so that nothing is compiled."""

    def __init__(self, row, library, threads, arrays):
        self.step, self.first_ms, self.call, self.session = peers.NumPy(1).step(row, arrays), 1.0, self, self
        self.first = self.numbers()

    def numbers(self):
        return self.step()

    def run(self, times):
        pass

    def close(self):
        pass


class Journal:
    def trying(self, row, peer):
        pass


compare.Ours, compare.calls_in_a_block = Mx, lambda run, clock: 1
row = next(row for row in rows.small_rows() if row.group == "inference")
quick = argparse.Namespace(quick=True, row_seconds=60.0)
result = compare.measure(row, None, 1, [Peer("fails", failing), Peer("same", lambda step: step)], {"gone": "crashed"},
                         Journal(), quick)
assert result["notes"] == {"gone": "crashed", "fails": "ValueError: no such thing"} and result["best"] == "same", result
result = compare.measure(row, None, 1, [Peer("other", lambda step: lambda: step() + 1)], {}, Journal(), quick)
assert result["error"].startswith("differs from other by") and "mx" not in result, result

# A package that does not install is a word, and is not tried again.
with tempfile.TemporaryDirectory() as folder:
    python = pathlib.Path(folder) / "bin" / "python"
    python.parent.mkdir()
    python.write_text("#!/bin/sh\necho no network >&2\nexit 1\n")
    python.chmod(0o755)
    said = []
    environment.make(folder, said.append)
    environment.make(folder, said.append)
    assert len(said) == 2 * len(environment.PACKAGES) and said[1] == "numpy does not install: no network", said
    library = pathlib.Path(folder) / "lib" / "libdnnl.so.3"
    library.parent.mkdir()
    library.touch()
    assert environment.with_libraries(folder)["LD_LIBRARY_PATH"].split(":")[0] == str(library.parent)

# C++ parts: rows with peers, figures, what the script for code built ahead of time prints, a program that is not there.
quartiles = {"q1_us": 3.9, "q3_us": 4.1}
matmul = {"rows": [{"work": "64x64x64", "by": "mx", "median_us": 4.0, **quartiles}] + [
    {"work": "64x64x64", "by": by, "median_us": us, "ratio": us / 4, "ratio_q1": us / 4, "ratio_q3": us / 4}
    for by, us in (("OpenBLAS", 6.0), ("oneDNN", 4.4))]}
result, = parts.of_matmul(matmul, 2)
assert (result["row"], result["best"], result["ratio"], report.met(result)) == ("matmul 64x64x64", "oneDNN", 1.1, True)
assert report.goal_text(result) == ">= 1.25 of OpenBLAS" and report.rate(result) == "131.1 GFLOP/s"
matmul["rows"] = [{"work": "8x4x2 transposedA bf16", "by": "mx", "median_us": 4.0, **quartiles},
                  {"work": "8x4x2 transposedA bf16", "by": "f32", "median_us": 8.0, "ratio": 2, "ratio_q1": 2, "ratio_q3": 2}]
result, = parts.of_matmul(matmul, 1)
assert result["row"] == "matmul 8x4x2 A transposed bf16, beside f32" and result["flops"] == 128 and report.verdict(result) is None
limits = parts.of_limits({"figures": [{"what": f"limits of one thread: {what}", "value": value} for what, value in (
    ("f32 multiply-add", 100.0), ("bf16 dot products", 200.0), ("memcpy of 16 MB read and written", 25.0))]})
assert limits == {"f32": 100.0, "bf16": 200.0, "memcpy": {"16": 25.0}}
engine = {"rows": [{"work": "op", "by": "mxrt, 1 worker", "median_us": 0.2, "goal_us": 0.3, **quartiles},
                   {"work": "op", "by": "mxrt naive", "median_us": 0.1, "ratio": 0.5, "ratio_q1": 0.5, "ratio_q3": 0.5}]}
result, = parts.of_engine(engine)
assert result["peers"] == {} and report.met(result), result
figures = {"figures": [{"what": "start (ms, best of 2): mxc", "value": 30.0, "unit": "ms", "max": 60, "met": True},
                       {"what": "a session: made", "value": 1.0, "unit": "ms"},
                       {"what": "a session: stopped", "value": -1.0, "unit": "ms"}]}
assert [(r["row"], r["group"], report.met(r)) for r in parts.of_figures(figures, "compile")] == [
    ("start: mxc", "start", True), ("a session: made", "compile", None), ("a session: stopped", "compile", None)]
figures["figures"] = [{"what": "start (ms): mxc -e 'print(1.0 + 1.0)'", "value": 20.0, "unit": "ms"},
                      {"what": "start (ms): python3 -c 'print(1.0 + 1.0)'", "value": 30.0, "unit": "ms"}]
result, = parts.of_figures(figures, "compile")
assert result["best"] == "python3" and result["ratio"] == 1.5
printed = """   text	   data	    bss	    dec	    hex	filename
 130000	   8000	     64	 138064	  21b50	host
lenet: parameters and first result 0.800 ms, resident 2200 KB
tiny mlp 64-32-8: 120 ns a call
lenet: 21.5 us a call
PyTorch 2.1: first result 3300 ms after Python's start, resident 554000 KB
PyTorch 2.1: tiny mlp 16.7 us a call
ONNX Runtime 1.3: first result 227 ms after Python's start, resident 55000 KB
ONNX Runtime 1.3: tiny mlp 6.1 us a call
"""
tiny, lenet, size, resident, first = parts.of_aot(printed)
assert (tiny["best"], round(tiny["ratio"])) == ("onnxruntime", 51) and not lenet["peers"] and size["mx"] == 0.138
assert (resident["mx"], resident["peers"]["onnxruntime"]) == (2.2, 55.0) and report.met(first)
failed = parts.measured("/nothing/mxc-bench", dict(os.environ), [1], True, "engine", [], lambda text: None)
assert "error" in failed[0], failed
print("fine")
