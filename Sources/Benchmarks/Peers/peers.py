#!/usr/bin/env python3
"""The same work through this package, SQLAlchemy, Django, Peewee, GRDB and the sqlite3 module, as a table in Markdown.

    swift build -c release --product Benchmarks
    python3 Sources/Benchmarks/Peers/peers.py [--rows 20000] [--rounds 5] [--benchmarks PROGRAM] [--grdb CHECKOUT]

Needs Python 3.9 or later with venv. The packages are installed by pip into a virtual environment in a temporary folder,
which is removed at the end. GRDB is a column if there is a checkout of its repository (groue/GRDB.swift). It is built
in .build/peers, which takes two minutes the first time.

In each round each library does all the work once, in a process of its own, and the library that goes first changes with
each round. The figures are multiples of plain SQLite: the C side of `Benchmarks` in the same round, a median of three.
A cell has the median of the rounds and, in parentheses, the range of their middle half. All databases are in WAL mode
with `synchronous = NORMAL`. Sums of what each library has read and written show that all have done the same work.
"""

import argparse
import datetime
import importlib.util
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import venv

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = os.path.abspath(os.path.join(HERE, "..", "..", ".."))
PACKAGES = {"SQLAlchemy": "sqlalchemy", "Django": "django", "Peewee": "peewee"}
# The work, its name in rows.py, and the figure of `Benchmarks`.
WORK = [
    ("insert objects, save", "insert", "insert and save"),
    ("batch insert", "batch", "batch insert request"),
    ("fetch all, read every property", "fetch", "fetch all, read every property"),
    ("the same by the properties' names", "byName", "fetch all, read every property by value(forKey:)"),
    ("fetch with predicate and sort, read all", "filter", "fetch with predicate and sort, read all"),
    ("look up by key, one after the other", "lookup", "look up by object ID, from the file"),
    ("fetch all, follow a to-one, read there", "follow", "fetch all, follow a to-one, read there"),
    ("fetch all, change one attribute, save", "update", "fetch all, change one attribute, save"),
    ("change one object, save: one commit each", "single", "change one object, save: one commit each"),
    ("fetch all, delete, save", "delete", "fetch all, delete, save"),
]
MEASURES = [
    "insert", "batch-insert", "fetch-all", "fetch-predicate", "lookup", "traverse", "update", "single-saves", "delete",
]
# Of GRDB's four functions for snapshots, which it needs for observation only, Debian's SQLite has none.
SNAPSHOTS = [f"sqlite3_snapshot_{name}" for name in ("open", "get", "cmp", "free")]


def output(command, **options):
    """What the command prints. It ends this program if it fails."""
    process = subprocess.run(command, stdout=subprocess.PIPE, text=True, **options)
    if process.returncode != 0:
        sys.exit(f"{' '.join(command)} exited with code {process.returncode}")
    return process.stdout


def install(folder):
    """Makes a virtual environment with the libraries and returns the path of its Python."""
    if importlib.util.find_spec("ensurepip") is None:
        sys.exit("this Python cannot make virtual environments with pip: on Debian, apt-get install python3-venv")
    venv.create(folder, with_pip=True)
    python = os.path.join(folder, "bin", "python")
    # Not on standard output, which is the table.
    output([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *PACKAGES.values()])
    return python


def build_grdb(checkout):
    """Builds a program of GRDB/main.swift and the checkout, and returns its path."""
    folder = os.path.join(PACKAGE, ".build", "peers")
    sources = os.path.join(folder, "Sources", "grdb-peer")
    os.makedirs(sources, exist_ok=True)
    shutil.copy2(os.path.join(HERE, "GRDB", "main.swift"), sources)
    with open(os.path.join(folder, "Package.swift"), "w") as manifest:
        manifest.write(
            f"""// swift-tools-version:6.0
            import PackageDescription
            let package = Package(
              name: "grdb-peer", dependencies: [.package(name: "GRDB", path: {json.dumps(os.path.abspath(checkout))})],
              targets: [
                .executableTarget(name: "grdb-peer", dependencies: [.product(name: "GRDB", package: "GRDB")])
              ])
            """)
    missing = [] if sys.platform == "darwin" else [f"--defsym={name}=0" for name in SNAPSHOTS]
    options = [word for option in missing for word in ("-Xlinker", option)]
    sys.stderr.write(output(["swift", "build", "-c", "release", "--package-path", folder, *options]))
    return os.path.join(folder, ".build", "release", "grdb-peer")


