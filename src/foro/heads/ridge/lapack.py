"""LAPACK's routines for packed matrices, called so that other threads go on meanwhile.

SciPy's own wrappers of these hold Python's lock until they return: at M = 8192 nothing else in the process, such as a
service that answers requests, would run for seconds. These are the same functions of the same library, by their
addresses, which SciPy publishes for other compilers.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from foro.types import Float64

Argument = bytes | int | float | Float64


def call(name: str, *arguments: Argument, info: bool = False) -> int:
    """Calls a routine with its arguments in order: letters, integers, numbers and arrays, all by reference.

    With ``info`` the routine has one more argument, the last, which is returned: 0 where all went well.
    """
    code = ctypes.c_int(0)
    given = [_reference(argument) for argument in arguments] + ([ctypes.byref(code)] if info else [])
    _routine(name, len(given))(*given)
    return code.value


def _reference(argument: Argument) -> Any:
    if isinstance(argument, np.ndarray):
        if argument.dtype != np.float64 or not (argument.flags.c_contiguous or argument.flags.f_contiguous):
            raise ValueError("LAPACK takes contiguous arrays of float64 only")
        return ctypes.c_void_p(argument.ctypes.data)
    if isinstance(argument, bytes):
        return argument
    return ctypes.byref(ctypes.c_int(argument) if isinstance(argument, int) else ctypes.c_double(argument))


@cache
def _routine(name: str, arguments: int) -> Callable[..., None]:
    from scipy.linalg import cython_lapack

    capsule = cython_lapack.__pyx_capi__[name]
    python = ctypes.pythonapi
    python.PyCapsule_GetName.restype, python.PyCapsule_GetName.argtypes = ctypes.c_char_p, [ctypes.py_object]
    python.PyCapsule_GetPointer.restype = ctypes.c_void_p
    python.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    signature = python.PyCapsule_GetName(capsule)
    if signature.count(b"*") != arguments:
        raise TypeError(f"LAPACK's {name} takes {signature.count(b'*')} arguments, not {arguments}")
    # What CFUNCTYPE makes lets go of Python's lock for as long as it runs.
    prototype = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * arguments)
    return prototype(python.PyCapsule_GetPointer(capsule, signature))
