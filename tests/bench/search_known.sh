#!/bin/sh
# usage: search_known.sh AUTOTUNE FILE.t4.json...
#
# What results of another GPU are worth to a search, and what they cost if they are wrong. Files are
# named KERNEL-GPU.t4.json, and every point of each was measured. Prints CSV: for each file, searches
# that begin with nothing, with each other file of the same kernel, and with the file itself with the
# slowest point as the fastest ("contrary"). Needs python3, and no GPU.
set -eu

autotune=$1
shift
contrary=$(mktemp)
trap 'rm -f "$contrary"' EXIT

# simulate FILE NAME [OPTION...]: NAME is what the searches begin with
simulate() {
    file=$1
    name=$2
    shift 2
    "$autotune" simulate "$file" --evaluations 10,25,50,100,200 --format csv "$@" |
        tail -n +2 | sed "s|^[^,]*|$(basename "$file" .t4.json),$name|"
}

echo file,known,strategy,evaluations,repeats,share_mean,share_min,share_p5,gap_mean,cpu_us
for file; do
    kernel=$(basename "$file")
    kernel=${kernel%%-*}
    simulate "$file" nothing
    for other; do
        case $(basename "$other") in
        "$(basename "$file")") ;;
        "$kernel"-*) simulate "$file" "$(basename "$other" .t4.json)" --known "$other" ;;
        esac
    done
    python3 - "$file" >"$contrary" <<'PYTHON'
import json
import sys

document = json.load(open(sys.argv[1]))
for result in document["results"]:
    time = result["measurements"][0]
    if isinstance(time["value"], float):
        time["value"] = 100 / time["value"]
        result["times"]["runtimes"] = [time["value"]]
json.dump(document, sys.stdout)
PYTHON
    simulate "$file" contrary --known "$contrary"
done
