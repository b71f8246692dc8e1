"""The program `autotune`: the wheel's, or else the one on the PATH."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import deque
from pathlib import Path
from typing import Any, Deque, Dict, List, NoReturn, Optional, Union

from ._library import FOLDER, Error

# The wheel's templates, sweeps and tuned INI: kernel_templates/, configs/, published/. They are there only in a wheel.
DATA: Path = FOLDER / "share" / "autotune"


def program() -> str:
    """The path of the program."""
    own = FOLDER / "bin" / "autotune"
    found = str(own) if own.exists() else shutil.which("autotune")
    if found is None:
        raise Error("no program 'autotune'; install the wheel, or add its folder to PATH", status=127)
    return found


def main() -> NoReturn:
    """The command `autotune` of a wheel."""
    path = str(FOLDER / "bin" / "autotune")
    os.execv(path, [path, *sys.argv[1:]])


class Rows(List[Dict[str, Any]]):
    """The winners, a dictionary each: `kernel`, `gpu`, `problem`, `parameters`, `median_ns`, `low_ns`, `high_ns`,
    `registers`, `occupancy`, `complete`. `studies` has everything, as `--format json` prints it."""

    def __init__(self, studies: List[Dict[str, Any]]):
        self.studies = studies
        super().__init__(_row(study) for study in studies if study["winner"] is not None)


def _row(study: Dict[str, Any]) -> Dict[str, Any]:
    variant = study["variants"][study["winner"]]
    time, figures = variant["time"] or {}, variant["figures"] or {}
    return {"kernel": study["kernel"], "gpu": study["gpu"]["name"], "problem": study["problem"],
            "parameters": variant["parameters"], "complete": study["complete"],
            **{name: time.get(name) for name in ("median_ns", "low_ns", "high_ns")},
            **{name: figures.get(name) for name in ("registers", "occupancy")}}


def _options(options: Dict[str, Any]) -> List[str]:
    """budget="60s", kernel=["a", "b"], set={"n": "2^20"}, remeasure=True as the command line has them."""
    arguments: List[str] = []
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        if isinstance(value, dict):
            value = [f"{key}={item}" for key, item in value.items()]
        if value is True:
            arguments.append(option)
        elif value is not None and value is not False:
            for item in value if isinstance(value, (list, tuple)) else [value]:
                arguments += [option, os.fspath(item) if isinstance(item, os.PathLike) else str(item)]
    return arguments


def tune(config: Optional[Union[str, "os.PathLike[str]"]] = None, budget: Optional[str] = None, **options: Any) -> Rows:
    """Runs `autotune tune` on a sweep, and returns the winners. Its other options by keyword: template="k.ini",
    results="results", tuned="tuned.ini", kernel=["a", "b"], set={"n": "2^20"}, device="all", quiet=True.

    Progress is printed line by line. Ctrl-C lets the program store what it has before KeyboardInterrupt is raised; the
    next run goes on from there. Raises Error with the program's message and exit status."""
    arguments = [program(), "tune", "--format", "json", *_options({"config": config, "budget": budget, **options})]
    if not options.get("quiet"):
        arguments.append("--progress")
    lines: Deque[str] = deque(maxlen=20)
    with tempfile.TemporaryFile("w+", encoding="utf-8") as output:
        # in a session of its own: Ctrl-C in a terminal reaches it once, through us; a second signal ends it at once
        with subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.PIPE, text=True,
                              errors="replace", start_new_session=True) as process:
            interrupted = False
            while True:
                try:
                    assert process.stderr is not None
                    for line in process.stderr:
                        lines.append(line.rstrip())
                        if not options.get("quiet"):
                            print(lines[-1], flush=True)
                    status = process.wait()
                    break
                except KeyboardInterrupt:
                    process.send_signal(signal.SIGINT)
                    interrupted = True
                except BaseException:
                    process.send_signal(signal.SIGINT)
                    raise
        if interrupted:
            raise KeyboardInterrupt
        if status != 0:
            errors = [line for line in lines if line.startswith("autotune: ")] or list(lines)
            raise Error("\n".join(errors) or f"autotune ended with status {status}", status=status)
        output.seek(0)
        return Rows(json.load(output))
