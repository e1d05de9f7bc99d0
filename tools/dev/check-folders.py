#!/usr/bin/env python3
"""Checks which folder includes which.

Usage: check-folders.py [ROOT]

Reads the #include lines of all C and C++ sources and TableGen files under ROOT
(default: this repository) and compares them with the table below. Prints each
forbidden include as file:line with the rule it breaks; exits with 1 if any.
"""

import os
import re
import sys

from tree import files_under

# ------------------------------------------------------------------ the rules
#
# Who may include whom: "folder": what it may include besides itself. Anything
# not listed is refused. `mxc/*` are the compiler's public headers
# (compiler/include/mxc), `mxrt/*` the runtime's (runtime/include/mxrt); the
# name of a single header allows that header alone. System headers are always
# allowed, except those in NEVER.

COMPILER = ["Support", "Syntax", "Docs", "Sema", "IRGen", "Graph", "Memory", "Lowering", "Target",
            "Bytecode", "Pipeline", "Run", "Launch", "Build", "Driver", "Repl", "Embed"]

ALLOWED = {
    # the front end
    # the table of functions that the language, the dialect and the runtime share, and the text of bytes
    "Support":  ["mxrt/bytes.h", "mxrt/functions.def"],
    "Syntax":   ["Support"],
    "Docs":     ["Syntax", "Support"],
    "Sema":     ["Syntax", "Support"],
    "IRGen":    ["Sema", "Syntax", "Support", "dialects"],
    # the middle and the back: these four never include each other
    "dialects": ["Support"],
    "Graph":    ["dialects", "Support"],
    "Memory":   ["dialects", "Support"],
    # the tables of the runtime: its functions, error numbers, structures and kernels of single ops, its
    # routines and their workspaces
    "Lowering": ["Lowering/cpu", "dialects", "Support", "mxrt/abi.def", "mxrt/codes.def", "mxrt/layout.def"],
    # kernels: what all targets share, then one folder for each kind of target; programs that call them
    "Lowering/kernels": ["Lowering", "dialects", "Support", "mxrt/eager.def"],
    "Lowering/cpu": ["Lowering/kernels", "Lowering", "dialects", "Support"],
    "Lowering/programs": ["Lowering", "dialects", "Support", "mxrt/functions.def", "mxrt/routine.def", "mxrt/workspace.h"],
    "Target":   ["dialects", "Support"],
    "Pipeline": ["Graph", "Memory", "Lowering", "Target", "dialects", "Support"],
    # what ties compiler and runtime together; Bytecode writes the VM's module files
    "Bytecode": ["dialects", "Support", "runtime", "mxrt/*"],
    # runs what is compiled, in mxc and in executables, which have no compiler
    "Run":      ["Support", "runtime", "mxrt/*"],
    # processes that run it
    "Launch":   ["Run", "Support", "runtime", "mxrt/*"],
    # artefacts: code and tables for the core of the runtime, whose file formats it reads
    "Build":    ["Run", "Pipeline", "Target", "dialects", "Support", "runtime", "mxrt/*"],
    "Driver":   [folder for folder in COMPILER if folder not in ("Repl", "Embed")] + ["dialects", "mxc/*", "runtime", "mxrt/*"],
    # the driver's session behind the public headers; Driver's table, and Driver itself
    "Embed":    COMPILER + ["dialects", "mxc/*", "runtime", "mxrt/*"],
    "Repl":     ["Driver", "Run", "Sema", "Syntax", "Support", "runtime", "mxrt/*"],
    "tools":    ["Driver", "Repl", "Run", "Support", "mxc/*", "mxrt/*"],
    # the runtime stands alone
    "runtime":  ["mxrt/*"],
    "mxrt/*":   [],
    # the public road
    "mxc/*":    ["mxrt/*"],
    # the Python package is a host like any other
    "Python":   ["mxc/*"],
    "examples": ["mxc/*", "mxrt/*"],
}

# System headers that a folder must not include.
NEVER = {
    "Run":      ["llvm/", "mlir/", "llvm-c/", "mlir-c/"],
    "Launch":   ["llvm/", "mlir/", "llvm-c/", "mlir-c/"],
    "runtime":  ["llvm/", "mlir/", "llvm-c/", "mlir-c/"],
    "mxrt/*":   ["llvm/", "mlir/", "llvm-c/", "mlir-c/"],
    "mxc/*":    ["llvm/", "mlir/", "llvm-c/", "mlir-c/"],
    "examples": ["llvm/", "mlir/", "llvm-c/", "mlir-c/"],
}

