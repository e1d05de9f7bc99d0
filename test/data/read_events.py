"""Prints the numbers of the event file in a folder, read by the description of the format alone, and compares them with
log.jsonl."""
import glob
import json
import math
import struct
import sys


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


def fields(message):
    """(number, value) of a message of Protocol Buffers; bytes, or a number."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(message):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        elif key & 7 == 1:
            yield key >> 3, struct.unpack("<d", message[at:at + 8])[0]
            at += 8
        elif key & 7 == 5:
            yield key >> 3, struct.unpack("<f", message[at:at + 4])[0]
            at += 4
        else:
            assert key & 7 == 2, key
            length = varint()
            yield key >> 3, message[at:at + length]
            at += length


folder = sys.argv[1]
numbers, times = [], []
(path,) = glob.glob(f"{folder}/events.out.tfevents.*")
with open(path, "rb") as file:
    for record in records(file.read()):
        event = dict(fields(record))
        times.append(event[1])
        if 3 in event:
            print("version", event[3].decode())
        if 5 in event:
            value = dict(fields(dict(fields(event[5]))[1]))
            numbers.append((value[1].decode(), event.get(2, 0), value[2]))
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
