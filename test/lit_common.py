# What the shell tests and the unit tests share.

import importlib.util
import os
import shutil
import subprocess

import patience

# A test that takes longer hangs. Nothing under test/ should need a tenth of it on an idle machine; on a loaded one
# the limit is longer.
SECONDS_PER_TEST = 300

# Passed on from the caller; everything else of the environment is left behind.
PASSED_ON = ["HOME", "TMPDIR", "ASAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS"]

DEFAULTS = {
    # LLVM's arenas poison memory in our code and use it in the packaged libraries, which are not
    # instrumented: what they poison says nothing.
    "ASAN_OPTIONS": "detect_stack_use_after_return=1:strict_string_checks=1:allow_user_poisoning=0",
    "UBSAN_OPTIONS": "print_stacktrace=1",
    "TSAN_OPTIONS": "second_deadlock_stack=1",
}


def set_environment(config):
    """The same language and the same sanitizer options for every test."""
    environment = config.environment
    environment["LC_ALL"] = "C.UTF-8"
    for name in PASSED_ON:
        if name in os.environ:
            environment[name] = os.environ[name]
    if config.mx_sanitize:
        for name, value in DEFAULTS.items():
            environment.setdefault(name, value)
        symbolizer = os.path.join(config.mx_llvm_bindir, "llvm-symbolizer")
        for name in ("ASAN_SYMBOLIZER_PATH", "TSAN_SYMBOLIZER_PATH", "UBSAN_SYMBOLIZER_PATH"):
            environment[name] = symbolizer
    if config.mx_coverage == "ON":
        # One file a process; tools/dev/coverage merges them.
        profiles = os.path.join(config.mx_build_dir, "profiles", "%m-%p.profraw")
        environment["LLVM_PROFILE_FILE"] = profiles


def set_timeout(lit_config):
    """lit can stop a test only with the help of the module psutil."""
    if importlib.util.find_spec("psutil") and not lit_config.maxIndividualTestTime:
        lit_config.maxIndividualTestTime = int(patience.seconds(SECONDS_PER_TEST))


def features(config):
    """asan, ubsan, tsan, fuzz, coverage, release or debug."""
    names = {"address": "asan", "undefined": "ubsan", "thread": "tsan"}
    found = {names[s] for s in config.mx_sanitize.split(";") if s in names}
    if config.mx_fuzz == "ON":
        found.add("fuzz")
    if config.mx_coverage == "ON":
        found.add("coverage")
    found.add("release" if config.mx_build_type == "Release" else "debug")
    return found


def can_make_networks():
    """Whether tests may make network namespaces, with links between them."""
    if not shutil.which("ip") or os.geteuid() != 0:
        return False
    name = f"mxprobe{os.getpid()}"
    if subprocess.run(["ip", "netns", "add", name], capture_output=True).returncode != 0:
        return False
    linked = subprocess.run(["ip", "-n", name, "link", "add", "name", "mx0", "type", "veth", "peer", "name", "mx1"],
                            capture_output=True)
    subprocess.run(["ip", "netns", "delete", name], capture_output=True)
    return linked.returncode == 0
