#!/usr/bin/env python3
"""Whether code without a KVStore pays for one: compares a training step alone with the same step in a program that
trains with a KVStore too.

  no-cost.py MXC FOLDER
  no-cost.py MXC FOLDER --instructions     # that a step executes, counted by valgrind
"""

import json
import os
import pathlib
import re
import subprocess
import sys

ALONE = """
import nn, optim
from loss import xent

model Mlp {
  sub fc1: nn.Dense[16, 32]
  sub fc2: nn.Dense[32, 4]
  fn call(x: f32[N, 16]) -> f32[N, 4] { x |> fc1 |> nn.relu |> fc2 }
}
graph fn plain(mut net: Mlp, mut opt: optim.Sgd[Mlp], x: f32[B, 16], y: i32[B]) -> f32 {
  let (loss, g) = grad(net) { xent(net(x), y) }
  opt.step(mut net, g)
  loss
}
var net = Mlp()
var opt = optim.sgd(net, lr=0.1, momentum=0.9)
let (x, y) = (ones([8, 16]), zeros([8], i32))
for i in 0..option("steps", 3) { let _ = plain(mut net, mut opt, x, y) }
"""

WITH = ALONE.replace("import nn, optim", "import dist, nn, optim").replace("var net", """
graph fn step(kv: dist.KVStore, mut net: Mlp, x: f32[B, 16], y: i32[B]) -> f32 {
  let (loss, g) = grad(net) { xent(net(x), y) }
  kv.step(mut net, g)
  loss
}
let kv = dist.local(workers=1, update=dist.on_worker(optim.Sgd(lr=0.1, momentum=0.9)))
var net""", 1) + """
if option("exchange", false) { let _ = step(kv, mut net, x, y) }
"""


def write(folder):
    """Both as step.mx, with `plain` at the same lines: code contains the locations that its errors report."""
    for name, source in (("alone", ALONE), ("with", WITH)):
        (folder / name).mkdir()
        (folder / name / "step.mx").write_text(source)


def instructions(mxc, folder):
    """Executed by the program and the runtime for a step: the difference of two runs, on one thread."""
    counts = []
    for name in ("alone", "with"):
        executed = []
        for steps in (20, 120):
            program = folder / f"{name}-{steps}"
            subprocess.run([mxc, "build", "--exe", "-D", f"steps={steps}", "step.mx", "-o", program],
                           cwd=folder / name, check=True, stdout=subprocess.DEVNULL)
            counted = folder / "callgrind"
            for command in (["valgrind", "--tool=callgrind", f"--callgrind-out-file={counted}", program],
                            ["callgrind_annotate", "--threshold=100", "--auto=no", counted]):
                done = subprocess.run(command, env={**os.environ, "MX_ENGINE": "naive", "MX_NUM_THREADS": "1"},
                                      capture_output=True, text=True)
                if done.returncode != 0:
                    sys.exit(done.stdout + done.stderr)
            # Only the program's own: the C library's malloc takes a lock as soon as there is a second thread.
            own = re.findall(r"^ *([\d,]+) .*\[" + re.escape(str(program)) + r"\]$", done.stdout, re.M)
            executed.append(sum(int(number.replace(",", "")) for number in own))
        counts.append((executed[1] - executed[0]) / 100)
    alone, beside = counts
    print(f"instructions of a step: {alone:.2f} alone, {beside:.2f} beside a KVStore")
    sys.exit(alone < 1000 or abs(beside - alone) > 0.001 * alone)


def main():
    mxc, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    write(folder)
    if "--instructions" in sys.argv:
        instructions(mxc, folder)

    def call(name, cache, *arguments):
        environment = {**os.environ, "MX_CACHE_DIR": str(folder / "cache" / cache)}
        done = subprocess.run([mxc, *arguments], env=environment, capture_output=True, text=True, cwd=folder / name)
        if done.returncode != 0:
            sys.exit(f"{' '.join(arguments)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def objects(cache):
        return {path.name: path.read_bytes() for path in (folder / "cache" / cache).rglob("*.mxo")}

    def program(name):
        """What the run of `plain` emits: the program, and the ops of the trace."""
        text = call(name, name + ".emit", "run", "--emit=mxrt", "step.mx")
        begin = text.index("mxrt.program @plain")
        return text[begin:text.index("\n  }", begin)]

    def trace(name):
        call(name, name, "run", f"--profile={folder / name}.json", "step.mx")
        events = json.loads((folder / f"{name}.json").read_text())["traceEvents"]
        return sorted(event["name"] for event in events if event["ph"] == "X")

    alone, beside = program("alone"), program("with")
    print("kernels:", alone.count("mxrt.call"), "and", beside.count("mxrt.call"))
    print("programs:", "equal" if alone == beside else "differ")
    plans = [json.loads(call(name, name, "plan", "--json", "step.mx", "plain", "--shapes", "B=8"))
             for name in ("alone", "with")]
    print("plans:", "equal" if plans[0] == plans[1] else "differ")
    ops = [trace(name) for name in ("alone", "with")]
    print("ops of three steps:", sum(name.startswith("plain") for name in ops[0]), "and",
          sum(name.startswith("plain") for name in ops[1]))
    code = [objects(name) for name in ("alone", "with")]
    print("objects:", "equal" if code[0] == code[1] and code[0] else "differ")
    print("calls of mxrt_ready:", sum(b"mxrt_ready" in each for each in code[0].values()))
    # The comparison can fail: with an exchange there is code that reports gradients.
    call("with", "exchange", "run", "-D", "exchange=true", "step.mx")
    more = objects("exchange")
    print("with an exchange:", "some" if any(b"mxrt_ready" in each for each in more.values()) else "none")


main()
