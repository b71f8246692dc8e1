#!/usr/bin/env python3
"""usage: count.py FILE.json: the number of valid variants of a T1 file, as Python evaluates its constraints.

count.py --random COUNT FOLDER: writes T1 files with random constraints, rnd1.json, …, and beside each the variants
that are valid, rnd1.csv, as `check --list` prints their values.
"""
import itertools
import json
import math
import random
import re
import sys


def variants(space):
    names = [parameter["Name"] for parameter in space["TuningParameters"]]
    values = [eval(parameter["Values"]) for parameter in space["TuningParameters"]]
    conditions = [compile(c["Expression"], "T1", "eval") for c in space["Conditions"]]
    for combination in itertools.product(*values):
        scope = dict(zip(names, combination))
        if all(eval(condition, {"math": math}, scope) for condition in conditions):
            yield combination


def expression(depth):
    """A number or a condition, whichever: in Python each can stand for the other. It never divides by zero."""
    pick = random.choice
    if depth == 0:
        return pick(["a", "b", "c", "a", "b", str(random.randint(0, 9)), "True", "False", "2.5", "w", "'x'"])
    below = lambda: expression(random.randint(0, depth - 1))
    number = lambda: "(" + re.sub(r"\bw\b", "a", below()).replace("'x'", "3") + ")"
    kind = random.randint(0, 17)
    if kind < 3:
        return f"{number()} {pick(['+', '-', '*', '-', '+'])} {number()}"
    if kind == 3:
        return f"{number()} {pick(['/', '//', '%'])} {pick(['b', '3', '-4', '2.5', '0.1', '(b / 3)', '(c + 1)'])}"
    if kind == 4:
        return f"{pick(['a', 'b', '2', '-3', 'c'])} ** {pick(['2', '3', 'c'])}"
    if kind == 5:
        return f"{number()} {pick(['<', '<=', '>', '>=', '==', '!='])} {number()}"
    if kind == 6:
        return f"{number()} {pick(['<', '<='])} {number()} {pick(['<', '>=', '==', '!='])} {number()}"
    if kind == 7:
        return re.sub(r"\bw\b", "b", f"({below()}) and ({below()})").replace("'x'", "0")
    if kind == 8:
        return re.sub(r"\bw\b", "b", f"({below()}) or ({below()})").replace("'x'", "0")
    if kind == 9:
        return f"not {number()}"
    if kind == 10:
        return f"{number()} {pick(['in', 'not in'])} {pick(['(1, 2, 4)', '[a, 3, c]', 'range(1, 6, 2)', '()', '{b, 8}'])}"
    if kind == 11:
        return f"({number()} if {number()} else {number()})"
    if kind == 12:
        return f"{pick(['min', 'max'])}({number()}, {number()}, a)"
    if kind == 13:
        return f"{pick(['abs', 'int', 'float', 'bool'])}({number()})"
    if kind == 14:
        return f"{pick(['a', 'b', '(a - 4)', '-b'])} {pick(['<< 2', '<< b', '>> 1', '>> c', '>> 1024'])}"
    if kind == 15:
        return f"pow({pick(['a', '-3', '0.5'])}, {pick(['2', 'b', 'c'])}) % {pick(['2', '0.3', 'b'])}"
    if kind == 16:
        return f"{pick(['math.ceil', 'math.floor', 'round', 'int'])}(b / {pick(['2', '3', 'a'])})".replace("round", "abs")
    return f"w {pick(['==', '!='])} {pick(['x', 'Y z', 'float4'])!r}" + pick([" or a > 2", " and not c", ""])


def make(seed):
    random.seed(seed)
    values = {"a": "[1, 2, 3, 5, 8]", "b": "list(range(1, 9, 2))", "c": "[False, True]", "w": "['x', 'Y z']"}
    conditions = [expression(random.randint(1, 4)) for _ in range(random.randint(1, 2))]
    bare = lambda text: text.strip("() ") in ("w", "'x'")  # a string is no condition of ours
    conditions = ["a > 0" if bare(text) else text for text in conditions]
    kernel = {"Language": "CUDA", "KernelName": "k", "KernelFile": "k.cu",
              "GlobalSize": {"X": "1"}, "LocalSize": {"X": "1"}}
    space = {"TuningParameters": [{"Name": n, "Type": "int", "Values": v} for n, v in values.items()],
             "Conditions": [{"Expression": text, "Parameters": list(values)} for text in conditions]}
    return {"ConfigurationSpace": space, "KernelSpecification": kernel}


def write_random(count, folder):
    for seed in range(1, count + 1):
        problem = make(seed)
        lines = [",".join("y_z" if v == "Y z" else str(int(v) if isinstance(v, bool) else v) for v in combination)
                 for combination in variants(problem["ConfigurationSpace"])]
        with open(f"{folder}/rnd{seed}.json", "w", encoding="utf-8") as file:
            json.dump(problem, file)
        with open(f"{folder}/rnd{seed}.csv", "w", encoding="utf-8") as file:
            file.writelines(line + "\n" for line in lines)


if __name__ == "__main__":
    if sys.argv[1] == "--random":
        write_random(int(sys.argv[2]), sys.argv[3])
    else:
        with open(sys.argv[1], encoding="utf-8") as source:
            print(sum(1 for _ in variants(json.load(source)["ConfigurationSpace"])))
