"""Converts a T1 file, the input format of Kernel Tuner, KTT and BAT, to a template and a sweep of autotune.

    python3 - FILE FOLDER NAME RESERVED... <import_t1.py

exchange/t1.c runs it. NAME may be empty: then it is made of the file's. RESERVED are names that mean something in
templates. Prints JSON: either {"error": what is wrong}, and then nothing was written; or {"files": [template, perhaps source,
and sweep], which are in FOLDER, "report": lines for the user}.

A T1 file is untrusted. Its Python is parsed with `ast`, and evaluated and translated here, node by node; nothing is
compiled or run, and limits keep numbers, lists and work small.

What the file does not say is not guessed: the template gets a line "; TODO: ..." in its place (template_gap.h).
"""
import ast
import collections
import difflib
import itertools
import json
import math
import operator
import os
import re
import sys

TEXT_LIMIT, DEPTH_LIMIT, STEP_LIMIT, ITEM_LIMIT, BIT_LIMIT = 65536, 48, 1000000, 65536, 4096
NAME_LETTERS, WORD_LETTERS, LINE_COLUMNS = 26, 63, 120  # a name leaves room for a number and _grid
AXES = ("X", "Y", "Z")
EXTENTS = ("problem_x", "problem_y", "problem_z")


class Refused(Exception):
    """What is wrong with the file, as a message."""


# --- Python expressions ---

# How tightly the outermost operator of a text binds, in autotune's expressions
CHOOSES, ORS, ANDS, COMPARES, ADDS, MULTIPLIES, NEGATES, RAISES, ATOM = range(9)
NUMBER, WORD, CONDITION = range(3)
# A translated part; `real`: it may be a real number
Piece = collections.namedtuple("Piece", "text kind priority real", defaults=(False,))
# What an expression may name: what it is called in templates, and its values; of several, a length cannot name it
Name = collections.namedtuple("Name", "ours values is_word fixed", defaults=(False, False))

# Operators of numbers: how Python computes them; ours, how tightly operands and result bind
ARITHMETIC = {
    ast.Add: (operator.add, "+", ADDS, MULTIPLIES, ADDS), ast.Sub: (operator.sub, "-", ADDS, MULTIPLIES, ADDS),
    ast.Mult: (operator.mul, "*", MULTIPLIES, NEGATES, MULTIPLIES),
    ast.Div: (operator.truediv, "/", MULTIPLIES, NEGATES, MULTIPLIES),
    ast.FloorDiv: (operator.floordiv, "//", MULTIPLIES, NEGATES, MULTIPLIES),
    ast.Mod: (operator.mod, "%", MULTIPLIES, NEGATES, MULTIPLIES),
    ast.Pow: (operator.pow, "^", ATOM, ATOM, RAISES),
    ast.LShift: (operator.lshift,), ast.RShift: (operator.rshift,),
    ast.BitAnd: (operator.and_,), ast.BitOr: (operator.or_,), ast.BitXor: (operator.xor,),
}
COMPARISONS = {
    ast.Eq: (operator.eq, "=="), ast.NotEq: (operator.ne, "!="), ast.Lt: (operator.lt, "<"),
    ast.LtE: (operator.le, "<="), ast.Gt: (operator.gt, ">"), ast.GtE: (operator.ge, ">="),
}
OF_NUMBERS = {"int": int, "float": float, "bool": bool, "abs": abs, "round": round, "pow": pow, "math.pow": math.pow,
              "math.ceil": math.ceil, "ceil": math.ceil, "math.floor": math.floor, "floor": math.floor,
              "math.sqrt": math.sqrt, "sqrt": math.sqrt, "math.log2": math.log2, "log2": math.log2, "math.log": math.log}
OF_A_LIST = {"list": list, "tuple": list, "set": set, "sorted": sorted, "len": len, "sum": sum, "min": min, "max": max,
             "all": all, "any": any}


def is_number(value):
    return isinstance(value, (int, float))


