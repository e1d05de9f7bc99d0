"""Checks the parts of random_programs.py that a run without a failure does not reach."""

from execute import Ending
from library import FOUND
from reduce import reduce
from statements import generate

text = "import nn\nlet a = 1\nfor i in 0..3 {\n  print(i)\n  print(1 // zero)\n}\nif a > 0 {\n  print(a)\n}\n"
print("cut down to:", reduce(text, lambda t: "fails" if "1 // zero" in t and "print(" in t and ")" in t.split("zero")[1] else None))

ENDINGS = {
    "exit code 0": Ending(0, "1\n", "warning[W0503]: the value does not depend on it\n"),
    "exit code 1 with an error": Ending(1, "", "error[R0301]: integer division by zero\n"),
    "exit code 1 without an error": Ending(1, "", "so it goes\n"),
    "exit code 0 with an error": Ending(0, "", "error[R0301]: integer division by zero\n"),
    "exit code 3": Ending(3, "", "mxc: a fault of mxc itself\n"),
    "a signal": Ending(-11, "", ""),
    "an error of mx itself": Ending(1, "", "error[R0803]: wrong type in host code\n"),
    "a hang": Ending(-9, "", "", hangs="no end"),
}
for name, ending in ENDINGS.items():
    print(f"{name}: {'wrong' if ending.fault else 'fine'}")

usual = [generate(seed) for seed in range(2000)]
for name, ways in FOUND.items():
    if not any(ways[0][-1] in text for text in usual):
        raise SystemExit(f"{name} is never generated")
print("every class that failed once is generated")

if any(generate(seed) != generate(seed) for seed in range(50)):
    raise SystemExit("a seed gives two programs")
print("the same seed gives the same program")
