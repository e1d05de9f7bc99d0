# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A notebook with cells of mx, executed by a kernel without a browser."""

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


def main():
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in CELLS])
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    client = NotebookClient(notebook, timeout=int(sys.argv[1]), kernel_name="python3", allow_errors=True)
    client.execute()
    for number, cell in enumerate(notebook.cells):
        for output in cell.outputs:
            print(f"[{number}] {text(output)}")


main()