class Expression:
    """A Python expression of the file. `names` maps those that it may use, such as ProblemSize[0], to their Name."""

    def __init__(self, text, names, words):
        self.text = re.sub(r"[\r\n\t]", " ", text).strip()
        self.names, self.words, self.steps, self.items = names, words, 0, 0
        if len(text) > TEXT_LIMIT:
            raise Refused("is too long")
        try:
            self.root = ast.parse(self.text, mode="eval").body
        except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
            for foreign, python in (("&&", "and"), ("||", "or"), ("!", "not")):
                if foreign in self.text.replace("!=", ""):
                    raise Refused(f"'{foreign}' is not Python; write '{python}'") from None
            raise Refused(f"is not a Python expression: {getattr(error, 'msg', None) or error}") from None
        self.check_depth()

    def check_depth(self):
        level = [self.root]
        for _ in range(DEPTH_LIMIT):
            level = [child for node in level for child in ast.iter_child_nodes(node)]
        if level:
            raise Refused("is nested too deeply")

    def fail(self, node, reason):
        source = ast.get_source_segment(self.text, node) or ""
        raise Refused(f"'{source[:100]}' {reason}")

    def name_of(self, node):
        """Of a name, also one with dots or an index; or None."""
        if isinstance(node, ast.Name):
            return node.id
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            return f"{node.value.id}.{node.attr}"
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            index = getattr(node.slice, "value", node.slice)  # which Python 3.8 has in an ast.Index
            index = getattr(index, "value", index)
            return f"{node.value.id}[{index}]" if isinstance(index, int) else None
        return None

    def used(self, node):
        """The names of `self.names` in it."""
        found = {self.name_of(part) for part in ast.walk(node)}
        return [name for name in self.names if name in found]

    def possible(self, node):
        """Its values, for every combination of the values of the names in it."""
        names = self.used(node)
        if math.prod(len(self.names[name].values) for name in names) > ITEM_LIMIT:
            self.fail(node, "has too many combinations of values to be checked")
        return [self.evaluate(node, dict(zip(names, values)))
                for values in itertools.product(*(self.names[name].values for name in names))]

    # --- values ---

    def evaluate(self, node, known):
        """Its value, as Python computes it; `known` are the values of names."""
        self.steps += 1
        if self.steps > STEP_LIMIT:
            self.fail(node, "has too many values")
        try:
            value = getattr(self, "value_" + type(node).__name__, self.value_unknown)(node, known)
        except (ArithmeticError, TypeError, ValueError) as error:
            self.fail(node, f"cannot be evaluated: {error}")
        if isinstance(value, int) and value.bit_length() > BIT_LIMIT or isinstance(value, float) and not math.isfinite(value):
            self.fail(node, "has no value that fits in 64 bits")
        if isinstance(value, (list, set)):
            self.items += len(value)
        if self.items > ITEM_LIMIT:
            self.fail(node, "has too many values")
        return value

    def value_unknown(self, node, known):
        self.fail(node, "cannot be evaluated")

    def value_Constant(self, node, known):
        if not isinstance(node.value, (int, float, str)):
            self.fail(node, "cannot be evaluated")
        return node.value

    def value_Name(self, node, known):
        name = self.name_of(node)
        if name not in known:
            self.fail(node, "is not known here")
        return known[name]

    value_Attribute = value_Name

    def value_Subscript(self, node, known):
        name = self.name_of(node)
        if name in known:
            return known[name]
        index = getattr(node.slice, "value", None) if type(node.slice).__name__ == "Index" else node.slice
        items, index = self.evaluate(node.value, known), self.evaluate(index, known)
        if not isinstance(items, list) or not isinstance(index, int) or not -len(items) <= index < len(items):
            self.fail(node, "cannot be evaluated")
        return items[index]

    def value_List(self, node, known):
        return [self.evaluate(item, known) for item in node.elts]

    value_Tuple = value_List

    def value_Set(self, node, known):
        return set(self.value_List(node, known))

    def value_ListComp(self, node, known):
        items = []
        self.run_clauses(node, node.generators, known, items)
        return items

    value_GeneratorExp = value_ListComp

    def value_SetComp(self, node, known):
        return set(self.value_ListComp(node, known))

    def run_clauses(self, node, clauses, known, items):
        if not clauses:
            items.append(self.evaluate(node.elt, known))
            return
        for item in self.list_of(clauses[0].iter, known):
            target = clauses[0].target
            targets = target.elts if isinstance(target, ast.Tuple) else [target]
            values = item if isinstance(target, ast.Tuple) else [item]
            if any(not isinstance(each, ast.Name) for each in targets) or not isinstance(values, list) or \
                    len(values) != len(targets):
                self.fail(target, "cannot be evaluated")
            inner = {**known, **{each.id: value for each, value in zip(targets, values)}}
            if all(self.evaluate(condition, inner) for condition in clauses[0].ifs):
                self.run_clauses(node, clauses[1:], inner, items)

    def list_of(self, node, known):
        value = self.evaluate(node, known)
        if not isinstance(value, (list, set)):
            self.fail(node, "is not a list")
        return sorted(value, key=lambda item: (str(type(item)), item)) if isinstance(value, set) else value

    def value_BoolOp(self, node, known):
        for part in node.values:
            value = self.evaluate(part, known)
            if bool(value) == isinstance(node.op, ast.Or):
                break
        return value

    def value_UnaryOp(self, node, known):
        value = self.evaluate(node.operand, known)
        if isinstance(node.op, ast.Not):
            return not value
        return {ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert}[type(node.op)](value)

    def value_BinOp(self, node, known):
        left, right = self.evaluate(node.left, known), self.evaluate(node.right, known)
        if type(node.op) in ARITHMETIC and is_number(left) and is_number(right):
            return self.compute(node, type(node.op), left, right)
        if isinstance(node.op, ast.Mult) and isinstance(left, list) and isinstance(right, int):
            if len(left) * right > ITEM_LIMIT:
                self.fail(node, "has too many values")
            return left * right
        if isinstance(node.op, ast.Add) and isinstance(left, list) and isinstance(right, list):
            return left + right
        return self.value_unknown(node, known)

    def compute(self, node, operation, left, right):
        whole = isinstance(left, int) and isinstance(right, int)
        if whole and (operation is ast.LShift and right > BIT_LIMIT or
                      operation is ast.Pow and abs(left) > 1 and left.bit_length() * right > BIT_LIMIT):
            self.fail(node, "has no value that fits in 64 bits")
        value = ARITHMETIC[operation][0](left, right)
        return value if is_number(value) else self.value_unknown(node, {})

    def value_Compare(self, node, known):
        left = self.evaluate(node.left, known)
        for comparison, other in zip(node.ops, node.comparators):
            if isinstance(comparison, (ast.In, ast.NotIn)):
                right = self.list_of(other, known)
                holds = (left in right) == isinstance(comparison, ast.In)
            else:
                right = self.evaluate(other, known)
                if type(comparison) not in COMPARISONS or isinstance(left, (list, set)) or isinstance(right, (list, set)):
                    self.fail(node, "compares what cannot be compared here")
                holds = COMPARISONS[type(comparison)][0](left, right)
            if not holds:
                return False
            left = right
        return True

    def value_IfExp(self, node, known):
        return self.evaluate(node.body if self.evaluate(node.test, known) else node.orelse, known)

    def value_Call(self, node, known):
        name = self.name_of(node.func)
        if node.keywords or not node.args and name not in OF_A_LIST:
            self.fail(node, "cannot be evaluated")
        if name in ("min", "max") and len(node.args) == 1 and self.name_of(node.args[0]) in self.names:
            return OF_A_LIST[name](self.names[self.name_of(node.args[0])].values)
        if name in OF_A_LIST and len(node.args) < 2:
            return OF_A_LIST[name](*(self.list_of(item, known) for item in node.args))
        arguments = [self.evaluate(item, known) for item in node.args]
        if name == "range":
            span = range(*arguments)
            if span[ITEM_LIMIT:]:
                self.fail(node, "has too many values")
            return list(span)
        if not all(is_number(item) for item in arguments):
            self.fail(node, "is not of numbers")
        if name in ("min", "max"):
            return OF_A_LIST[name](arguments)
        if name == "pow" and len(arguments) == 2:
            return self.compute(node, ast.Pow, *arguments)
        if name not in OF_NUMBERS or len(arguments) > 2:
            self.fail(node, "cannot be evaluated")
        return OF_NUMBERS[name](*arguments)

    # --- translation ---

    def translated(self, condition):
        """In autotune's language: a condition, or any value."""
        names = self.used(self.root)
        if len(names) > 32:
            raise Refused("has more than 32 names; split the condition")
        piece = self.condition(self.root) if condition else self.take(self.root)
        deepest = max(itertools.accumulate((letter == "(") - (letter == ")") for letter in piece.text))
        if deepest > DEPTH_LIMIT:
            raise Refused("is nested too deeply; split the condition")
        return piece.text

    def put(self, node, text, kind, priority=ATOM, real=False):
        if len(text) > TEXT_LIMIT:
            self.fail(node, "is too long; split the condition")
        return Piece(text, kind, priority, real)

    def put_value(self, node, value):
        if isinstance(value, bool):
            return self.put(node, "true" if value else "false", CONDITION)
        if isinstance(value, str):
            return self.put(node, f'"{self.words.of(value)}"', WORD)
        if not is_number(value) or isinstance(value, int) and not -2**63 <= value < 2**63:
            self.fail(node, "has no value that fits in 64 bits" if is_number(value) else "cannot be translated")
        return self.put(node, repr(value), NUMBER, NEGATES if value < 0 else ATOM, isinstance(value, float))

    def bracket(self, node, piece, least):
        """In parentheses if it binds less tightly than `least`, or has a sign behind an operator."""
        if piece.priority >= least and not (piece.text[0] == "-" and least > ADDS):
            return piece
        return self.put(node, f"({piece.text})", piece.kind, ATOM, piece.real)

    def number(self, node):
        return self.as_number(node, self.take(node))

    def as_number(self, node, piece):
        if piece.kind == WORD:
            self.fail(node, "is a string where a number is needed")
        if piece.kind == NUMBER:
            return piece
        if piece.text in ("true", "false"):
            return self.put(node, "1" if piece.text == "true" else "0", NUMBER)
        return self.put(node, f"({self.bracket(node, piece, ORS).text} ? 1 : 0)", NUMBER)

    def condition(self, node):
        if isinstance(node, ast.BoolOp):
            return self.join(node, isinstance(node.op, ast.And), [self.condition(part) for part in node.values])
        piece = self.take(node)
        if piece.kind == WORD:
            self.fail(node, "is a string where a condition is needed")
        if piece.kind == CONDITION:
            return piece
        return self.put(node, f"{self.bracket(node, piece, ADDS).text} != 0", CONDITION, COMPARES)

    def join(self, node, all_hold, pieces):
        if len(pieces) == 1:
            return pieces[0]
        priority = ANDS if all_hold else ORS
        texts = (self.bracket(node, piece, priority).text for piece in pieces)
        return self.put(node, (" and " if all_hold else " or ").join(texts), CONDITION, priority)

    def choose(self, node, condition, chosen, other):
        if chosen.kind != other.kind:
            chosen, other = self.as_number(node, chosen), self.as_number(node, other)
        parts = [self.bracket(node, part, ORS).text for part in (condition, chosen, other)]
        return self.put(node, "{} ? {} : {}".format(*parts), chosen.kind, CHOOSES, chosen.real or other.real)

    def take(self, node):
        return getattr(self, "take_" + type(node).__name__, self.take_unknown)(node)

    def take_unknown(self, node):
        self.fail(node, "cannot be translated")

    def take_Constant(self, node):
        if not isinstance(node.value, (int, float, str)):
            self.fail(node, "cannot be translated")
        return self.put_value(node, node.value)

    def take_Name(self, node):
        text = self.name_of(node)
        if text is None:
            self.fail(node, "cannot be translated")
        if text not in self.names:
            nearest = difflib.get_close_matches(text, self.names, 1)
            raise Refused(f"unknown name '{text}'" + "".join(f"; did you mean '{name}'?" for name in nearest))
        name = self.names[text]
        if name.fixed:
            if len(name.values) > 1:
                self.fail(node, "has several values")
            return self.put_value(node, name.values[0])
        return self.put(node, name.ours, WORD if name.is_word else NUMBER, ATOM,
                        any(isinstance(value, float) for value in name.values))

    take_Attribute = take_Subscript = take_Name

    def take_BoolOp(self, node):
        """The value of an operand, as in Python: a or b is (a != 0 ? a : b)."""
        all_hold = isinstance(node.op, ast.And)
        pieces = [self.take(part) for part in node.values]
        if all(piece.kind == CONDITION for piece in pieces):
            return self.join(node, all_hold, pieces)
        result = pieces[-1]
        for part, piece in zip(reversed(node.values[:-1]), reversed(pieces[:-1])):
            result = self.choose(node, self.condition(part), *((result, piece) if all_hold else (piece, result)))
        return result

    def take_UnaryOp(self, node):
        if isinstance(node.op, ast.Not):
            if isinstance(node.operand, ast.BoolOp):
                return self.put(node, f"not ({self.condition(node.operand).text})", CONDITION, NEGATES)
            piece = self.take(node.operand)
            if piece.kind == NUMBER:
                return self.put(node, f"{self.bracket(node, piece, ADDS).text} == 0", CONDITION, COMPARES)
            return self.put(node, f"not ({self.condition(node.operand).text})", CONDITION, NEGATES)
        piece = self.number(node.operand)
        if isinstance(node.op, ast.UAdd):
            return piece
        if isinstance(node.op, ast.Invert):
            self.fail(node, "has an operator on bits, which autotune does not have")
        return self.put(node, f"-{self.bracket(node, piece, RAISES).text}", NUMBER, NEGATES, piece.real)

    def take_BinOp(self, node):
        left, right, operation = self.take(node.left), self.take(node.right), type(node.op)
        if operation in (ast.BitAnd, ast.BitOr, ast.BitXor) and left.kind == right.kind == CONDITION:
            if operation is not ast.BitXor:
                return self.join(node, operation is ast.BitAnd, [left, right])
            left, right = self.as_number(node, left), self.as_number(node, right)
            return self.put(node, f"{left.text} != {right.text}", CONDITION, COMPARES)
        left, right = self.as_number(node.left, left), self.as_number(node.right, right)
        if operation in (ast.LShift, ast.RShift):
            return self.shift(node, left, operation is ast.LShift)
        if len(ARITHMETIC.get(operation, ())) < 2:
            self.fail(node, "has an operator on bits, which autotune does not have"
                      if operation in ARITHMETIC else "cannot be translated")
        if operation is ast.Pow:
            return self.power(node, left, right)
        return self.arithmetic(node, operation, left, right)

    def arithmetic(self, node, operation, left, right):
        real = left.real or right.real
        if operation is ast.FloorDiv and real:  # Python rounds (a - a % b) / b, which is almost whole; not a / b
            rest = self.arithmetic(node, ast.Mod, left, right)
            quotient = self.arithmetic(node, ast.Div, self.arithmetic(node, ast.Sub, left, rest), right)
            return self.put(node, f"floor({quotient.text} + 0.5)", NUMBER, ATOM, True)
        _, text, least_left, least_right, priority = ARITHMETIC[operation]
        left, right = self.bracket(node, left, least_left), self.bracket(node, right, least_right)
        return self.put(node, f"{left.text} {text} {right.text}", NUMBER, priority, real or operation is ast.Div)

    def power(self, node, left, right):
        values = self.possible(node)  # a power that does not fit in 64 bits would become a real number
        if any(isinstance(value, int) and not -2**63 <= value < 2**63 for value in values):
            self.fail(node, "does not fit in 64 bits")
        piece = self.arithmetic(node, ast.Pow, left, right)
        return piece._replace(real=any(isinstance(value, float) for value in values))

    def shift(self, node, left, to_left):
        """a << b is a * 2^b, and a >> b is a // 2^b."""
        distances = self.possible(node.right)
        if left.real or any(not isinstance(distance, int) or distance < 0 for distance in distances):
            self.fail(node, "shifts what Python does not shift")
        if max(distances) > 62:
            if to_left or len(distances) > 1:
                self.fail(node, "shifts by more than 62")
            return self.put(node, f"({self.bracket(node, left, ADDS).text} < 0 ? -1 : 0)", NUMBER)
        if len(distances) == 1:
            right = Piece(str(2 ** distances[0]), NUMBER, ATOM)
        else:
            right = self.arithmetic(node, ast.Pow, Piece("2", NUMBER, ATOM), self.number(node.right))
        return self.arithmetic(node, ast.Mult if to_left else ast.FloorDiv, left, right)

    def take_IfExp(self, node):
        return self.choose(node, self.condition(node.test), self.take(node.body), self.take(node.orelse))

    def take_Compare(self, node):
        """a < b <= c as `a < b and b <= c`."""
        pairs = []
        left = self.compared(node.left)
        for index, (comparison, other) in enumerate(zip(node.ops, node.comparators)):
            if isinstance(comparison, (ast.In, ast.NotIn)):
                if index + 1 < len(node.ops):
                    self.fail(node, "compares a list")
                pairs.append(self.compare_list(node, left, isinstance(comparison, ast.In), other))
            else:
                right = self.compared(other)
                pairs.append(self.compare(node, type(comparison), left, right))
                left = right
        return self.join(node, True, pairs)

    def compared(self, node):
        piece = self.take(node)
        if piece.kind == CONDITION:
            piece = self.as_number(node, piece)
        return self.bracket(node, piece, ADDS)

    def compare(self, node, comparison, left, right):
        if comparison not in COMPARISONS:
            self.fail(node, "cannot be translated")
        equality = comparison in (ast.Eq, ast.NotEq)
        if left.kind != right.kind and equality:
            return self.put(node, "false" if comparison is ast.Eq else "true", CONDITION)
        if WORD in (left.kind, right.kind) and not equality:
            self.fail(node, "orders strings")
        return self.put(node, f"{left.text} {COMPARISONS[comparison][1]} {right.text}", CONDITION, COMPARES)

    def compare_list(self, node, left, inside, other):
        """`a in (b, c)` as `a == b or a == c`. The list is written out, or can be evaluated, such as range(4)."""
        if isinstance(other, (ast.List, ast.Tuple, ast.Set)):
            items = [self.compared(item) for item in other.elts]
        else:
            items = [self.as_number(other, piece) if piece.kind == CONDITION else piece
                     for piece in (self.put_value(other, value) for value in self.list_of(other, {}))]
        pairs = [self.compare(node, ast.Eq if inside else ast.NotEq, left, item) for item in items]
        return self.join(node, not inside, pairs) if pairs else self.put(node, "false" if inside else "true", CONDITION)

    def take_Call(self, node):
        name, first = self.name_of(node.func), node.args[0] if node.args else None
        if node.keywords or first is None:
            self.fail(node, "cannot be translated")
        if not self.used(node):
            unknown = [part for part in ast.walk(node) if isinstance(part, ast.Name) and part.id not in OF_NUMBERS]
            if isinstance(first, ast.Name) and len(unknown) == 1 and name in OF_NUMBERS:
                self.take(first)  # unknown
            return self.put_value(node, self.evaluate(node, {}))
        listed = first.elts if len(node.args) == 1 and isinstance(first, (ast.List, ast.Tuple, ast.Set)) else None
        if name in ("all", "any") and listed:
            return self.join(node, name == "all", [self.condition(item) for item in listed])
        if name == "sum" and listed:
            pieces = [self.bracket(node, self.number(item), MULTIPLIES) for item in listed]
            return self.put(node, " + ".join(piece.text for piece in pieces), NUMBER, ADDS, any(p.real for p in pieces))
        if name in ("min", "max"):
            return self.extreme(node, name, listed or node.args)
        if name == "pow" and len(node.args) == 2:
            return self.power(node, self.number(first), self.number(node.args[1]))
        if name == "bool" and len(node.args) == 1:
            return self.condition(first)
        if name not in OF_NUMBERS or len(node.args) > 1:
            self.fail(node, "cannot be translated")
        return self.function(node, name.replace("math.", ""), self.number(first))

    def extreme(self, node, name, items):
        """min(a, b); of the name of a parameter alone, that of its values."""
        if len(items) == 1 and self.name_of(items[0]) in self.names:
            return self.put_value(node, OF_A_LIST[name](self.names[self.name_of(items[0])].values))
        if len(items) < 2:
            self.fail(node, "has no list")
        pieces = [self.number(item) for item in items]
        return self.put(node, f"{name}({', '.join(p.text for p in pieces)})", NUMBER, ATOM, any(p.real for p in pieces))

    def function(self, node, name, piece):
        if name in ("abs", "floor", "ceil"):
            return self.put(node, f"{name}({piece.text})", NUMBER, ATOM, piece.real and name == "abs")
        if name == "float":
            return self.put(node, f"1.0 * {self.bracket(node, piece, NEGATES).text}", NUMBER, MULTIPLIES, True)
        if name == "int":
            text = self.bracket(node, piece, ADDS).text
            return self.put(node, f"({text} < 0 ? ceil({text}) : floor({text}))", NUMBER) if piece.real else piece
        if name == "sqrt" and all(math.sqrt(value) == value ** 0.5 for value in self.possible(node.args[0])):
            return self.put(node, f"{self.bracket(node, piece, ATOM).text} ^ 0.5", NUMBER, RAISES, True)
        return self.take_unknown(node)


