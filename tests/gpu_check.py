"""Checks of what a sweep stored, for tests/gpu.sh.

    gpu_check.py outcomes AUTOTUNE RESULTS
    gpu_check.py occupancy AUTOTUNE RESULTS STATIC_RESULTS
"""

import json
import subprocess
import sys

FIGURES = ["registers", "static_shared_bytes", "dynamic_shared_bytes", "block_threads",
           "blocks_per_sm", "occupancy"]


def studies(autotune, results):
    output = subprocess.run([autotune, "report", "--results", results, "--format", "json"],
                            check=True, capture_output=True, text=True).stdout
    return json.loads(output)


def check(condition, message):
    if not condition:
        sys.exit(message)


def variant_key(study, variant):
    return json.dumps([study["kernel"], study["problem"], variant["parameters"]])


def check_outcomes(autotune, results):
    counts = {}
    for study in studies(autotune, results):
        where = f"{study['kernel']} {study['problem']}"
        accounted = len(study["variants"]) + study["rejected"]
        check(accounted == study["points"], f"{where}: {accounted} of {study['points']} points")
        check(study["winner"] is not None, f"{where}: no winner")
        for variant in study["variants"]:
            outcome = variant["outcome"]
            counts[outcome] = counts.get(outcome, 0) + 1
            wrong = variant["parameters"].get("barrier") == "none" and study["kernel"] == "grid_barrier"
            expected = "wrong_result" if wrong else "measured"
            check(outcome == expected,
                  f"{where} {variant['parameters']}: {outcome}, not {expected}: {variant['reason']}")
    print(counts)


def check_occupancy(autotune, results, static_results):
    static = {variant_key(study, variant): variant
              for study in studies(autotune, static_results) for variant in study["variants"]}
    compared = 0
    for study in studies(autotune, results):
        for variant in study["variants"]:
            other = static.get(variant_key(study, variant))
            check(other is not None, f"{variant_key(study, variant)} is not in the static report")
            for figure in FIGURES:
                driver, calculator = variant["figures"][figure], other["figures"][figure]
                check(driver == calculator, f"{variant_key(study, variant)}: {figure} is {driver} "
                                            f"by the driver, {calculator} by the calculator")
            compared += 1
    check(compared > 0, "nothing was compared")
    print(f"{compared} variants agree")


if __name__ == "__main__":
    {"outcomes": check_outcomes, "occupancy": check_occupancy}[sys.argv[1]](*sys.argv[2:])
