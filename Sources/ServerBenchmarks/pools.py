"""No-op jobs per second of 1, 2 and 4 pools on one server, beside pgbench's single-row updates and procrastinate.

    swift build -c release
    python3 -m venv venv && venv/bin/pip install 'procrastinate' 'psycopg[binary]'
    venv/bin/python Sources/ServerBenchmarks/pools.py .build/release [--jobs 20000] [--workers 2] [--durable]

Everything runs on a server of its own in a temporary directory, in turns. Jobs are in the store before the workers
start. The rate is that of the jobs between the first and the last tenth, by the times at which they finished, so that no
start is measured. Commits are not written to the disk, so that the disk is not measured; with --durable they are.
"""

import argparse
import glob
import os
import pwd
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

try:
    import procrastinate
    import psycopg  # noqa: F401: procrastinate's driver
except ImportError:
    procrastinate = None

MODEL = '<model type="com.apple.IDECoreDataModeler.DataModel"><entity name="Thing"/></model>'
# procrastinate runs so many jobs of one process at a time; it gains nothing from more.
CONCURRENCY = 10

PROCRASTINATE_APP = """
import procrastinate, sys
app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=sys.argv[1]))

@app.task(name="nothing")
async def nothing(number):
    pass

if sys.argv[2] == "defer":
    with app.open():
        app.schema_manager.apply_schema()
        for start in range(0, int(sys.argv[3]), 1000):
            nothing.batch_defer(*({"number": start + index} for index in range(1000)))
else:
    app.run_worker(wait=False, listen_notify=False, concurrency=int(sys.argv[3]), install_signal_handlers=False)
"""


