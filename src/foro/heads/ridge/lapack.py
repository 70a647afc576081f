"""Routines of LAPACK and BLAS for packed matrices, called without Python's lock.

SciPy's own wrappers hold the lock until they return: at M = 8192 no other thread, such as one that answers requests,
would run for seconds. These are the same functions of the same library, by the addresses that SciPy publishes for
compiled code. A SciPy that publishes none, or has other integers, is used by its wrappers.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from foro.types import Float64

Argument = bytes | int | float | Float64

_C_INT = b"int *"
_WRAPPERS = {
    "dsfrk": ("transr uplo trans n k alpha a - beta c", 9),
    "dtfttr": ("transr uplo n arf - -", 4),
    "dpotrf": ("lower - a -", 2),
    "dtrsm": ("- lower trans_a diag - - alpha a - b -", 9),
    "dgemm": ("trans_a trans_b - - - alpha a - b - beta c -", 11),
    "dsyrk": ("lower trans - - alpha a - beta c -", 8),
}
"""What SciPy's wrappers call the arguments of a routine, - where they have none, and which of them is the result."""
_LETTERS = {b"N": 0, b"U": 0, b"T": 1, b"L": 1}
"""What SciPy's wrappers of all but packed matrices have for the letters of BLAS."""


def call(name: str, *arguments: Argument, info: bool = False) -> int:
    """Calls a routine with its arguments in order: letters, integers, numbers and arrays, all by reference.

    An array may be a part of a larger one whose columns are contiguous.
    With ``info`` the routine has one more argument, the last, which is returned: 0 where all went well.
    """
    code = ctypes.c_int(0)
    given = [_reference(argument) for argument in arguments] + ([ctypes.byref(code)] if info else [])
    integers = [position for position, argument in enumerate(arguments) if isinstance(argument, int)]
    routine = _routine(name, len(given), tuple(integers))
    if routine is None:
        return _call_wrapper(name, *arguments)
    routine(*given)
    return code.value


def by_address() -> bool:
    """Whether SciPy publishes what ``call`` needs for routines that it has no wrapper for here."""
    return _routine("dgemm", 13, (2, 3, 4, 7, 9, 12)) is not None


def _reference(argument: Argument) -> Any:
    if isinstance(argument, np.ndarray):
        whole = argument.flags.c_contiguous or argument.flags.f_contiguous
        if argument.dtype != np.float64 or not (whole or argument.strides[0] == argument.itemsize):
            raise ValueError("LAPACK takes contiguous arrays of float64 only")
        return ctypes.c_void_p(argument.ctypes.data)
    if isinstance(argument, bytes):
        return argument
    return ctypes.byref(ctypes.c_int(argument) if isinstance(argument, int) else ctypes.c_double(argument))


def _capsules() -> dict[str, Any]:
    """Addresses of SciPy's routines, by name."""
    from scipy.linalg import cython_blas, cython_lapack

    return {**getattr(cython_blas, "__pyx_capi__", {}), **getattr(cython_lapack, "__pyx_capi__", {})}


@cache
def _routine(name: str, arguments: int, integers: tuple[int, ...]) -> Callable[..., None] | None:
    """The routine by its address; None where there is none, or where its integers are not C's ``int``."""
    if (capsule := _capsules().get(name)) is None:
        return None
    python = ctypes.pythonapi
    python.PyCapsule_GetName.restype, python.PyCapsule_GetName.argtypes = ctypes.c_char_p, [ctypes.py_object]
    python.PyCapsule_GetPointer.restype = ctypes.c_void_p
    python.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    signature = python.PyCapsule_GetName(capsule)  # such as void (char *, int *, …)
    kinds = signature.partition(b"(")[2].split(b", ")
    if len(kinds) != arguments:
        raise TypeError(f"LAPACK's {name} takes {len(kinds)} arguments, not {arguments}")
    if any(not kinds[position].startswith(_C_INT) for position in integers):
        return None
    # A function of CFUNCTYPE releases Python's lock while it runs.
    prototype = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * arguments)
    return prototype(python.PyCapsule_GetPointer(capsule, signature))


def _call_wrapper(name: str, *arguments: Any) -> int:
    """``call`` by SciPy's wrapper of the routine, with the result where LAPACK would have put it."""
    from scipy.linalg import blas, lapack

    names, place = _WRAPPERS[name]
    given = {key: each for key, each in zip(names.split(), arguments, strict=True) if key != "-"}
    if (written := names.split()[place]) != "-":
        given[f"overwrite_{written}"] = 1
    if name == "dsfrk":
        given["a"] = given["a"].T  # LAPACK takes the rows of C for columns
    elif "transr" not in given:
        given |= {key: _LETTERS[each] for key, each in given.items() if isinstance(each, bytes)}
    found = (getattr(lapack, name, None) or getattr(blas, name))(**given)
    result, info = found if isinstance(found, tuple) else (found, 0)
    if result is not arguments[place]:
        np.copyto(arguments[place], result)
    return int(info)
