# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A notebook with cells of mx, executed by a kernel without a browser.

Usage: notebook.py TIMEOUT          prints the output of some cells
       notebook.py TIMEOUT PAGE.md  compares that of the cells of a page, ```python cell, with the ```text behind them
"""

import os
import sys

import nbformat
from nbclient import NotebookClient

CELLS = [
    "%load_ext mx\nimport mx, numpy as np",
    '%%mx\nprint("in the cell")\ngraph fn half(x: f32[N]) -> f32[N] { x / 2.0 }\n'
    'fn train() -> i64 { var n = 0; for i in progress(0..3) { n += i }; n }',
    "half(np.ones(3, np.float32))",
    "%%mx other\nlet k = 4",
    "print(other.k, train())",
    "%%mx\nlet x: f32[3] = ones([4])",
    "%%mx two names\nlet k = 4",
]


def text(output):
    if output.output_type == "stream":
        return f"{output.name}: {output.text.strip()}"
    if output.output_type == "error":
        return f"error: {output.ename}: {output.evalue}"
    return f"result: {output.data['text/plain']}"


def executed(cells):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in cells])
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    client = NotebookClient(notebook, timeout=int(sys.argv[1]), kernel_name="python3", allow_errors=True)
    client.execute()
    return notebook.cells


def compare(page):
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "dev"))
    from fences import blocks
    all_blocks = list(blocks(page))
    cells = [i for i, block in enumerate(all_blocks) if block.marks == ["python", "cell"]]
    wrong = 0
    for i, cell in zip(cells, executed([all_blocks[i].text for i in cells])):
        behind = all_blocks[i + 1:i + 2]
        wanted = behind[0].text if behind and behind[0].marks == ["text"] else ""
        got = "\n".join(text(output).split(": ", 1)[1] for output in cell.outputs)
        if got.strip() != wanted.strip():
            wrong += 1
            print(f"{page}:{all_blocks[i].line}: this cell shows\n{got}")
    print(f"{len(cells)} cells ran, {wrong} wrong")


def main():
    if sys.argv[2:]:
        return compare(sys.argv[2])
    for number, cell in enumerate(executed(CELLS)):
        for output in cell.outputs:
            print(f"[{number}] {text(output)}")


main()
