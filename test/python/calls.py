# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls from Python: arguments, results, changed arguments, errors, threads."""

import gc
import os
import sys
import threading
import unittest

import mx
import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "Inputs"))
from program import program  # noqa: E402  # pylint: disable=wrong-import-position

P = program()
X = np.array([[1, 0], [0, 1], [1, 1], [2, 1]], np.float32)
Y = np.array([[3], [-2], [0], [2]], np.float32)


def floats(*numbers):
    return np.array(numbers, np.float32)


class Names(unittest.TestCase):
    def test_functions_variables_and_models_are_attributes(self):
        self.assertEqual(P.functions[:2], ["start", "pair"])
        self.assertIn("half", dir(P))
        self.assertEqual(P.half.signature, "graph fn half(x: f32[dyn N <= 1000000]) -> f32[N]")
        self.assertTrue(P.half.is_graph)
        self.assertFalse(P.keep.is_graph)
        self.assertEqual(P.step.parameters, ["net", "x", "y", "lr"])
        self.assertEqual(P.half.__name__, "half")
        self.assertIs(P.half, P.half)
        self.assertEqual((P.width, P.top.shape), (3, (2,)))
        self.assertEqual(P["Linear[3, 2]"]().w.shape, (3, 2))
        self.assertEqual(P.Net().type, "Linear[2, 1]")

    def test_unknown_names_say_what_is_near(self):
        with self.assertRaisesRegex(AttributeError, "did you mean `half`"):
            P.halff  # pylint: disable=pointless-statement
        with self.assertRaises(KeyError):
            P["halff"]  # pylint: disable=pointless-statement
        with self.assertRaises(TypeError):
            P[3]  # pylint: disable=pointless-statement


class Arguments(unittest.TestCase):
    def test_every_element_type(self):
        for kind in (np.bool_, np.int8, np.uint8, np.int32, np.int64, np.float16, np.float32, np.float64):
            x = np.array([[0, 1, 2], [3, 4, 5]]).astype(kind)
            y = np.asarray(P.keep(x))
            self.assertEqual(y.dtype, x.dtype)
            np.testing.assert_array_equal(y, x)

    def test_other_element_types_are_refused(self):
        for kind in (np.uint16, np.uint32, np.complex64, ">f4", "U3", "datetime64[s]"):
            with self.assertRaises((TypeError, ValueError)):
                P.keep(np.zeros(2).astype(kind))

    def test_layouts(self):
        base = np.arange(48, dtype=np.float32).reshape(4, 12)
        padded = np.zeros(3, [("a", "i1"), ("b", "f4")])["b"]  # neither aligned nor whole strides
        for x in (base[:, ::3], base[::-1], base.T, base[1:1], np.broadcast_to(base[0], (3, 12)), padded, np.float32(3)):
            np.testing.assert_array_equal(np.asarray(P.keep(x)), x)
        for x in (base[0, ::-1], base[:, 0], base[0, 2:2], np.broadcast_to(np.float32(4), (7,)), padded):
            np.testing.assert_array_equal(np.asarray(P.half(x)), x / 2)

    def test_numbers_and_texts(self):
        self.assertEqual(P.talk(4)[0], 5)
        self.assertEqual(P.talk(n=6, loud=True)[0], 7)
        self.assertEqual(float(P.pick(floats(1, 2, 3), 2)), 3)
        self.assertEqual(float(P.pick(floats(1, 2, 3), np.int64(1))), 2)
        with self.assertRaises(OverflowError):
            P.talk(2**63)
        with self.assertRaisesRegex(TypeError, "np.array"):
            P.half([1.0, 2.0])
        with self.assertRaises(TypeError):
            P.half(object())

    def test_dlpack(self):
        class Foreign:
            def __init__(self, array):
                self.array = array

            def __dlpack__(self, **options):
                return self.array.__dlpack__(**options)

        x = floats(1, 2, 3)
        for function in (P.half, P.keep):  # one reads it where it is, the other copies it
            before = sys.getrefcount(x)
            y = function(Foreign(x))
            np.testing.assert_array_equal(np.from_dlpack(y), x / 2 if function is P.half else x)
            del y
            gc.collect()
            self.assertEqual(sys.getrefcount(x), before)

    def test_results_do_not_follow_the_array(self):
        for function in (P.keep, P.same):
            x = floats(1, 2, 3)
            y = function(x)
            x[0] = 9
            self.assertEqual(np.asarray(y)[0], 1)
        x = floats(2, 4)
        y = P.half.start(x)
        x[0] = 9
        np.testing.assert_array_equal(np.asarray(y), [1, 2])


