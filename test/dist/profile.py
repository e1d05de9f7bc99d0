#!/usr/bin/env python3
"""Compares the communication lane of a trace with what the KVStore counts.

  profile.py MXC FOLDER
"""

import json
import pathlib
import subprocess
import sys

PROGRAM = """
import dist, nn, optim
from loss import mse

# Two buckets: the last layers make one, the first is the other.
model Net {
  sub small: nn.Dense[8, 1000]
  sub large: nn.Dense[1000, 1000]
  sub last: nn.Dense[1000, 2]
  fn call(x: f32[N, 8]) -> f32[N, 2] { x |> small |> large |> last }
}
graph fn step(kv: dist.KVStore, mut net: Net, x: f32[N, 8]) -> f32 {
  let (loss, g) = grad(net) { mse(net(x), zeros([N, 2])) }
  kv.step(mut net, g)
  loss
}
let kv = dist.local(workers=2, update=dist.on_worker(optim.Sgd(lr=0.1)))
var net = Net()
for i in 0..3 { let _ = step(kv, mut net, ones([4, 8])) }
let whole = net.large.w.sum() + net.last.w.sum() + net.small.w.sum()
print(f"{kv.rank} {whole == whole}")
let all = kv.stats()
kv.barrier()
if kv.rank == 0 { print(f"sent {all.sent_bytes} calls {all.calls} wait {1e6 * all.wait_seconds:.3f}") }
"""
NUMBERS = 8 * 1000 + 1000 + 1000 * 1000 + 1000 + 1000 * 2 + 2


def main():
    mxc, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    (folder / "net.mx").write_text(PROGRAM)
    trace = folder / "trace.json"
    done = subprocess.run([mxc, "run", f"--profile={trace}", str(folder / "net.mx")], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"exit code {done.returncode}\n{done.stdout}{done.stderr}")
    counted = next(line for line in done.stdout.splitlines() if line.startswith("sent")).split()
    sent, calls, wait = int(counted[1]), int(counted[3]), float(counted[5])
    events = [event for event in json.loads(trace.read_text())["traceEvents"]
              if event["ph"] == "X" and event["args"].get("lane") == "comm" and "bytes" in event["args"]]
    names = {}
    for event in events:
        names.setdefault(event["name"], []).append(event["args"]["bytes"])
    for name, sizes in sorted(names.items()):
        print(f"{name}: {sizes}")
    print("all numbers:", "yes" if sum(map(sum, names.values())) == 3 * 4 * NUMBERS else "no")
    # With two workers each sends as many bytes as it has; a call is announced with 16 bytes to the other, and so is
    # the connection.
    print("bytes:", "equal" if sent == 3 * 4 * NUMBERS + 16 * (calls + 1) else f"{sent} sent in {calls} calls")
    total = sum(event["dur"] for event in events)
    print("waits:", "equal" if abs(total - wait) < 0.01 * len(events) else f"{total} and {wait}")
    print("location:", {event["args"]["location"] for event in events})


main()
