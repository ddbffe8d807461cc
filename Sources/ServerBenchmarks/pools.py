"""No-op jobs per second of 1, 2 and 4 pools on one server, beside pgbench's single-row updates and procrastinate.

    swift build -c release
    python3 -m venv venv && venv/bin/pip install 'procrastinate' 'psycopg[binary]'
    venv/bin/python Sources/ServerBenchmarks/pools.py .build/release [--jobs 20000] [--workers 2] [--durable]

Everything runs on a server of its own in a temporary directory, in turns. Jobs are in the store before the workers
start. The rate is that of the jobs between the first and the last tenth, by the times at which they finished, so that no
start is measured. Commits are not written to the disk, so that the disk is not measured; with --durable they are.

    python3 Sources/ServerBenchmarks/pools.py .build/release --backlog 1000000 [--window 20] [--rounds 3]

With a backlog: the rate of 1 and 3 pools on a queue of as many jobs, beside the rate on a queue that is nearly empty
while jobs come in at the same pace. Both queues are made anew for each measurement, so that both have finished equally
many jobs, and neither is ever analysed or vacuumed. Both get the same jobs: a pool without workers takes them in, in the
first case as fast as the others finish them, in the second as many as in the first. The two take turns. A rate is that
of a window of seconds, by the times at which jobs finished.

    python3 Sources/ServerBenchmarks/pools.py .build/release --third --jobs 600000 --window 10 [--rounds 3]

With a third: the rate of two pools alone, beside a third that has no workers, one that has as many, and a session that
holds one snapshot for the whole time, as a dump does; and the processor time of the server for a job, which depends
less on what else runs on the machine. Then what a pool asks while nothing runs: its statements in a second, and its
processor time and context switches. Tables are analysed when they are full, as by autovacuum.
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

    def __init__(self, durable, *more):
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
        settings += more
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

    def processor(self):
        """The seconds of processor time of the sessions and the server's own processes that run now."""
        with open(f"{self.data}/postmaster.pid") as file:
            server = int(file.readline())
        total = 0
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                parent, seconds = ticks(pid)
            except OSError:
                continue  # it has ended
            if parent == server:
                total += seconds
        return total

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

    @property
    def table(self):
        return f'{self.schema}_wp."PoolJob"'

    def start_and_wait(self, *pools):
        """Starts pools by name and number of workers, and waits until they run."""
        for process, log in [self.start(*pool) for pool in pools]:
            while "running on" not in open(log.name).read():
                if process.poll() is not None:
                    sys.exit(f"a pool does not start: {open(log.name).read()}")
                time.sleep(0.05)

    def submit(self, jobs):
        """Gives the pool without workers a file of jobs."""
        file = f"{self.place}/jobs.tmp"
        with open(file, "w") as lines:
            lines.writelines('{"kind": "no-operation", "parameters": {"n": 1}}\n' for _ in range(jobs))
        self.files = getattr(self, "files", 0) + 1
        os.rename(file, f"{self.place}/{self.schema}-intake/incoming/jobs{self.files:06}.json")

    def drop(self):
        self.server.ask(f"DROP SCHEMA IF EXISTS {self.schema} CASCADE; DROP SCHEMA IF EXISTS {self.schema}_wp CASCADE")

    def measure(self, count, workers, jobs):
        table = self.table
        # A pool without workers takes the jobs in.
        self.start_and_wait(("intake", 0))
        self.submit(jobs)
        wait(self.server, f"SELECT count(*) = {jobs} FROM {table}")
        self.end()
        self.server.ask("VACUUM ANALYZE")
        for number in range(count):
            self.start(f"pool{number}", workers)
        wait(self.server, f"SELECT NOT EXISTS (SELECT FROM {table} WHERE state <> 3)")
        found = rate(self.server, jobs, f'SELECT extract(epoch FROM "finishedAt")::float8 FROM {table}')
        self.end()
        self.drop()
        return found

    def fill(self, jobs):
        """Puts jobs into the store, which no worker runs yet."""
        self.start_and_wait(("intake", 0))
        for start in range(0, jobs, PART):
            self.submit(min(PART, jobs - start))
        wait(self.server, f"SELECT count(*) = {jobs} FROM {self.table}")
        self.end()

    def pace(self, count, workers, window, pace=None):
        """The rate of pools for a window of seconds while jobs come in: as many in a second as pace says, or, where it
        is None, as many as the pools finish. Returns the rate, and how many jobs came in a second."""
        self.start_and_wait(("intake", 0), *((f"pool{number}", workers) for number in range(count)))
        begin = time.monotonic()
        fed, first = 0, None
        while time.monotonic() < begin + WARMTH + window:
            if first is None and time.monotonic() >= begin + WARMTH:
                first = float(self.server.ask("SELECT extract(epoch FROM clock_timestamp())"))
            if pace is None:
                ready = int(self.server.ask(f"SELECT count(*) FROM {self.table} WHERE state < 3"))
                missing = AT_HAND - ready
            else:
                missing = int(pace * (time.monotonic() - begin)) - fed
            if missing >= FEED:
                self.submit(missing)
                fed += missing
            time.sleep(0.2)
        feeding = fed / (time.monotonic() - begin)
        last = float(self.server.ask("SELECT extract(epoch FROM clock_timestamp())"))
        self.end()
        done = int(self.server.ask(
            f'SELECT count(*) FROM {self.table} WHERE "finishedAt" BETWEEN to_timestamp({first}) AND to_timestamp({last})'))
        return done / (last - first), feeding


