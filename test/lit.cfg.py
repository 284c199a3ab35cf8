# How lit finds and runs the tests of this folder. A test is a file with RUN lines; what it needs beyond tkc itself it says
# with REQUIRES: nvcc (a CUDA toolkit), gpu (an NVIDIA GPU), dpkg or meson.
import os
import shutil
import subprocess

import lit.formats

config.name = "tkc"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".tk", ".tks", ".tkir", ".tkplan", ".cu", ".test"]
config.excludes = ["Inputs", "unit", "fuzz", "tools"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.tkc_build, "test", "out")

root = os.path.dirname(config.test_source_root)
config.substitutions += [
    ("%root", root),
    ("%build", config.tkc_build),
    ("%kernels", os.path.join(root, "kernels")),
    ("%runtime", os.path.join(root, "runtime", "include")),
    ("%fakecuda", os.path.join(config.tkc_build, "test", "tools", "fake-cuda")),
    ("%python", shutil.which("python3")),
    ("%seed", lit_config.params.get("seed", "3")),
]

path = [os.path.join(config.tkc_build, "tkc"), os.path.join(config.tkc_build, "test", "tools"), config.llvm_tools, "/usr/local/cuda/bin", config.environment["PATH"]]
config.environment["PATH"] = os.pathsep.join(path)
config.substitutions.append(("%path", config.environment["PATH"]))
config.environment["TKC_CACHE_DIR"] = os.path.join(config.tkc_build, "test", "cache")  # the emulator's precompiled headers
for name in ("CCACHE_DIR", "CUDA_VISIBLE_DEVICES"):
    if name in os.environ:
        config.environment[name] = os.environ[name]

if shutil.which("dpkg-shlibdeps") and shutil.which("file"):
    config.available_features.add("dpkg")
if shutil.which("meson"):
    config.available_features.add("meson")
if shutil.which("nvcc", path=config.environment["PATH"]):
    config.available_features.add("nvcc")
    smi = shutil.which("nvidia-smi")
    if smi and subprocess.run([smi, "-L"], capture_output=True).stdout.startswith(b"GPU"):
        config.available_features.add("gpu")
