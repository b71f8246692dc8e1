

"""Converts a T1 file, the input format of Kernel Tuner, KTT and BAT, to a template and a sweep of autotune.

    cat python_expression.py import_t1.py | python3 - FILE FOLDER NAME RESERVED...

exchange/t1.c runs it. NAME may be empty: then it is made of the file's. RESERVED are names that mean something in
templates. Prints JSON: either {"error": what is wrong}, and then nothing was written; or {"files": [template, perhaps source,
and sweep], which are in FOLDER, "report": lines for the user}.

What the file does not say is not guessed: the template gets a line "; TODO: ..." in its place (template_load.h).
"""
import json
import os
import sys

LINE_COLUMNS = 120
AXES = ("X", "Y", "Z")
EXTENTS = ("problem_x", "problem_y", "problem_z")

# --- the file ---

ALIASES = {"constraints": "conditions", "blocksize": "localsize", "gridsize": "globalsize", "length": "size",
           "value": "fillvalue", "path": "datasource"}  # the older dialect's
# Whose absence changes nothing, or that do not matter where nothing asks for them
COMMON = {"general", "parameters", "type", "benchmarkname", "benchmarkpath", "name", "stream", "accesstype", "filltype",
          "fillvalue", "griddivy", "griddivz", "x", "y", "z", "typesize"}


class Members:
    """An object of the file. Its members' names may be of either dialect: KernelName, kernelName, kernel_name."""

    def __init__(self, pairs=()):
        self.values, self.names, self.used = {}, {}, set()
        for name, value in pairs:
            key = name.lower().replace("_", "")
            key = ALIASES.get(key, key)
            self.values[key], self.names[key] = value, name

    def get(self, name):
        key = name.lower()
        self.used.add(key)
        return self.values.get(key)

    def text(self, name):
        value = self.get(name)
        return value if isinstance(value, str) else None

    def list(self, name):
        value = self.get(name)
        return value if isinstance(value, list) else []

    def members(self, name):
        value = self.get(name)
        return value if isinstance(value, Members) else Members()

    def unused(self):
        """The names of members that nothing has asked for."""
        for key, value in self.values.items():
            if key not in self.used and key not in COMMON and value is not None:
                yield self.names[key]
            elif key in self.used:
                for item in value if isinstance(value, list) else [value]:
                    if isinstance(item, Members):
                        yield from item.unused()


def read_members(path):
    with open(path, encoding="utf-8") as file:
        members = json.load(file, object_pairs_hook=Members)
    return members if isinstance(members, Members) else Members()


def printable(text):
    return "".join(letter if letter.isprintable() else " " for letter in text)


Parameter = collections.namedtuple("Parameter", "theirs ours values is_word fallback")
Argument = collections.namedtuple("Argument", "ours json is_symbol")

TYPES = {"bool": "uint8", "char": "int8", "uchar": "uint8", "unsigned char": "uint8", "short": "int16", "ushort": "uint16",
         "unsigned short": "uint16", "int": "int32", "uint": "uint32", "unsigned int": "uint32", "unsigned": "uint32",
         "long": "int64", "long long": "int64", "ulong": "uint64", "size_t": "uint64", "unsigned long": "uint64",
         "unsigned long long": "uint64", "float16": "half", "float32": "float", "float64": "double"}
FLOATING = ("half", "bfloat16", "float", "double")
TYPES.update({name: name for name in FLOATING}, **{f"{u}int{n}": f"{u}int{n}" for u in ("", "u") for n in (8, 16, 32, 64)})
TYPES.update({f"{u}int{n}_t": f"{u}int{n}" for u in ("", "u") for n in (8, 16, 32, 64)})

# Of these the architecture is autotune's to choose; the others write or include files.
DROPPED_OPTIONS = ("-arch", "--gpu-architecture", "--arch", "-gencode", "--generate-code", "-code", "-o", "--output",
                   "-time", "--time", "-pch", "--pch", "--create-pch", "--use-pch", "-include", "--pre-include",
                   "--include-path", "-optf", "--options-file")


def type_of(text):
    """The element type of "float4", and how many elements it has: ("float", 4); or (None, 1)."""
    text = text or ""
    vector = re.fullmatch(r"(half|float|double)(\d{1,2})|(u?(?:int|char|short|long))([2-4])", text)
    if text not in TYPES and vector and 1 <= int(vector[2] or vector[4]) <= 16:
        return TYPES[vector[1] or vector[3]], int(vector[2] or vector[4])
    return TYPES.get(text), 1