class Server:
    """A PostgreSQL server on a Unix socket, as the user postgres if this is root."""

    def __init__(self, durable):
        versions = glob.glob("/usr/lib/postgresql/*/bin/initdb")
        if not versions:
            sys.exit("PostgreSQL is not installed: apt-get install postgresql")
        self.programs = os.path.dirname(max(versions, key=lambda path: int(path.split("/")[4])))
        self.directory = tempfile.mkdtemp(prefix="pb-")
        self.user = []
        if os.geteuid() == 0:
            os.chown(self.directory, pwd.getpwnam("postgres").pw_uid, -1)
            self.user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
        self.run("initdb", "-D", self.data, "-U", "tests", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C")
        settings = ["listen_addresses=", f"unix_socket_directories={self.directory}", "max_connections=200",
                    "shared_buffers=256MB"]
        if not durable:
            settings += ["synchronous_commit=off", "fsync=off"]
        options = " ".join(f"-c {setting}" for setting in settings)
        self.run("pg_ctl", "-D", self.data, "-l", f"{self.directory}/log", "-w", "-o", options, "start")

    @property
    def data(self):
        return f"{self.directory}/data"

    @property
    def address(self):
        return f"postgresql://tests@/postgres?host={self.directory.replace('/', '%2F')}"

    def run(self, program, *arguments):
        subprocess.run([*self.user, f"{self.programs}/{program}", *arguments], check=True, cwd=self.directory,
                       stdout=subprocess.DEVNULL)

    def ask(self, sql):
        finished = subprocess.run(["psql", "-X", "-v", "ON_ERROR_STOP=1", self.address, "-Atc", sql],
                                  check=True, capture_output=True, text=True)
        return finished.stdout.strip()

    def stop(self):
        self.run("pg_ctl", "-D", self.data, "-m", "immediate", "stop")
        shutil.rmtree(self.directory)


def rate(server, jobs, times):
    """Jobs per second, from a query of the moments at which they finished, in seconds."""
    sql = (f"SELECT percentile_cont(0.9) WITHIN GROUP (ORDER BY at) - percentile_cont(0.1) WITHIN GROUP (ORDER BY at) "
           f"FROM ({times}) AS times (at)")
    return 0.8 * jobs / float(server.ask(sql))


def wait(server, question):
    while server.ask(question) != "t":
        time.sleep(0.2)


def pgbench(server, clients, seconds):
    """Updates of single rows per second by as many clients as one pool has workers, each in a transaction."""
    server.ask("DROP TABLE IF EXISTS plain; CREATE TABLE plain (k bigint PRIMARY KEY, n bigint NOT NULL); "
               "INSERT INTO plain SELECT k, 0 FROM generate_series(1, 20000) AS k")
    script = f"{server.directory}/update.sql"
    with open(script, "w") as file:
        file.write("\\set k random(1, 20000)\nUPDATE plain SET n = n + 1 WHERE k = :k;\n")
    finished = subprocess.run(
        [f"{server.programs}/pgbench", "-n", "-M", "prepared", "-c", str(clients), "-T", str(seconds), "-f", script,
         server.address], check=True, capture_output=True, text=True)
    return float(re.search(r"tps = ([0-9.]+)", finished.stdout).group(1))


class Pools:
    """Pools with queue directories of their own on one new store."""

    def __init__(self, server, binaries, place):
        self.server, self.binaries, self.place = server, binaries, place
        self.schema = f"bench_{time.monotonic_ns()}"
        self.processes = []

    def start(self, name, workers):
        log = open(f"{self.place}/{name}.log", "w+")
        process = subprocess.Popen(
            [f"{self.binaries}/workerpool", "run", "--workers", str(workers), "--without-bundled",
             "--store", f"{self.server.address}&schema={self.schema}", "--model", f"{self.place}/Empty.xcdatamodel",
             "--queue", f"{self.place}/{self.schema}-{name}", "--plugins", f"{self.place}/plugins"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log)
        self.processes.append(process)
        return process, log

    def end(self):
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.wait()
        self.processes = []

    def measure(self, count, workers, jobs):
        table = f'{self.schema}_wp."PoolJob"'
        # A pool without workers takes the jobs in.
        process, log = self.start("intake", 0)
        while process.poll() is None and "running on" not in open(log.name).read():
            time.sleep(0.05)
        file = f"{self.place}/jobs.tmp"
        with open(file, "w") as lines:
            lines.writelines('{"kind": "no-operation", "parameters": {"n": 1}}\n' for _ in range(jobs))
        os.rename(file, f"{self.place}/{self.schema}-intake/incoming/jobs.json")
        wait(self.server, f"SELECT count(*) = {jobs} FROM {table}")
        self.end()
        self.server.ask("VACUUM ANALYZE")
        for number in range(count):
            self.start(f"pool{number}", workers)
        wait(self.server, f"SELECT NOT EXISTS (SELECT FROM {table} WHERE state <> 3)")
        found = rate(self.server, jobs, f'SELECT extract(epoch FROM "finishedAt")::float8 FROM {table}')
        self.end()
        self.server.ask(f"DROP SCHEMA IF EXISTS {self.schema} CASCADE; DROP SCHEMA IF EXISTS {self.schema}_wp CASCADE")
        return found


def measure_procrastinate(server, place, jobs, processes):
    if procrastinate is None:
        return None
    server.ask("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
    app = f"{place}/app.py"
    with open(app, "w") as file:
        file.write(PROCRASTINATE_APP)
    subprocess.run([sys.executable, app, server.address, "defer", str(jobs)], check=True,
                   stderr=subprocess.DEVNULL)
    server.ask("VACUUM ANALYZE")
    workers = [subprocess.Popen([sys.executable, app, server.address, "work", str(CONCURRENCY)],
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(processes)]
    for worker in workers:
        worker.wait()
    done = int(server.ask("SELECT count(*) FROM procrastinate_jobs WHERE status = 'succeeded'"))
    if done != jobs:
        sys.exit(f"procrastinate has done {done} of {jobs} jobs")
    return rate(server, jobs, "SELECT extract(epoch FROM at)::float8 FROM procrastinate_events WHERE type = 'succeeded'")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("binaries", help="where workerpool and Benchmarks are, such as .build/release")
    parser.add_argument("--jobs", type=int, default=20000)
    parser.add_argument("--workers", type=int, default=2, help="worker processes of each pool, and procrastinate's")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--durable", action="store_true")
    options = parser.parse_args()
    binaries, workers = os.path.abspath(options.binaries), options.workers
    server = Server(options.durable)
    place = tempfile.mkdtemp(prefix="pp-")
    found = {}
    try:
        os.makedirs(f"{place}/plugins")
        os.symlink(f"{binaries}/Benchmarks", f"{place}/plugins/worker-bench")
        os.makedirs(f"{place}/Empty.xcdatamodel")
        with open(f"{place}/Empty.xcdatamodel/contents", "w") as file:
            file.write(MODEL)
        for _ in range(options.rounds):
            def note(name, value):
                if value is not None:
                    found.setdefault(name, []).append(value)
                    print(f"  {name}: {value:,.0f}/s", file=sys.stderr)

            note(f"pgbench, {workers} clients", pgbench(server, workers, 5))
            for count in (1, 2, 4):
                pools = Pools(server, binaries, place)
                try:
                    note(f"{count} pool{'s' if count > 1 else ''} of {workers} workers",
                         pools.measure(count, workers, options.jobs))
                finally:
                    pools.end()
            # As many jobs would take minutes.
            note(f"procrastinate, {workers} processes",
                 measure_procrastinate(server, place, max(1000, options.jobs // 10000 * 1000), workers))
        if procrastinate is None:
            print("procrastinate is not installed: pip install procrastinate 'psycopg[binary]'", file=sys.stderr)
        medians = {name: statistics.median(values) for name, values in found.items()}
        base = medians.get(f"procrastinate, {workers} processes")
        print(f"{options.jobs} no-op jobs, medians of {options.rounds} rounds, {os.cpu_count()} processors")
        for name, value in medians.items():
            print(f"{name:28} {value:9,.0f} per second" + (f"  {value / base:6.1f} × procrastinate" if base else ""))
    finally:
        shutil.rmtree(place)
        server.stop()


main()
