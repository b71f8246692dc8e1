#!/usr/bin/env bats
# `report --format html` and `t4`, and `--output`.
shared_cubins=yes
load helper

@test "html: one page that needs nothing else" {
    expect 0 --config "$sweeps/scale.ini"
    expect 0 report --format html --output page.html
    [ ! -s out ]
    has page.html "<title>scale on Stand-in H200</title>" "is fastest with" "All variants" "</html>"
    lacks page.html "http://" "https://" "src="
    equal "$(grep -c '<tr class="winner-row">' page.html)" 1
    grep -q '<svg class="plot"' page.html
}

@test "html: the charts need no other program" {
    expect 0 --config "$sweeps/scale.ini"
    # shellcheck disable=SC2123 # what it is for
    PATH=$scratch/nothing
    autotune report --format html --output page.html
    PATH=/usr/local/bin:/usr/bin:/bin
    exits 0
    [ ! -s err ]
    has page.html "All variants, fastest first" '<svg class="plot"'
}

@test "html: every chart is well-formed XML with its title as a label" {
    command -v python3 >/dev/null || skip "no python3 to read it"
    expect 0 --config "$sweeps/scale.ini"
    expect 0 --config "$sweeps/outcomes.ini"
    expect 0 --config "$sweeps/shapes.ini" --arch sm_90
    expect 0 report --format html --output page.html
    python3 - <<'PYTHON'
import re
import xml.etree.ElementTree as tree
page = open("page.html", encoding="utf-8").read()
figures = re.findall(r"<figure>.*?<b>(.*?)</b>.*?(<svg.*?</svg>).*?</figure>", page, re.DOTALL)
assert len(figures) > 5 and len(figures) == page.count("<svg") == page.count("<figure>"), len(figures)
for title, svg in figures:
    root = tree.fromstring(svg)
    assert root.get("role") == "img", title
    assert root.get("aria-label") == title, title
    assert len(root.findall("text")) > 3, title
    assert re.fullmatch(r"0 0 \d+ \d+", root.get("viewBox")), title
    for element in root.iter():
        for name in ("x", "y", "cx", "cy", "r", "width", "height", "stroke-width"):
            value = element.get(name)
            assert value is None or re.fullmatch(r"-?\d+(\.\d)?", value), (title, name, value)
        if element.tag == "path":
            assert re.fullmatch(r"[MLmh0-9. -]*", element.get("d")), (title, element.get("d"))
PYTHON
}

@test "a folder gets a page for each kernel and a t4 file for each study" {
    expect 0 --config "$sweeps/shapes.ini" --kernel tile --kernel types
    expect 0 report --format html --output pages/
    equal "$(find pages -name '*.html' | sort | tr '\n' ' ')" "pages/stand-in-h200/tile.html pages/stand-in-h200/types.html "
    expect 0 report --kernel types --format t4 --output runs/
    equal "$(find runs -name '*.t4.json' | wc -l)" 6
}

@test "t4: every variant with its validity" {
    command -v python3 >/dev/null || skip "no python3 to read it"
    expect 0 --config "$sweeps/outcomes.ini"
    expect 0 report --format t4
    python3 - <<'PYTHON'
import collections, json
document = json.load(open("out"))
assert document["schema_version"] == "1.0.0"
found = collections.Counter(result["invalidity"] for result in document["results"])
assert found["correct"] == 2 and found["timeout"] == 1 and found["compile"] == 1, found
assert found["correctness"] >= 4 and found["runtime"] >= 2 and found["constraints"] >= 1, found
for result in document["results"]:
    assert (len(result["times"]["runtimes"]) > 0) == (result["invalidity"] == "correct"), result
PYTHON
}

@test "t4: valid by the schema, version 1.0.0" {
    python3 -c 'import jsonschema' 2>/dev/null || skip "no python3-jsonschema"
    for sweep in scale outcomes shapes; do
        autotune --config "$sweeps/$sweep.ini"
        [ "$code" -le 1 ]
    done
    expect 0 report --format t4
    python3 - "$SOURCE_DIR/tests/t4/results-schema.json" <<'PYTHON'
import copy, json, sys
import jsonschema
schema = json.load(open(sys.argv[1]))
documents = [json.loads(line) for line in open("out")]
assert len(documents) > 5, len(documents)
for document in documents:
    jsonschema.validate(document, schema)
    assert document["results"]


def refused(change):
    wrong = copy.deepcopy(documents[0])
    change(wrong["results"][0])
    try:
        jsonschema.validate(wrong, schema)
    except jsonschema.ValidationError:
        return True
    return False


# the validator does look
assert refused(lambda result: result.update(invalidity="fine"))
assert refused(lambda result: result.pop("times"))
assert refused(lambda result: result["measurements"][0].update(unit=1))
PYTHON
}

@test "t4 has no word for variants that were not run" {
    expect 0 --config "$sweeps/scale.ini" --arch sm_90
    expect 2 report --format t4 --output run.json
    [ ! -e run.json ]
}

@test "an unknown format, with those that there are" {
    expect 2 report --format xml
    has err "'xml'" table csv json html t4
}

@test "what cannot be written is an error" {
    expect 0 --config "$sweeps/scale.ini"
    expect 4 report --format html --output /dev/null/page.html
    has err /dev/null
}
