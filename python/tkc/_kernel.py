# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A kernel or program as a function."""

import contextlib
import functools
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Optional, Tuple

from . import _devices, _native, _tensors, _toolchain
from ._call import Call
from ._elements import WIDTHS
from ._errors import Error
from ._repeated import Repeated
from ._signature import Gradient, Signature, number

if TYPE_CHECKING:
    from ._module import Module

_DEFAULT_ARCH = "sm_90a"


class Kernel(functools.partial):
    """Of a module: call it with tensors and numbers, in the order of its parameters without the outputs.

    Keywords may name any parameter; `NAME=None` leaves an optional tensor out. Outputs that the call does not pass are
    allocated by the declared shapes and returned; `out=` is a tensor, a sequence or a dict of them. `device="cpu"` runs
    the interpreter. `stream=` is a CUDA stream: a number, or an object of PyTorch or CuPy. Where a parameter has one of
    these names, the keyword means the parameter.
    """

    # A partial, as Python calls one without a tuple and a dictionary of its arguments (see `_native.call_as_base`), and
    # as what it calls may change: any call, or the method of calls that are like one before.

    def __new__(cls, module: "Module", signature: Signature) -> "Kernel":
        return super().__new__(cls, cls._call)

    def __init__(self, module: "Module", signature: Signature):
        self._module = module
        self._functions: Dict[Any, Tuple[Any, Any]] = {}
        self._repeated = Repeated(signature, self._call)
        self.signature = signature
        self.__name__ = self.__qualname__ = signature.name
        self.__doc__ = f"{signature}\n\n{signature.doc}"
        self._serve(self._call)

    def _serve(self, method: Callable[..., Any]) -> None:
        """What a call calls from now on."""
        self.__setstate__((method, (), {}, vars(self)))

    def __repr__(self) -> str:
        return f"<tkc kernel {self.signature}>"

    def _call(self, /, *args: Any, **kwargs: Any) -> Any:
        """Any call."""
        out, device, stream = (self._option(kwargs, name) for name in ("out", "device", "stream"))
        call = Call(self.signature, args, kwargs, out)
        if not self._runs_on_gpu(call, _devices.check(device) or _devices.asked()):
            self._interpret(call)
        else:
            self._remember(call, self._launch(call, stream))
        return call.result()

    def _remember(self, call: Call, function: Any) -> None:
        """Calls like this one may go the short way, which has no workspace and no types with two elements in a byte."""
        views = call.views.values()
        if self.signature.is_program or any(one.framework != "torch" or WIDTHS[one.elem] == 4 for one in views):
            return
        outputs = [call.views.get(one.name) for one in self.signature.outputs]
        dtypes = [None if one is None else one.value.dtype for one in outputs]
        self._repeat({**call.values, **call.numbers}, function, dtypes)

    def _repeat(self, values: Mapping[str, Any], function: Any, dtypes: List[Any]) -> None:
        """Calls of this function with such values go the short way."""
        self._repeated.remember(values, function, dtypes)
        _native.call_as_base(Kernel)
        self._serve(self._repeated.method or self._call)
        _native.call_directly(self)

    def _option(self, kwargs: Dict[str, Any], name: str) -> Any:
        is_parameter = any(one.name == name for one in self.signature.parameters)
        return None if is_parameter else kwargs.pop(name, None)

    @staticmethod
    def _runs_on_gpu(call: Call, asked: Optional[str]) -> bool:
        on_gpu = [name for name, view in call.views.items() if view.gpu is not None]
        on_cpu = [name for name, view in call.views.items() if view.gpu is None]
        if asked == "cpu" or (asked is None and not on_gpu and _devices.count() == 0):
            if on_gpu:
                raise call.fail(f'`{on_gpu[0]}` is on a GPU, and device="cpu" asks for the interpreter')
            return False
        if on_cpu:
            hint = "" if on_gpu else '; device="cpu" runs the interpreter'
            raise call.fail(f"`{on_cpu[0]}` is not in the memory of a CUDA device{hint}")
        return True

    def compile(self, arch: Optional[str] = None, **chosen: Any) -> None:
        """Compiles its specialisations of these types and constants now, on all processors:
        `k.attn_fwd.compile(D=64)`."""
        wanted = {name: int(value) if isinstance(value, bool) else value for name, value in chosen.items()}
        found = [
            (self, one)
            for one in self.signature.specializations
            if wanted.items() <= {**one["types"], **one["constants"]}.items()
        ]
        if not found:
            raise Error(f"{self.signature.name}: no specialisation has {_words(chosen)}")
        self._module.compile_some(found, arch)

    # ---- on a GPU --------------------------------------------------------------------------------------------------

    def _launch(self, call: Call, stream: Any) -> Any:
        """The function that it called."""
        first = next((view for view in call.views.values()), None)
        if first is None:
            raise call.fail("no tensor says which GPU to run on")
        symbols, types = call.bind()
        with _on_stream(first, stream):
            call.allocate(symbols, types)
            function, workspace_bytes = self._function(call, types, call.constants(symbols), first.gpu or 0)
            values = [
                call.values[one.name] if one.is_tensor else call.numbers[one.name] for one in self.signature.parameters
            ]
            if workspace_bytes is not None and first.framework == "torch":
                torch = sys.modules["torch"]
                size = max(_run(workspace_bytes, values), 0)
                values.append(torch.empty(size, dtype=torch.uint8, device=first.value.device))
            _run(function, values)
        return function

    def _function(self, call: Call, types: Dict[str, str], constants: Dict[str, int], gpu: int) -> Tuple[Any, Any]:
        capability = _devices.capability(gpu)
        key = (capability, tuple(types.values()), tuple(constants.values()))
        found = self._functions.get(key)
        if found is None:
            if not self.signature.has(types, constants):
                raise call.fail("no specialisation serves these arguments: " + _words({**types, **constants}))
            arch = _toolchain.arch_for(capability)
            module = self._module.compiled(self.signature, types, constants, arch)
            query = (
                module.get_function(self.signature.entry + "_workspace_bytes") if self.signature.is_program else None
            )
            found = self._functions[key] = (module.get_function(self.signature.entry), query)
        return found

    # ---- on the interpreter ----------------------------------------------------------------------------------------

    def _interpret(self, call: Call) -> None:
        symbols, types = call.bind()
        call.allocate(symbols, types)
        call.check_memory()
        tensors = {name: (view.elem, view.shape, _tensors.bits_of(view)) for name, view in call.views.items()}
        modes = {one.name: one.mode for one in self.signature.tensors}
        self._module.interpreter.call(
            self.signature.name,
            tensors,
            outputs=[name for name in tensors if modes[name] != "in"],
            numbers={name: number(value) for name, value in call.numbers.items()},
            reads=[name for name in tensors if modes[name] != "out"],
        )

    def reference(self, *args: Any, tolerance: bool = False, **kwargs: Any) -> Any:
        """The outputs as the reference in the file defines them, as float64 arrays of NumPy; `inout` tensors after the
        call are among them. Tensors may be on any device; the index notation is evaluated on the CPU.

        With `tolerance=True` pairs: the values, and how far a right result may be from each (docs/numerics.md).
        """
        if not self.signature.has_reference:
            raise Error(f"`{self.signature.name}` has no reference")
        call = Call(self.signature, args, kwargs, None)
        on_gpu = any(view.gpu is not None for view in call.views.values())
        symbols, types = call.bind()
        tensors: Dict[str, Tuple[str, Tuple[int, ...], Any]] = {}
        for parameter in self.signature.tensors:
            view = call.views.get(parameter.name)
            if view is not None:
                view = _on_cpu(view, parameter.name)
                tensors[parameter.name] = (view.elem, view.shape, _tensors.bits_of(view))
            elif parameter.name not in call.values:
                elem = types.get(parameter.type, parameter.type)
                elem = "f32" if elem == "tf32" else elem
                shape = call.shape_of(parameter, symbols)
                tensors[parameter.name] = (elem, shape, _tensors.bits_of(_tensors.empty(elem, shape)))
        modes = {one.name: one.mode for one in self.signature.tensors}
        outputs = [name for name in tensors if modes[name] != "in"]
        results = self._module.interpreter.call(
            self.signature.name,
            tensors,
            outputs,
            numbers={name: number(value) for name, value in call.numbers.items()},
            reads=[name for name in tensors if modes[name] != "out"],
            reference={"gpu": on_gpu},
        )
        pairs = [results[name] if tolerance else results[name][0] for name in outputs]
        return pairs[0] if len(pairs) == 1 else tuple(pairs)

    # ---- gradients -------------------------------------------------------------------------------------------------

    def gradient(self, *args: Any, **kwargs: Any) -> Gradient:
        """What computes the gradients of such a call, as the file declares it."""
        call = Call(self.signature, args, kwargs, None)
        symbols, types = call.bind()
        found = self.signature.gradient({**symbols, **types, **call.constants(symbols)})
        if found is None:
            raise call.fail("the file declares no gradient of such a call")
        return found

    def backward(self, gradient: Gradient) -> "Kernel":
        """The kernel or program that a gradient of this one calls."""
        return self._module.imported(gradient.file)[gradient.backward]

    # ---- looking inside --------------------------------------------------------------------------------------------

    def source(self, *args: Any, arch: Optional[str] = None, **kwargs: Any) -> str:
        """The CUDA of what a call with these arguments launches. Without arguments of every specialisation; keywords
        may name types and constants instead: `k.gemm.source(T="bf16")`."""
        return self._module.run(["-o", "-", *self._chosen(args, kwargs), "--arch", arch or _default_arch()])

    def plan(self, *args: Any, arch: Optional[str] = None, **kwargs: Any) -> str:
        """The same as plan IR: where every value lives, and when every operation runs."""
        return self._module.run(["--emit=plan", *self._chosen(args, kwargs), "--arch", arch or _default_arch()])

    def explain(self, *args: Any, arch: Optional[str] = None, **kwargs: Any) -> str:
        """How long a call with these arguments will take on a GPU that need not be there, and why. `arch` names it."""
        call = Call(self.signature, args, kwargs, None)
        words = [f"{name} = {view.elem}[{', '.join(map(str, view.shape))}]" for name, view in call.views.items()]
        words += [f"{name} = {value}" for name, value in call.numbers.items()]
        text = f"{self.signature.name}({', '.join(words)})"
        return self._module.run(["--call", text, "--arch", arch or _default_arch()], "explain")

    def tune(self, *args: Any, budget: Optional[float] = None, candidates: Optional[int] = None, **kwargs: Any) -> Path:
        """Searches for schedules that are faster for calls like this one, and for those that it was tuned for before,
        on this machine's GPU (docs/tuning.md). Later calls use them, also in other processes. Returns the .tks file.

        The file needs a `bench` and a `case` of the kernel. `budget` is in seconds, after which nothing new is begun;
        `candidates` is how many schedules are measured.
        """
        if self.signature.is_program:
            raise Error(f"`{self.signature.name}` is a program: tune the kernels that it launches")
        call = Call(self.signature, args, kwargs, None)
        if not _devices.count():
            raise Error("there is no GPU to tune for")
        symbols, types = call.bind()
        values = {**types, **symbols, **call.constants(symbols)}
        size = ",".join(f"{name}={int(value) if isinstance(value, bool) else value}" for name, value in values.items())
        options = [] if budget is None else ["--budget", str(budget)]
        options += [] if candidates is None else ["--candidates", str(candidates)]
        return self._module.tune(self.signature.name, size, options)

    def forget(self) -> None:
        """The functions of calls before, as other schedules are there."""
        self._functions.clear()
        self._repeated = Repeated(self.signature, self._call)
        self._serve(self._call)

    def _chosen(self, args: Any, kwargs: Mapping[str, Any]) -> List[str]:
        """The options for one specialisation, by a call's arguments or by its names."""
        settings: Mapping[str, Any] = kwargs
        if args:
            call = Call(self.signature, args, kwargs, None)
            symbols, types = call.bind()
            settings = {**types, **call.constants(symbols)}
        options = ["--kernel", self.signature.name]
        for name, value in settings.items():
            options += ["--set", f"{name}={int(value) if isinstance(value, bool) else value}"]
        return options


