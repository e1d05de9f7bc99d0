# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every reader of the language on a file that is cut at each of its bytes: an error of a known code that names the file, a byte
of it and the rule.

usage: truncated_files.py MXC FOLDER      (with NumPy)"""
import gzip
import io
import os
import re
import struct
import subprocess
import sys
import zlib

import numpy as np

MXC, FOLDER = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
os.makedirs(FOLDER, exist_ok=True)
os.chdir(FOLDER)


def png(width, height):
    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    rows = b"".join(b"\0" + bytes(range(3 * width)) for _ in range(height))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def record(payload):
    return struct.pack("<II", 0xced7230a, len(payload)) + payload + bytes(-len(payload) % 4)


def saved(save, *arrays, **named):
    file = io.BytesIO()
    save(file, *arrays, **named)
    return file.getvalue()


subprocess.run([MXC, "run", "-e", 'save("whole.ckpt", w=normal([4, 4]), n=7)'], check=True, stdout=subprocess.DEVNULL)
with open("whole.ckpt", "rb") as file:
    checkpoint = file.read()
x = np.arange(6, dtype=np.float32).reshape(2, 3)
idx = struct.pack(">HBBII", 0, 8, 2, 2, 3) + bytes(range(6))
first = record(struct.pack("<IfQQ", 0, 1.0, 0, 0) + png(4, 3))
pictures = first + record(struct.pack("<IfQQ", 0, 2.0, 1, 0) + png(3, 4))
# Ending of the file, its bytes, the call, and the lengths at which a shorter file is a whole one as well.
READERS = [
    ("idx", idx, 'data.array(path, dtype=u8, rank=2)', ()),
    ("idx.gz", gzip.compress(idx, mtime=0), 'data.array(path, dtype=u8, rank=2)', ()),
    ("npy", saved(np.save, x), 'data.array(path, rank=2)', ()),
    ("npz", saved(np.savez, a=x[0], b=x[1]), 'data.array(path, name="b")', ()),
    ("packed.npz", saved(np.savez_compressed, a=x[0], b=x[1]), 'data.array(path, name="b")', ()),
    ("safetensors", checkpoint, 'data.array(path, name="w", rank=2)', ()),
    ("ckpt", checkpoint, 'restore(path, w=mut w, n=mut n)', ()),
    ("f64", bytes(24), 'data.bin(path, dtype=f64)', (0, 8, 16)),
    ("csv", b'1,2\n3,"4"\n', 'data.csv(path)', (0, 1, 3, 4, 7, 9)),
    ("txt", "a\u00fc\U0001f642".encode(), 'data.chars(path)', (0, 1, 3)),
    ("rec", pictures, 'images(path)', (0, len(first))),
]
parts = ["import data", "var w = zeros([4, 4])", "var n = 0", """fn images(path: str) {
  var sum = f32(0.0)
  for (x, y) in data.loader(data.images(path, 2, 2), batch=4) { sum += x.sum() }
  print("sum", sum)
}"""]
for ending, golden, call, _ in READERS:
    os.makedirs(f"cut-{ending}", exist_ok=True)
    for length in range(len(golden) + 1):
        with open(f"cut-{ending}/{length}.{ending}", "wb") as file:
            file.write(golden[:length])
    parts.append(f"""for i in 0..{len(golden) + 1} {{
  let path = f"cut-{ending}/{{i}}.{ending}"
  try {{
    {"let x = " if not call.startswith(("restore", "images")) else ""}{call}
    print(f"<{ending} {{i}} read>")
  }} catch e {{ print(f"<{ending} {{i}} {{e.code}} {{e.message}}>") }}
}}""")
with open("cut.mx", "w", encoding="utf-8") as file:
    file.write("\n".join(parts) + "\n")
done = subprocess.run([MXC, "run", "cut.mx"], capture_output=True, text=True)
if done.returncode:
    sys.exit(done.stdout[-2000:] + done.stderr[-3000:])
told = {(ending, int(length)): text for ending, length, text in re.findall(r"<(\S+) (\d+) ([^>]*)>", done.stdout)}
cuts, wrong = 0, []
for ending, golden, _, whole in READERS:
    for length in range(len(golden) + 1):
        text = told.get((ending, length), "nothing was said")
        may_be_read = length == len(golden) or length in whole
        named = re.match(rf"R0602 cut-{ending}/{length}\.{ending}: byte (\d+): [^\n]+\n(.*\n)*rule: [a-z0-9-]+", text)
        cuts += 1
        if text == "read":
            if not may_be_read:
                wrong.append(f"{ending} cut at {length} was read")
        elif length == len(golden) or not named:
            wrong.append(f"{ending} cut at {length}: {text}")
print(f"{len(READERS)} readers, {cuts} files")
if wrong:
    sys.exit("\n".join(wrong[:20]) + f"\n{len(wrong)} in all")
