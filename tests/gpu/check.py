"""Checks of what a sweep stored, for tests/gpu.sh.

    check.py outcomes AUTOTUNE RESULTS
    check.py occupancy AUTOTUNE RESULTS STATIC_RESULTS
    check.py batches AUTOTUNE RESULTS
    check.py planted AUTOTUNE RESULTS GOOD_RESULTS COUNT
    check.py repeat AUTOTUNE RESULTS
"""

import json
import subprocess
import sys

FIGURES = ["registers", "static_shared_bytes", "dynamic_shared_bytes", "block_threads",
           "blocks_per_sm", "occupancy"]


# How a planted fault (tests/planted/planted.cu) must end, and what its reason says.
PLANTED = {
    "endless_loop": ("timeout", "did not end within"),
    "endless_barrier": ("timeout", "did not end within"),
    "write_past": ("wrong_result", "4 bytes outside buffer 'out' were written"),
    "write_far": ("fault", "CUDA_ERROR_ILLEGAL_ADDRESS"),
    "misaligned": ("fault", "CUDA_ERROR_MISALIGNED_ADDRESS"),
    "trap": ("fault", "CUDA_ERROR_"),
    "asserts": ("fault", "CUDA_ERROR_ASSERT"),
    "stack_overflow": ("fault", "CUDA_ERROR_"),
    "wrong": ("wrong_result", "1 of 8388608 elements differ"),
    "unwritten": ("wrong_result", "1 were not written"),
    "flaky_race": ("wrong_result", "elements differ"),
    "unroll": ("compile_error", "did not end within"),
}
# How a variant of repeat.cu and larger.cu in tests/standin/templates must end. What looks for a result in work space finds poison there,
# and computes.
REPEAT_MEASURED = {"good", "slow", "memo"}
TIMES_APART = 1.5  # of a good variant, with planted ones and without: gross errors only


def studies(autotune, results):
    output = subprocess.run([autotune, "report", "--results", results, "--format", "json"],
                            check=True, capture_output=True, text=True).stdout
    return json.loads(output)


def check(condition, message):
    if not condition:
        sys.exit(message)


def run_of(study, variant):
    """The variant that was run: a duplicate's twin."""
    return study["variants"][variant["twin"]] if variant["outcome"] == "duplicate" else variant


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
            counts[variant["outcome"]] = counts.get(variant["outcome"], 0) + 1
            outcome = run_of(study, variant)["outcome"]
            wrong = variant["parameters"].get("barrier") == "none" and study["kernel"] == "grid_barrier"
            expected = "wrong_result" if wrong else "measured"
            check(outcome == expected,
                  f"{where} {variant['parameters']}: {outcome}, not {expected}: {variant['reason']}")
        given_up = check_given_up(study, where)
        counts["given up"] = counts.get("given up", 0) + given_up
    print(counts)


def check_given_up(study, where):
    """That only variants far slower than the winner were given up after one sample; how many were."""
    winner_ns = study["variants"][study["winner"]]["time"]["median_ns"]
    given_up = [variant for variant in study["variants"] if variant["time"] and variant["time"]["samples"] == 1]
    for variant in given_up:
        time = variant["time"]
        check(time["median_ns"] > 1.8 * winner_ns, f"{where} {variant['parameters']}: given up at {time['median_ns']} ns")
        check(time["low_ns"] is None, f"{where} {variant['parameters']}: one sample has no interval")
    return len(given_up)


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


def check_good(study, alone):
    """That good variants have their times, the same as they have alone."""
    times = {variant["parameters"]["block_size"]: variant["time"]["median_ns"] for variant in alone["variants"]}
    good = [variant for variant in study["variants"] if variant["parameters"]["fault"] == "none"]
    check({variant["parameters"]["block_size"] for variant in good} == times.keys(), "not the same good variants")
    for variant in good:
        parameters = variant["parameters"]
        check(variant["outcome"] == "measured", f"{parameters}: {variant['outcome']}: {variant['reason']}")
        ratio = variant["time"]["median_ns"] / times[parameters["block_size"]]
        check(1 / TIMES_APART < ratio < TIMES_APART, f"{parameters}: {ratio:.2f} times what it takes alone")


def check_batches(autotune, results):
    """That what is short was measured in batches, and in a problem with batches all that could be compared."""
    batched_studies = 0
    for study in studies(autotune, results):
        where = f"{study['kernel']} {study['problem']}"
        times = [(variant["runs"], variant["time"]["median_ns"]) for variant in study["variants"]
                 if variant["outcome"] == "measured"]
        batched = [time for runs, time in times if runs > 1]
        single = [time for runs, time in times if runs == 1]
        check(all(time >= (20000 if batched else 10000) for time in single),
              f"{where}: single runs of {min(single, default=0)} ns; {len(batched)} variants are batched")
        if not batched:
            continue
        batched_studies += 1
        check(0 < study["empty_batch_ns"] < study["empty_kernel_ns"],
              f"{where}: an empty kernel takes {study['empty_batch_ns']} ns in a batch")
        print(f"{where}: {len(batched)} batched, {len(single)} not; best {min(batched):.0f} ns, an empty kernel "
              f"{study['empty_batch_ns']:.0f} ns, alone {study['empty_kernel_ns']:.0f} ns")
    check(batched_studies > 0, "nothing was batched")


