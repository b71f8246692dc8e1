"""Merges the tables that versions.sh has made of two commits, and prints their ratios.

    versions.py RUNS FOLDER OLD_COMMIT NEW_COMMIT

Reads RUNS/old/**/NAME.csv and RUNS/new/**/NAME.csv, and writes FOLDER/NAME.csv, for each NAME below. Rows of one commit
about the same thing become one, of medians (of an even number, the lower one in the middle). The row of the old commit
precedes that of the new one. A table that neither has is left as it is.
"""
import csv
import glob
import os
import statistics
import sys

# What a row is about, by the name of the table; the other columns are measured.
KEYS = {"tuner_bench": ["jobs", "cache"], "compile_bench": ["jobs", "headers"], "peers": ["benchmark", "type", "n", "peer"]}


def read(folder, name):
    """The names of the columns, and the rows of all tables `name` below `folder` by what they are about."""
    columns, rows = [], {}
    for path in sorted(glob.glob(os.path.join(folder, "**", f"{name}.csv"), recursive=True)):
        with open(path, encoding="utf-8") as stream:
            reader = csv.DictReader(stream)
            columns = [column for column in reader.fieldnames if column != "commit"]
            for row in reader:
                if name == "peers" and row["benchmark"].startswith("sgemm") and int(row["n"]) < 2**18:
                    row["n"] = str(int(row["n"]) ** 3)  # versions as old as 9c3bcd2 state m = n = k, not their product
                rows.setdefault(tuple(row[column] for column in KEYS[name]), []).append(row)
    return columns, rows


def medians(rows, columns, keys):
    """One row for `rows`, which agree in `keys`. The texts stay as they are, digits and all."""
    return {column: rows[0][column] if column in keys
            else sorted((row[column] for row in rows), key=float)[(len(rows) - 1) // 2] for column in columns}


def merge(runs, name, old_commit, new_commit):
    """The columns and the rows of a table. The order is that of the new commit; what only the old one has comes last."""
    old_columns, old = read(os.path.join(runs, "old"), name)
    new_columns, new = read(os.path.join(runs, "new"), name)
    merged = []
    for about in {**new, **old}:
        for commit, columns, rows in ((old_commit, old_columns, old), (new_commit, new_columns, new)):
            if about in rows:
                merged.append({**medians(rows[about], columns, KEYS[name]), "commit": commit})
    return (new_columns or old_columns) + ["commit"], merged


def pairs(name, rows, old_commit):
    """Of everything that both commits have: what it is about, the old row, the new row."""
    by_key = {}
    for row in rows:
        about = tuple(row[column] for column in KEYS[name])
        by_key.setdefault(about, {})[row["commit"] == old_commit] = row
    return [(about, both[True], both[False]) for about, both in by_key.items() if len(both) == 2]


def print_times(name, rows, columns, old_commit):
    for about, old, new in pairs(name, rows, old_commit):
        for column in columns:
            what = f"{name} {' '.join(about)}, {column}"
            before, after = float(old[column]), float(new[column])
            print(f"{what:50} {before:10.3f} {after:10.3f} {after / before:8.3f}")


def print_peers(rows, old_commit):
    """The geometric mean of new / old over the sizes and types of each benchmark; the peer's says how alike the runs were."""
    groups = {}
    for about, old, new in pairs("peers", rows, old_commit):
        groups.setdefault((about[0], about[3]), []).append(
            [float(new[column]) / float(old[column]) for column in ("ours_us", "peer_us")])
    print(f"\n{'new / old, geometric mean':60} {'rows':>5} {'ours':>7} {'peer':>7}")
    for about, ratios in groups.items():
        ours, peer = (statistics.geometric_mean(column) for column in zip(*ratios))
        print(f"{' '.join(about):60} {len(ratios):5} {ours:7.3f} {peer:7.3f}")


def main(runs, folder, old_commit, new_commit):
    tables = {}
    for name in KEYS:
        columns, tables[name] = merge(runs, name, old_commit, new_commit)
        if not tables[name]:
            continue
        with open(os.path.join(folder, f"{name}.csv"), "w", encoding="utf-8", newline="") as stream:
            writer = csv.DictWriter(stream, columns, extrasaction="ignore", lineterminator="\n")
            writer.writeheader()
            writer.writerows(tables[name])
    print(f"\n{'median':50} {old_commit:>10} {new_commit:>10} {'new/old':>8}")
    print_times("tuner_bench", tables["tuner_bench"], ["tuned_s", "wall_s"], old_commit)
    print_times("compile_bench", tables["compile_bench"], ["wall_s", "cpu_ms"], old_commit)
    print_peers(tables["peers"], old_commit)


if __name__ == "__main__":
    main(*sys.argv[1:])