# Single tools that need more than the rest of tools/.
TOOL_EXTRA = {
    # runs one pass on an .mlir file, so it knows every pass and dialect
    "tools/mxc-opt": ["Pipeline", "Graph", "Memory", "Lowering", "Bytecode", "dialects"],
    # compiles kernels for mxc before there is an mxc; the executor lists them
    "tools/mxc-kernels": ["Pipeline", "runtime"],
    # packs pictures into records
    "tools/mxc-im2rec": ["runtime"],
    # measures single parts of the runtime from inside
    "tools/mxc-bench": ["Memory", "runtime"],
}

# Headers that only their own folder includes.
PRIVATE = ["compiler/Sema/Internals.h"]

# ------------------------------------------------------------- the machinery

SOURCES = (".c", ".cc", ".cpp", ".cu", ".cuh", ".def", ".h", ".hpp", ".inc", ".td")
INCLUDE = re.compile(r'^\s*#?\s*include\s*([<"])([^>"]+)[>"]')
RUNTIME_FOLDERS = ["base", "memory", "engine", "host", "eager", "device", "net", "kvstore", "dist", "io", "data", "random",
                   "routines", "profile", "abi", "aot"]


def folder_of(path):
    """The folder of the table that a path (from the root) belongs to, or None."""
    parts = path.split("/")
    if parts[:3] == ["compiler", "include", "mxc"]:
        return "mxc/*"
    if parts[:3] == ["runtime", "include", "mxrt"]:
        return "mxrt/*"
    if parts[0] == "compiler" and len(parts) > 3 and "/".join(parts[1:3]) in ALLOWED:
        return "/".join(parts[1:3])
    if parts[0] == "compiler" and len(parts) > 2:
        return parts[1]
    if parts[0] in ("runtime", "tools", "dialects", "examples"):
        return parts[0]
    return None


def resolve(root, source, name):
    """The path from the root of an included file, or None for a system header."""
    beside = os.path.normpath(os.path.join(os.path.dirname(source), name))
    candidates = [beside]
    for base in ("compiler", "compiler/include", "runtime/include", "runtime", "."):
        candidates.append(os.path.normpath(os.path.join(base, name)))
    for path in candidates:
        if not path.startswith("..") and os.path.isfile(os.path.join(root, path)):
            return path
    # A generated or missing file still belongs to the folder it names.
    first = name.split("/")[0]
    if "/" not in name:
        return beside
    if first in COMPILER:
        return "compiler/" + name
    if first in ("compiler", "runtime", "dialects", "tools", "examples"):
        return name
    if first == "mxc":
        return "compiler/include/" + name
    if first == "mxrt":
        return "runtime/include/" + name
    if first in RUNTIME_FOLDERS and folder_of(source) in ("runtime", "mxrt/*"):
        return "runtime/" + name
    return None


def allowed_for(source, folder):
    rules = list(ALLOWED.get(folder, []))
    for tool, extra in TOOL_EXTRA.items():
        if source.startswith(tool + "/"):
            rules += extra
    return rules


def check_include(root, source, kind, name):
    """None when the include is fine, otherwise the rule it breaks."""
    folder = folder_of(source)
    for prefix in NEVER.get(folder, []):
        if name.startswith(prefix):
            return f"{folder} never includes {prefix}"
    target = resolve(root, source, name)
    if target is None or (kind == "<" and not os.path.isfile(os.path.join(root, target))):
        return None
    into = folder_of(target)
    if into is None or into == folder:
        return None
    if target in PRIVATE:
        return f"only {into} includes {target}"
    if folder not in ALLOWED:
        return f"{folder} has no row in the table of tools/dev/check-folders.py"
    rules = allowed_for(source, folder)
    if into in rules or (into == "mxrt/*" and "mxrt/" + os.path.basename(target) in rules):
        return None
    return f"{folder} may include {', '.join(rules) or 'nothing'}, not {into}"


def sources_under(root):
    for top in ("compiler", "dialects", "runtime", "tools", "examples"):
        yield from (path for path in files_under(root, top) if path.endswith(SOURCES))


def main():
    default = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    root = os.path.normpath(sys.argv[1] if len(sys.argv) > 1 else default)
    if not os.path.isdir(root):
        sys.exit(f"check-folders.py: there is no folder {root}")
    files = includes = broken = 0
    for source in sources_under(root):
        files += 1
        with open(os.path.join(root, source), encoding="utf-8", errors="replace") as text:
            for number, line in enumerate(text, 1):
                match = INCLUDE.match(line)
                if not match:
                    continue
                includes += 1
                rule = check_include(root, source, *match.groups())
                if rule:
                    broken += 1
                    print(f"{source}:{number}: forbidden include of \"{match.group(2)}\": {rule}")
    print(f"checked {includes} includes in {files} files: {broken} forbidden")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
