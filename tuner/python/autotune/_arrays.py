"""Arrays on the GPU: `__cuda_array_interface__` (CuPy, Numba, PyTorch), DLPack, or an address; and their streams."""

import ctypes
import sys
from typing import Any, NamedTuple, Optional, Sequence, Tuple

# DLPack 0.x and, of a versioned capsule, 1.x; autotune asks for the former, which everyone still gives.
_CUDA_DEVICES = (2, 13)  # kDLCUDA, kDLCUDAManaged
_CODES = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex", 6: "bool"}
_KINDS = {"i": "int", "u": "uint", "f": "float", "c": "complex", "b": "bool"}
_NAMES = {"float16": "half", "float32": "float", "float64": "double", "bool8": "uint8"}
_PROTOCOLS = ("__cuda_array_interface__", "__dlpack_device__")
PER_THREAD_STREAM = 2  # CU_STREAM_PER_THREAD


class Pointer(int):
    """An address of the GPU's memory, for a buffer that is given by name: `x=Pointer(address)`. Nothing is checked."""


class Array(NamedTuple):
    address: int
    type: str  # "float", "int64", … ; "" for an address
    bytes: int  # -1 for an address
    contiguous: bool
    read_only: bool
    device: int  # -1: not known
    stream: Optional[int]  # that its library works on; None: not known
    keeper: Any  # what keeps the memory


class _DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int), ("device_id", ctypes.c_int),
                ("ndim", ctypes.c_int), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64)]


_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype, _capsule_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


def is_array(value: Any) -> bool:
    """Whether a keyword's value is a buffer and not a value of the problem."""
    return isinstance(value, Pointer) or any(hasattr(value, name) for name in _PROTOCOLS)


def _count(shape: Sequence[int]) -> int:
    count = 1
    for extent in shape:
        count *= extent
    return count


def _is_contiguous(shape: Sequence[int], strides: Optional[Sequence[int]], unit: int) -> bool:
    """Rows one after the other, without gaps; an extent of 1 may have any stride."""
    expected = unit
    for extent, stride in reversed(list(zip(shape, strides or ()))):
        if extent != 1 and stride != expected:
            return _count(shape) == 0
        expected *= extent
    return True


def _type(kind: str, bits: int) -> str:
    return _NAMES.get(f"{kind}{bits}", f"{kind}{bits}")


def _interface_array(array: Any, interface: Any, device: int) -> Array:
    shape, text = interface["shape"], interface["typestr"]
    item = int(text[2:])
    if text[0] == ">":
        raise TypeError("an array in big-endian order")
    address, read_only = interface["data"]
    stream = interface.get("stream")
    return Array(address or 0, _type(_KINDS[text[1]], 8 * item) if text[1] in _KINDS else "", _count(shape) * item,
                 _is_contiguous(shape, interface.get("strides"), item), bool(read_only), device,
                 None if stream is None else 0 if stream == 1 else int(stream), array)


def _dlpack_array(array: Any, device: int) -> Array:
    try:
        capsule = array.__dlpack__(stream=-1)  # no waiting: the launch is on the stream that the caller names
    except (BufferError, RuntimeError, ValueError) as error:
        raise TypeError(f"an array that cannot be shared: {error}") from None
    tensor = _DLTensor.from_address(_capsule_pointer(capsule, b"dltensor"))
    shape = tensor.shape[:tensor.ndim]
    strides = tensor.strides[:tensor.ndim] if tensor.strides else None
    size = (_count(shape) * tensor.bits * tensor.lanes + 7) // 8
    kind = _CODES.get(tensor.code, "") if tensor.lanes == 1 else ""
    name = "bfloat16" if kind == "bfloat" else _type(kind, tensor.bits) if kind else ""
    return Array((tensor.data or 0) + tensor.byte_offset, name, size, _is_contiguous(shape, strides, 1), False, device,
                 None, (array, capsule))


def array_of(value: Any) -> Array:
    """What a kernel gets of `value`. Raises TypeError if it is not an array on a GPU."""
    if isinstance(value, int) and not isinstance(value, bool):
        return Array(int(value), "", -1, True, False, -1, None, None)
    if hasattr(value, "memory_resource") and hasattr(value, "handle"):  # cuda.core: bytes, which have no element type
        return Array(int(value.handle), "", int(value.size), True, False, -1, None, value)
    device = -1
    if hasattr(value, "__dlpack_device__"):
        kind, device = value.__dlpack_device__()
        if int(kind) not in _CUDA_DEVICES:
            raise TypeError("an array in host memory")
    dlpack = hasattr(value, "__dlpack__")
    try:
        interface = value.__cuda_array_interface__
    except (AttributeError, TypeError, RuntimeError):  # PyTorch's has no gradients, and not all types
        if not dlpack:
            raise TypeError(f"a {type(value).__name__}, which is not an array on the GPU") from None
        return _dlpack_array(value, device)
    array = _interface_array(value, interface, device)
    return array if array.type or not dlpack else _dlpack_array(value, device)


def stream_of(stream: Any) -> int:
    """The CUstream of a stream of any library: an address, `ptr`, `cuda_stream`, or `__cuda_stream__`."""
    if isinstance(stream, int):
        return int(stream)
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        pair: Tuple[int, int] = protocol() if callable(protocol) else protocol
        return int(pair[1])
    for name in ("ptr", "cuda_stream", "handle"):
        handle = getattr(stream, name, None)
        if handle is not None:
            return int(getattr(handle, "value", handle) or 0)
    raise TypeError(f"a {type(stream).__name__} is not a CUDA stream")


def current_stream(arrays: Sequence[Array]) -> int:
    """The stream on which the arrays' library works now, as far as it says; else the default stream."""
    torch = sys.modules.get("torch")
    for array in arrays:
        if array.stream is not None:
            return array.stream
        owner = array.keeper[0] if isinstance(array.keeper, tuple) else array.keeper
        if torch is not None and isinstance(owner, torch.Tensor):
            return int(torch.cuda.current_stream(owner.device).cuda_stream)
    return 0
