"""Whether verification rejects every mutant and no kernel as it is shipped, for tests/gpu/mutants.sh.

    mutants.py AUTOTUNE RESULTS MUTANTS

Prints a table with a line for each NAME.sed of MUTANTS, and how many passed; exit status 1 where one did not.
"""

import json
import pathlib
import subprocess
import sys

REJECTED = ["wrong_result", "fault", "timeout"]


def only_variant(studies, kernel):
    """The template, outcome and reason of a kernel's one variant; outcome None where there is none."""
    study = studies.get(kernel)
    if study is None or len(study["variants"]) != 1:
        return "", None, ""
    variant = study["variants"][0]
    return study["template"], variant["outcome"], variant["reason"] or ""


def judge(studies, name):
    """Whether it passed, and its line of the table."""
    template, outcome, reason = only_variant(studies, name)
    _, right_outcome, right_reason = only_variant(studies, name + "_right")
    passed = outcome in REJECTED and right_outcome == "measured"
    if right_outcome != "measured":
        reason += f" [unbroken: {right_outcome} {right_reason}]"
    if not passed:
        reason += " FAILED"
    return passed, [name, template, str(outcome), reason.strip()]


def main(autotune, results, mutants):
    output = subprocess.run([autotune, "report", "--results", results, "--format", "json"],
                            check=True, capture_output=True, text=True).stdout
    studies = {study["kernel"]: study for study in json.loads(output)}
    names = sorted(path.stem for path in pathlib.Path(mutants).glob("*.sed"))
    judged = [judge(studies, name) for name in names]
    rows = [["mutant", "template", "outcome", "reason"]] + [line for _, line in judged]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for row in rows:
        print("  ".join([cell.ljust(width) for cell, width in zip(row, widths)] + row[3:]).rstrip())
    passed = sum(good for good, _ in judged)
    print(f"{passed} passed, {len(judged) - passed} failed")
    return passed < len(judged) or not judged


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
