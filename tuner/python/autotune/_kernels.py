"""Tuned kernels that are ready to launch, by libtuned_kernel."""

import ctypes
import os
import threading
import weakref
from typing import Any, Dict, FrozenSet, List, NamedTuple, Optional, Sequence, Tuple, Union

from . import _library as c
from ._arrays import PER_THREAD_STREAM, Array, array_of, current_stream, is_array, stream_of
from ._library import Error, Gpu
from ._lookup import Handle, Match, Table, c_query

_ACCESSES = ("read", "write", "read_write", "scratch")
_CHANGES = object()  # in a key: a scalar, which each launch gives
_library: Optional[c.KernelLibrary] = None


class Buffer(NamedTuple):
    """A buffer of a kernel. One with an address is a variable of the module: the caller fills and reads it itself."""

    name: str
    type: str  # "float", "int64", …
    length: int  # elements
    bytes: int
    access: str  # read, write, read_write or scratch
    address: int


class Launch(NamedTuple):
    """One launch of a run, for those who launch `function`, a CUfunction, themselves."""

    entry: str
    function: int
    grid: Tuple[int, int, int]
    block: Tuple[int, int, int]
    shared_bytes: int
    cooperative: bool
    cluster: Tuple[int, int, int]


class _Context:
    """The CUDA context that was current when the kernels were opened."""

    def __init__(self) -> None:
        driver = c.Driver.loaded()
        assert driver is not None  # the kernels were opened with it
        self.driver, self.context = driver, driver.context()
        self.device = c.current_device()

    def adopt(self) -> bool:
        """Makes it current if this thread has none, as CUDA's runtime does; whether it had none."""
        return self.driver.context() == 0 and self.driver.set_current(self.context) == 0

    def check(self) -> None:
        if not self.adopt() and self.driver.context() != self.context:
            raise Error("another CUDA context is current in this thread than the one in which the kernels were opened; make "
                        f"device {self.device} current, or open the kernels anew", code=c.INVALID)

    def quiesce(self) -> Optional[int]:
        """Makes it current and waits for its work; the context to restore, or None if it is not there any more."""
        before = self.driver.context()
        if self.driver.set_current(self.context) != 0:
            return None
        self.driver.synchronize()
        return before


class _Owner:
    """The library's `tuned_kernels`, closed when nobody uses them any more."""

    def __init__(self, library: c.KernelLibrary, pointer: Any):
        self.library, self.pointer, self.context = library, pointer, _Context()

    def __del__(self) -> None:
        self.library.close(self.pointer)


class _Loaded:
    """A kernel for one problem. The lock is held during a launch, and when it is freed."""

    def __init__(self, owner: _Owner, pointer: Any, query: Any, problem: Dict[str, Any]):
        self.owner, self.pointer, self.lock, self.error = owner, pointer, threading.Lock(), c.CError()
        kernel = pointer[0]
        self.address, self.error_at = ctypes.addressof(kernel), ctypes.byref(self.error)
        self.scalars = c.python_values(kernel.scalars, kernel.scalar_count)
        self.buffers = [Buffer(b.name.decode(), b.type.decode(), b.length, b.bytes, _ACCESSES[b.access], b.address)
                        for b in kernel.buffers[:kernel.buffer_count]]
        self.wanted = [b for b in self.buffers if b.access != "scratch" and not b.address]
        self.has_scratch = any(b.access == "scratch" for b in self.buffers)
        self.origin: str = owner.library.origin_text(kernel.origin).decode()
        query.gpu = owner.library.gpu(owner.pointer)
        self.match = Match(Handle(owner.library.table(owner.pointer), owner), query,
                           c.CMatch.from_buffer_copy(kernel.match), c.python_gpu(query.gpu[0]),
                           {name: value for name, value in problem.items() if name not in self.scalars})
        self.launches = [Launch(step.entry.decode(), step.function or 0, tuple(step.grid), tuple(step.block),
                                step.shared_bytes, bool(step.cooperative), tuple(step.cluster))
                         for step in kernel.launches[:kernel.launch_count]]

    def free(self) -> None:
        with self.lock:
            pointer, self.pointer = self.pointer, None
        if pointer is None:
            return
        context = self.owner.context
        before = context.quiesce()  # the kernel must not be running
        if before is not None:
            self.owner.library.free(pointer)
            context.driver.set_current(before)

    def __del__(self) -> None:
        self.free()


def _place(stream: int) -> Any:
    """What tells streams apart: the default stream of threads is another one in each."""
    return (stream, threading.get_ident()) if stream == PER_THREAD_STREAM else stream


