#!/usr/bin/env bash
# Loads a report and the page of a cover in a browser: fails on errors in its console, plots that are missing or empty, anything
# fetched from elsewhere, a page wider than its window, tables that do not sort. Exit status 77, skipped, without a browser.
# usage: report_html.sh BUILD_DIR [PAGE.html]   without a page, both are made with the stand-in driver
set -euo pipefail
build=$(readlink -f "${1:?usage: report_html.sh BUILD_DIR [REPORT.html]}")
source=$(readlink -f "$(dirname "${BASH_SOURCE[0]}")/../..")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

browser=
for name in chromium chromium-browser google-chrome; do
    if command -v "$name" >/dev/null; then
        browser=$name
        break
    fi
done
if [[ -z $browser ]]; then
    echo "skipped: needs chromium"
    exit 77
fi

with_stand_in() {
    export AUTOTUNE_CACHE=$scratch/cache AUTOTUNE_LOCK_FOLDER=$scratch AUTOTUNE_STANDIN=noise=0.002,l2_bytes=1048576
    export LD_LIBRARY_PATH=$build/tests/standin
    cd "$scratch"
    local cubins=${AUTOTUNE_TEST_CUBINS:-$build/tests/cubin} # as in cli/helper.bash
    mkdir -p "$cubins" cache
    ln -s "$cubins" cache/cubin
}

make_report() { # a measured kernel, failures of every kind, static mode
    "$build/autotune" --config "$source/tests/standin/scale.ini" --quiet >"$scratch/log"
    "$build/autotune" --config "$source/tests/standin/outcomes.ini" --quiet >"$scratch/log"
    "$build/autotune" --config "$source/tests/standin/shapes.ini" --quiet >"$scratch/log"
    "$build/autotune" --config "$source/tests/standin/scale.ini" --arch sm_90 --quiet >"$scratch/log"
    "$build/autotune" report --format html --output "$scratch/report.html"
}

make_cover_page() { # two configurations
    cat >"$scratch/cover.ini" <<END
[sweep]
templates = $source/tests/standin/templates
[scale]
cover = n = 2^13 .. 2^17
cover_configurations = 2
block_size = 256, 512
num_load = 1, 4
END
    "$build/autotune" cover --config "$scratch/cover.ini" --results cover --tuned cover/tuned.ini --output "$scratch" --quiet \
        >"$scratch/log"
    mv "$scratch/scale.html" "$scratch/cover.html"
}

# The page with a script before it that keeps errors, and one behind it that looks around and leaves its findings.
instrument() { # REPORT
    awk '
        /^<meta charset/ && !done {
            done = 1
            print
            print "<script>const found=[];addEventListener(\"error\",e=>found.push(`error: ${e.message||e.target.outerHTML}`),true);"
            print "const say=console.error;console.error=(...a)=>{found.push(`console: ${a}`);say(...a)};</script>"
            next
        }
        /^<\/body>/ {
            while ((getline line < probe) > 0)
                print line
        }
        { print }' probe="$scratch/probe.html" "$1"
}

cat >"$scratch/probe.html" <<'HTML'
<script>
const check = (holds, text) => holds || found.push(text);
const name = element => (element.closest('figure')?.querySelector('b') ?? document.querySelector('h1')).textContent;
for (const figure of document.querySelectorAll('figure'))
  check(figure.querySelector('svg.plot'), `no plot: ${figure.textContent}`);
