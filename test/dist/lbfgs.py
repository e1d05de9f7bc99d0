#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""L-BFGS of 1, 2 and 4 workers with averaged gradients: the iterates of one program that adds up the gradients of all
shares in the order of the ranks, bit by bit.

  lbfgs.py MXC FOLDER
"""

import pathlib
import subprocess
import sys

NET = """
import dist, optim
from rand import Rng, normal
const workers = option("workers", 2)
const out = option("out", "iterates")
model Net {
  param w: f32[6, 3] = zeros()
  param b: f32[3]    = zeros()
  fn call(x: f32[N, 6]) -> f32[N, 3] { tanh(x @ w + b) }
}
var rng = Rng(4)
let x = normal(mut rng, [24, 6])
let y = tanh(x @ normal(mut rng, [6, 3]) * 0.5)
var net = Net()
var opt = optim.lbfgs(net, lr=1.0, memory=4)
var iterates = zeros([12, 6, 3])
graph fn move(mut net: Net, mut opt: optim.Lbfgs[Net, 4], g: Net.grad) { opt.step(mut net, g) }
graph fn slope(net: Net, x: f32[N, 6], y: f32[N, 3]) -> (f32, Net.grad) {
  grad(net) { ((net(x) - y) ** 2).mean() }
}
"""

WORKERS = """
let kv = dist.local(workers=workers)
let rows = 24 // workers
let a = kv.rank * rows
for i in 0..12 {
  let (_, g) = slope(net, x[a : a + rows], y[a : a + rows])
  move(mut net, mut opt, kv.average(g, weight=1.0))
  iterates[i] = net.w
}
if kv.rank == 0 { save(out, iterates) }
kv.barrier()
"""

ALONE = """
let rows = 24 // workers
for i in 0..12 {
  var (first, total) = slope(net, x[0:rows], y[0:rows])
  for rank in 1..workers {
    let (loss, g) = slope(net, x[rank * rows : rank * rows + rows], y[rank * rows : rank * rows + rows])
    total = total + g
  }
  total = total / f32(workers)
  move(mut net, mut opt, total)
  iterates[i] = net.w
}
let (loss, _) = slope(net, x, y)
print(loss)
save(out, iterates)
"""


def main():
    mxc, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    differ, losses = 0, []
    for workers in (1, 2, 4):
        saved = []
        for name, text in (("workers", WORKERS), ("alone", ALONE)):
            program = folder / f"{name}.mx"
            program.write_text(NET + text)
            done = subprocess.run([mxc, "run", program, "--", f"workers={workers}", f"out={folder / name}"],
                                  capture_output=True, text=True)
            if done.returncode != 0:
                sys.exit(f"{program}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
            saved.append((folder / name).read_bytes())
            if name == "alone":
                losses.append(float(done.stdout))
        differ += sum(a != b for a, b in zip(*saved)) + abs(len(saved[0]) - len(saved[1]))
    print(f"12 iterates of 1, 2 and 4 workers: {differ} bytes differ")
    print("the loss is", "small" if max(losses) < 1e-3 else losses)


main()