def benchmarks(program, rows):
    """The seconds of this package and of plain C, by the names in rows.py."""
    document = json.loads(output([program, "--json", "--rows", str(rows), "--rounds", "3", *MEASURES]))
    figures = {figure["name"]: figure for figure in document["figures"]}

    def side(name):
        return {key: statistics.median(figures[figure][name]) for _, key, figure in WORK}

    return side("ours"), side("plain")


def peer(command, rows):
    with tempfile.TemporaryDirectory() as folder:
        return json.loads(output([*command, str(rows), folder]))


def cell(ratios):
    """The median and the middle half."""
    if not ratios:
        return "none"
    if len(ratios) < 3:
        return f"{statistics.median(ratios):.2f}"
    lower, _, upper = statistics.quantiles(ratios, n=4, method="inclusive")
    return f"{statistics.median(ratios):.2f} ({lower:.2f}–{upper:.2f})"


def processor():
    try:
        with open("/proc/cpuinfo") as file:
            return next(line.split(":")[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def measure(commands, program, rows, rounds):
    """The ratios to plain C by library and work, the seconds of plain C by work, and what each library said last."""
    ratios, plain, said, sums = {}, {}, {}, {}
    for number in range(rounds):
        ours, floor = benchmarks(program, rows)
        seconds = {"this package": ours}
        libraries = list(commands)
        for library in libraries[number % len(libraries):] + libraries[:number % len(libraries)]:
            said[library] = peer(commands[library], rows)
            seconds[library] = said[library]["seconds"]
            for key, result in said[library]["sums"].items():
                expected = sums.setdefault("fetch" if key == "byName" else key, result)
                if result != expected:
                    sys.exit(f"the work {key} gives {result} with {library}, and {expected} with others")
        for key, value in floor.items():
            plain.setdefault(key, []).append(value)
        for library, values in seconds.items():
            for key, value in values.items():
                ratios.setdefault(library, {}).setdefault(key, []).append(value / floor[key])
        print(f"round {number + 1} of {rounds}", file=sys.stderr)
    return ratios, plain, said


def main():
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0], epilog="The head of the file says how it measures.")
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--benchmarks", default=os.path.join(PACKAGE, ".build", "release", "Benchmarks"))
    parser.add_argument("--grdb", metavar="CHECKOUT", help="a checkout of GRDB's repository")
    options = parser.parse_args()
    if not os.access(options.benchmarks, os.X_OK):
        sys.exit(f"there is no program {options.benchmarks}; swift build -c release --product Benchmarks makes it")

    with tempfile.TemporaryDirectory() as folder:
        python = install(folder)
        # No files of compiled Python beside the sources.
        commands = {
            name: [python, "-B", os.path.join(HERE, f"with_{module}.py")]
            for name, module in {"sqlite3 module": "sqlite3", **PACKAGES}.items()
        }
        if options.grdb:
            commands["GRDB"] = [build_grdb(options.grdb)]
        ratios, plain, said = measure(commands, options.benchmarks, options.rows, options.rounds)

    versions = {name: result.get("version", "") for name, result in said.items()}
    versions["Python"] = versions.pop("sqlite3 module")
    if options.grdb:
        versions["GRDB"] = output(["git", "-C", options.grdb, "describe", "--tags", "--always"]).strip()
    commit = output(["git", "-C", PACKAGE, "rev-parse", "--short", "HEAD"]).strip()
    versions["SQLite"] = said["sqlite3 module"]["sqlite"]
    print(f"{options.rows} rows, {options.rounds} rounds, {datetime.date.today()}, commit {commit}, ", end="")
    print(f"{os.cpu_count()} × {processor()}, {platform.system()}, ", end="")
    print(", ".join(f"{name} {version}" for name, version in versions.items()), end="\n\n")
    print("| | plain C | " + " | ".join(ratios) + " |")
    print("|---|---|" + "---|" * len(ratios))
    for title, key, _ in WORK:
        cells = [cell(values.get(key)) for values in ratios.values()]
        print(f"| {title} | {statistics.median(plain[key]) * 1000:.1f} ms | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
