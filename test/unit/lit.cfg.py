# How lit runs the GoogleTest programs, which CMake puts in <build>/test/unit.

import os
import sys

import lit.formats

sys.path.insert(0, os.path.join(config.mx_source_dir, "test"))
import lit_common

config.name = "mx-unit"
config.suffixes = []
config.test_exec_root = os.path.join(config.mx_build_dir, "test", "unit")
config.test_source_root = config.test_exec_root
config.test_format = lit.formats.GoogleTest(".", "Tests")

lit_common.set_environment(config)
lit_common.set_timeout(lit_config)
config.environment["MX_STDLIB"] = os.path.join(config.mx_source_dir, "stdlib")