class Source:
    """The kernel's source: what can be found out about it without a compiler."""

    def __init__(self, path, folders):
        with open(path, "rb") as file:
            self.bytes = file.read()
        self.code = without_comments(self.bytes.decode("latin-1"))
        self.all_code, seen, queue = "", set(), [path]
        while queue:  # it and its headers, as far as they can be found
            file_path = queue.pop()
            if os.path.realpath(file_path) in seen or not os.path.isfile(file_path):
                continue
            seen.add(os.path.realpath(file_path))
            with open(file_path, "rb") as file:
                code = without_comments(file.read().decode("latin-1"))
            self.all_code += code
            for name in re.findall(r'#\s*include\s*["<]([^">\n]+)[">]', code):
                queue += [os.path.join(folder, name) for folder in (os.path.dirname(file_path), *folders)]
        self.all_words = set(re.findall(r"\w+", self.all_code))

    def kernel(self, name):
        """Where the first kernel of that name is defined or declared; None if none is."""
        for match in re.finditer(rf"\b{re.escape(name)}\s*\(", self.code):
            start = max(self.code.rfind(mark, 0, match.start()) for mark in ";}{") + 1
            if re.search(r"\b__global__\b", self.code[start:match.start()]):
                return Kernel(self.code, start, match.start(), match.end())
        return None

    def naive_kernels(self):
        """The kernels that are called *_naive, which are the references of others by custom."""
        names = dict.fromkeys(re.findall(r"\b(\w+_naive)\s*\(", self.code))
        return [(name, self.kernel(name)) for name in names if self.kernel(name)]

    def variable(self, name):
        """The element type and the length of a __constant__ or __device__ array; None if there is none."""
        match = re.search(rf"__(?:constant|device)__\s+(?:const\s+)?(\w+)\s+{re.escape(name)}\s*((?:\[[^\]]*\])*)", self.all_code)
        return match and (match[1], " * ".join(f"({length})" for length in re.findall(r"\[([^\]]*)\]", match[2])) or "1")

    def has_dynamic_shared_memory(self):
        return re.search(r"extern\s+(?:\w+\s+)*__shared__|__shared__\s+extern", self.all_code) is not None


class Kernel:
    """A kernel in a source: from its declaration's start to the parenthesis that begins its parameters."""

    def __init__(self, code, start, name, end):
        declaration = code[start:name]
        self.is_template = re.search(r"\btemplate\b", declaration) is not None
        self.is_c = 'extern "C"' in declaration or any(
            code.count("{", block.end(), start) >= code.count("}", block.end(), start)
            for block in re.finditer(r'extern "C"\s*\{', code[:start]))
        depth, close = 1, end
        while depth > 0 and close < len(code):
            depth += {"(": 1, ")": -1}.get(code[close], 0)
            close += 1
        inside = code[end:close - 1].strip()
        parts = re.sub(r"<[^<>]*>|\([^()]*\)", "", inside).split(",")
        self.parameter_count = None if "#" in inside else 0 if inside in ("", "void") else len(parts)


def without_comments(text):
    """With blanks in place of comments."""
    return re.sub(r'//[^\n]*|/\*.*?(?:\*/|$)|("(?:\\.|[^"\\\n])*")', lambda match: match[1] or " ", text, flags=re.DOTALL)


