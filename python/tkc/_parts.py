# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An emitted file in parts that nvcc may compile at the same time: its launchers, and its kernels."""

import re
from typing import List, NamedTuple, Optional

# The parts refer to each other's kernels, so these can be in no namespace without a name. Shared objects hide the name.
_NAMESPACE = "tkc_kernels"
# Headers cost each part about a second, in which nvcc compiles this many characters of a kernel.
_WORTH_A_PART = 5000
_LINES_OF_DECLARATIONS = re.compile(r"(struct( \w+ \{)?|\};|///? ?.*| .*|)$")


class _File(NamedTuple):
    includes: str
    structs: str
    kernels: List[str]
    launchers: str


def _read(text: str) -> Optional[_File]:
    """None where the file has something that would be there twice, such as a function in a header of the user's."""
    begin, end = text.find("\nnamespace {\n"), text.find("\n} // namespace\n")
    if begin < 0 or end < 0:
        return None
    includes, launchers = text[:begin], text[text.index("\n", end + 1) :]
    structs: List[str] = []
    kernels: List[str] = []
    lines = iter(text[text.index("\n", begin + 1) : end].split("\n"))
    for line in lines:
        if not line.startswith("__global__ "):
            structs.append(line)
            continue
        kernel = [line]
        while kernel[-1] != "}":
            kernel.append(next(lines))
        kernels.append("\n".join(kernel))
    is_known = all(map(_LINES_OF_DECLARATIONS.match, structs)) and all(") {\n" in one for one in kernels)
    if not is_known or re.search(r'^#include "(?!tk/)', includes, re.M):
        return None
    return _File(includes, "\n".join(structs), kernels, launchers)


def split(text: str, at_most: int) -> List[str]:
    """The launchers, and the kernels in up to `at_most` files of about the same length; or the file as it is."""
    file = _read(text)
    worth = 0 if file is None else sum(map(len, file.kernels)) // _WORTH_A_PART
    if file is None or worth == 0:
        return [text]
    groups: List[List[str]] = [[] for _ in range(max(1, min(at_most, worth, len(file.kernels))))]
    for kernel in sorted(file.kernels, key=len, reverse=True):
        min(groups, key=lambda group: sum(map(len, group))).append(kernel)
    declared = [kernel[: kernel.index(") {\n")] + ");" for kernel in file.kernels]
    includes = file.includes
    if "tk::host::" not in file.structs + "".join(file.kernels):
        includes = re.sub(r'^#include "tk/host/.*\n', "", includes, flags=re.M)  # nobody's but the launchers'
    return [
        _file(file.includes, file.structs, declared) + f"\nusing namespace {_NAMESPACE};\n{file.launchers}",
        *(_file(includes, file.structs, group) for group in groups),
    ]


def _file(includes: str, structs: str, kernels: List[str]) -> str:
    joined = "\n\n".join(kernels)
    return f"{includes}\nnamespace {_NAMESPACE} {{\n{structs}\n{joined}\n\n}} // namespace {_NAMESPACE}\n"
