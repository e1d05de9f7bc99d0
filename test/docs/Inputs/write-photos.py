"""Writes the photos that docs/guides/data.md packs: FOLDER/photos/cats and dogs, six PNG images each."""
import os
import struct
import sys
import zlib


def png(path, width, height, colour):
    def chunk(name, data):
        body = name + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))
    rows = b"".join(b"\0" + bytes(colour) * width for _ in range(height))
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
                   + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


for kind, shade in (("cats", 60), ("dogs", 200)):
    folder = os.path.join(sys.argv[1], "photos", kind)
    os.makedirs(folder)
    for i in range(6):
        png(os.path.join(folder, f"{i}.png"), 40 + 4 * i, 60, (shade, shade + i, 128))
