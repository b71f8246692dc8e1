#!/usr/bin/env python3
"""usage: test_import_t1.py FOLDER: what python_expression.py there makes of Python, beside what Python makes of it."""
import json
import math
import os
import random
import sys
import tempfile
import types
import unittest

import count

t1 = types.ModuleType("script")
FOLDER = sys.argv.pop()
exec("".join(open(f"{FOLDER}/{name}.py").read() for name in ("python_expression", "import_t1")), t1.__dict__)

NAMES = {"x": t1.Name("x", [1, 2, 40]), "BLOCK": t1.Name("block", [16, 32]), "pad": t1.Name("pad", [0, 1]),
         "real": t1.Name("real", [0.5, 2.0]), "kind": t1.Name("kind", ["fast", "slow"], True),
         "width": t1.Name("width", [3, 15, 7]), "ProblemSize[0]": t1.Name("problem_x", [4096])}


def evaluate(text, known=None):
    expression = t1.Expression(text, {}, t1.Words())
    return expression.evaluate(expression.root, known or {})


def translate(text, condition=True):
    return t1.Expression(text, NAMES, t1.Words()).translated(condition)


class Values(unittest.TestCase):
    def test_lists_have_the_values_of_python(self):
        for text in [
                "[1, 2, 4]", "(1,)", "list(range(1, 9))", "range(8, 0, -3)", "[128+64*i for i in range(3)]",
                "[2**i for i in range(0, 6) if i % 2]", "[x * y for x in (1, 2) for y in [x, 10]]",
                "[a - b for a, b in ((1, 2), (3, 4))]", "[1, 2] + [4] * 2 + list(())", "['a', \"b c\"]",
                "[True, False, not 0]", "sorted([3, 1, 2]) + [len([1, 2]), max(1, 5), min([4, 2]), sum([1, 2])]",
                "[7 / 2, 7 // 2, -7 // 2, -7 % 4, 7 % -4, 2 ** -1, 1_000, 0x10, 0b11, 1e3]", "[len(set([1, 1, 2]))]",
                "[1 if 2 < 3 < 4 else 0, 3 in (1, 2), 5 & 6, 5 | 2, 1 << 4, -2 ** 2, 7 >> 1024, ~3]",
                "[int(2.7), int(-2.7), abs(-3), float(2), math.ceil(1.2), round(2.5), math.sqrt(2)]",
                "[1.0 // 0.1, 1.0 % 0.1, -1.5 // 0.5, 5 % -0.3, pow(3, 2) % 2, 2 ** 70 // 2 ** 60]", "[1, 2][1]"]:
            value = evaluate(text)
            expected = eval(text, {"math": math})
            self.assertEqual(repr(value), repr(list(expected) if isinstance(value, list) else expected), text)

    def test_random_conditions_have_the_value_of_python(self):
        random.seed(1)
        for _ in range(3000):
            text = count.expression(random.randint(1, 4))
            known = {"a": random.choice([1, 2, 3, 5, 8]), "b": random.choice([1, 3, 5, 7]),
                     "c": random.choice([False, True]), "w": random.choice(["x", "Y z"])}
            self.assertEqual(evaluate(text, known), eval(text, {"math": math}, known), text)

    def test_what_python_would_refuse_or_never_finish_is_refused(self):
        for text in ["range(10**9)", "[0] * 10**12", "[1,", "1 2", "x", "[i for i in 3]", "1 // 0", "1 % 0", "range(1, 2, 0)",
                     "'a' + 'b'", "'a' * 9**9", "\"open", "010", "{1: 2}", "f(1)", "1 < 'a'", "a.b", "().__class__",
                     "print('x')", "[", ")", "", "9 ** 9 ** 9", "1 << 10 ** 9", "2.0 ** 5000", "(-8) ** 0.5", "1e308 * 10",
                     "[0 for i in range(60000) for j in range(60000)]", "3.5 in range(10**12)", "pow(2, 5, 3)",
                     "[0 for i in range(60000) for j in range(60000) if i < 0]", "sum([[1]])", "{[1]}", "1\0"]:
            with self.assertRaises(t1.Refused, msg=text):
                evaluate(text)


