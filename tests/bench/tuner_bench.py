"""Writes the tables of tests/bench/tuner_bench.sh.

    tuner_bench.py header               the header of tuner_bench.csv
    tuner_bench.py line JOBS CACHE WALL_NS TUNED_NS TIMINGS COMMIT
                                        one line of tuner_bench.csv; TIMINGS is the output of --timings
    tuner_bench.py pool STUDIES…        merges studies: one study with the samples of all
    tuner_bench.py regret TRUTH SWEEP…  one line per sweep: its winner's true time over the best true time
    tuner_bench.py summary REGRET       summarises the output of regret
    tuner_bench.py peer TRUTH           reads another tuner's runs from stdin, one RUN,VERSION,…,WINNER per line, and adds
                                        the true time and the regret of each winner
"""

import csv
import json
import re
import statistics
import sys

STAGES = ["reading", "enumerating", "waiting for the CUDA", "waiting for the compiler", "buffers", "loading",
          "verifying", "screening", "finals", "writing", "reports"]
NAMES = ["start_s", "space_s", "context_s", "compile_wait_s", "prepare_s", "load_s", "verify_s", "screen_s",
         "finals_s", "record_s", "report_s"]
VARIANTS = 504


def stage_times(path):
    times = {}
    for line in open(path, encoding="utf-8"):
        match = re.match(r"\s*([0-9.]+) s\s+(.*)", line)
        if match:
            for stage, name in zip(STAGES, NAMES):
                if match.group(2).startswith(stage):
                    times[name] = float(match.group(1))
    return times


def line(jobs, cache, wall_ns, tuned_ns, path, commit):
    wall_s = int(wall_ns) * 1e-9
    tuned_s = int(tuned_ns) * 1e-9
    times = stage_times(path)
    print(",".join([jobs, cache, f"{wall_s:.3f}", f"{tuned_s:.3f}", f"{VARIANTS / tuned_s:.0f}"] +
                   [f"{times[name]:.3f}" for name in NAMES] + [commit]))


def key(variant):
    return json.dumps(variant["parameters"])


def median(variant):
    return statistics.median(variant["samples_ns"])


def pool(*paths):
    studies = [json.load(open(path, encoding="utf-8"))[0] for path in paths]
    samples = {}
    for study in studies:
        for variant in study["variants"]:
            samples.setdefault(key(variant), []).extend(variant["samples_ns"])
    for variant in studies[0]["variants"]:
        variant["samples_ns"] = samples[key(variant)]
    json.dump([studies[0]], sys.stdout)


def kendall_tau(ranks):
    """Kendall's tau of true ranks listed in the tuner's order: 1 if they ascend, or if there is only one."""
    pairs = [(a, b) for i, a in enumerate(ranks) for b in ranks[i + 1:]]
    return sum(1 if a < b else -1 for a, b in pairs) / len(pairs) if pairs else 1


def regret(truth_path, *paths):
    truth_study = json.load(open(truth_path, encoding="utf-8"))[0]
    truth = {key(v): median(v) for v in truth_study["variants"] if v["outcome"] == "measured"}
    best = min(truth.values())
    order = {k: i for i, k in enumerate(sorted(truth, key=truth.get))}
    print("sweep,winner,true_us,best_true_us,regret_percent,true_rank,ties,kendall_tau_top10")
    for number, path in enumerate(paths, 1):
        study = json.load(open(path, encoding="utf-8"))[0]
        variants = study["variants"]
        winner = variants[study["winner"]]
        ties = sum(v["tied"] for v in variants)
        finalists = sorted((v for v in variants if v["finalist"]), key=median)[:10]
        tau = kendall_tau([order[key(v)] for v in finalists])
        name = " ".join(f"{k}={v}" for k, v in winner["parameters"].items() if k in
                        ("block_size", "num_load", "min_blocks", "blocks_per_sm_wanted"))
        true = truth[key(winner)]
        print(f"{number},{name},{true / 1e3:.2f},{best / 1e3:.2f},{100 * (true / best - 1):.2f},"
              f"{order[key(winner)] + 1},{ties},{tau:.2f}")


def summary(path):
    rows = list(csv.DictReader(open(path, encoding="utf-8")))
    good = sum(float(row["regret_percent"]) <= 1 for row in rows)
    winners = {row["winner"] for row in rows}
    print(f"regret at most 1 % in {good} of {len(rows)} sweeps; {len(winners)} different winners")
    for row in rows:
        print("  ".join(row.values()))


def peer(truth_path):
    study = json.load(open(truth_path, encoding="utf-8"))[0]
    names = ("block_size", "num_load", "min_blocks", "blocks_per_sm_wanted")
    truth = {tuple(v["parameters"][name] for name in names): median(v)
             for v in study["variants"] if v["outcome"] == "measured"}
    best = min(truth.values())
    print("run,version,wall_s,variants,variants_per_s,winner,true_us,regret_percent")
    for row in sys.stdin:
        winner = dict(pair.split("=") for pair in row.rstrip("\n").split(",")[5].split())
        true = truth[tuple(int(winner[name]) for name in ("BLOCK_SIZE", "NUM_LOAD", "MIN_BLOCKS", "BLOCKS_PER_SM"))]
        print(f"{row.rstrip()},{true / 1e3:.2f},{100 * (true / best - 1):.2f}")


if __name__ == "__main__":
    if sys.argv[1] == "header":
        print(",".join(["jobs", "cache", "wall_s", "tuned_s", "variants_per_s"] + NAMES + ["commit"]))
    else:
        {"line": line, "pool": pool, "regret": regret, "summary": summary, "peer": peer}[sys.argv[1]](*sys.argv[2:])
