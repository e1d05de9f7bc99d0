#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plans real networks and compares with what they use at once: networks.py MXC ROOT NET…

Prints a line for each graph of tools/dev/memory-nets.mx; exits with 1 if a plan is above 1.02 times the bound.
"""

import json
import os
import subprocess
import sys

MXC, ROOT, *NETS = sys.argv[1:]
SIZES = {"lstm_train": "B=32,T=201", "lstm_predict": "B=32,T=200", "gpt_train": "B=4,T=1025", "gpt_predict": "B=4,T=1024"}
MOST = 1.02

far = 0
for graph in [f"{net}_{kind}" for net in NETS for kind in ("train", "predict")]:
    done = subprocess.run([MXC, "plan", os.path.join(ROOT, "tools/dev/memory-nets.mx"), graph, "--shapes",
                           SIZES.get(graph, "B=32"), "--json"], capture_output=True, text=True, check=True)
    device, = json.loads(done.stdout)["devices"]
    ratio = device["arena_bytes"] / device["bound_bytes"]
    far += ratio > MOST
    print(f"{graph}: {device['arena_bytes']} bytes, {ratio:.4f} of the bound")
print(f"{far} above {MOST}")
sys.exit(1 if far else 0)
