"""Whether every variant of the shipped families ended as it must, for tests/gpu/families.sh.

    families.py AUTOTUNE RESULTS

Prints how often each outcome occurred; exit status 1 and the reasons where one is not as it must be.
"""

import collections
import json
import subprocess
import sys

SHOWN = 8  # reasons a study


def allowed(study, variant):
    """The outcomes that a variant may have on a GPU of compute capability 7.0 or later."""
    parameters = variant["parameters"]
    template = study["template"]
    if template == "grid_barrier" and parameters["barrier"] == "none":
        return ["wrong_result"]
    if template == "atomics" and parameters["method"] == "racy":
        return ["wrong_result"]
    if template == "lock" and parameters["method"] == "spin_mutex":
        return ["measured", "timeout"]
    return ["measured"]


def outcome_of(study, variant):
    """The outcome of the variant that was run: a duplicate's twin."""
    return (study["variants"][variant["twin"]] if variant["outcome"] == "duplicate" else variant)["outcome"]


def main(autotune, results):
    output = subprocess.run([autotune, "report", "--results", results, "--format", "json"],
                            check=True, capture_output=True, text=True).stdout
    counts = collections.Counter()
    failed = False
    for study in json.loads(output):
        where = f"{study['kernel']} {study['problem']}"
        wrong = [variant for variant in study["variants"] if outcome_of(study, variant) not in allowed(study, variant)]
        counts.update(variant["outcome"] for variant in study["variants"])
        accounted = len(study["variants"]) + study["rejected"]
        if accounted != study["points"]:
            print(f"{where}: {accounted} of {study['points']} points")
            failed = True
        for variant in wrong[:SHOWN]:
            print(f"{where} {variant['parameters']}: {variant['outcome']}: {variant['reason']}")
        if len(wrong) > SHOWN:
            print(f"{where}: and {len(wrong) - SHOWN} more")
        failed = failed or bool(wrong)
    print(dict(counts))
    return failed or not counts


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