class Changes(unittest.TestCase):
    def test_training(self):
        net = P.start()
        snapshot = net.copy()
        for _ in range(300):
            loss = P.step(mx.mut(net), X, Y, lr=0.2)
        self.assertLess(loss, 1e-6)
        np.testing.assert_allclose(net.w, [[2], [-3]], atol=1e-3)
        np.testing.assert_array_equal(snapshot.w, [[0], [0]])

    def test_arrays_are_written(self):
        x = np.zeros(1000, np.float32)
        P.bump(mx.mut(x), by=2.5)
        self.assertTrue((x == 2.5).all())
        with self.assertRaisesRegex(ValueError, "contiguous"):
            P.bump(mx.mut(x[::2]))
        frozen = floats(1)
        frozen.flags.writeable = False
        with self.assertRaises((ValueError, BufferError)):
            P.bump(mx.mut(frozen))
        with self.assertRaises(TypeError):
            P.bump(mx.mut(3.0))

    def test_views_keep_their_elements(self):
        value = P.keep(floats(1, 2))
        view = np.asarray(value)
        P.bump(mx.mut(value))
        np.testing.assert_array_equal(view, [1, 2])
        np.testing.assert_array_equal(value, [2, 3])
        with self.assertRaises(ValueError):
            view[0] = 5

    def test_mut_is_said(self):
        with self.assertRaises(mx.Error) as caught:
            P.step(P.start(), X, Y)
        self.assertEqual(caught.exception.code, "E0203")
        self.assertIn("mx.mut", caught.exception.__notes__[0])
        net = P.start()
        with self.assertRaises(ValueError):
            P.step(mx.mut(net), mx.mut(net), Y)
        self.assertEqual(net.type, "Linear[2, 1]")  # nothing happened to it

    def test_a_rejected_call_changes_nothing(self):
        net = P.start()
        with self.assertRaises(mx.Error):
            P.step(mx.mut(net), X, X)
        np.testing.assert_array_equal(net.w, [[0], [0]])


class Results(unittest.TestCase):
    def test_kinds(self):
        number, text, tensor = P.talk(1)
        self.assertEqual((number, text), (2, "text"))
        np.testing.assert_array_equal(tensor, [1, 2])
        self.assertIsNone(P.nothing())
        self.assertEqual([float(x.numpy().sum()) for x in P.table()], [2, 0, 2])

    def test_a_tensor_behaves_like_an_array(self):
        y = P.half(floats(0, 1, 2))
        np.testing.assert_array_equal(y + 1, [1, 1.5, 2])
        np.testing.assert_array_equal(2 * y - floats(0, 1, 2), [0, 0, 0])
        np.testing.assert_allclose(np.exp(y), np.exp([0, 0.5, 1]), rtol=1e-6)
        self.assertEqual((y.shape, y.dtype, y.type, len(y), y[1], list(y)), ((3,), "f32", "f32[3]", 3, 0.5, [0, 0.5, 1]))
        self.assertEqual(repr(y), "f32[3] [0.  0.5 1. ]")
        self.assertIs(np.asarray(y).base.obj if isinstance(np.asarray(y).base, memoryview) else y, y)

    def test_a_number_behaves_like_one(self):
        x = P.pick(floats(1.5, 2), 0)
        self.assertEqual((float(x), int(x), f"{x:.2f}", x > 1, bool(x), x.item()), (1.5, 1, "1.50", True, True, 1.5))
        self.assertIsInstance(x.item(), float)
        self.assertEqual((str(x), repr(x)), ("1.5", "f32 1.5"))

    def test_models(self):
        net = P.pair()
        self.assertEqual(net.fields(), ["first", "rest"])
        self.assertEqual(net.first.w.shape, (2, 2))
        self.assertEqual(len(net.rest), 2)
        self.assertEqual(net["rest.1.b"].shape, (1,))
        self.assertEqual(repr(net), "<mx Pair>")
        with self.assertRaisesRegex(AttributeError, "Pair has no `second`"):
            net.second  # pylint: disable=pointless-statement
        with self.assertRaises(AttributeError):
            net.shape  # pylint: disable=pointless-statement
        with self.assertRaises(BufferError):
            memoryview(net)

    def test_bf16_has_no_array(self):
        y = P.halves(floats(1, 2))
        self.assertEqual(repr(y), "bf16[2]")
        with self.assertRaises(BufferError):
            memoryview(y)


