#!/usr/bin/env python3
"""Builds programs with `mxc build --exe` and compares them with `mxc run`.

Usage: executables.py MXC FOLDER CPU PROGRAM[:NAME=VALUE…]…

An executable runs with an empty environment in a folder of its own, where there is no compiler and no cache. What it
prints, its exit code and its errors must be those of `mxc run --target-cpu=CPU`; notes about graphs (N05…) are left out.
"""
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import patience  # noqa: E402


def without_notes(text):
    """Without what may differ: notes of graphs that were compiled, or were not, and times."""
    blocks = re.split(r"(?m)^(?=(?:note|error|warning)\[)", text)
    text = "".join(block for block in blocks if not block.startswith("note[N05"))
    text = re.sub(r"[\d.]+s  [\d.]+/s", "", text)
    return re.sub(r"(in runs/\w+)-[\d-]+", r"\1", text)


def run(command, folder, env=None):
    done = patience.run(command, 200, cwd=folder, env=env, capture_output=True)
    return done.returncode, done.stdout, without_notes(done.stderr.decode()), done.stderr.decode()


def main():
    mxc, folder, cpu, *programs = sys.argv[1:]
    wrong = 0
    for program in programs:
        path, *defines = program.split(":")
        name = os.path.splitext(os.path.basename(path))[0]
        folders = {way: os.path.join(folder, name + "." + way) for way in ("run", "exe")}
        for each in folders.values():
            shutil.rmtree(each, ignore_errors=True)
            os.makedirs(each)
        options = [word for define in defines for word in ("-D", define)]
        target = os.path.join(folders["exe"], name)
        built = subprocess.run([mxc, "build", "--exe", path, "-o", target, "--target-cpu", cpu, *options],
                               capture_output=True, text=True)
        if built.returncode:
            print(f"{name}: not built\n{built.stdout}{built.stderr}")
            wrong += 1
            continue
        expected = run([mxc, "run", f"--target-cpu={cpu}", *options, path], folders["run"])
        found = run([target], folders["exe"], env={})
        libraries = subprocess.run(["ldd", target], capture_output=True, text=True).stdout
        needs = sorted(re.findall(r"^\s*lib([\w+]+)", libraries, re.M))
        same = expected[:3] == found[:3]
        files = all(open(os.path.join(folders["run"], each), "rb").read() ==
                    open(os.path.join(folders["exe"], each), "rb").read()
                    for each in os.listdir(folders["run"]) if os.path.isfile(os.path.join(folders["run"], each)))
        notes = re.findall(r"note\[N0504\]: (.*)", found[3])
        wrong += not (same and files)
        print(f"{name}: {'same' if same and files else 'DIFFERENT'}, exit code {found[0]}, {len(found[1])} bytes printed, "
              f"needs {' '.join(needs)}, {os.path.getsize(target)} bytes" + "".join("\n  " + note for note in notes))
        if not same:
            print("--- run", *expected, "--- exe", *found, sep="\n")
    print(f"{len(programs)} programs, {wrong} wrong")


main()