# Jobs in a file of a backlog, jobs that a nearly empty queue has at hand, and jobs in a file that is fed.
PART, AT_HAND, FEED = 20000, 6000, 300
# Seconds of work before a window.
WARMTH = 5


def measure_backlog(options, binaries, place, note):
    server = Server(options.durable, "autovacuum=off")
    try:
        for _ in range(options.rounds):
            for count in (1, 3):
                name = f"{count} pool{'s' if count > 1 else ''} of {options.workers} workers"
                pace = None
                for queued in (0, options.backlog):
                    pools = Pools(server, binaries, place)
                    try:
                        if queued:
                            pools.fill(queued)
                        rate, pace = pools.pace(count, options.workers, options.window, pace)
                        note(f"{name}, {'backlog' if queued else 'empty queue'}", rate)
                        if queued:
                            report_backlog(server, pools)
                    finally:
                        pools.end()
                    pools.drop()
    finally:
        server.stop()


def report_backlog(server, pools):
    analysed = server.ask(
        f"SELECT count(*) FROM pg_stat_user_tables WHERE schemaname = '{pools.schema}_wp' AND "
        "(last_analyze IS NOT NULL OR last_autoanalyze IS NOT NULL)")
    left = server.ask(f"SELECT count(*) FROM {pools.table} WHERE state < 3")
    print(f"  {left} jobs are queued at the end; tables that were analysed: {analysed}", file=sys.stderr)


def window_rate(server, pools, window):
    """Jobs that finish in a second, and the server's processor time for each in microseconds, in a window that begins
    in a moment."""
    time.sleep(WARMTH)
    begin, first = server.processor(), float(server.ask("SELECT extract(epoch FROM clock_timestamp())"))
    time.sleep(window)
    effort, last = server.processor() - begin, float(server.ask("SELECT extract(epoch FROM clock_timestamp())"))
    done = int(server.ask(f'SELECT count(*) FROM {pools.table} WHERE extract(epoch FROM "finishedAt") '
                          f"BETWEEN {first} AND {last}"))
    if server.ask(f"SELECT count(*) FROM {pools.table} WHERE state < 3") == "0":
        sys.exit(f"all jobs ended before the window of {window:.0f} s did: use more --jobs, or a shorter --window")
    return done / (last - first), 1e6 * effort / max(1, done)


