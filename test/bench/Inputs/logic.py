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
import compare  # noqa: E402
import environment  # noqa: E402
import parts  # noqa: E402
import peers  # noqa: E402
import plot  # noqa: E402
import report  # noqa: E402
import rows  # noqa: E402

loader = importlib.machinery.SourceFileLoader("run", str(MATRIX / "run"))
run = importlib.util.module_from_spec(importlib.util.spec_from_loader("run", loader))
loader.exec_module(run)
recorded = json.loads(pathlib.Path(sys.argv[2]).read_text())

# What was written is what was read; the picture has the rows with goals and is XML.
assert json.loads(pathlib.Path(sys.argv[3]).read_text()) == recorded
picture = xml.dom.minidom.parse(sys.argv[4])
assert len(picture.getElementsByTagName("circle")) == 4
assert "LeNet <b64> step (2)" in [t.firstChild.data for t in picture.getElementsByTagName("title")]
xml.dom.minidom.parseString(plot.drawn({**recorded, "results": []}))
assert "| 13 | independent op |  | 0.40 us |" in pathlib.Path(sys.argv[5]).read_text()
assert [report.met(r) for r in recorded["results"]] == [True, False, True, False, None, None]

# The regression check: a tenth is allowed, and what failed is slower.
now = copy.deepcopy(recorded["results"])
assert not list(report.fallen(now, recorded["results"]))
now[0]["ratio"], now[1]["ratio"], now[2]["of_memcpy"] = 3.2, 0.85, 0.5
now[3] = {"number": 13, "row": "independent op", "threads": "", "error": "crashed"}
slower = list(report.fallen(now, recorded["results"]))
assert slower == ["LeNet <b64> step on 2: 1.00 before, 0.85 now", "softmax on 1: 0.70 before, 0.50 now",
                  "independent op on : 1.25 before, now crashed"], slower

# A process that dies is followed by one without what it died of.
given = argparse.Namespace(rows="", quick=False, compiled=False, peers="", build=pathlib.Path("."))
results, about, _ = run.measured_rows(given, 1, command=[sys.executable, HERE / "crashing.py"])
assert [r["row"] for r in results] == ["a", "b", "c", "d"] and about["versions"] == {"bad": "1"}
assert results[1]["words"] == {"bad": "crashed with SIGKILL"} and results[2]["number"] == 3
assert results[2]["error"] == "all in turns: crashed with SIGKILL" and results[3]["mx"] == 1.0

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
row = next(row for row in rows.small_rows() if row.number == 5)
quick = argparse.Namespace(quick=True)
result = compare.measure(row, None, 1, [Peer("fails", failing), Peer("same", lambda step: step)], {"gone": "crashed"},
                         Journal(), quick)
assert result["words"] == {"gone": "crashed", "fails": "ValueError: no such thing"} and result["best"] == "same", result
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
products = {"rows": [{"work": "64x64x64", "by": "mx", "median_us": 4.0}] + [
    {"work": "64x64x64", "by": by, "median_us": us, "ratio": us / 4, "ratio_q1": us / 4, "ratio_q3": us / 4}
    for by, us in (("OpenBLAS", 6.0), ("oneDNN", 4.4))]}
result, = parts.of_products(products, 2)
assert (result["row"], result["best"], result["ratio"], report.met(result)) == ("matmul 64x64x64", "OpenBLAS", 1.5, True)
assert report.goal_text(result) == ">= 1.25 of OpenBLAS" and round(result["gflops"]) == 131
engine = {"rows": [{"work": "op", "by": "mxrt, 1 worker", "median_us": 0.2, "goal_us": 0.3},
                   {"work": "op", "by": "mxrt naive", "median_us": 0.1, "ratio": 0.5, "ratio_q1": 0.5, "ratio_q3": 0.5}]}
result, = parts.of_engine(engine)
assert result["peers"] == {} and report.met(result), result
figures = {"figures": [{"what": "start (ms, best of 2): mxc", "value": 30.0, "unit": "ms", "most": 60, "met": True},
                       {"what": "a session: made", "value": 1.0, "unit": "ms"}]}
assert [(r["row"], report.met(r)) for r in parts.of_figures(figures, 14)] == [("start: mxc", True), ("a session: made", None)]
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
