"""Python expressions of other tuners' files: their values, and their translation to autotune's language.

The text is untrusted. `ast` parses it; it is evaluated and translated here, node by node. Nothing is compiled or run, and
limits keep numbers, lists and work small. What autotune's expressions would compute otherwise than Python is written so
that they do not, or refused.

import_t1.py follows in the same script.
"""
import ast
import collections
import difflib
import itertools
import math
import operator
import re

TEXT_LIMIT, DEPTH_LIMIT, STEP_LIMIT, ITEM_LIMIT, BIT_LIMIT = 65536, 48, 1000000, 65536, 4096
NAME_LETTERS, WORD_LETTERS = 26, 63  # a name leaves room for a number and _grid


class Refused(Exception):
    """What is wrong with the file, as a message."""


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
            return f"{node.value.id}[{getattr(node.slice, 'value', None)}]"
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
        if self.name_of(node) in known:
            return known[self.name_of(node)]
        items, index = self.evaluate(node.value, known), self.evaluate(node.slice, known)
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
        return self.as_condition(node, self.take(node))

    def as_condition(self, node, piece):
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
            piece = self.condition(node.operand) if isinstance(node.operand, ast.BoolOp) else self.take(node.operand)
            if piece.kind == NUMBER:
                return self.put(node, f"{self.bracket(node, piece, ADDS).text} == 0", CONDITION, COMPARES)
            return self.put(node, f"not ({self.as_condition(node.operand, piece).text})", CONDITION, NEGATES)
        piece = self.number(node.operand)
        if isinstance(node.op, ast.Invert):
            self.fail(node, "has an operator on bits, which autotune does not have")
        return piece if isinstance(node.op, ast.UAdd) else self.put(node, f"-{self.bracket(node, piece, RAISES).text}", NUMBER, NEGATES, piece.real)

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
        if node.keywords or first is None or name not in OF_NUMBERS and name not in OF_A_LIST:
            self.fail(node, "cannot be translated")
        if not self.used(node):
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
        if name == "bool":
            return self.condition(first)
        if len(node.args) > 1 or name in OF_A_LIST:
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
        if name == "sqrt" and all(value >= 0 and math.sqrt(value) == value ** 0.5 for value in self.possible(node.args[0])):
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
