"""Writes a small data set in the form of MNIST: make_mnist.py FOLDER TRAIN TEST [--gz]

Pictures are noise with one bright row for their label, so a small network learns them at once.
"""
import gzip
import os
import struct
import sys

import numpy as np

folder, sizes = sys.argv[1], [int(sys.argv[2]), int(sys.argv[3])]
write = gzip.open if "--gz" in sys.argv else open
ending = ".gz" if "--gz" in sys.argv else ""
os.makedirs(folder, exist_ok=True)
numbers = np.random.default_rng(1)
for part, count in zip(("train", "t10k"), sizes):
    labels = (np.arange(count) * 7 % 10).astype(np.uint8)
    images = numbers.integers(0, 60, (count, 28, 28)).astype(np.uint8)
    for i, label in enumerate(labels):
        images[i, 2 * label + 3] = 255
    with write(f"{folder}/{part}-images-idx3-ubyte{ending}", "wb") as file:
        file.write(struct.pack(">BBBBIII", 0, 0, 8, 3, count, 28, 28) + images.tobytes())
    with write(f"{folder}/{part}-labels-idx1-ubyte{ending}", "wb") as file:
        file.write(struct.pack(">BBBBI", 0, 0, 8, 1, count) + labels.tobytes())
