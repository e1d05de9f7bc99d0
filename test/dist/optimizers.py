#!/usr/bin/env python3
"""Every optimizer of the library as a rule of a KVStore: those that run are compared, bit by bit, with their own
`step` on gradients that one program adds; those that are refused say why.

  optimizers.py MXC STDLIB FOLDER
"""

import os
import pathlib
import re
import subprocess
import sys

RUNS = ["Adam", "AdamW", "AdaBelief", "Adamax", "Nadam", "Adagrad", "RmsProp", "Adadelta", "Lamb", "Ftrl", "Muon",
        "GradientDescent", "Sgd", "Nesterov", "Signum", "Lion", "Lars"]
REFUSED = {"Sgld": "`step` takes `rng` as well", "Lbfgs": "`moves` holds gradients of its model"}

NET = """
import dist, optim
from rand import Rng, normal
const workers = option("workers", 2)
const out = option("out", "weights")
model Net {
  param scale: f32 = 0.5
  param shift: f32[5] = zeros()
  param w: f32[6, 5] = zeros()
  param cube: f32[2, 3, 5] = zeros()
  fn call(x: f32[N, 6]) -> f32[N, 5] { tanh(x @ w * scale + shift) + cube.sum(axis=0).sum(axis=0) }
}
fn inputs(rank: i64) -> f32[4, 6] {
  var rng = Rng(9).split(8)[rank]
  normal(mut rng, [4, 6])
}
var rng = Rng(2)
var start = Net()
start.w = normal(mut rng, [6, 5])
start.cube = normal(mut rng, [2, 3, 5])
"""

WORKERS = """
graph fn step(kv: dist.KVStore, mut net: Net, x: f32[4, 6]) -> f32 {
  let (loss, g) = grad(net) { (net(x) ** 2).mean() }
  kv.step(mut net, g)
  loss
}
fn train(update: dist.Update(side="worker"), mut net: Net) -> dist.KVStore {
  let kv = dist.local(workers=workers, update=update)
  for i in 0..3 { let _ = step(kv, mut net, inputs(kv.rank)) }
  kv
}
"""

ALONE = """
graph fn slope(net: Net, x: f32[4, 6]) -> Net.grad {
  let (_, g) = grad(net) { (net(x) ** 2).mean() }
  g
}
# Statements of eager code: each sum and quotient is rounded.
fn mean_slope(net: Net) -> Net.grad {
  var total = slope(net, inputs(0))
  for rank in 1..workers { total = total + slope(net, inputs(rank)) }
  total / f32(workers)
}
"""


def run(mxc, path, *arguments):
    return subprocess.run([mxc, *arguments[:1], str(path), *arguments[1:]], capture_output=True, text=True)


def main():
    mxc, stdlib, folder = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    pattern = re.compile(r"^struct (\w+)\[M: model[^\]]*\][^{]*\{(.*?)^\}", re.M | re.S)
    found = {name for path in sorted((stdlib / "optim").glob("*.mx")) for name, body in pattern.findall(path.read_text())
             if re.search(r"^  mut fn step\(mut", body, re.M)}
    known = {*RUNS, *REFUSED}
    print(f"{len(found)} optimizers; in neither list: {sorted(found - known)}, gone: {sorted(known - found)}")

    names = ", ".join(name.lower() for name in RUNS)
    workers, alone = NET + WORKERS, NET + ALONE
    for name in RUNS:
        small = name.lower()
        workers += f"var {small} = start\nlet kv_{small} = train(dist.on_worker(optim.{name}()), mut {small})\n"
        alone += f"graph fn with_{small}(mut net: Net, mut opt: optim.{name}[Net], g: Net.grad) {{ opt.step(mut net, g) }}\n"
        alone += f"var {small} = start\nvar opt_{small} = optim.{name}().init({small})\n"
        alone += f"for i in 0..3 {{ with_{small}(mut {small}, mut opt_{small}, mean_slope({small})) }}\n"
    workers += f"if kv_sgd.rank == 0 {{ save(out, {names}) }}\nkv_sgd.barrier()\n"
    alone += f"save(out, {names})\n"
    saved = []
    for name, text in (("workers", workers), ("alone", alone)):
        path = folder / f"{name}.mx"
        path.write_text(text)
        done = run(mxc, path, "run", "--", f"out={folder / name}")
        if done.returncode != 0:
            sys.exit(f"{path}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        saved.append((folder / name).read_bytes())
    count = abs(len(saved[0]) - len(saved[1])) + sum(a != b for a, b in zip(*saved))
    print(f"{len(RUNS)} trained, {count} of {len(saved[0])} bytes differ")

    # A server takes those that look at one parameter at a time, which all of these do.
    path = folder / "servers.mx"
    path.write_text("import dist, optim\n" + "".join(
        f"let on_{name.lower()} = dist.on_server(optim.{name}())\n" for name in RUNS))
    done = run(mxc, path, "check")
    print(f"servers: exit code {done.returncode}\n{done.stderr}", end="")

    for name, reason in REFUSED.items():
        path = folder / f"{name}.mx"
        path.write_text(f"import dist, optim\nlet update = dist.on_worker(optim.{name}(lr=0.1))\n")
        done = run(mxc, path, "check")
        said = f"`{name}`" in done.stderr and reason in done.stderr
        print(f"{name}: {'refused' if done.returncode == 1 and said else done.stderr}")


main()