def _run(function: Any, values: List[Any]) -> Any:
    try:
        return function(*values)
    except (TypeError, ValueError, RuntimeError) as error:
        raise Error(str(error).splitlines()[0]) from None


def _words(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in values.items())


def _default_arch() -> str:
    return _toolchain.arch_for(_devices.capability(0)) if _devices.count() else _DEFAULT_ARCH


def _on_cpu(view: _tensors.View, name: str) -> _tensors.View:
    if view.gpu is None:
        return view
    if view.framework == "torch":
        return _tensors.seen_as(_tensors.view_of(view.value.detach().cpu(), name), view.elem)
    if hasattr(view.value, "get"):  # CuPy
        return _tensors.seen_as(_tensors.view_of(view.value.get(), name), view.elem)
    raise Error(f"`{name}` is on a GPU: pass a copy on the CPU")


@contextlib.contextmanager
def _on_stream(like: _tensors.View, stream: Any) -> Any:
    """What is launched and allocated goes to a stream: the one that is asked for, else the framework's current one."""
    handle = stream
    for name in ("cuda_stream", "ptr"):
        handle = getattr(handle, name, handle)
    if like.framework == "torch":
        if stream is None:
            yield
            return
        cuda = sys.modules["torch"].cuda
        external = stream if isinstance(stream, cuda.Stream) else cuda.ExternalStream(handle, device=like.value.device)
        with cuda.stream(external):
            yield
        return
    if handle is None and type(like.value).__module__.split(".")[0] == "cupy":
        handle = sys.modules["cupy"].cuda.get_current_stream().ptr
    if handle is None:
        yield
        return
    import tvm_ffi

    with tvm_ffi.use_raw_stream(tvm_ffi.device("cuda", like.gpu or 0), handle):
        yield
