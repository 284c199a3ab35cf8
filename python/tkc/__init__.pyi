# Part of tkc, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

from ._devices import device as device
from ._elements import Array as Array, array as array
from ._errors import Error as Error
from ._kernel import Kernel as Kernel
from ._paths import library as library
from ._module import Module as Module, build as build, load as load

__version__: str
