"""Prints the numbers of the event file in a folder, read by the description of the format alone, and compares them with
log.jsonl."""
import glob
import json
import math
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "onnx"))
from protobuf import fields  # noqa: E402


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


assert crc32c(b"123456789") == 0xE3069283  # from the standard


def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records(content):
    at = 0
    while at < len(content):
        head = content[at:at + 8]
        (length,), (check,) = struct.unpack("<Q", head), struct.unpack("<I", content[at + 8:at + 12])
        assert check == masked(head), f"checksum of the length at byte {at}"
        data = content[at + 12:at + 12 + length]
        (check,) = struct.unpack("<I", content[at + 12 + length:at + 16 + length])
        assert check == masked(data), f"checksum of the record at byte {at}"
        yield data
        at += 16 + length


folder = sys.argv[1]
numbers, times = [], []
(path,) = glob.glob(f"{folder}/events.out.tfevents.*")
with open(path, "rb") as file:
    for record in records(file.read()):
        event = dict(fields(record))
        times.append(struct.unpack("<d", event[1])[0])
        if 3 in event:
            print("version", event[3].decode())
        if 5 in event:
            value = dict(fields(dict(fields(event[5]))[1]))
            numbers.append((value[1].decode(), event.get(2, 0), struct.unpack("<f", value[2])[0]))
            print(*numbers[-1])
assert times == sorted(times) and times[0] > 1.5e9, times
with open(f"{folder}/log.jsonl", encoding="utf-8") as file:
    lines = [json.loads(line) for line in file]


def same(a, b):
    a = float(a)
    return a == b or (math.isnan(a) and math.isnan(b))


assert len(lines) == len(numbers)
for line, (name, step, value) in zip(lines, numbers):
    assert (line["name"], line["step"]) == (name, step) and same(line["value"], value), (line, name, step, value)
print("the same as", len(lines), "lines of JSON")
