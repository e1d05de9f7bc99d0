# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The peers' own virtual environment, which nothing else of the project needs."""
import os
import pathlib
import subprocess
import sys

# Installed one by one, so that a package that does not install is missing alone. PyTorch's own index has a build
# without the libraries of graphics cards; PyPI's is taken where that cannot be reached.
PACKAGES = [("numpy", [["numpy"]]),
            ("torch", [["torch", "--index-url", "https://download.pytorch.org/whl/cpu"], ["torch"]]),
            ("jax", [["jax"]]), ("onnx", [["onnx", "onnxscript"]]), ("onnxruntime", [["onnxruntime"]]),
            ("openvino", [["openvino"]]), ("onednn", [["onednn"]]),
            ("iree", [["iree-base-compiler", "iree-base-runtime"]])]


def python_of(folder):
    return pathlib.Path(folder) / "bin" / "python"


def make(folder, say):
    """Makes the environment if it is not there, and installs what was not tried yet."""
    folder = pathlib.Path(folder)
    if not python_of(folder).exists():
        say(f"a virtual environment in {folder}")
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    tried = folder / "mx-peers.txt"
    known = tried.read_text().split() if tried.exists() else []
    for name, ways in PACKAGES:
        if name in known:
            continue
        say(f"installing {name}")
        for words in ways:
            done = subprocess.run([python_of(folder), "-m", "pip", "install", "--quiet", *words], capture_output=True,
                                  text=True)
            if done.returncode == 0:
                break
        else:
            say(f"{name} does not install: {(done.stderr.strip().splitlines() or ['no word why'])[-1]}")
        with tried.open("a") as file:
            print(name, file=file)


def library_folders(folder):
    """Where its packages keep libraries that C++ programs load by name: oneDNN's."""
    found = sorted(pathlib.Path(folder).glob("lib/libdnnl.so*"))
    return str(found[0].parent) if found else ""


def with_libraries(folder):
    """Variables for a program that looks for them, and for scripts that call `python3`."""
    paths = [p for p in (library_folders(folder), os.environ.get("LD_LIBRARY_PATH", "")) if p]
    return {**os.environ, "LD_LIBRARY_PATH": ":".join(paths),
            "PATH": f"{pathlib.Path(folder).absolute() / 'bin'}:{os.environ.get('PATH', '')}"}


def with_threads(threads):
    """Variables that libraries read when they are loaded. The C library keeps large blocks for the next call, so that libraries
    that allocate each result anew do not wait for the system to clear it (PyTorch's guide advises as much)."""
    keep = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(16 << 30), "MALLOC_ARENA_MAX": "1"}
    names = ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"]
    flags = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1" if threads == 1 else ""
    return {**os.environ, **keep, **{name: str(threads) for name in names}, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}