class Import:
    """A T1 file that becomes a template, a sweep and perhaps a source."""

    def __init__(self, path, folder, name, reserved):
        self.path, self.folder, self.reserved = path, folder, reserved
        self.words, self.parameters, self.taken, self.gaps, self.notes = Words(), [], set(reserved) | set(EXTENTS), [], []
        self.file = read_members(path)
        self.space = self.needed(self.file, "ConfigurationSpace")
        self.kernel = self.needed(self.file, "KernelSpecification")
        self.name = name or name_from(os.path.basename(path).split(".")[0], 2, NAME_LETTERS)
        if not re.fullmatch(f"[a-z][a-z0-9_]{{0,{NAME_LETTERS - 1}}}", self.name) or self.name in reserved:
            raise Refused(f"'{self.name}' cannot be a template's name; choose another with --kernel, of at most "
                          f"{NAME_LETTERS} lower-case letters, digits and underscores")
        self.read_problem()
        for item in self.space.list("TuningParameters") or [self.missing("TuningParameters")]:
            self.read_parameter(item)
        self.read_constraints()
        self.read_source()
        self.read_arguments()

    # --- what the file says ---

    def missing(self, member):
        raise Refused(f"{self.path}: no usable '{member}'; is this a T1 file, the input format of Kernel Tuner, KTT and BAT?")

    def needed(self, members, name):
        value = members.get(name)
        return value if isinstance(value, Members) else self.missing(name)

    def refuse(self, what, text, reason):
        raise Refused(f"{self.path}: {what} '{text[:400]}': {reason}") from None

    def read_problem(self):
        size = self.kernel.get("ProblemSize")
        sizes = size if isinstance(size, list) else [size]
        self.problem = [each for each in itertools.takewhile(lambda each: type(each) is int and each > 0, sizes)][:3]

    def read_parameter(self, item):
        name = isinstance(item, Members) and item.text("Name") or self.missing("Name")
        stated = item.get("Values")
        if stated is None:
            self.missing("Values")
        try:
            if isinstance(stated, str):
                python = Expression(stated, {}, self.words)
                stated = python.list_of(python.root, {})
            values, is_word = self.check_values(stated)
        except Refused as reason:
            self.refuse(name, item.text("Values") or "Values", reason)
        default = item.get("Default")
        default = default[0] if isinstance(default, list) and len(default) == 1 else default
        fallback = next((value for value in values if value == default), values[0])
        ours = new_name(name, 2, NAME_LETTERS, self.taken)
        self.taken.add(ours)
        self.parameters.append(Parameter(name, ours, values, is_word, fallback))

    def check_values(self, values):
        if not isinstance(values, list) or not values:
            raise Refused("is not a list of values")
        if not all(isinstance(value, (int, float, str)) for value in values):
            raise Refused("has a list among its values" if any(isinstance(v, list) for v in values) else "is not of numbers or strings")
        strings = [self.words.of(value) for value in values if isinstance(value, str)]
        if strings and len(strings) < len(values):
            raise Refused("mixes strings and numbers")
        if any(isinstance(value, int) and not -2**63 <= value < 2**63 for value in values):
            raise Refused("has no value that fits in 64 bits")
        return list(dict.fromkeys(int(v) if isinstance(v, bool) else v for v in values)), bool(strings)

    def read_constraints(self):
        self.constraints = []
        names = {p.theirs: Name(p.ours, p.values, p.is_word) for p in self.parameters}
        stated = self.space.get("Conditions")
        if stated is not None and not isinstance(stated, list):
            self.missing("Conditions")
        for item in stated or []:
            text = item.text("Expression") if isinstance(item, Members) else item
            if not isinstance(text, str):
                self.missing("Expression")
            if text.strip():
                try:
                    self.constraints.append(Expression(text, names, self.words).translated(True))
                except Refused as reason:
                    self.refuse("condition", text, reason)

    def read_options(self):
        """Sets the options to pass on, those left out, and the folders of -I, as they are here."""
        stated = self.kernel.get("CompilerOptions")
        stated = stated.split() if isinstance(stated, str) else self.kernel.list("CompilerOptions")
        options = [option for option in stated if isinstance(option, str)]
        self.options, self.left_out, self.folders = [], [], []
        while options:
            option = options.pop(0).strip()
            if option in ("-I", "--include-path") and options:
                option = "-I" + options.pop(0)
            option = option.replace("--include-path=", "-I")
            folder = os.path.join(os.path.dirname(self.path), option[2:])
            if option.startswith("-I") and os.path.isdir(folder):
                self.folders.append(folder)
            elif option.startswith(("-I", *DROPPED_OPTIONS)) or ";" in option:
                self.left_out.append(option)
            elif option:
                self.options.append(option)

    def read_source(self):
        self.read_options()
        language = self.kernel.text("Language") or "CUDA"
        file, self.entry = self.kernel.text("KernelFile"), self.kernel.text("KernelName")
        self.source, self.source_gap, self.kernel_found = None, None, None
        if language.upper() != "CUDA":
            self.source_gap = f"the kernel is written in {language}: port it to CUDA"
        elif file is None or self.entry is None:
            self.source_gap = "the file names no kernel"
        else:
            self.source_path = os.path.join(os.path.dirname(self.path), file)
            try:
                self.source = Source(self.source_path, self.folders)
            except OSError:
                self.source_gap = f"the kernel '{file}' was not there: put it into the source"
        if self.source is None:
            return
        bare = self.entry.split("<")[0].split("::")[-1].strip()
        self.kernel_found = self.source.kernel(bare)
        if self.kernel_found is None:
            self.source_gap = f"the source has no __global__ function '{self.entry}'"
        elif self.kernel_found.is_template and "<" not in self.entry:
            self.source_gap = f"'{self.entry}' is a template of C++: name its arguments, as in ::{self.entry}<float, BLOCK_SIZE>"
        elif not self.kernel_found.is_c and "::" not in self.entry:
            self.entry = "::" + self.entry

    def is_compiled(self, parameter):
        """Whether the source, or an option, names it; else only expressions do."""
        return self.source is None or parameter.theirs in self.source.all_words or \
            parameter.theirs in re.findall(r"\w+", " ".join([*self.options, self.entry]))

    def must_define(self, parameter):
        """Whether the source needs lines for it, which `define` cannot replace: for one letter, or words of other texts."""
        return self.is_compiled(parameter) and (
            re.fullmatch(r"\w", parameter.theirs) or
            parameter.is_word and any(self.words.of(text) != text for text in parameter.values))

    def read_arguments(self):
        self.arguments = []
        for index, item in enumerate(self.kernel.list("Arguments")):
            item = item if isinstance(item, Members) else Members()
            ours = new_name(item.text("Name") or f"argument_{index + 1}", 1, NAME_LETTERS, self.taken)
            self.taken.add(ours)
            memory = (item.text("MemoryType") or "").lower()
            symbol = memory == "symbol" or (item.text("MemType") or "").lower() == "constant"
            self.arguments.append(Argument(ours, item, symbol))
        self.buffers = [a for a in self.arguments if (a.json.text("MemoryType") or "").lower() in ("vector", "symbol")]
        self.outputs = [a for a in self.buffers if self.is_output(a)]

    def is_output(self, argument):
        output = argument.json.get("Output")
        return bool(output) if output is not None else self.access_of(argument) in ("write", "read_write")

    def access_of(self, argument):
        accesses = {"readonly": "read", "writeonly": "write", "readwrite": "read_write"}
        return accesses.get((argument.json.text("AccessType") or "").lower())

    # --- sizes ---

    def names(self, fixed=False):
        names = {f"ProblemSize[{i}]": Name(EXTENTS[i], [size]) for i, size in enumerate(self.problem)}
        if len(self.problem) == 1:
            names["ProblemSize"] = names["ProblemSize[0]"]
        return {**names, **{p.theirs: Name(p.ours, p.values, p.is_word, fixed) for p in self.parameters}}

    def size(self, stated, fixed=False):
        """A number or an expression, translated. Raises Refused."""
        if type(stated) is int:
            return str(stated)
        if not isinstance(stated, str):
            raise Refused("it is missing")
        return Expression(stated, self.names(fixed), self.words).translated(False)

    def size_or_none(self, stated):
        try:
            return self.size(stated)
        except Refused:
            return None

    def by_default(self, stated):
        """Its value for the parameters' defaults; None if it has none."""
        known = {p.theirs: p.fallback for p in self.parameters}
        known.update({name: value.values[0] for name, value in self.names().items() if name.startswith("ProblemSize")})
        try:
            python = Expression(str(stated), self.names(), self.words)
            return python.evaluate(python.root, known)
        except Refused:
            return None

    # --- what is written ---

    def gap(self, section, text, choices=()):
        text = printable(text)[:170]
        self.gaps += [f"[{section}] {text}", *(f"  {key} = {value}" for key, value in choices)]
        return [f"; TODO: {text}", *(f"; {line}" for choice in choices for line in entry(*choice))]

    def value_text(self, value):
        return self.words.of(value) if isinstance(value, str) else repr(value)

    def template_lines(self, source_name):
        lines = [f"; Imported from {printable(os.path.basename(self.path))}", "[kernel]", *entry("source", source_name)]
        folders = [*self.folders]
        if source_name == self.written_source and self.source and '#include "' in self.source.code:
            folders.insert(0, os.path.dirname(self.source_path))
        include = dict.fromkeys(os.path.relpath(os.path.realpath(f), os.path.realpath(self.folder)) for f in folders)
        lines += entry("include", ", ".join(folder for folder in include if folder != "."))
        lines += entry("options", " ".join(self.options))
        lines += [f"; left out: {printable(option)[:150]}" for option in self.left_out]
        compiled = [p for p in self.parameters if self.is_compiled(p)]
        definitions = [p.theirs if p.theirs == p.ours else f"{p.theirs} = {p.ours}" for p in compiled
                       if p.theirs != p.ours.upper() and not self.must_define(p) and re.fullmatch(r"[A-Za-z_]\w+", p.theirs)]
        lines += entry("define", ", ".join(definitions))
        for constraint in self.constraints:
            lines += entry("constraint", constraint)
        for title, parameters in (("parameters", compiled), ("launch_parameters", [p for p in self.parameters if p not in compiled])):
            if parameters or title == "parameters":
                lines += ["", f"[{title}]"]
            for parameter in parameters:
                others = [value for value in parameter.values if parameter.is_word and value != parameter.fallback]
                lines += entry(parameter.ours, " | ".join(map(self.value_text, [parameter.fallback, *others])))
        if self.problem:
            lines += ["", "[problem]", *(f"{EXTENTS[i]} = {size}" for i, size in enumerate(self.problem))]
        for argument in self.buffers:
            lines += self.buffer_lines(argument)
        for argument in self.outputs:
            lines += self.expectation_lines(argument)
        if not self.outputs:
            lines += ["", "[expect.output]", *self.gap("expect.output", "the file names no output; name the buffer here "
                                                       "instead of 'output'")]
        return lines + self.launch_lines()

    def number_text(self, members, name, type_name):
        """A number, or an expression of one, as that type writes it; None if there is none, or it does not fit."""
        value = members.get(name)
        if isinstance(value, str):
            return self.size_or_none(value)
        if isinstance(value, float) and value.is_integer() and abs(value) < 9e15:
            return str(int(value))
        if isinstance(value, float) and type_name not in FLOATING:
            return None
        return repr(int(value) if isinstance(value, bool) else value) if is_number(value) else None

    def buffer_lines(self, argument):
        json_, section = argument.json, f"buffer.{argument.ours}"
        lines = ["", f"[{section}]"]
        stated = json_.text("Type")
        type_name, elements = type_of(stated)
        lines += entry("type", type_name) if type_name else \
            self.gap(section, f"type: of its elements; here they are '{stated or ''}'")
        variable = self.source.variable(self.symbol_of(argument)) if argument.is_symbol and self.source else None
        lines += self.length_lines(section, json_.get("Size"), elements, variable)
        access = self.access_of(argument)
        if argument.is_symbol and variable is None and (self.source is None or not self.passes_symbols()):
            lines += self.gap(section, "access: it is in __constant__ memory, but the source has no __constant__ variable "
                              f"'{self.symbol_of(argument)}'; add `symbol = NAME`, or make it an argument of the kernel")
        elif access is None:
            lines += self.gap(section, "access: read, write or read_write")
        else:
            lines.append(f"access = {access}")
            if access != "read" and argument not in self.outputs and self.outputs:
                lines.append("unchecked = yes")
        seed = f", {len(self.buffers)}" if variable and self.passes_symbols() else ""
        filled = self.fill_lines(section, json_, type_name or "float", seed) if access != "write" else []
        if not variable:
            return lines + filled
        if not seed:
            return [*lines, f"symbol = {self.symbol_of(argument)}", *filled]
        copy = [line.replace(section, f"{section}_var") for line in lines]  # what is passed as well, of the same contents
        return [*lines, *filled, *copy, f"symbol = {self.symbol_of(argument)}", *filled]

    def symbol_of(self, argument):
        return argument.json.text("SymbolName") or argument.json.text("Name") or ""

    def passes_symbols(self):
        """Whether the kernel takes what is in __constant__ memory as arguments as well, as Kernel Tuner passes it."""
        return self.kernel_found is not None and self.kernel_found.parameter_count == len(self.arguments)

    def length_lines(self, section, size, elements, variable):
        text = None
        if variable and re.fullmatch(r"[\w\s*+()-]*", variable[1]):  # has a length of its own, which reads like Python
            text = self.size_or_none(variable[1])
        if text:
            elements = type_of(variable[0])[1]
        try:
            text = text or self.size(size, fixed=True)
        except Refused as reason:
            return self.gap(section, f"length: how many elements; {reason}")
        return entry("length", f"{elements} * ({text})" if elements > 1 else text)

    def fill_lines(self, section, json_, type_name, seed):
        fill, data, value = json_.text("FillType") or "", json_.text("DataSource"), self.number_text(json_, "FillValue", type_name)
        if fill.lower() == "random" and value is not None:  # without their seed, which several buffers may share
            return [f"fill = {'uniform' if type_name in FLOATING else 'integers'}(0, {value}{seed})"]
        if fill.lower() == "random":
            return self.gap(section, "fill: the range of its random numbers")
        if fill.lower() == "constant" and value is not None:
            return [f"fill = constant({value})"]
        counted = self.counting(data) if fill.lower() == "generator" and data else None
        if counted:
            return [f"fill = counting({counted[0]}, {counted[1]})"]
        return self.gap(section, "fill: what it holds" + (f"; it is filled by {fill}" if fill else "") +
                        (f" of {data[:60]}" if data else ""))

    def counting(self, data):
        """The first value and the step of a generator that is linear in `i`; None if it is not."""
        points = (0, 1, 2, 3, 5, 7, 1000)
        try:
            python = Expression(data, {}, self.words)
            values = [python.evaluate(python.root, {"i": point}) for point in points]
        except Refused:
            return None
        if not all(is_number(value) for value in values):
            return None
        first, step = values[0], values[1] - values[0]
        return (first, step) if values == [first + step * point for point in points] else None

    def expectation_lines(self, argument):
        section = f"expect.{argument.ours}"
        target = argument.json.text("Name")
        references = [item for item in self.kernel.list("ReferenceArguments")
                      if isinstance(item, Members) and target and item.text("TargetName") == target]
        reference = references[0] if references else Members()
        value = self.number_text(reference, "FillValue", "double")
        fill, data = reference.text("FillType"), reference.text("DataSource")
        naive = self.naive_lines(argument, section)
        lines = ["", f"[{section}]"]
        if fill == "Constant" and value is not None:
            lines.append(f"reference = constant({value})")
        elif naive and not references:
            lines += naive
        else:
            lines += self.gap(section, "reference: a slow, obviously right kernel of the source, constant(x) or file(x.npy)" +
                              (f"; here it is {fill}" if fill else "") + (f" of {data[:40]}" if data else ""))
        threshold = self.number_text(reference, "ValidationThreshold", "double")
        how = {"SideBySideComparison": "absolute", "SideBySideRelativeComparison": "relative"}.get(
            reference.text("ValidationMethod"))
        return lines + ([f"compare = {how}({threshold})"] if how and threshold is not None else
                        self.gap(section, "compare: exact, absolute(e), relative(e) or unordered"))

    def naive_lines(self, output, section):
        """The source's only *_naive kernel as the reference of the only output, if it takes what the kernel takes."""
        kernels = self.source.naive_kernels() if self.source else []
        if len(kernels) != 1 or len(self.outputs) != 1 or kernels[0][1].is_template:
            return []
        name, kernel = kernels[0]
        arguments = [a for a in self.arguments if kernel.parameter_count == len(self.arguments) or not a.is_symbol]
        items = ["reference" if a is output else a.ours if a in self.buffers else self.scalar(a) for a in arguments]
        if kernel.parameter_count != len(items) or None in items:
            return []
        type_name, _ = type_of(output.json.text("Type"))
        sizes = self.kernel.members("LocalSize")
        block = [self.by_default(sizes.get(axis) or 1) for axis in AXES[:max(1, len(self.problem))]]
        lines = entry("reference", name if kernel.is_c else "::" + name)
        if type_name in FLOATING and type_name != "double":
            lines.append(f"reference_type = {type_name}")
        if self.problem and all(type(size) is int and size > 0 for size in block):
            lines += entry("grid", ", ".join(f"ceil_div({EXTENTS[i]}, {size})" for i, size in enumerate(block)))
            lines += entry("block", ", ".join(map(str, block)))
        else:
            lines += self.gap(section, "grid and block: those of the reference")
        return lines + entry("arguments", ", ".join(items))

    def scalar(self, argument):
        type_name, elements = type_of(argument.json.text("Type"))
        value = self.number_text(argument.json, "FillValue", type_name) if type_name else None
        scalar = (argument.json.text("MemoryType") or "").lower() == "scalar"
        return f"{type_name} {value}" if scalar and value is not None and elements == 1 else None

    def divided_problem(self):
        """The grid of Kernel Tuner: what is written, and its values by default. None if the file does not say."""
        if not self.problem:
            return None
        texts, values = [], []
        for axis, size in enumerate(self.problem):
            stated = self.kernel.get("GridDiv" + AXES[axis])
            if stated is None:
                name = "block_size_" + AXES[axis].lower()
                stated = [name] if name in [p.theirs for p in self.parameters] else []
            divisors = [self.size_or_none(item) for item in stated] if isinstance(stated, list) else [None]
            if None in divisors:
                return None
            product = " * ".join(text if " " not in text else f"({text})" for text in divisors)
            texts.append(f"ceil_div({EXTENTS[axis]}, {product})" if product else EXTENTS[axis])
            numbers = [self.by_default(item) for item in stated]
            values.append(-(-size // math.prod(numbers)) if all(is_number(n) and n > 0 for n in numbers) else None)
        return texts, values

    def global_grid(self, blocks):
        """GlobalSize: blocks, or threads in OpenCL's way; in the same form."""
        sizes, texts, values = self.kernel.members("GlobalSize"), [], []
        threads = (self.kernel.text("GlobalSizeType") or "").lower() == "opencl"
        for axis in range(3):
            stated = sizes.get(AXES[axis])
            stated = 1 if stated is None and axis > 0 and sizes.values else stated
            text, value = self.size_or_none(stated), self.by_default(stated)
            if text is None or threads and blocks[0][axis] is None:
                return None
            if threads and text != "1":
                text = f"ceil_div({text}, {blocks[0][axis]})"
            if threads and is_number(value) and is_number(blocks[1][axis]) and blocks[1][axis] > 0:
                value = -(-value // blocks[1][axis])
            texts.append(text)
            values.append(value)
        return texts, values

    def launch_lines(self):
        section = f"launch.{self.name}"
        lines = ["", f"[{section}]"]
        entry_ok = self.entry is not None and re.fullmatch(r"[\w:<>, ()*&+-]+", self.entry)
        if self.source_gap or not entry_ok:  # without an entry, since there is none yet
            lines += self.gap(section, f"entry: {self.source_gap or 'the name of the kernel'}")
        else:
            lines += entry("entry", self.entry)
        sizes = self.kernel.members("LocalSize")
        stated = [sizes.get(axis) if sizes.get(axis) is not None or axis == "X" or not sizes.values else 1 for axis in AXES]
        blocks = [self.size_or_none(size) for size in stated], [self.by_default(size) for size in stated]
        lines += self.grid_lines(section, self.divided_problem(), self.global_grid(blocks))
        lines += entry("block", extents(blocks[0])) if None not in blocks[0] else \
            self.gap(section, "block: how many threads; LocalSize cannot be translated")
        return lines + self.shared_lines(section) + self.argument_lines(section)

    def grid_lines(self, section, divided, whole):
        pad = lambda values: values + [1] * (3 - len(values))
        if divided and whole and pad(divided[1]) != whole[1]:
            choices = [("grid", extents(grid[0])) for grid in (divided, whole)]
            return self.gap(section, "grid: ProblemSize and GlobalSize contradict each other; choose one of:", choices)
        if divided or whole:
            return entry("grid", extents((divided or whole)[0]))
        return self.gap(section, "grid: how many blocks; GlobalSize cannot be translated")

    def shared_lines(self, section):
        shared = self.kernel.get("SharedMemory")
        if shared is None or shared == 0:
            return []
        if self.source and not self.source.has_dynamic_shared_memory():
            self.notes.append("SharedMemory (the source has no extern __shared__)")
            return []
        try:
            return entry("shared_bytes", self.size(shared))
        except Refused as reason:
            return self.gap(section, f"shared_bytes: {reason}")

    def argument_lines(self, section):
        lines, items, passes = [], [], self.passes_symbols()
        for index, argument in enumerate(self.arguments):
            if argument.is_symbol and not passes:  # it is a variable of the source, or its buffer has the gap
                continue
            item = argument.ours if argument in self.buffers else self.scalar(argument)
            if item is None:
                lines += self.gap(section, f"arguments: argument {index + 1}, '{argument.ours}'")
            items.append(item or "TODO")  # which is not a name, so that it cannot be overlooked
        count = self.kernel_found.parameter_count if self.kernel_found else None
        if count is not None and count != len(items):
            lines += self.gap(section, f"arguments: the kernel has {count} parameters, the file {len(items)} arguments")
        return lines + entry("arguments", ", ".join(items))

    def source_lines(self):
        """What the source needs in front of it, because `define` cannot say it."""
        lines = []
        for parameter in self.parameters:
            macro = parameter.ours.upper()
            if not self.must_define(parameter):
                continue
            if parameter.is_word:
                lines += [f"#define {macro}_{self.words.of(text).upper()} {printable(text)}" for text in parameter.values]
            if macro != parameter.theirs:
                lines.append(f"#define {parameter.theirs} {macro}")
        if self.source is None:
            for parameter in self.parameters:
                if not self.must_define(parameter) and parameter.theirs.isidentifier():
                    lines += [f"#ifndef {parameter.theirs}", f"#error the tuner defines {parameter.theirs}", "#endif"]
            lines.append(f'#error "TODO: {printable(self.source_gap)}"')
        return ["// Parameters of the kernel below", *lines] if lines else []

    def sweep_lines(self):
        lines = [f"; Imported from {printable(os.path.basename(self.path))}", "[sweep]", "templates = .", "", f"[{self.name}]"]
        for parameter in self.parameters:
            lines += entry(parameter.ours, ", ".join(runs(parameter.values, self.value_text)))
        return lines

    def write(self):
        """Writes the files, none of which may exist: all of them, or none. Returns their names in the folder."""
        front = self.source_lines()
        self.written_source = None
        names = [f"{self.name}.ini"]
        folder = os.path.realpath(self.folder)
        if front or self.source is None or not re.fullmatch(r"[\w./+-]+", os.path.relpath(self.source_path, folder)):
            beside = self.source is not None and os.path.realpath(self.source_path) == os.path.join(folder, self.name + ".cu")
            self.written_source = f"{self.name}_kernel.cu" if beside else f"{self.name}.cu"
            names.append(self.written_source)
        names.append(f"{self.name}_sweep.ini")
        source_name = self.written_source or os.path.relpath(os.path.realpath(self.source_path), folder)
        for name in names:
            if os.path.lexists(os.path.join(self.folder, name)):
                raise Refused(f"'{self.shown(name)}' exists; remove it, or choose another folder with --output or another "
                              "name with --kernel")
        text = as_bytes(front) + (b"\n" * bool(front) + self.source.bytes if self.source else b"")
        texts = [as_bytes(self.template_lines(source_name)), as_bytes(self.sweep_lines())]
        texts[1:1] = [text] if self.written_source else []
        written = []
        try:
            os.makedirs(self.folder, exist_ok=True)
            for name, text in zip(names, texts):
                with open(os.path.join(self.folder, name), "xb") as file:
                    written.append(name)
                    file.write(text)
        except OSError as error:
            for name in written:
                os.remove(os.path.join(self.folder, name))
            raise Refused(f"cannot write '{self.shown(name)}': {error.strerror}") from None
        return names

    def shown(self, name):
        return name if self.folder == "." else f"{self.folder}/{name}"

    def report(self, names):
        shown = [self.shown(name) for name in names]
        lines = [f"wrote {', '.join(shown[:-1])} and {shown[-1]}"]
        if self.gaps:
            lines += [f"'{self.path}' does not say everything; complete {shown[0]} where it is marked TODO:",
                      *(f"  {gap}" for gap in self.gaps)]
        ignored = dict.fromkeys([*self.notes, *self.file.unused()])
        if ignored:
            lines.append("ignored: " + ", ".join(ignored))
        lines.append(f"next: autotune {'check ' if self.gaps else ''}--config {shown[-1]}")
        return "".join(printable(line) + "\n" for line in lines)


def as_bytes(lines):
    return "".join(line + "\n" for line in lines).encode()


def entry(key, value):
    """The lines of "key = value", which is continued where it is long; none if it is empty."""
    lines = [f"{key} ="]
    for word in value.split():
        if len(lines[-1]) + 1 + len(word) > LINE_COLUMNS and lines[-1] != f"{key} =":
            lines.append("   ")
        lines[-1] += " " + word
    return lines if value else []


def extents(texts):
    """Without the last ones that are 1."""
    texts = list(texts)
    while len(texts) > 1 and texts[-1] == "1":
        texts.pop()
    return ", ".join(texts)


def runs(values, text_of):
    """The items of a sweep's list: values, and runs of four or more as FIRST..LAST step STEP."""
    values = list(values)
    while values:
        whole = list(itertools.takewhile(lambda value: type(value) is int and 0 <= value < 2**31, values))
        length, text = 1, text_of(values[0])
        if len(whole) > 3 and whole[1] > whole[0]:
            step = whole[1] - whole[0]
            sums = [whole[0] + step * i == value for i, value in enumerate(whole)] + [False]
            products = [whole[0] > 0 and whole[0] * 2**i == value for i, value in enumerate(whole)] + [False]
            length = max(sums.index(False), products.index(False))
            doubles = products.index(False) > sums.index(False)
            text = f"{whole[0]}..{whole[length - 1]}" + (" step *2" if doubles else f" step {step}" if step > 1 else "")
        if length < 4:
            length, text = 1, text_of(values[0])
        yield text
        del values[:length]


def main(path, folder, name, *reserved):
    if sys.version_info < (3, 9):
        return {"error": "import needs Python 3.9 or newer as python3"}
    try:
        made = Import(path, folder, name, reserved)
        names = made.write()
        return {"files": names, "report": made.report(names)}
    except Refused as reason:
        return {"error": printable(str(reason))}
    except (OSError, ValueError, RecursionError) as error:
        return {"error": printable(f"{path}: cannot be imported: {error}")}


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])))
