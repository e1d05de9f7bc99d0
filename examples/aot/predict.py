"""Calls a network from Python. See docs/guides/deploying.md."""
import sys

import digits
import numpy

net = digits.Net(sys.argv[1] if len(sys.argv) > 1 else "digits.safetensors")
x = (numpy.arange(2 * 784) * 37 % 256).astype(numpy.float32).reshape(2, 784) / numpy.float32(255)
for i, digit in enumerate(digits.predict(net, x)):
    print(f"picture {i}: {digit}")