class Errors(unittest.TestCase):
    def test_text_and_code(self):
        with self.assertRaises(mx.Error) as caught:
            mx.compile("let x: f32[3] = ones([4])\n", "broken.mx")
        self.assertEqual(caught.exception.code, "E0202")
        self.assertIn(" --> broken.mx:1:17", str(caught.exception))
        with self.assertRaises(mx.Error) as caught:
            P.pick(floats(1), 5)
        self.assertEqual(caught.exception.code, "R0204")
        with self.assertRaises(mx.Error) as caught:
            mx.load("no-such-file.mx")
        self.assertEqual(caught.exception.code, "R0601")

    def test_what_was_only_issued_fails_when_it_is_read(self):
        y = P.pick.start(floats(1), 5)
        with self.assertRaises(mx.Error):
            y.wait()

    def test_wrong_options(self):
        with self.assertRaises(TypeError):
            mx.Session(colour=3)
        with self.assertRaises(TypeError):
            mx.Session(print=3)
        with self.assertRaises(TypeError):
            mx.Session(settings=[1])


class Sessions(unittest.TestCase):
    def test_options_and_output(self):
        lines = []
        own = mx.Session(threads=1, print=lines.append, settings={"n": 5, "flag": True})
        p = own.compile('let n = option("n", 1)\nlet flag = option("flag", false)\nprint(n, flag)\n')
        self.assertEqual((p.n, p.flag, lines), (5, True, ["5 true\n"]))

    def test_an_exception_in_print_is_reported_and_not_lost(self):
        seen = []
        hook, sys.unraisablehook = sys.unraisablehook, lambda what: seen.append(what.exc_type)
        try:
            own = mx.Session(print=lambda text: 1 // 0)
            own.compile('print("x")')
        finally:
            sys.unraisablehook = hook
        self.assertEqual(seen, [ZeroDivisionError])

    def test_values_outlive_what_made_them(self):
        own = mx.Session()
        y = own.compile("graph fn twice(x: f32[N]) -> f32[N] { x + x }\n").twice(floats(1, 2))
        del own
        gc.collect()
        np.testing.assert_array_equal(y, [2, 4])

    def test_models_belong_to_their_session(self):
        other = program(mx.Session())
        with self.assertRaises(mx.Error):
            other.step(mx.mut(P.start()), X, Y)
        np.testing.assert_array_equal(other.half(P.half(floats(4))), [1])

    def test_memory_limit(self):
        own = mx.Session(memory_limit=1 << 20)
        with self.assertRaises(mx.Error) as caught:
            own.compile("fn big() -> f32[1000000] { ones([1000000]) }\n").big().wait()
        self.assertEqual(caught.exception.code, "R0102")
        self.assertEqual(own.memory()["limit"], 1 << 20)


class Lifetimes(unittest.TestCase):
    def test_ten_thousand_calls_leak_nothing(self):
        x = np.zeros(1000, np.float32)
        net = P.start()

        def calls(count):
            for _ in range(count):
                P.half(x)
                P.keep(x)
                P.step(mx.mut(net), X, Y)
                net.w.numpy()
                try:
                    P.pick(x, 5000)
                except mx.Error:
                    pass

        def resident():
            with open("/proc/self/statm", encoding="ascii") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

        calls(500)
        gc.collect()
        live, held, references, objects = mx.session().memory()["live"], resident(), sys.getrefcount(x), len(gc.get_objects())
        calls(10000)
        gc.collect()
        self.assertEqual(mx.session().memory()["live"], live)
        self.assertEqual(sys.getrefcount(x), references)
        self.assertLess(abs(len(gc.get_objects()) - objects), 50)
        self.assertLess(resident() - held, 4 << 20)

    def test_threads(self):
        wrong = []

        def work(number):
            net = P.start()
            for _ in range(100):
                if np.asarray(P.half(floats(number)))[0] != number / 2:
                    wrong.append(number)
                P.step(mx.mut(net), X, Y)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_a_value_in_a_call_is_out_of_reach(self):
        value = P.keep(np.zeros(4, np.float32))
        ended = []

        def change():
            try:
                P.count(mx.mut(value))
            except mx.Error as error:
                ended.append(error.code)

        thread = threading.Thread(target=change)
        thread.start()
        while True:
            try:
                value.copy()
            except RuntimeError:
                break
        mx.session().cancel()
        thread.join()
        mx.session().resume()
        self.assertEqual(ended, ["R0004"])


if __name__ == "__main__":
    unittest.main()
