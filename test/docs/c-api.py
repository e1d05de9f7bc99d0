# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""docs/reference/c-api.md lists every function and every header of the C interfaces, and no other.

Usage: c-api.py PAGE FOLDER…
"""
import pathlib
import re
import sys

page = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8")
headers = [path for folder in sys.argv[2:] for path in sorted(pathlib.Path(folder).glob("*.h"))]
declared, wrong = set(), []
for path in headers:
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.S)
    names = re.findall(r"\b(mxr?[ct]_\w+)\s*\((?!\*)", text)
    # The routines are declared by a macro. Helpers in workspace.h and bytes.h are for the compiler.
    names += ["mxrt_" + name.removeprefix("mxrt_") for name in re.findall(r"MXRT_ROUTINE\((\w+)\)", text) if name != "name"]
    if path.name not in ("workspace.h", "bytes.h"):
        declared |= set(names)
    if f"/{path.name})" not in page:
        wrong.append(f"{path.name} is not linked")
types = {name for path in headers for name in re.findall(r"\(\*(mxrt?c?_\w+)\)", path.read_text(encoding="utf-8"))}
declared -= types
listed = set(re.findall(r"`(mxr?[ct]_\w+)`", page)) - {"mxrt_core", "mxrt_rng"}
wrong += [f"{name} is not listed" for name in sorted(declared - listed)]
wrong += [f"{name} is not a function of a header" for name in sorted(listed - declared)]
print("\n".join(wrong + [f"{len(headers)} headers, {len(declared)} functions, {len(wrong)} wrong"]))
sys.exit(1 if wrong else 0)
