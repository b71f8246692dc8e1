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


# The C types of members: x3 is an array of three x; *NAME and NAME are structures that were made before.
_TYPES: Dict[str, Any] = {"c": ctypes.c_char, "i": ctypes.c_int, "u": ctypes.c_uint, "q": ctypes.c_int64,
                          "Q": ctypes.c_uint64, "n": ctypes.c_size_t, "d": ctypes.c_double, "s": ctypes.c_char_p,
                          "p": ctypes.c_void_p}


def _structure(name: str, members: str) -> Any:
    """A C structure with members as "name:type", in their order."""
    pairs = (member.split(":") for member in members.split())
    fields = [(member, _TYPES.get(kind) or _TYPES[kind[0]] * int(kind[1:])) for member, kind in pairs]
    structure = type(name, (ctypes.Structure,), {"_fields_": fields})
    _TYPES[name], _TYPES["*" + name] = structure, ctypes.POINTER(structure)
    return structure


CError = _structure("CError", "code:i line:i file:c256 message:c1024")
CValue = _structure("CValue", "name:s kind:i integer:q real:d text:s")
CGpu = _structure("CGpu", "name:c128 compute_capability:i sm_count:i l2_bytes:q memory_gb_per_s:d")
CCover = _structure("CCover", "configurations:p count:n ranges:p range_count:n constraint:s mean_loss_percent:d "
                    "worst_loss_percent:d held_out_sizes:q sizes:p size_count:n")
CConfiguration = _structure("CConfiguration", "section:s kernel:s template_name:s template_hash:s gpu:p problem:p "
                            "problem_count:n parameters:p parameter_count:n cover:*CCover number:i median_ns:d cache:s "
                            "incomplete:i nvrtc:s")
CQuery = _structure("CQuery", "kernel:s gpu:*CGpu problem:*CValue problem_count:n limit:i template_hash:s "
                    "accept_other_versions:i cache:s")
CMatch = _structure("CMatch", "rule:i parameters:p parameter_count:n from_:*CConfiguration gpu_distance:d "
                    "size_distance:d size:p outside:i incomplete:i other_version:i candidates:n refused_versions:n "
                    "refused_gpus:n refused_problems:n")
CDefinitions = _structure("CDefinitions", "count:n items:s80 text:c16384")
CLaunch = _structure("CLaunch", "entry:s function:p grid:u3 block:u3 shared_bytes:u cooperative:i cluster:u3 "
                     "programmatic:i cluster_scheduling:i shared_carveout:i")
CKernelBuffer = _structure("CKernelBuffer", "name:s type:s length:Q bytes:Q access:i address:Q")
CKernel = _structure("CKernel", "match:CMatch origin:i module:p launches:*CLaunch launch_count:n "
                     "buffers:*CKernelBuffer buffer_count:n scalars:p scalar_count:n")
CBuffer = _structure("CBuffer", "name:s address:Q")


def exception(error: Any, code: int) -> Error:
    """Of a CError."""
    kind = NotFound if code == NOT_FOUND else Error
    return kind(error.message.decode(errors="replace"), error.file.decode(errors="replace"), error.line, code)


def python_gpu(gpu: Any) -> Gpu:
    """Of a CGpu."""
    return Gpu(gpu.name.decode(errors="replace"), *(getattr(gpu, name) for name in Gpu._fields[1:]))


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


_P, _E, _c_int, _byref = ctypes.c_void_p, ctypes.POINTER(CError), ctypes.c_int, ctypes.byref
_quick, _slow = _open("libtuned.so.0")
tuned_load = _declare(_slow, "tuned_load", ctypes.c_int, ctypes.POINTER(_P), ctypes.c_char_p, _E)
tuned_free = _declare(_quick, "tuned_free", None, _P)
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
        self.get = _declare(slow, "tuned_kernel_get", ctypes.c_int, _P, _P, ctypes.POINTER(kernel), _E)
        self.free = _declare(slow, "tuned_kernel_free", None, kernel)
        self.launch = _declare(slow, "tuned_kernel_launch", ctypes.c_int, _P, _P, ctypes.c_size_t, _P, ctypes.c_size_t,
                               _P, _P)


class Driver:
    """What is needed of the CUDA driver that the process has loaded; None until it has."""

    _loaded: Optional["Driver"] = None

    def __init__(self, quick: ctypes.PyDLL, slow: ctypes.CDLL):
        self.get_device = quick.cuCtxGetDevice  # without types, which checking takes as long as the call
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
    driver = Driver._loaded or Driver.loaded()
    device = _c_int()
    return device.value if driver is not None and driver.get_device(_byref(device)) == 0 else -1


# --- values ---


@functools.lru_cache(maxsize=1024)
def text_bytes(text: str, what: str) -> bytes:
    if not isinstance(text, str):
        raise TypeError(f"{what} must be text, not {type(text).__name__}")
    if "\0" in text:
        raise ValueError(f"{what} has a zero character")
    return text.encode()


def c_values(values: Iterable[Tuple[str, Any]]) -> Any:
    """An array of named values. Numbers of NumPy and others are what they convert to; a condition must be a word."""
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
