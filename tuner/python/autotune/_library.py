"""The C libraries through ctypes: structures, functions and errors of tuned.h and tuned_kernel.h.

Short calls are made with the interpreter's lock held (PyDLL), so that no other thread changes a table meanwhile; what
reads files, compiles or waits for the GPU lets other threads run (CDLL).
"""

import ctypes
import functools
import operator
import os
import struct
from pathlib import Path
from typing import Any, Dict, Iterable, Mapping, NamedTuple, Optional, Tuple, Union

Value = Union[int, float, str]

FOLDER = Path(__file__).resolve().parent
NOT_FOUND, INVALID, COVER_RULE = -1, -4, 2
_INTEGER, _REAL, _WORD = range(3)


class Error(Exception):
    """What a library or the program refused. `message` is its own; `file` and `line` say where, if it is a file's
    ("" and 0 otherwise); `code` is the library's (tuned.h), `status` the program's exit status (0: from a library)."""

    def __init__(self, message: str, file: str = "", line: int = 0, code: int = 0, status: int = 0):
        place = file + (f":{line}" if line else "") + ": " if file else ""
        super().__init__(place + message)
        self.message, self.file, self.line, self.code, self.status = message, file, line, code, status


class NotFound(Error, LookupError):
    """No configuration matches the query."""


class Gpu(NamedTuple):
    """A GPU as look-ups see it. What is not known is left out, but a query needs the compute capability."""

    name: str = ""
    compute_capability: int = 0  # 90 for 9.0, 120 for 12.0
    sm_count: int = 0
    l2_bytes: int = 0
    memory_gb_per_s: float = 0.0  # 10^9 bytes per second


class CError(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int), ("line", ctypes.c_int), ("file", ctypes.c_char * 256),
                ("message", ctypes.c_char * 1024)]

    def exception(self, code: int) -> Error:
        kind = NotFound if code == NOT_FOUND else Error
        return kind(self.message.decode(errors="replace"), self.file.decode(errors="replace"), self.line, code)


class CValue(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("kind", ctypes.c_int), ("integer", ctypes.c_int64),
                ("real", ctypes.c_double), ("text", ctypes.c_char_p)]


class CGpu(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char * 128), ("compute_capability", ctypes.c_int), ("sm_count", ctypes.c_int),
                ("l2_bytes", ctypes.c_int64), ("memory_gb_per_s", ctypes.c_double)]

    def python(self) -> Gpu:
        return Gpu(self.name.decode(errors="replace"), self.compute_capability, self.sm_count, self.l2_bytes,
                   self.memory_gb_per_s)


class CCover(ctypes.Structure):
    _fields_ = [("configurations", ctypes.c_void_p), ("count", ctypes.c_size_t), ("ranges", ctypes.c_void_p),
                ("range_count", ctypes.c_size_t), ("constraint", ctypes.c_char_p), ("mean_loss_percent", ctypes.c_double),
                ("worst_loss_percent", ctypes.c_double), ("held_out_sizes", ctypes.c_int64),
                ("sizes", ctypes.c_void_p), ("size_count", ctypes.c_size_t)]


class CConfiguration(ctypes.Structure):
    _fields_ = [("section", ctypes.c_char_p), ("kernel", ctypes.c_char_p), ("template_name", ctypes.c_char_p),
                ("template_hash", ctypes.c_char_p), ("gpu", ctypes.POINTER(CGpu)), ("problem", ctypes.c_void_p),
                ("problem_count", ctypes.c_size_t), ("parameters", ctypes.c_void_p),
                ("parameter_count", ctypes.c_size_t), ("cover", ctypes.POINTER(CCover)), ("number", ctypes.c_int),
                ("median_ns", ctypes.c_double), ("cache", ctypes.c_char_p), ("incomplete", ctypes.c_int),
                ("nvrtc", ctypes.c_char_p)]


class CQuery(ctypes.Structure):
    _fields_ = [("kernel", ctypes.c_char_p), ("gpu", ctypes.POINTER(CGpu)), ("problem", ctypes.POINTER(CValue)),
                ("problem_count", ctypes.c_size_t), ("limit", ctypes.c_int), ("template_hash", ctypes.c_char_p),
                ("accept_other_versions", ctypes.c_int), ("cache", ctypes.c_char_p)]


