# How lit runs the tests under test/. A test is a file with RUN lines.

import glob
import importlib.util
import os
import shutil
import sys

import lit.formats

sys.path.insert(0, os.path.join(config.mx_source_dir, "test"))
import lit_common

config.name = "mx"
# Every command of a RUN line is run by lit's own shell; the same on all machines.
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mx", ".test", ".mlir", ".txt", ".sh"]
config.excludes = ["Inputs", "corpus", "unit", "nightly", "CMakeLists.txt"]
config.test_source_root = os.path.join(config.mx_source_dir, "test")
config.test_exec_root = os.path.join(config.mx_build_dir, "test")

lit_common.set_environment(config)
lit_common.set_timeout(lit_config)

stdlib = os.path.join(config.mx_source_dir, "stdlib")
config.environment["MX_STDLIB"] = stdlib

# Tools are found by name: first ours, then LLVM's.
bindir = os.path.join(config.mx_build_dir, "bin")
config.environment["PATH"] = os.pathsep.join(
    [bindir, config.mx_llvm_bindir, config.environment.get("PATH", os.environ["PATH"])]
)

# Longest first, because lit replaces from the top of this list.
config.substitutions += [
    ("%stdlib", stdlib),
    ("%python", sys.executable),
    ("%source_dir", config.mx_source_dir),
    ("%llvm_bindir", config.mx_llvm_bindir),
    ("%build_dir", config.mx_build_dir),
    (r"%mxc\b", os.path.join(bindir, "mxc")),
]

# Features, for REQUIRES and UNSUPPORTED lines.
config.available_features.update(lit_common.features(config))
if shutil.which("strace"):
    config.available_features.add("strace")
if os.path.exists(os.path.join(bindir, "mxc")):
    config.available_features.add("mxc")
# Engines of other projects, which plugins and the launcher use; root and `ip` make networks of their own.
if os.path.exists(os.path.join(config.mx_build_dir, "lib", "mx", "libmxrt_grpc.so")):
    config.available_features.add("grpc")
if shutil.which("mpirun") and glob.glob("/usr/lib/*/libmpi.so.40"):
    config.available_features.add("openmpi")
if lit_common.can_make_networks():
    config.available_features.add("network-namespaces")
# Python loads the package into a process without a sanitizer's runtime.
if os.path.exists(os.path.join(config.mx_build_dir, "lib", "python", "mx", "_mx.abi3.so")) and not config.mx_sanitize:
    config.available_features.add("python-package")
if all(importlib.util.find_spec(name) for name in ("nbclient", "nbformat", "ipykernel")):
    config.available_features.add("nbclient")
if os.path.isdir("/usr/share/datasets/fashion-mnist"):
    config.available_features.add("fashion-mnist")
if os.path.isdir("/usr/share/libonnx-testdata/data/node"):
    config.available_features.add("onnx-testdata")
