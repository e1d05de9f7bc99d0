# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The libraries beside mx: each is loaded if it is there, and makes of a row what is timed, with the settings that its
documentation advises for one call at a time in f32. Whatever goes wrong in one is a word in the table."""
import importlib
import importlib.metadata

import numpy

from row import OnnxGraph, bf16_numbers


class Torch:
    name, module, wrap = "torch", "torch", None

    def __init__(self, threads):
        self.torch = importlib.import_module("torch")
        self.version = self.torch.__version__
        self.torch.set_num_threads(threads)

    def step(self, row, arrays):
        build = row.peers.get("torch")
        if not build or (self.wrap and "wrap" not in build.__code__.co_varnames):
            return None
        return build(self.torch, *map(self.tensor, arrays), **({"wrap": self.wrap} if self.wrap else {}))

    def tensor(self, array):
        if array.dtype == numpy.uint16:
            return self.torch.from_numpy(array.view(numpy.int16).copy()).view(self.torch.bfloat16)
        return self.torch.from_numpy(array.copy())

    def numbers(self, made):
        return made.detach().float().numpy()


class Compiled(Torch):
    name = "torch.compile"

    def wrap(self, function):
        self.torch._dynamo.reset()
        return self.torch.compile(function)


class Jax:
    name = module = "jax"

    def __init__(self, threads):
        self.jax = importlib.import_module("jax")
        self.version = self.jax.__version__

    def step(self, row, arrays):
        return row.peers["jax"](self.jax, *map(self.array, arrays)) if "jax" in row.peers else None

    def array(self, array):
        made = self.jax.numpy.array(array)
        return made.view(self.jax.numpy.bfloat16) if array.dtype == numpy.uint16 else made

    def numbers(self, made):
        return numpy.asarray(made.astype(self.jax.numpy.float32))


class OfOnnx:
    """What reads ONNX files."""

    def model(self, row, arrays):
        write, given = row.peers["onnx"]
        return write(OnnxGraph(importlib.import_module("onnx"), row.tensors, arrays, given)), given


class OnnxRuntime(OfOnnx):
    name, module = "onnxruntime", "onnxruntime"

    def __init__(self, threads):
        self.ort, self.threads = importlib.import_module("onnxruntime"), threads
        self.version = self.ort.__version__

    def step(self, row, arrays):
        if "onnx" not in row.peers:
            return None
        model, given = self.model(row, arrays)
        options = self.ort.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = self.threads, 1
        # Threads that spin between calls would take the processors of the others.
        options.add_session_config_entry("session.force_spinning_stop", "1")
        session = self.ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        binding, output = session.io_binding(), session.get_outputs()[0]
        for i in given:
            binding.bind_ortvalue_input(row.tensors[i].name, self.ort.OrtValue.ortvalue_from_numpy(arrays[i]))
        result = self.ort.OrtValue.ortvalue_from_numpy(numpy.zeros(output.shape, numpy.float32))
        binding.bind_ortvalue_output(output.name, result)

        def step():
            session.run_with_iobinding(binding)
            return result
        return step

    def numbers(self, made):
        return made.numpy().copy()


class OpenVino(OfOnnx):
    name, module = "openvino", "openvino"

    def __init__(self, threads):
        self.ov = importlib.import_module("openvino")
        self.version = self.ov.__version__.split("-")[0]
        self.settings = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32", "NUM_STREAMS": "1",
                         "INFERENCE_NUM_THREADS": str(threads)}

    def step(self, row, arrays):
        if "onnx" not in row.peers:
            return None
        model, given = self.model(row, arrays)
        core = self.ov.Core()
        request = core.compile_model(core.read_model(model), "CPU", self.settings).create_infer_request()
        for i in given:
            request.set_tensor(row.tensors[i].name, self.ov.Tensor(arrays[i], shared_memory=True))

        def step():
            request.infer(share_outputs=True)
            return request
        return step

    def numbers(self, made):
        return made.get_output_tensor().data.copy()


class Iree:
    """Compiles the StableHLO of the row's JAX function ahead of time. Arguments stay arguments, as for mx and JAX."""
    name, module = "iree", "iree.compiler"

    def __init__(self, threads):
        self.compiler, self.runtime = importlib.import_module("iree.compiler"), importlib.import_module("iree.runtime")
        self.jax = importlib.import_module("jax")
        self.version = importlib.metadata.version("iree-base-compiler")
        if threads > 1:
            self.runtime.flags.parse_flags(f"--task_topology_max_group_count={threads}")
        self.config = self.runtime.Config("local-sync" if threads == 1 else "local-task")

    def step(self, row, arrays):
        if "iree" not in row.peers:
            return None
        shapes = [self.jax.ShapeDtypeStruct(array.shape, array.dtype) for array in arrays]
        text = self.jax.jit(row.peers["iree"](self.jax)).lower(*shapes).as_text()
        code = self.compiler.compile_str(text, target_backends=["llvm-cpu"], input_type="stablehlo", extra_args=[
            "--iree-llvmcpu-target-cpu=host", "--iree-opt-level=O3"])
        context = self.runtime.SystemContext(config=self.config)
        module = self.runtime.VmModule.copy_buffer(context.instance, code)
        context.add_vm_module(module)
        function = context.modules[module.name]["main"]
        values = [self.runtime.asdevicearray(self.config.device, array) for array in arrays]
        return lambda: function(*values)

    def numbers(self, made):
        return numpy.asarray(made.to_host())


class NumPy:
    name = module = "numpy"

    def __init__(self, threads):
        self.version = numpy.__version__

    def step(self, row, arrays):
        return row.peers["numpy"](numpy, *arrays) if "numpy" in row.peers else None

    def numbers(self, made):
        made = numpy.asarray(made)
        return bf16_numbers(made) if made.dtype == numpy.uint16 else made


ALL = [Torch, Compiled, Jax, OnnxRuntime, OpenVino, Iree, NumPy]


def said(failure):
    """The first line of what went wrong, short enough for a table."""
    text = str(failure).strip().split("\n")[0] or type(failure).__name__
    return f"{type(failure).__name__}: {text}"[:120]


def load(threads, compiled, only=None):
    """Those that are there, and for the others why not."""
    there, words = [], {}
    for kind in ALL:
        if only is not None and kind.name not in only:
            continue
        if kind is Compiled and not compiled:
            words[kind.name] = "was left out (--compiled measures it)"
            continue
        try:
            there.append(kind(threads))
        except ModuleNotFoundError:
            words[kind.name] = "is not installed"
        except Exception as failure:  # whatever a library does when it is loaded
            words[kind.name] = said(failure)
    return there, words
