# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files, the cache, processes and threads."""

import os
import subprocess
import sys
import sysconfig
import threading
import time

import numpy as np
import pytest
from conftest import needs_cxx

import tkc
from tkc import _cache, _devices, _native, _paths, _toolchain

SCALE = "kernel scale(x: f32[N], out y: f32[N]) {{ parallel i in tiles(N, 8) {{ y[i] = {} * x[i]; }} }}"


def test_what_is_imported_counts(tmp_path, fresh_cache):
    main, other = tmp_path / "main.tk", tmp_path / "other.tk"
    main.write_text(
        'import "other.tk";\nkernel f(x: f32[N], out y: f32[N]) { parallel i in tiles(N, 8) { y[i] = twice(x[i]); } }\n'
    )
    other.write_text("fn twice(x) { return 2 * x; }\n")
    x = np.ones(3, "float32")
    old = tkc.load(main)
    np.testing.assert_array_equal(old.f(x), 2 * x)
    other.write_text("fn twice(x) { return 3 * x; }\n")
    np.testing.assert_array_equal(tkc.load(main).f(x), 3 * x)
    np.testing.assert_array_equal(old.f(x), 2 * x)  # its child has read the file
    with pytest.raises(tkc.Error, match="other.tk` has changed since it was loaded: load it again"):
        old._check_unchanged()


def test_signatures_come_from_the_cache(fresh_cache, monkeypatch):
    tkc.load(SCALE.format(2))
    monkeypatch.setattr(tkc.Module, "run", None)  # it would have to run the compiler
    assert tkc.load(SCALE.format(2)).scale.signature.name == "scale"


def test_a_damaged_cache_is_mended(fresh_cache):
    tkc.load(SCALE.format(2))
    for file in fresh_cache.rglob("*.json"):
        file.write_text("{")
    assert tkc.load(SCALE.format(2)).scale


