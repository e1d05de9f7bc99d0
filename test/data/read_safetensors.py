"""Lists the tensors of a safetensors file, read by the format's description alone."""
import json
import struct
import sys

with open(sys.argv[1], "rb") as file:
    content = file.read()
(length,) = struct.unpack("<Q", content[:8])
header = json.loads(content[8:8 + length])
header.pop("__metadata__", None)
print("begins at a multiple of 64:", (8 + length) % 64 == 0)
end = 0
for name, tensor in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
    begin, stop = tensor["data_offsets"]
    assert begin == end, f"{name} leaves a gap"
    end = stop
assert 8 + length + end == len(content), "bytes follow the last tensor"
for name, tensor in sorted(header.items()):
    begin, stop = tensor["data_offsets"]
    data = content[8 + length + begin:8 + length + stop]
    value = struct.unpack("<q", data)[0] if tensor["dtype"] == "I64" and not tensor["shape"] else ""
    print(name, tensor["dtype"], tensor["shape"], value)