class Prepared:
    """A kernel with its arguments: `prepared(stream)` launches it. It keeps the arrays, and uses the memory that they
    had when it was prepared.

    match, origin, buffers, launches, scalars   as the library says: the rule that applied, where the binary is from
                                                ("bundle", "cache" or "compiler"), …
    stream                                      on which prepared() without a stream launches
    """

    def __init__(self, kernel: "Kernel", loaded: _Loaded, arrays: List[Array], values: Dict[str, Any], stream: int):
        self._kernel, self._arrays, self._values, self.stream = kernel, arrays, values, stream
        self._at = (_place(stream), loaded)  # one assignment, for threads
        buffers = [c.CBuffer(buffer.name.encode(), array.address) for buffer, array in zip(loaded.wanted, arrays)]
        self._buffers = (c.CBuffer * len(arrays))(*buffers)
        self._given = {name: value for name, value in values.items() if name in loaded.scalars}
        self._scalars = c.c_values(self._given.items())
        self._arguments = ctypes.addressof(self._buffers), len(arrays)
        self._launch = loaded.owner.library.launch

    match = property(lambda self: self._at[1].match)
    origin = property(lambda self: self._at[1].origin)
    buffers = property(lambda self: list(self._at[1].buffers))
    launches = property(lambda self: list(self._at[1].launches))
    scalars = property(lambda self: {**self._at[1].scalars, **self._given})

    def __call__(self, stream: Any = None, **scalars: Any) -> None:
        """Queues a run on the stream. `scalars` replaces values on which only arguments depend, for this run alone."""
        number = self.stream if stream is None else stream if type(stream) is int else stream_of(stream)
        given = self._scalars if not scalars else c.c_values({**self._given, **scalars}.items())
        place, loaded = self._at
        if loaded.has_scratch and place != (number if number != PER_THREAD_STREAM else _place(number)):
            # a kernel's own scratch memory must not be used on two streams at once
            loaded = self._kernel._load(self._values, number)
            self._at = (_place(number), loaded)
        buffers, count = self._arguments
        with loaded.lock:
            if loaded.pointer is None:
                raise Error("the kernels are closed")
            arguments = loaded.address, buffers, count, given, len(given), number, loaded.error_at
            code = self._launch(*arguments)
            if code != 0 and loaded.owner.context.adopt():
                code = self._launch(*arguments)
            if code != 0:
                raise c.exception(loaded.error, code)


class Kernel:
    """`kernels[name]`: takes arrays in the order of the template's buffers, or by their names, and the values of the
    problem by name."""

    def __init__(self, owner: "Kernels", name: str):
        self._kernels, self.name = owner, name

    def _key(self, values: Dict[str, Any], scalars: FrozenSet[str]) -> Tuple[Any, ...]:
        return (self.name, *[(name, _CHANGES) if name in scalars else (name, value, type(value))
                             for name, value in values.items()])

    def _load(self, values: Dict[str, Any], stream: int) -> _Loaded:
        kernels = self._kernels
        with kernels._lock:
            owner = kernels._owner
            if owner is None:
                raise Error("the kernels are closed")
            owner.context.check()
            sorts = kernels._scalars.setdefault(self.name, [])
            for scalars in sorts:
                key = self._key(values, scalars)
                for known in (key, (*key, _place(stream))):
                    if known in kernels._loaded:
                        kernels._loaded[known] = loaded = kernels._loaded.pop(known)
                        return loaded
            query = c_query(self.name, None, values, kernels._limit, kernels._cache, None, kernels._other_versions)
            pointer, error = ctypes.POINTER(c.CKernel)(), c.CError()
            code = owner.library.get(owner.pointer, ctypes.byref(query), ctypes.byref(pointer), ctypes.byref(error))
            if code != 0:
                raise c.exception(error, code)
            loaded = _Loaded(owner, pointer, query, values)
            names = frozenset(loaded.scalars)
            if names not in sorts:
                sorts.append(names)
            key = self._key(values, names)
            kernels._keep((*key, _place(stream)) if loaded.has_scratch else key, loaded)
            return loaded

    def _bind(self, loaded: _Loaded, arrays: Sequence[Array], named: Dict[str, Array], device: int) -> List[Array]:
        wanted = loaded.wanted
        order = ", ".join(buffer.name for buffer in wanted)
        if len(arrays) > len(wanted):
            raise TypeError(f"'{self.name}' takes {len(wanted)} arrays ({order}), not {len(arrays)}")
        given = dict(zip((buffer.name for buffer in wanted), arrays))
        for name, array in named.items():
            if name in given:
                raise TypeError(f"'{self.name}': buffer '{name}' is given twice")
            given[name] = array
        for name in given:
            if name not in [buffer.name for buffer in wanted]:
                raise TypeError(f"'{self.name}' has no buffer '{name}' for the caller; it takes {order}")
        for buffer in wanted:
            if buffer.name not in given:
                raise TypeError(f"'{self.name}': buffer '{buffer.name}' is missing; it takes {order}")
            reason = _refusal(buffer, given[buffer.name], device)
            if reason:
                raise TypeError(f"'{self.name}': buffer '{buffer.name}' {reason}")
        return [given[buffer.name] for buffer in wanted]

    def prepare(self, /, *arrays: Any, stream: Any = None, **values: Any) -> Prepared:
        """Loads the kernel for this problem, and checks the arrays against its buffers: on this device, of the element
        type, without gaps, long enough. Without a stream, the one on which the arrays' library works now (CuPy, Numba,
        PyTorch), else the default stream. Raises TypeError for arrays, and Error with the library's message."""
        positional = [self._array(array, f"array {number}") for number, array in enumerate(arrays, 1)]
        named = {name: self._array(value, f"'{name}'") for name, value in values.items() if is_array(value)}
        problem = {name: value for name, value in values.items() if name not in named}
        number = current_stream([*positional, *named.values()]) if stream is None else stream_of(stream)
        loaded = self._load(problem, number)
        bound = self._bind(loaded, positional, named, loaded.owner.context.device)
        return Prepared(self, loaded, bound, problem, number)

    def __call__(self, /, *arrays: Any, stream: Any = None, **values: Any) -> None:
        """Queues a run: prepare(), and then a launch. What was loaded before for these values is used again."""
        self.prepare(*arrays, stream=stream, **values)()

    def _array(self, value: Any, what: str) -> Array:
        try:
            return array_of(value)
        except TypeError as error:
            raise TypeError(f"'{self.name}': {what} is {error}; it needs an array on the GPU, or an address") from None


