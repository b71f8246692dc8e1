"""Look-ups in a tuned INI or a bundle, by libtuned."""

import ctypes
import os
from typing import Any, Dict, Iterator, List, Mapping, Optional, Union

from . import _library as c
from ._library import Error, Gpu, Value

# The farthest rule that may answer, by the words of `autotune explain --limit`.
LIMITS = {"exact": 1, "cover": 2, "size": 4, "gpu": 5, "family": 6, "defaults": 7}
KEPT = 4096  # answers per table


class Handle:
    """A table of the library, freed when nobody uses it any more. A kernels' table belongs to `owner`."""

    def __init__(self, pointer: Any, owner: Any = None):
        self.pointer, self.owner = pointer, owner
        self.parameters: Dict[int, Dict[str, Value]] = {}  # by their place in the table, where they stay
        self.free = c.tuned_free  # which the module may have lost when the interpreter ends

    def __del__(self) -> None:
        if self.owner is None:
            self.free(self.pointer)


class Match(Mapping[str, Value]):
    """The answer to a look-up: a mapping from the parameters' names to their values.

    parameters    the same as a dictionary, in the template's order
    rule          how far the answer is from the question, in words: "same GPU, nearest size"
    loss          of a cover's answer: by how much it is expected to fall short of the best, in percent; else None
    gpu           the GPU that was asked for
    problem       the problem that was asked for
    median_ns     the time that was measured when the configuration was tuned; None: not known
    section       the section of the tuned INI; None: the template's defaults
    template, template_hash     whose configuration it is; None likewise
    incomplete    tuning had ended early: tune again
    other_version it is of another version of the template than was asked for
    """

    def __init__(self, handle: Handle, query: Any, answer: Any, gpu: Gpu, problem: Dict[str, Any]):
        self._handle, self._query, self._answer = handle, query, answer
        self._defines: Optional[List[str]] = None
        self._problem, self.gpu = problem, gpu
        parameters = handle.parameters.get(answer.parameters)
        if parameters is None:
            parameters = c.python_values(answer.parameters, answer.parameter_count)
            handle.parameters[answer.parameters] = parameters
        self._parameters = parameters

    @property
    def rule(self) -> str:
        return str(c.tuned_rule_text(self._answer.rule).decode())

    @property
    def loss(self) -> Optional[float]:
        cover = self._answer.rule == c.COVER_RULE and self._answer.from_[0].cover[0]
        return cover.mean_loss_percent if cover and cover.held_out_sizes > 0 else None

    def _source(self, name: str) -> Any:
        value = getattr(self._answer.from_[0], name) if self._answer.from_ else None
        return value.decode() if isinstance(value, bytes) else value or None

    median_ns = property(lambda self: self._source("median_ns"))
    section = property(lambda self: self._source("section"))
    template = property(lambda self: self._source("template_name"))
    template_hash = property(lambda self: self._source("template_hash"))
    incomplete = property(lambda self: bool(self._answer.incomplete))
    other_version = property(lambda self: bool(self._answer.other_version))

    @property
    def parameters(self) -> Dict[str, Value]:
        return dict(self._parameters)  # of a shared answer

    @property
    def problem(self) -> Dict[str, Any]:
        return dict(self._problem)

    @property
    def defines(self) -> List[str]:
        """The compiler's options: "-DBLOCK_SIZE=256", for words "-DFINISH=FINISH_TWO_PASS". If the template names
        macros otherwise (`define`), they are in what `autotune export --python` writes."""
        if self._defines is None:
            definitions = c.CDefinitions()
            if c.tuned_define(self._handle.pointer, ctypes.byref(self._query), ctypes.byref(self._answer),
                              ctypes.byref(definitions)) != 0:
                raise Error("a value of the problem is not a word of templates", code=c.INVALID)
            self._defines = [item.decode() for item in definitions.items[:definitions.count]]
        return list(self._defines)

    @property
    def explanation(self) -> str:
        """One sentence: which configuration this is, and why."""
        return explain(self._query, self._answer)

    def __getitem__(self, name: str) -> Value:
        return self._parameters[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._parameters)

    def __len__(self) -> int:
        return len(self._parameters)

    def __repr__(self) -> str:
        return f"<autotune.Match {self._parameters} ({self.rule})>"


def explain(query: Any, answer: Any) -> str:
    text = ctypes.create_string_buffer(1024)
    c.tuned_explain(ctypes.byref(query), ctypes.byref(answer), text, len(text))
    return text.value.decode(errors="replace")


_devices: Dict[int, Any] = {}  # asking the driver takes half a millisecond


