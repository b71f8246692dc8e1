#!/usr/bin/env python3
"""Measures what the covers of a tuned INI are worth at sizes that nobody has measured.

Draws sizes from the range of each cover on this machine's GPU, evenly on a logarithmic scale and none that the cover
names as measured. At each, it tunes the whole space (or searches it, with --budget), and then measures the fastest four
and the cover's choice, as `autotune explain` names it, in interleaved rounds. q is the fastest one's median time over
that of the choice. Writes RESULTS/<gpu>/cover.csv, a line a size, and prints a line a cover:

    kernel, sizes, geometric mean of q, its 5th percentile, worst

Usage: cover.py --autotune build/autotune --config configs/cover.ini [--tuned results/tuned.ini] [--results results]
                [--work FOLDER] [--count 20] [--seed N] [--budget TIME] [--kernel NAME]
Without --seed the time is the seed; it is in the CSV, so that a run can be repeated. With --kernel, the CSV keeps its
lines of other kernels.
"""
import argparse
import configparser
import csv
import json
import math
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from functools import partial

FASTEST = 4
ROUNDS = 12
COLUMNS = ("kernel", "problem", "seed", "q", "q_candidates", "q_chosen", "chosen_us", "best_us", "chosen", "best")


def number(text):
    """A value as the tuned INI writes it."""
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return text


def read_covers(path):
    """The covers of a tuned INI: dictionaries with kernel, gpu, ranges, fixed, constraint, configurations and
    measured."""
    parser = configparser.RawConfigParser(
        strict=True, comment_prefixes=(";", "#"), delimiters=("=",), inline_comment_prefixes=None
    )
    with open(path, encoding="utf-8") as stream:
        parser.read_file(stream)
    covers = []
    for name in parser.sections():
        section = parser[name]
        if "cover" not in section:
            continue
        cover = {"kernel": section["kernel"], "gpu": section["gpu"], "ranges": {}, "fixed": {}, "measured": set(),
                 "constraint": section.get("constraint"), "configurations": {}}
        for key, value in section.items():
            if key.startswith("range."):
                low, high = value.split("..")
                cover["ranges"][key[len("range."):]] = (int(low), int(high))
            elif key.startswith("problem."):
                cover["fixed"][key[len("problem."):]] = number(value)
            elif key.startswith("configuration."):
                _, place, name = key.split(".")
                cover["configurations"].setdefault(place, {})[name] = number(value)
            elif key.startswith("measured."):
                size = dict(pair.split("=") for pair in value.split(":")[0].split())
                cover["measured"].add(tuple(int(size[axis]) for axis in cover["ranges"]))
        covers.append(cover)
    return covers