def _refusal(buffer: Buffer, array: Array, device: int) -> str:
    """Why the array cannot be the buffer; "" if it can."""
    if array.bytes < 0:
        return ""
    if array.device not in (-1, device):
        return f"is on device {array.device}, and the kernels are on device {device}"
    same = array.type == buffer.type or not array.type
    if not same and buffer.type in _TYPES:
        return f"has elements of type {buffer.type}, not {array.type}"
    if not array.contiguous:
        return "must be contiguous, in C order; pass a contiguous copy, or the address of what the kernel is to read"
    if array.bytes < buffer.bytes:
        return f"needs {buffer.bytes} bytes ({buffer.length} × {buffer.type}), and the array has {array.bytes}"
    if array.read_only and buffer.access != "read":
        return "is written, and the array is read-only"
    return ""


_TYPES = "int8 int16 int32 int64 uint8 uint16 uint32 uint64 half bfloat16 float double".split()


class Kernels:
    """The kernels of a bundle, in the CUDA context that was current when it was opened. `kernels[name]` is a Kernel.

    Threads may use them; launches of one kernel take turns. They are freed by close(), at the end of `with`, or when
    nobody refers to them; what was prepared with them cannot be launched after close(). Of the kernels for different
    problems, the `keep` that were used last stay loaded."""

    def __init__(self, owner: _Owner, keep: int, limit: Optional[str], cache: Optional[str], other_versions: bool):
        self._owner: Optional[_Owner] = owner
        self._keep_count, self._limit, self._cache, self._other_versions = keep, limit, cache, other_versions
        self._loaded: Dict[Any, _Loaded] = {}  # the latest last
        self._all: "weakref.WeakSet[_Loaded]" = weakref.WeakSet()  # and those that only Prepared still have
        self._scalars: Dict[str, List[FrozenSet[str]]] = {}  # names, of each sort of variants; mostly one
        self._lock = threading.RLock()
        self.gpu: Gpu = c.python_gpu(owner.library.gpu(owner.pointer)[0])
        self.table = Table(Handle(owner.library.table(owner.pointer), owner))

    def _keep(self, key: Any, loaded: _Loaded) -> None:
        self._loaded[key] = loaded
        self._all.add(loaded)
        if len(self._loaded) > self._keep_count:
            del self._loaded[next(iter(self._loaded))]

    def __getitem__(self, name: str) -> Kernel:
        return Kernel(self, name)

    def close(self) -> None:
        """Waits for the GPU and frees everything."""
        with self._lock:
            loaded, self._loaded, self._owner = list(self._all), {}, None
            self.table.close()
        for kernel in loaded:
            kernel.free()

    def __enter__(self) -> "Kernels":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


def kernels(path: Union[str, "os.PathLike[str]"], *, templates: Optional[Union[str, "os.PathLike[str]"]] = None,
            keep: int = 256, limit: Optional[str] = None, cache: Optional[str] = None,
            accept_other_versions: bool = False) -> Kernels:
    """Opens a bundle for the current CUDA context (CuPy and PyTorch make one with the first array), or a tuned INI
    whose templates are in the folder `templates`; then what the cache lacks is compiled by NVRTC.

    limit, cache and accept_other_versions are those of Table.find(). Raises Error with the library's message."""
    global _library
    if keep < 1:
        raise ValueError("keep must be at least 1")
    if _library is None:
        _library = c.KernelLibrary()
    c_query("", None, {}, limit, cache, None, False)  # checks them
    pointer, error = ctypes.c_void_p(), c.CError()
    folder = os.fsencode(templates) if templates is not None else None
    code = _library.open(ctypes.byref(pointer), os.fsencode(path), folder, ctypes.byref(error))
    if code != 0:
        raise c.exception(error, code)
    return Kernels(_Owner(_library, pointer), keep, limit, cache, accept_other_versions)
