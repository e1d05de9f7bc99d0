# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ctrl-C: a call that runs, a value that is waited for, a program that is loaded; afterwards all goes on."""

import os
import signal
import sys
import threading
import time

import mx
import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "Inputs"))
from program import program  # noqa: E402  # pylint: disable=wrong-import-position

P = program()
X = np.array([2, 4], np.float32)


def interrupted(call):
    """The signal comes again and again until it ends the call, whenever that began."""
    ended = threading.Event()

    def send():
        while not ended.wait(0.05):
            os.kill(os.getpid(), signal.SIGINT)

    sender = threading.Thread(target=send)
    try:
        sender.start()
        call()
    except KeyboardInterrupt:
        while True:  # those that came later
            try:
                ended.set()
                sender.join()
                time.sleep(0)
                return True
            except KeyboardInterrupt:
                pass
    ended.set()
    sender.join()
    return False


def main():
    # A background job of a shell ignores the signal, and Python leaves it so.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    np.testing.assert_array_equal(P.half(X), X / 2)
    assert interrupted(P.spin)
    print("a call ends")
    assert interrupted(lambda: mx.compile("var s = 0.0\nwhile true { s += 1.0 }\n"))
    print("a program ends")
    value = P.keep(np.zeros(4, np.float32))
    assert interrupted(lambda: P.count(mx.mut(value)))
    print("a changed value is there:", value.type, bool((np.asarray(value) >= 0).all()))
    np.testing.assert_array_equal(P.half(X), X / 2)
    print("calls go on")

    # A handler of the program's own: the call ends with an error.
    seen = []
    signal.signal(signal.SIGINT, lambda *_: seen.append(1))
    ended = threading.Event()

    def send():
        while not ended.wait(0.05):
            os.kill(os.getpid(), signal.SIGINT)

    sender = threading.Thread(target=send)
    sender.start()
    try:
        P.spin()
    except mx.Error as error:
        print("another handler:", error.code, len(seen) > 0)
    ended.set()
    sender.join()
    np.testing.assert_array_equal(P.half(X), X / 2)


main()