def ticks(pid):
    """A process's parent, and its processor time in seconds."""
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return int(fields[1]), (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def effort(process):
    """A process's seconds of processor time, and how often its threads have waited."""
    waits = 0
    for status in glob.glob(f"/proc/{process.pid}/task/*/status"):
        with open(status) as file:
            waits += int(re.search(r"\nvoluntary_ctxt_switches:\s*(\d+)", file.read()).group(1))
    return ticks(process.pid)[1], waits


def measure_third(options, binaries, place, note):
    server = Server(options.durable, "autovacuum=off", "shared_preload_libraries=pg_stat_statements")
    workers, window = options.workers, options.window

    def statements():
        return int(server.ask("SELECT coalesce(sum(calls), 0) FROM pg_stat_statements"))

    try:
        server.ask("CREATE EXTENSION pg_stat_statements")
        for _ in range(options.rounds):
            for name, third in (("two pools", None), ("two pools, a third without workers", 0),
                                ("three pools", workers), ("two pools, an old snapshot", "snapshot")):
                pools = Pools(server, binaries, place)
                session = None
                try:
                    pools.fill(options.jobs)
                    server.ask(f"VACUUM ANALYZE {pools.table}")
                    if third == "snapshot":
                        session = subprocess.Popen(
                            ["psql", "-X", server.address, "-c", "BEGIN ISOLATION LEVEL REPEATABLE READ",
                             "-c", f"SELECT count(*) FROM {pools.table}", "-c", "SELECT pg_sleep(3600)"],
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                    pools.start_and_wait(("first", workers), ("second", workers))
                    if third in (0, workers):
                        pools.start_and_wait(("third", third))
                    rate, effort_of_job = window_rate(server, pools, window)
                    note(name, rate)
                    note(f"{name}: the server's microseconds a job", effort_of_job)
                finally:
                    pools.end()
                    if session is not None:
                        server.ask("SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                                   "WHERE query LIKE '%pg_sleep%' AND pid <> pg_backend_pid()")
                        session.wait()
                pools.drop()
            pools = Pools(server, binaries, place)
            try:
                for count in range(1, 4):
                    process, _ = pools.start(f"idle{count}", workers)
                    time.sleep(WARMTH)
                    before, begin = effort(process), time.monotonic()
                    asked = statements()
                    time.sleep(window)
                    seconds = time.monotonic() - begin
                    note(f"statements a second of {count} idle pools", (statements() - asked - 1) / seconds)
                    used, waits = (after - earlier for after, earlier in zip(effort(process), before))
                    note(f"waits a second of idle pool {count}", waits / seconds)
                    note(f"microseconds of processor a second of idle pool {count}", 1e6 * used / seconds)
            finally:
                pools.end()
            pools.drop()
    finally:
        server.stop()


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
    parser.add_argument("--backlog", type=int, help="measure a queue of as many jobs beside a nearly empty one")
    parser.add_argument("--third", action="store_true", help="measure what a third pool, or an old snapshot, costs two")
    parser.add_argument("--window", type=float, default=20, help="seconds for which a queue is measured")
    options = parser.parse_args()
    binaries, workers = os.path.abspath(options.binaries), options.workers
    server = None
    place = tempfile.mkdtemp(prefix="pp-")
    found = {}

    def note(name, value):
        if value is not None:
            found.setdefault(name, []).append(value)
            print(f"  {name}: {value:,.0f}", file=sys.stderr)

    try:
        os.makedirs(f"{place}/plugins")
        os.symlink(f"{binaries}/Benchmarks", f"{place}/plugins/worker-bench")
        os.makedirs(f"{place}/Empty.xcdatamodel")
        with open(f"{place}/Empty.xcdatamodel/contents", "w") as file:
            file.write(MODEL)
        if options.backlog:
            measure_backlog(options, binaries, place, note)
            print(f"{options.backlog} no-op jobs queued, medians of {options.rounds} rounds, "
                  f"{os.cpu_count()} processors")
            for name, values in found.items():
                print(f"{name:40} {statistics.median(values):9,.0f} per second")
            for count in sorted({name.rsplit(",")[0] for name in found}):
                ratios = [one / other for one, other in zip(found[f"{count}, backlog"], found[f"{count}, empty queue"])]
                print(f"{count}, backlog: {100 * statistics.median(ratios):.0f} % of the rate of an empty queue, "
                      f"from {100 * min(ratios):.0f} to {100 * max(ratios):.0f}")
            return
        if options.third:
            measure_third(options, binaries, place, note)
            for name, values in found.items():
                print(f"{name:80} {statistics.median(values):9,.0f}")
            return
        server = Server(options.durable)
        for _ in range(options.rounds):
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
        if server is not None:
            server.stop()


if __name__ == "__main__":
    main()