def winner(study):
    """The winner's block size, and those that tie with it."""
    check(study["winner"] is not None, "no winner")
    tied = {variant["parameters"]["block_size"] for variant in study["variants"] if variant["tied"]}
    return study["variants"][study["winner"]]["parameters"]["block_size"], tied


def check_winner(study, alone):
    """That the same variant has won, or one that ties with it."""
    (won, tied), (won_alone, tied_alone) = winner(study), winner(alone)
    check(won in tied_alone or won_alone in tied or won == won_alone,
          f"block size {won} won, without the planted variants {won_alone}")


def check_planted(autotune, results, good_results, count):
    (study,), (alone,) = studies(autotune, results), studies(autotune, good_results)
    planted = [variant for variant in study["variants"] if variant["parameters"]["fault"] != "none"]
    check(len(planted) == int(count), f"{len(planted)} planted variants")
    wrong = []
    for variant in planted:
        outcome, reason = PLANTED[variant["parameters"]["fault"]]
        if variant["outcome"] != outcome or reason not in (variant["reason"] or ""):
            wrong.append(f"{variant['parameters']}: {variant['outcome']}: {variant['reason']}, "
                         f"not {outcome}: {reason}")
    for line in wrong[:20]:
        print(line)
    check(not wrong, f"{len(wrong)} of {len(planted)} planted variants have another outcome")
    check_good(study, alone)
    check_winner(study, alone)
    for fault in PLANTED:
        same = [variant for variant in planted if variant["parameters"]["fault"] == fault]
        if same:
            print(f"{len(same):4} {fault:16} {same[0]['outcome']:14} {same[0]['reason']}")


def may_be_missed(study, variant):
    """Whether a variant that is wrong may end as measured: it has not won, and shows only after as many runs as the winner
    alone is verified with; or it has lost, and shows only with a kind of poison that it did not meet in its trial."""
    late = variant["parameters"]["mode"] in ("module_late", "late_memo") and study["variants"][study["winner"]] != variant
    unlucky = study["kernel"] == "larger" and not variant["finalist"] and variant["runs"] == 1
    return variant["outcome"] == "measured" and (late or unlucky)


def check_repeat(autotune, results):
    """That no variant wins that is wrong later or on other data, and that the best of the others does."""
    for study in studies(autotune, results):
        where = f"{study['kernel']} n={study['problem']['n']}"
        check(study["winner"] is not None, f"{where}: no winner")
        won = study["variants"][study["winner"]]
        won_ns = won["time"]["median_ns"]
        times, missed = {}, {}
        for variant in study["variants"]:
            parameters = variant["parameters"]
            mode = parameters["mode"]
            right = mode in REPEAT_MEASURED
            expected = "measured" if right else "wrong_result"
            check(variant["outcome"] == expected or not right and may_be_missed(study, variant),
                  f"{where} {parameters}: {variant['outcome']}, not {expected}: {variant['reason']}")
            # who is no finalist has lost by times of the screening, which do not compare with those of the finals
            if variant["outcome"] == "measured" and not right and variant["finalist"] and mode != "module_late":
                check(variant["time"]["median_ns"] > 1.002 * won_ns, f"{where}: {mode} is wrong, as fast as the winner, and measured")
            if variant["outcome"] == "measured":
                found = times if right else missed
                found[mode] = min(variant["time"]["median_ns"], found.get(mode, float("inf")))
        text = ", ".join(f"{mode} {ns / 1000:.2f} us" for mode, ns in sorted(times.items()))
        # of those that were measured like it: what the screening alone has measured does not compare
        rivals = [variant["time"]["median_ns"] for variant in study["variants"]
                  if variant["finalist"] and variant["parameters"]["mode"] in REPEAT_MEASURED]
        check(won_ns <= 1.005 * min(rivals), f"{where}: {won['parameters']} won with {won_ns} ns, which is not the best: {text}")
        check(won_ns > 0.9 * times["good"], f"{where}: {won['parameters']} won with {won_ns} ns, which cannot be right: {text}")
        slower = "".join(f"; {mode} was not found, and has not won, with {ns / won_ns:.3f} times" for mode, ns in sorted(missed.items()))
        print(f"{where}: {won['parameters']['mode']} with {won['parameters']['block_size']} threads won; {text}{slower}")


if __name__ == "__main__":
    {"outcomes": check_outcomes, "occupancy": check_occupancy, "batches": check_batches,
     "planted": check_planted, "repeat": check_repeat}[sys.argv[1]](*sys.argv[2:])