class Translations(unittest.TestCase):
    def test_conditions_are_written_as_a_person_would(self):
        for text, expected in [
                ("32 <= x * BLOCK <= 1024", "32 <= x * block and x * block <= 1024"), ("x in (16, 32)", "x == 16 or x == 32"),
                ("x not in [1, pad]", "x != 1 and x != pad"), ("x in range(2, 5)", "x == 2 or x == 3 or x == 4"),
                ("not pad", "pad == 0"), ("not (x == 1 and pad)", "not (x == 1 and pad != 0)"),
                ("x % 2 == 0 or x ** 2 > 9", "x % 2 == 0 or x ^ 2 > 9"), ("x", "x != 0"), ("pad == True", "pad == 1"),
                ("(x > 1) + (x > 2) == 2", "(x > 1 ? 1 : 0) + (x > 2 ? 1 : 0) == 2"),
                ("1 if pad else x > 2", "(pad != 0 ? 1 : (x > 2 ? 1 : 0)) != 0"), ("(x or 2) > 1", "(x != 0 ? x : 2) > 1"),
                ("(x - (1 - pad)) // 2 > -1", "(x - (1 - pad)) // 2 > -1"), ("x - -1 > 0", "x - (-1) > 0"),
                ("-x ** 2 < 0", "-x ^ 2 < 0"), ("x << 2 > x >> 1", "x * 4 > x // 2"), ("x << pad > 2", "x * 2 ^ pad > 2"),
                ("x >> 1024 == 0", "(x < 0 ? -1 : 0) == 0"), ("pow(x, 2) % 2 == 1", "x ^ 2 % 2 == 1"),
                ("real // 0.1 > 4", "floor((real - real % 0.1) / 0.1 + 0.5) > 4"),
                ("(x > 1) & (x < 4)", "x > 1 and x < 4"), ("min([x, 2]) == max(pad, x, 1)", "min(x, 2) == max(pad, x, 1)"),
                ("kind == 'fast' and kind != \"Row Major\"", "kind == \"fast\" and kind != \"row_major\""),
                ("kind in ('a', 'b')", "kind == \"a\" or kind == \"b\""), ("x == 'a'", "false"), ("True", "true"),
                ("all([x > 1, pad])", "x > 1 and pad != 0"), ("x and pad or x > 3", "x != 0 and pad != 0 or x > 3"),
                ("x\n  ==\t1", "x == 1"), ("sum([x, pad]) == 2", "x + pad == 2"), ("x in {1, 2}", "x == 1 or x == 2")]:
            self.assertEqual(translate(text), expected, text)

    def test_sizes_are_translated(self):
        for text, expected in [("(ProblemSize[0] + max(width) - 1) // x", "(problem_x + 15 - 1) // x"), ("min(width)", "3"),
                               ("int(x / 2)", "(x / 2 < 0 ? ceil(x / 2) : floor(x / 2))"), ("int(x)", "x"), ("4096", "4096")]:
            self.assertEqual(translate(text, False), expected, text)

    def test_what_cannot_be_said_is_refused_by_name(self):
        for text, reason in [
                ("x & 3", "'x & 3' has an operator on bits"), ("~x", "'~x' has an operator on bits"),
                ("x && pad", "'&&' is not Python; write 'and'"), ("!x", "'!' is not Python; write 'not'"),
                ("BLOK > 1", "unknown name 'BLOK'; did you mean 'BLOCK'?"), ("kind > 'a'", "orders strings"),
                ("kind", "'kind' is a string where a condition is needed"), ("x == (1, 2)", "'(1, 2)' cannot be translated"),
                ("kind + 1 > 2", "'kind' is a string where a number is needed"), ("[x]", "'[x]' cannot be translated"),
                ("round(x) == 1", "'round(x)' cannot be translated"), ("ProblemSize[1] > 2", "unknown name 'ProblemSize[1]'"),
                ("x is 1", "'x is 1' cannot be translated"), ("x == 1 if pad", "is not a Python expression"),
                ("f'{x}' == 1", "cannot be translated"), ("x << 1024 > 0", "'x << 1024' shifts by more than 62"),
                ("x ** BLOCK > 0", "'x ** BLOCK' does not fit in 64 bits"), ("real << 1", "shifts what Python does not shift"),
                ("len(set([x, pad])) == 2", "'len(set([x, pad]))' cannot be translated"), ("", "is not a Python expression")]:
            with self.assertRaises(t1.Refused, msg=text) as refused:
                translate(text)
            self.assertIn(reason, str(refused.exception), text)

    def test_deep_long_and_broken_texts_are_refused_and_end(self):
        random.seed(2)
        for part in ["(", "[", "-", "not ", "2**", "x[", "f(", "1 if 1 else ", "x<(x<", "x and (x or ", "int(real/", "9"]:
            for times in (40, 20000):
                with self.assertRaises(t1.Refused):
                    translate(part * times)
        self.assertRaises(t1.Refused, translate, "int(" * 40 + "real" + " / 3)" * 40 + " == 1")
        texts = ["[2**i for i in range(3)]", "x in (1, 'b') and not BLOCK // 2 > 1.5", "max(width) if pad else -x ** 2 << 3"]
        for _ in range(3000):
            text = list(random.choice(texts))
            for _ in range(random.randint(1, 6)):
                text[random.randrange(len(text))] = random.choice(["", "(", ")", "[", "*", "**9", "0", "x", "'", ",", "\0", "\u20ac"])
            for attempt in (evaluate, translate):
                try:
                    attempt("".join(text))
                except t1.Refused as refused:
                    self.assertTrue(str(refused))

    def test_different_strings_become_different_words(self):
        words = t1.Words()
        self.assertEqual([words.of(text) for text in ["float4", "Row-Major", "row_major", "row major", "Row-Major", "8x8", "true", ""]],
                         ["float4", "row_major", "row_major_2", "row_major_3", "row_major", "v_8x8", "true_2", "v_"])


class Files(unittest.TestCase):
    def test_damaged_files_are_imported_or_refused(self):
        random.seed(3)
        here = os.path.dirname(__file__)
        odd = [None, True, -1, 0, 1e308, 10**30, "", "a", "\x1b[31m\u20ac", "1 // 0", "__import__('os')", [], [[]], {}, {"X": []}]

        def damage(value):
            if random.random() < 0.03:
                return random.choice(odd)
            if isinstance(value, dict):
                return {key: damage(item) for key, item in value.items() if random.random() > 0.03}
            return [damage(item) for item in value] if isinstance(value, list) else value

        with tempfile.TemporaryDirectory() as folder:
            for number in range(600):
                with open(f"{here}/{random.choice(['gemm', 'hotspot', 'vector_add'])}.json") as file:
                    problem = damage(json.load(file))
                with open(f"{folder}/damaged.json", "w") as file:
                    json.dump(problem, file)
                answer = t1.main(f"{folder}/damaged.json", f"{folder}/{number}", "", "min", "max")
                self.assertEqual(set(answer), {"error"} if "error" in answer else {"files", "report"})
                self.assertTrue(json.dumps(answer).isprintable())
                self.assertNotIn("cannot be imported", answer.get("error", ""))
                self.assertEqual("files" in answer, os.path.exists(f"{folder}/{number}"))


unittest.main()