# --- names and words ---

def name_from(text, least, most):
    """A lower-case name of at least `least` and at most `most` letters; what names do not have becomes '_'."""
    text = re.sub(r"^[^a-zA-Z0-9]+", "", text)
    text = ("" if re.match("[a-zA-Z]", text) else "v_") + text[:most - 2]
    name = re.sub("[^a-z0-9_]", "_", text.lower())
    return name if len(name) >= least else name + "_value"


def new_name(text, least, most, taken):
    name = name_from(text, least, most)
    for number in itertools.count(2):
        if name not in taken:
            return name
        name = f"{name_from(text, least, most - 3)}_{number}"


class Words:
    """Words of autotune for strings of the file, always the same one for the same string."""

    def __init__(self):
        self.of_text = {}

    def of(self, text):
        if text not in self.of_text:
            taken = {"true", "false", "yes", "no", *self.of_text.values()}
            fits = re.fullmatch(f"[a-z][a-z0-9_]{{0,{WORD_LETTERS - 1}}}", text) and text not in taken
            self.of_text[text] = text if fits else new_name(text, 1, WORD_LETTERS - 6, taken)
        return self.of_text[text]


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
            self.text = file.read().decode("latin-1")
        self.code = without_comments(self.text)
        self.all_words, seen, queue = set(), set(), [path]
        while queue:  # it and its headers, as far as they can be found
            file_path = queue.pop()
            if os.path.realpath(file_path) in seen or not os.path.isfile(file_path):
                continue
            seen.add(os.path.realpath(file_path))
            with open(file_path, "rb") as file:
                code = without_comments(file.read().decode("latin-1"))
            self.all_words.update(re.findall(r"\w+", code))
            for name in re.findall(r'#\s*include\s*["<]([^">\n]+)[">]', code):
                queue += [os.path.join(folder, name) for folder in (os.path.dirname(file_path), *folders)]

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
        match = re.search(rf"__(?:constant|device)__\s+(?:const\s+)?(\w+)\s+{re.escape(name)}\s*((?:\[[^\]]*\])*)", self.code)
        return match and (match[1], " * ".join(f"({length})" for length in re.findall(r"\[([^\]]*)\]", match[2])) or "1")

    def has_dynamic_shared_memory(self):
        return re.search(r"extern\s+(?:\w+\s+)*__shared__|__shared__\s+extern", self.code) is not None


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
        options = stated.split() if isinstance(stated, str) else [text for text in stated or [] if isinstance(text, str)]
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
        self.gaps.append(f"[{section}] {text}")
        self.gaps += [f"  {choice}" for choice in choices]
        return [f"; TODO: {text}", *(f"; {choice[:180]}" for choice in choices)]

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
        if isinstance(value, float) and (type_name not in FLOATING or value == int(value)):
            return str(int(value)) if value == int(value) else None
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
        if variable:  # which has a length of its own
            text, elements = self.size_or_none(variable[1]), type_of(variable[0])[1]
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
            choices = [f"grid = {extents(grid[0])}" for grid in (divided, whole)]
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
        text = "".join(line + "\n" for line in front) + ("\n" if front and self.source else "") + \
            (self.source.text if self.source else "")
        texts = ["\n".join(self.template_lines(source_name)) + "\n", "\n".join(self.sweep_lines()) + "\n"]
        texts[1:1] = [text] if self.written_source else []
        written = []
        try:
            os.makedirs(self.folder, exist_ok=True)
            for name, text in zip(names, texts):
                with open(os.path.join(self.folder, name), "xb") as file:
                    written.append(name)
                    file.write(text.encode("latin-1" if name == self.written_source and self.source else "utf-8"))
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
    if sys.version_info < (3, 8):
        return {"error": "import needs Python 3.8 or newer as python3"}
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