def admits(cover, size):
    """Whether a size satisfies the cover's constraint in the tuned INI, whose operators are Python's but for ^. Whether a
    configuration is allowed, Tuner.covers() knows."""
    if cover["constraint"] is None:
        return True
    text = cover["constraint"].replace("^", "**").replace("~=", "!=")
    names = dict(cover["fixed"], **size, min=min, max=max, floor=math.floor, ceil=math.ceil, ceil_div=lambda a, b: -(-a // b))
    return bool(eval(text, {"__builtins__": {}}, names))  # pylint: disable=eval-used


def draw_sizes(cover, count, generator, is_covered=lambda size: True):
    """`count` sizes of the range, a third of them rounded to 3 leading bits, a third to 6, the rest as they come."""
    sizes = []
    for attempt in range(10000 * count):
        size = {}
        for axis, (low, high) in cover["ranges"].items():
            value = round(math.exp(generator.uniform(math.log(low), math.log(high))))
            bits = (3, 6, 64)[attempt % 3]
            unit = 1 << max(value.bit_length() - bits, 0)
            size[axis] = min(max((value + unit // 2) // unit * unit, low), high)
        known = tuple(size.values()) in cover["measured"] or size in sizes
        if not known and admits(cover, size) and is_covered(size):
            sizes.append(size)
        if len(sizes) == count:
            break
    return sizes


def quality(medians, keys):
    """The fastest median over the fastest of those with these keys; 0 if none of them was measured."""
    own = [medians[which] for which in keys if which in medians]
    return min(medians.values()) / min(own) if own else 0.0


def mean_of(values):
    """The geometric mean."""
    return math.exp(statistics.fmean(math.log(max(value, 1e-9)) for value in values))


def percentile(values, share):
    """The share-quantile of numbers, interpolated linearly."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    return ordered[low] + (ordered[min(low + 1, len(ordered) - 1)] - ordered[low]) * (place - low)


def summarise(values):
    """The geometric mean, 5th percentile and worst of some q."""
    return mean_of(values), percentile(values, 0.05), min(values)


def losses(qualities):
    """The percentages that are lost in the mean by the candidates, by choosing a few of them, and by the rule."""
    candidates, chosen, rule = (mean_of(column) for column in zip(*qualities))
    return [100 * (1 - share) for share in (candidates, chosen / candidates, rule / chosen)]


def tuples(rows):
    """'(a, b)=(1, 2), (3, 4)', as --set takes them."""
    names = ", ".join(rows[0])
    return f"({names})=" + ", ".join("(" + ", ".join(str(value) for value in row.values()) + ")" for row in rows)


def key(parameters):
    """A text that variants with the same parameters share: 1 and 1.0 are the same."""
    same = {name: int(value) if isinstance(value, float) and value.is_integer() else value
            for name, value in parameters.items()}
    return json.dumps(same, sort_keys=True)


class Tuner:
    """Runs autotune in a folder of its own."""

    def __init__(self, arguments, work):
        self.arguments = arguments
        self.work = work

    def call(self, *words):
        done = subprocess.run([self.arguments.autotune, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"cover.py: autotune {' '.join(words)}\n{done.stderr.strip()}")
        return done.stdout

    def tune(self, kernel, name, *words):
        """One study. Those with the same name share a record, so that searches begin with what is known."""
        folder = os.path.join(self.work, name)
        text = self.call("--config", self.arguments.config, "--kernel", kernel, "--results", folder, "--tuned",
                         os.path.join(folder, "tuned.ini"), "--format", "json", "--quiet", *words)
        return json.loads(text)[0]

    def candidates(self, kernel):
        """What a cover was chosen from, according to the record; none if there is no record."""
        if not os.path.exists(os.path.join(self.arguments.results, "record.sqlite")):
            return []
        studies = json.loads(self.call("report", "--results", self.arguments.results, "--kernel", f"{kernel}.cover",
                                       "--format", "json"))
        return list({key(variant["parameters"]): variant["parameters"]
                     for study in studies for variant in study["variants"]}.values())

    def explain(self, cover, size):
        words = [f"--{name}={value}" for name, value in dict(cover["fixed"], **size).items()]
        return self.call("explain", "--kernel", cover["kernel"], "--gpu", cover["gpu"], "--tuned", self.arguments.tuned,
                         *words)

    def covers(self, cover, size):
        """Whether the rule decides for an application, and the size is not outside of the range."""
        return "in the range of" in self.explain(cover, size)

    def choice(self, cover, size):
        """The parameters that an application would get."""
        text = self.explain(cover, size)
        return {name: number(value) for name, value in re.findall(r"^  (\w+) +(\S+)$", text, re.MULTILINE)}


def medians_of(study):
    """The median of each variant that has one, by its parameters. A duplicate has its twin's."""
    variants = study["variants"]
    medians = {}
    for variant in variants:
        run = variant if variant["twin"] is None else variants[variant["twin"]]
        if variant["outcome"] in ("measured", "duplicate") and run["outcome"] == "measured":
            medians[key(variant["parameters"])] = run["time"]["median_ns"]
    return medians


def measure_size(tuner, cover, candidates, size):
    """The medians, in ns, of the fastest few, the candidates and the configurations; the choice's key; and all parameters
    by key."""
    problem = tuples([dict(cover["fixed"], **size)])
    budget = ["--budget", tuner.arguments.budget] if tuner.arguments.budget else []
    space = tuner.tune(cover["kernel"], cover["kernel"], "--set", problem, *budget)
    parameters = {key(variant["parameters"]): variant["parameters"] for variant in space["variants"]}
    times = medians_of(space)
    choice = tuner.choice(cover, size)
    names = next(iter(parameters.values()))
    choice = {name: choice[name] for name in names}
    fastest = sorted(times, key=times.get)[:FASTEST]
    rows = {name: parameters[name] for name in fastest}
    for other in (*cover["configurations"].values(), *candidates, choice):
        rows[key(other)] = {name: other[name] for name in names}
    with tempfile.TemporaryDirectory(dir=tuner.work) as own:
        rounds = tuner.tune(cover["kernel"], own, "--set", problem, "--set", tuples(list(rows.values())),
                            "--exhaustive", str(ROUNDS))
    return medians_of(rounds), key(choice), rows


def other_rows(path, kernels):
    """The lines of a CSV that are not of these kernels; older ones lack columns."""
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8", newline="") as stream:
        return [[row.get(name, "") for name in COLUMNS] for row in csv.DictReader(stream) if row["kernel"] not in kernels]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--autotune", default="build/autotune")
    parser.add_argument("--config", default="configs/cover.ini")
    parser.add_argument("--tuned", default="results/tuned.ini")
    parser.add_argument("--results", default="results")
    parser.add_argument("--work")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--budget")
    parser.add_argument("--kernel", action="append")
    arguments = parser.parse_args()
    arguments.autotune = os.path.abspath(arguments.autotune)
    covers = [cover for cover in read_covers(arguments.tuned)
              if arguments.kernel is None or cover["kernel"] in arguments.kernel]
    if not covers:
        sys.exit(f"cover.py: '{arguments.tuned}' has no cover; make one with `autotune cover`")
    work = arguments.work or tempfile.mkdtemp(prefix="cover.")
    tuner = Tuner(arguments, work)
    folder = os.path.join(arguments.results, re.sub(r"[^a-z0-9]+", "-", covers[0]["gpu"].lower()).strip("-"))
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "cover.csv")
    others = other_rows(path, {cover["kernel"] for cover in covers}) if arguments.kernel else []
    with open(path, "w", encoding="utf-8", newline="") as stream:
        rows = csv.writer(stream, lineterminator="\n")
        rows.writerow(COLUMNS)
        rows.writerows(others)
        for cover in covers:
            candidates = tuner.candidates(cover["kernel"])
            shipped = {key(own) for own in cover["configurations"].values()}
            pool = shipped | {key(own) for own in candidates}
            qualities = []
            generator = random.Random(f"{arguments.seed} {cover['kernel']}")
            for size in draw_sizes(cover, arguments.count, generator, partial(tuner.covers, cover)):
                medians, chosen, parameters = measure_size(tuner, cover, candidates, size)
                best = min(medians, key=medians.get)
                qualities.append([quality(medians, which) for which in (pool, shipped, [chosen])])
                rows.writerow([cover["kernel"], " ".join(f"{name}={value}" for name, value in size.items()),
                               arguments.seed, *(f"{qualities[-1][i]:.4f}" for i in (2, 0, 1)),
                               f"{medians.get(chosen, math.nan) * 1e-3:.3f}", f"{medians[best] * 1e-3:.3f}",
                               *(" ".join(f"{name}={value}" for name, value in parameters[which].items())
                                 for which in (chosen, best))])
                stream.flush()
            mean, low, worst = summarise([own[2] for own in qualities])
            print(f"{cover['kernel']}: {len(qualities)} sizes, q {mean:.4f} in the geometric mean, {low:.4f} at the 5th "
                  f"percentile, {worst:.4f} at worst (seed {arguments.seed})")
            lost = losses(qualities)
            print(f"  lost by the {len(pool)} candidates {lost[0]:.2f} %, by the {len(shipped)} chosen {lost[1]:.2f} %, "
                  f"by the rule {lost[2]:.2f} %", flush=True)


if __name__ == "__main__":
    main()