def test_a_cache_that_cannot_be_written(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TKC_CACHE_DIR", str(tmp_path / "file" / "cache"))
    with pytest.raises(tkc.Error, match="cannot write to the cache: .*TKC_CACHE_DIR may name another folder"):
        tkc.load(SCALE.format(2))


@needs_cxx
def test_the_short_way_is_compiled_ahead(fresh_cache):
    pytest.importorskip("tvm_ffi")
    _native.prepare().join()
    made = list(fresh_cache.rglob("*" + sysconfig.get_config_var("EXT_SUFFIX")))
    assert made == ([_native._make()] if os.path.exists(sysconfig.get_path("include") + "/Python.h") else [])


def test_a_call_that_waits_for_nvcc_has_the_short_way_compiled(fresh_cache, monkeypatch):
    prepared = []
    monkeypatch.setitem(sys.modules, "torch", sys)
    monkeypatch.setattr(_native, "prepare", lambda: prepared.append(1))
    monkeypatch.setattr(_toolchain, "compile_shared", lambda file, options, arch, result, processors: result.touch())
    module = tkc.load(SCALE.format(2))
    module.shared([], "sm_80")  # ahead
    module.shared([], "sm_80", is_called=True)  # which is there
    assert prepared == []
    module.shared([], "sm_90a", is_called=True)
    assert prepared == [1]


def test_two_make_a_file_once(fresh_cache):
    built = []

    def build(result):
        built.append(result)
        time.sleep(0.2)
        result.write_text("whole")

    path = _cache.path_of("ab12", ".so")
    threads = [threading.Thread(target=_cache.make, args=(path, build)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(built) == 1 and path.read_text() == "whole"


def test_processes_make_a_file_once(fresh_cache):
    program = f"""
import pathlib, time
from tkc import _cache
def build(result):
    with open({str(fresh_cache.parent / "log")!r}, "a") as log: log.write("built\\n")
    time.sleep(0.5)
    result.write_text("whole")
print(_cache.make(_cache.path_of("cd34", ".so"), build).read_text())
"""
    children = [subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert [child.communicate()[0] for child in children] == ["whole\n"] * 3
    assert (fresh_cache.parent / "log").read_text() == "built\n"


def test_a_build_that_fails_leaves_nothing(fresh_cache):
    def fail(result):
        result.write_text("half")
        raise tkc.Error("no")

    path = _cache.path_of("ef56", ".so")
    with pytest.raises(tkc.Error, match="no"):
        _cache.make(path, fail)
    assert not path.exists() and [one.name for one in path.parent.iterdir()] == [path.name + ".lock"]


def test_threads_take_turns():
    scale = tkc.load(SCALE.format(2)).scale
    wrong = []

    def work(number):
        for size in range(1, 40):
            x = np.full(size, number, "float32")
            if not (scale(x) == 2 * x).all():
                wrong.append((number, size))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_memory_grows():
    scale = tkc.load(SCALE.format(2)).scale
    for size in (10, 1 << 19, 10):
        x = np.arange(size, dtype="float32")
        np.testing.assert_array_equal(scale(x), 2 * x)


def test_a_forked_process_has_a_child_of_its_own():
    scale = tkc.load(SCALE.format(2)).scale
    x = np.ones(3, "float32")
    scale(x)
    child = os.fork()
    if child == 0:
        os._exit(0 if (scale(5 * x) == 10 * x).all() else 1)
    assert os.waitpid(child, 0)[1] == 0
    np.testing.assert_array_equal(scale(x), 2 * x)


def test_the_interpreter_may_end(monkeypatch):
    module = tkc.load(SCALE.format(2))
    x = np.ones(3, "float32")
    module.scale(x)
    module.interpreter._child.process.kill()
    with pytest.raises(tkc.Error, match="the interpreter has ended"):
        module.scale(x)
    np.testing.assert_array_equal(module.scale(x), 2 * x)


def test_nobody_is_left_behind():
    program = f"""
import numpy, tkc
m = tkc.load({SCALE.format(2)!r})
m.scale(numpy.ones(3, "float32"), device="cpu")
print(m.interpreter._child.process.pid)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    for _ in range(50):
        if not os.path.exists(f"/proc/{int(done.stdout)}"):
            return
        time.sleep(0.1)
    raise AssertionError("the interpreter still runs")


def test_importing_is_quick():
    """Nothing that takes long comes along: what is imported says so more surely than a clock."""
    program = "import sys; before = set(sys.modules); import tkc; print(*sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["tkc"]


def test_tvm_ffi_comes_late():
    program = f"""
import sys, numpy, tkc
tkc.load({SCALE.format(2)!r}).scale(numpy.ones(3, "float32"), device="cpu")
assert "tvm_ffi" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_the_versions_agree():
    said = subprocess.run([_paths.compiler(), "--version"], capture_output=True, text=True, check=True).stdout
    assert said.split()[1] == tkc.__version__


def test_no_nvcc(monkeypatch, tmp_path):
    for name in ("TKC_NVCC", "CUDA_HOME", "CUDA_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(_paths, "search", lambda name, folder: None)
    _toolchain.nvcc.cache_clear()
    try:
        with pytest.raises(tkc.Error, match="a GPU needs nvcc, and there is none: TKC_NVCC, PATH, CUDA_HOME and pip's"):
            _toolchain.nvcc()
        monkeypatch.setenv("TKC_NVCC", "nowhere")
        with pytest.raises(tkc.Error, match="TKC_NVCC names `nowhere`, which is no program"):
            _toolchain.nvcc()
    finally:
        _toolchain.nvcc.cache_clear()


def test_no_host_compiler(monkeypatch, tmp_path):
    program = tmp_path / "nvcc"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    for name in ("NVCC_CCBIN", "CXX", "TKC_NVCC"):
        monkeypatch.delenv(name, raising=False)
    _toolchain.nvcc.cache_clear()
    try:
        with pytest.raises(
            tkc.Error, match=r"nvcc needs a C\+\+ compiler, and there is none: install the package g\+\+"
        ):
            _toolchain.nvcc()
    finally:
        _toolchain.nvcc.cache_clear()


@pytest.mark.parametrize(
    "capability, name",
    [((8, 0), "sm_80"), ((8, 7), "sm_86"), ((9, 0), "sm_90a"), ((10, 3), "sm_103a"), ((12, 1), "sm_89")],
)
def test_the_code_for_a_gpu(capability, name):
    assert _toolchain.arch_for(capability) == name


def test_a_gpu_that_is_too_old():
    with pytest.raises(tkc.Error, match="no code of tkc runs on a GPU of compute capability 7.5"):
        _toolchain.arch_for((7, 5))


def test_no_gpu_to_compile_for(monkeypatch, tmp_path):
    monkeypatch.setattr(_devices, "count", lambda: 0)
    module = tkc.load(SCALE.format(2))
    for compiles in (module.compile, module.scale.compile, lambda: tkc.build(module.file, tmp_path / "scale.so")):
        with pytest.raises(tkc.Error, match='there is no GPU to compile for: say which, as in arch="sm_90a"'):
            compiles()


def test_verbose(monkeypatch, capfd, fresh_cache):
    monkeypatch.setenv("TKC_VERBOSE", "1")
    tkc.load(SCALE.format(2))
    assert "--emit=signatures" in capfd.readouterr().err