class CMatch(ctypes.Structure):
    _fields_ = [("rule", ctypes.c_int), ("parameters", ctypes.c_void_p), ("parameter_count", ctypes.c_size_t),
                ("from_", ctypes.POINTER(CConfiguration)), ("gpu_distance", ctypes.c_double),
                ("size_distance", ctypes.c_double), ("size", ctypes.c_void_p), ("outside", ctypes.c_int),
                ("incomplete", ctypes.c_int), ("other_version", ctypes.c_int), ("candidates", ctypes.c_size_t),
                ("refused_versions", ctypes.c_size_t), ("refused_gpus", ctypes.c_size_t),
                ("refused_problems", ctypes.c_size_t)]


class CDefinitions(ctypes.Structure):
    _fields_ = [("count", ctypes.c_size_t), ("items", ctypes.c_char_p * (64 + 16)), ("text", ctypes.c_char * (16 * 1024))]


class CLaunch(ctypes.Structure):
    _fields_ = [("entry", ctypes.c_char_p), ("function", ctypes.c_void_p), ("grid", ctypes.c_uint * 3),
                ("block", ctypes.c_uint * 3), ("shared_bytes", ctypes.c_uint), ("cooperative", ctypes.c_int),
                ("cluster", ctypes.c_uint * 3), ("programmatic", ctypes.c_int), ("cluster_scheduling", ctypes.c_int),
                ("shared_carveout", ctypes.c_int)]


class CKernelBuffer(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("type", ctypes.c_char_p), ("length", ctypes.c_uint64),
                ("bytes", ctypes.c_uint64), ("access", ctypes.c_int), ("address", ctypes.c_uint64)]


class CKernel(ctypes.Structure):
    _fields_ = [("match", CMatch), ("origin", ctypes.c_int), ("module", ctypes.c_void_p),
                ("launches", ctypes.POINTER(CLaunch)), ("launch_count", ctypes.c_size_t),
                ("buffers", ctypes.POINTER(CKernelBuffer)), ("buffer_count", ctypes.c_size_t),
                ("scalars", ctypes.c_void_p), ("scalar_count", ctypes.c_size_t)]


class CBuffer(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("address", ctypes.c_uint64)]


def _open(name: str) -> Tuple[ctypes.PyDLL, ctypes.CDLL]:
    """The library in the wheel, or else the dynamic linker's."""
    own = FOLDER / "lib" / name
    path = str(own) if own.exists() else name
    try:
        return ctypes.PyDLL(path), ctypes.CDLL(path)
    except OSError as error:
        raise Error(f"cannot load '{name}': {error}; install autotune, or name its folder in LD_LIBRARY_PATH") from None


def _declare(library: Any, name: str, result: Any, *arguments: Any) -> Any:
    function = getattr(library, name)
    function.restype, function.argtypes = result, list(arguments)
    return function


_P, _E = ctypes.c_void_p, ctypes.POINTER(CError)
_quick, _slow = _open("libtuned.so.0")
tuned_load = _declare(_slow, "tuned_load", ctypes.c_int, ctypes.POINTER(_P), ctypes.c_char_p, _E)
tuned_free = _declare(_quick, "tuned_free", None, _P)
tuned_add_template = _declare(_quick, "tuned_add_template", ctypes.c_int, _P, ctypes.c_char_p, _E)
tuned_at = _declare(_quick, "tuned_at", ctypes.POINTER(CConfiguration), _P, ctypes.c_size_t)
tuned_find = _declare(_quick, "tuned_find", ctypes.c_int, _P, _P, _P)
tuned_define = _declare(_quick, "tuned_define", ctypes.c_int, _P, _P, _P, ctypes.POINTER(CDefinitions))
tuned_explain = _declare(_quick, "tuned_explain", ctypes.c_size_t, _P, _P, ctypes.c_char_p, ctypes.c_size_t)
tuned_rule_text = _declare(_quick, "tuned_rule_text", ctypes.c_char_p, ctypes.c_int)
tuned_gpu_current = _declare(_quick, "tuned_gpu_current", ctypes.c_int, ctypes.POINTER(CGpu), _P, _E)