const plots = document.querySelectorAll('svg.plot');
check(plots.length > 0, 'no plots');
for (const plot of plots) {
  const box = plot.getBoundingClientRect();
  const [width, height] = plot.closest('figure') ? [200, 100] : [100, 15];
  check(box.width > width && box.height > height, `tiny plot: ${name(plot)}: ${box.width} x ${box.height}`);
  check(plot.querySelectorAll('text').length > (plot.closest('figure') ? 3 : 1), `no texts: ${name(plot)}`);
  check(plot.querySelectorAll('circle, rect, .dots').length > 0, `no points: ${name(plot)}`);
  for (const mark of plot.querySelectorAll('circle, rect:not(.frame)')) {
    const paint = getComputedStyle(mark).fill;
    if (paint === 'none' || paint === 'rgb(0, 0, 0)') { found.push(`unpainted: ${name(plot)}: ${paint}`); break; }
  }
  for (const dots of plot.querySelectorAll('.dots'))
    check(!['none', 'rgb(0, 0, 0)'].includes(getComputedStyle(dots).stroke), `unpainted dots: ${name(plot)}`);
  const places = [...plot.querySelectorAll('text')].map(text => [text, text.getBoundingClientRect()]);
  for (const [text, place] of places)
    check(place.left >= box.left - 1 && place.right <= box.right + 1 && place.top >= box.top - 1 && place.bottom <= box.bottom + 1,
        `text outside of its plot: ${name(plot)}: ${text.textContent}`);
  const upright = places.filter(([text]) => !text.hasAttribute('transform')); // the boxes of turned texts overlap, they do not
  upright.forEach(([text, a], i) => upright.slice(0, i).forEach(([other, b]) => check(
      a.right <= b.left || b.right <= a.left || a.bottom - 3 <= b.top || b.bottom - 3 <= a.top,
      `texts overlap: ${name(plot)}: ${other.textContent}, ${text.textContent}`)));
  for (const line of plot.querySelectorAll('path:not(.dots)'))
    check(!['none', 'rgb(0, 0, 0)'].includes(getComputedStyle(line).stroke), `unpainted line: ${name(plot)}`);
}
check(document.documentElement.scrollWidth <= innerWidth, `page of ${document.documentElement.scrollWidth} in ${innerWidth}`);
check(performance.getEntriesByType('resource').length === 0, 'fetches something');
for (const table of document.querySelectorAll('table.sortable')) {
  const heads = [...table.tHead.rows[0].cells];
  for (const row of table.tBodies[0].rows)
    check(row.cells.length === heads.length, `${row.cells.length} cells under ${heads.length} headings`);
  heads.forEach((head, index) => {
    const numbers = () => [...table.tBodies[0].rows].map(row => row.cells[index].textContent.trim())
        .filter(text => text !== '').map(parseFloat);
    const sorted = sign => numbers().every((number, i, all) => !i || sign * (number - all[i - 1]) >= 0);
    if (numbers().some(isNaN)) return;
    head.click();
    check(sorted(1), `not ascending: ${head.textContent}`);
    head.click();
    check(sorted(-1), `not descending: ${head.textContent}`);
  });
}
const dark = matchMedia('(prefers-color-scheme: dark)').matches;
const back = getComputedStyle(document.body).backgroundColor.match(/\d+/g).map(Number);
check(dark === back[0] < 128, `background ${back} where dark is ${dark}`);
const report = document.createElement('pre');
report.id = 'findings';
report.textContent = `PLOTS ${plots.length} DARK ${dark}\n` + found.map(text => `FOUND ${text}\n`).join('');
document.body.append(report);
</script>
HTML

look() { # WIDTH SCHEME (0 dark, 1 light)
    local options=(--headless --disable-gpu --user-data-dir="$scratch/profile" --enable-logging=stderr
        --window-size="$1,1000" --blink-settings="preferredColorScheme=$2" --virtual-time-budget=5000 --dump-dom)
    ((EUID != 0)) || options+=(--no-sandbox)
    timeout 100 "$browser" "${options[@]}" "file://$scratch/page.html" >"$scratch/dom" 2>"$scratch/log" || {
        tail -n 20 "$scratch/log"
        echo "$browser failed"
        return 1
    }
    # between the tags, with what HTML escapes
    sed -n '/<pre id="findings">/,/<\/pre>/p' "$scratch/dom" | sed 's/<[^>]*>//g' >"$scratch/findings"
    grep -E 'CONSOLE.*(rror|Uncaught|Failed)' "$scratch/log" | sed 's/^/FOUND /' >>"$scratch/findings" || true
    echo "width $1, scheme $2: $(grep PLOTS "$scratch/findings" || echo 'no findings at all')"
    grep -q PLOTS "$scratch/findings" || return 1
    if [[ $2 == 0 ]]; then
        grep -q 'DARK true' "$scratch/findings" || echo "FOUND not dark" >>"$scratch/findings"
    fi
    if grep FOUND "$scratch/findings"; then
        return 1
    fi
}

# look_all PAGE WIDTH:SCHEME…
status=0
look_all() {
    instrument "$1" >"$scratch/page.html"
    shift
    for view; do
        look "${view%:*}" "${view#*:}" || status=1
    done
}

if [[ $# -gt 1 ]]; then
    look_all "$2" {500,1400}:{0,1}
else
    with_stand_in
    make_report
    look_all "$scratch/report.html" 500:0 1400:1
    make_cover_page
    look_all "$scratch/cover.html" 500:1 1400:0
fi
exit "$status"
