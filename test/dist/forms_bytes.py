#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bytes of rows and factors: what `mxc plan` says, what a KVStore counts, what a trace shows, and the formula.

  forms_bytes.py MXC FOLDER
"""

import json
import pathlib
import subprocess
import sys

TABLE = """
import dist, optim

model Net {
  param e: f32[1000000, 64] = ones()
  fn call(i: i32[B]) -> f32[B, 64] { e[i] }
}
graph fn step(kv: dist.KVStore, mut net: Net, i: i32[B]) {
  let (_, g) = grad(net) { (net(i) ** 2).sum() }
  kv.step(mut net, g)
}
let kv = dist.local(workers=2, update=dist.on_worker(optim.GradientDescent(lr=0.1)))
var net = Net()
for k in 0..2 { step(kv, mut net, i32(iota(256) * 3900 + kv.rank * 2)) }
let seen = net.e[3900 : 3903, 0:1].sum()
if kv.rank == 0 {
  print(seen)
  let all = kv.stats()
  print(f"sent {all.sent_bytes} calls {all.calls}")
  print(kv.table(key="net.e"))
}
kv.barrier()
"""
DENSE = """
import dist, nn, optim

graph fn step(kv: dist.KVStore, mut net: nn.Dense[4096, 4096], x: f32[B, 4096]) {
  let (_, g) = grad(net) { (net(x) ** 2).sum() }
  kv.step(mut net, g)
}
let kv = dist.local(workers=2, update=dist.on_worker(optim.GradientDescent(lr=0.00001)),
                    compress=dist.factors())
var net = nn.Dense[4096, 4096]()
kv.init(mut net)
for k in 0..2 { step(kv, mut net, ones([32, 4096]) * 0.01) }
let seen = net.w.sum() + net.b.sum()
if kv.rank == 0 {
  print(seen == seen)
  let all = kv.stats()
  print(f"sent {all.sent_bytes} calls {all.calls}")
  print(kv.table(key="net.w"))
}
kv.barrier()
"""


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{command}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def check(mxc, folder, name, text, shapes, key, own, others, announced):
    """`own`: bytes of the key that a worker sends to each other one in a step; `others`: of the other keys in all
    steps; `announced`: bytes of all announcements."""
    program, trace = folder / f"{name}.mx", folder / "trace.json"
    program.write_text(text)
    plan = json.loads(run(mxc, "plan", program, "step", "--shapes", shapes, "--json"))
    planned = {each["name"]: each for exchange in plan["exchanges"] for each in exchange["keys"]}[key]
    output = run(mxc, "run", f"--profile={trace}", program).splitlines()
    sent, calls = (int(word) for word in output[1].split()[1::2])
    row = next(line for line in output if line.startswith("average")).split()
    events = [event for event in json.loads(trace.read_text())["traceEvents"]
              if event["ph"] == "X" and event["args"].get("lane") == "comm" and key in event["name"]]
    events = [event for event in events if event["name"].startswith("average")]
    print(f"{name}: {output[0]}, {own} bytes by the formula, {planned['bytes']} as {planned['form']} in the plan,",
          f"{int(row[4]) // 2} as {row[2]} in the table, {sorted({event['args']['bytes'] for event in events})} as",
          f"{sorted({event['name'] for event in events})} in the trace")
    wanted = 2 * own + others + announced(calls)
    print("sent:", "equal" if sent == wanted else f"{sent}, not {wanted}, in {calls} calls")


def main():
    mxc, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    # A call is announced with 16 bytes to the other worker, and 8 for each key with rows; so is the connection.
    check(mxc, folder, "table", TABLE, "B=256", "net.e", 256 * (64 * 4 + 4), 0, lambda calls: 16 * (calls + 1) + 2 * 8)
    init = 4 * (4096 * 4096 + 4096)  # rank 0 to rank 1
    check(mxc, folder, "dense", DENSE, "B=32", "net.w", 32 * (4096 + 4096) * 4, init + 2 * 4 * 4096,
          lambda calls: 16 * (calls + 1) + 2 * 8)
    # The same with dist.auto(), which takes factors for the matrix.
    small = DENSE.replace("4096", "512").replace("dist.factors()", "dist.auto()").replace("[32, ", "[8, ")
    init = 4 * (512 * 512 + 512)
    check(mxc, folder, "auto", small, "B=8", "net.w", 8 * (512 + 512) * 4, init + 2 * 4 * 512,
          lambda calls: 16 * (calls + 1) + 2 * 8)
    # And where they are more bytes.
    large = small.replace("[8, ", "[600, ")
    check(mxc, folder, "more", large, "B=600", "net.w", 512 * 512 * 4, init + 2 * 4 * 512,
          lambda calls: 16 * (calls + 1) + 2 * 8)


main()