def c_gpu(gpu: Optional[Gpu], device: int) -> Any:
    """The GPU that is given, or else the current context's, which is `device`."""
    if gpu is None and device in _devices:
        return _devices[device]
    result = c.CGpu()
    if gpu is None:
        error = c.CError()
        code = c.tuned_gpu_current(ctypes.byref(result), None, ctypes.byref(error))
        if code != 0:
            raise c.exception(error, code)
        _devices[device] = result
    else:
        result.name = c.text_bytes(gpu.name, "a GPU's name")[:127]
        for name, value in zip(gpu._fields[1:], gpu[1:]):
            setattr(result, name, value)
    return result


def c_query(kernel: str, gpu: Any, problem: Mapping[str, Any], limit: Optional[str], cache: Optional[str],
            template_hash: Optional[str], accept_other_versions: bool) -> Any:
    """What the structure points to lives as long as it."""
    if limit is not None and limit not in LIMITS:
        raise ValueError(f"unknown limit '{limit}'; choose {', '.join(LIMITS)}")
    if cache not in (None, "cold", "warm"):
        raise ValueError(f"unknown cache state '{cache}'; choose cold or warm")
    values = c.c_values(problem.items())
    query = c.CQuery()
    query.kernel, query.problem, query.problem_count = c.text_bytes(kernel, "the kernel"), values, len(values)
    query.limit, query.accept_other_versions = LIMITS[limit] if limit else 0, accept_other_versions
    if gpu is not None:
        query.gpu = ctypes.pointer(gpu)
    if template_hash is not None:
        query.template_hash = c.text_bytes(template_hash, "the template's hash")
    if cache is not None:
        query.cache = cache.encode()
    return query


class Table:
    """A loaded tuned INI. Any number of threads may look things up in it. `warning` says why a section of the file
    was skipped; "" if none was. A table is freed by close(), at the end of `with`, or when nobody refers to it."""

    def __init__(self, handle: Handle, warning: str = ""):
        self._handle: Optional[Handle] = handle
        self._answers: Dict[Any, Match] = {}
        self.warning = warning

    def find(self, kernel: str, problem: Optional[Mapping[str, Any]] = None, /, *, gpu: Optional[Gpu] = None,
             limit: Optional[str] = None, cache: Optional[str] = None, template_hash: Optional[str] = None,
             accept_other_versions: bool = False, **values: Any) -> Match:
        """The configuration of `kernel` for a problem: its values by keyword, or in a mapping.

        gpu            default: that of the CUDA context that is current in this thread
        limit          the farthest rule that may answer: exact, cover, size, gpu, family or defaults (default)
        cache          cold (default) or warm: the state that is preferred if the file has both
        template_hash  the version of the template that the application has; configurations of others are refused,
                       unless accept_other_versions

        Raises NotFound if nothing matches, and Error if the query is invalid or there is no GPU."""
        if problem:
            values = c.problem_of(problem, values)
        device = c.current_device() if gpu is None else -1
        given = values.values()
        key = (kernel, gpu or device, limit, cache, template_hash, accept_other_versions, *values, *given,
               *map(type, given))
        try:
            return self._answers[key]
        except KeyError:
            pass
        handle = self._handle
        if handle is None:
            raise Error("the table is closed")
        gpu_structure = c_gpu(gpu, device)
        query = c_query(kernel, gpu_structure, values, limit, cache, template_hash, accept_other_versions)
        answer = c.CMatch()
        code = c.tuned_find(handle.pointer, ctypes.byref(query), ctypes.byref(answer))
        if code == c.NOT_FOUND:
            raise c.NotFound(explain(query, answer), code=code)
        if code != 0:
            raise Error("the query needs a GPU with its compute capability, and at most 16 values", code=code)
        match = Match(handle, query, answer, c.python_gpu(gpu_structure) if gpu is None else gpu, values)
        answers = self._answers
        if len(answers) >= KEPT:
            answers.clear()
        if self._handle is handle:
            answers[key] = match
        return match

    def close(self) -> None:
        """Later look-ups are errors; earlier answers stay valid."""
        self._handle = None
        self._answers = {}

    def __enter__(self) -> "Table":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


def load(path: Union[str, "os.PathLike[str]"]) -> Table:
    """Loads a tuned INI, or a bundle. Raises Error, with file and line, if it cannot be read or nothing in it can be
    used; a section that cannot be used is skipped, see Table.warning."""
    pointer, error = ctypes.c_void_p(), c.CError()
    code = c.tuned_load(ctypes.byref(pointer), os.fsencode(path), ctypes.byref(error))
    if code != 0:
        raise c.exception(error, code)
    warning = str(c.exception(error, 0)) if error.message else ""
    return Table(Handle(pointer), warning)