class KernelLibrary:
    """libtuned_kernel, which is opened when it is first needed."""

    def __init__(self) -> None:
        quick, slow = _open("libtuned_kernel.so.0")
        kernel = ctypes.POINTER(CKernel)
        self.open = _declare(slow, "tuned_kernels_open", ctypes.c_int, ctypes.POINTER(_P), ctypes.c_char_p,
                             ctypes.c_char_p, _E)
        self.close = _declare(slow, "tuned_kernels_close", None, _P)
        self.gpu = _declare(quick, "tuned_kernels_gpu", ctypes.POINTER(CGpu), _P)
        self.table = _declare(quick, "tuned_kernels_table", _P, _P)
        self.origin_text = _declare(quick, "tuned_origin_text", ctypes.c_char_p, ctypes.c_int)
        self.get = _declare(slow, "tuned_kernel_get", ctypes.c_int, _P, ctypes.POINTER(CQuery), ctypes.POINTER(kernel), _E)
        self.free = _declare(slow, "tuned_kernel_free", None, kernel)
        self.launch = _declare(slow, "tuned_kernel_launch", ctypes.c_int, _P, _P, ctypes.c_size_t, _P, ctypes.c_size_t,
                               _P, _P)


class Driver:
    """What is needed of the CUDA driver that the process has loaded; None until it has."""

    _loaded: Optional["Driver"] = None

    def __init__(self, quick: ctypes.PyDLL, slow: ctypes.CDLL):
        self.get_device = _declare(quick, "cuCtxGetDevice", ctypes.c_int, ctypes.POINTER(ctypes.c_int))
        self.get_current = _declare(quick, "cuCtxGetCurrent", ctypes.c_int, ctypes.POINTER(_P))
        self.set_current = _declare(quick, "cuCtxSetCurrent", ctypes.c_int, _P)
        self.synchronize = _declare(slow, "cuCtxSynchronize", ctypes.c_int)

    @classmethod
    def loaded(cls) -> Optional["Driver"]:
        if cls._loaded is None:
            try:
                mode = os.RTLD_NOW | os.RTLD_NOLOAD
                cls._loaded = cls(ctypes.PyDLL("libcuda.so.1", mode), ctypes.CDLL("libcuda.so.1", mode))
            except OSError:
                return None
        return cls._loaded

    def context(self) -> int:
        """The current context; 0: none."""
        context = _P()
        return (context.value or 0) if self.get_current(ctypes.byref(context)) == 0 else 0


def current_device() -> int:
    """The device of the context that is current in this thread; -1: there is none."""
    driver, device = Driver.loaded(), ctypes.c_int()
    return device.value if driver is not None and driver.get_device(ctypes.byref(device)) == 0 else -1


# --- values ---


@functools.lru_cache(maxsize=1024)
def text_bytes(text: str, what: str) -> bytes:
    if not isinstance(text, str):
        raise TypeError(f"{what} must be text, not {type(text).__name__}")
    if "\0" in text:
        raise ValueError(f"{what} has a zero character")
    return text.encode()


def c_values(values: Iterable[Tuple[str, Any]]) -> Any:
    """An array of named values. Numbers of NumPy and others are taken by what they convert to; a condition is a word."""
    items = list(values)
    array = (CValue * len(items))()
    for place, (name, value) in zip(array, items):
        place.name = text_bytes(name, "a value's name")
        if isinstance(value, str):
            place.kind, place.text = _WORD, text_bytes(value, f"'{name}'")
            continue
        if isinstance(value, bool) or type(value).__name__ in ("bool_", "bool"):
            raise TypeError(f"'{name}' is {value}; pass the template's word or number for it, such as 'yes' or 1")
        try:
            place.integer = whole = operator.index(value)
            if not -(1 << 63) <= whole < 1 << 63:
                raise OverflowError(f"'{name}' does not fit in 64 bits: {whole}")
            place.kind, place.real = _INTEGER, whole
        except TypeError:
            if not hasattr(value, "__float__"):
                raise TypeError(f"'{name}' must be a number or a word, not {type(value).__name__}") from None
            place.kind, place.real = _REAL, float(value)
    return array


_LAYOUT = struct.Struct("@PiqdP")
assert _LAYOUT.size == ctypes.sizeof(CValue)


def python_values(address: Optional[int], count: int) -> Dict[str, Value]:
    """The named values at `address`."""
    values: Dict[str, Value] = {}
    if count and address:
        for name, kind, integer, real, text in _LAYOUT.iter_unpack(ctypes.string_at(address, count * _LAYOUT.size)):
            values[ctypes.string_at(name).decode()] = (ctypes.string_at(text).decode() if kind == _WORD else
                                                       integer if kind == _INTEGER else real)
    return values


def problem_of(problem: Optional[Mapping[str, Any]], values: Dict[str, Any]) -> Dict[str, Any]:
    """The values of a mapping and those of keywords; a name may be in one alone."""
    if not problem:
        return values
    twice = set(problem) & set(values)
    if twice:
        raise TypeError(f"'{sorted(twice)[0]}' is given twice")
    return {**problem, **values}
