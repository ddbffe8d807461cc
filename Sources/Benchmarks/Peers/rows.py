"""The work that each library does, on the rows of Sources/BenchmarkRows, and how it is timed.

A peer is an object with a method for each piece of work. The tables and columns have the same names in each peer, so
that their content can be compared: person (id, age, email, joined, name, score, team_id) and team (id, name).
"""

import gc
import json
import os
import sqlite3
import sys
import time
from datetime import datetime, timedelta

START = datetime(2001, 1, 1)
TEAMS = 1000
# As in Sources/Benchmarks/Store/StoreBenchmarks+SingleSaves.swift.
MOST_COMMITS = 5000
# What Core Data's SQLite stores use.
PRAGMAS = {"journal_mode": "wal", "synchronous": "normal"}
# The predicate: LOWEST_AGE <= age < END_OF_AGES and score > LEAST_SCORE, ordered by name.
LOWEST_AGE, END_OF_AGES, LEAST_SCORE = 30, 45, 100


def person(index, teams=0):
    """The values of a row, as PersonValues.swift has them; with teams the key of one."""
    return {
        "id": index + 1,
        "age": index % 90,
        "email": f"p{index}@example.org",
        "joined": START + timedelta(seconds=600_000_000.5 + index),
        "name": f"Person number {index}",
        "score": index * 0.5,
        "team_id": index % teams + 1 if teams else None,
    }


def read(found):
    """Reads all five properties."""
    seconds = int((found.joined - START).total_seconds())
    return len(found.name) + found.age + int(found.score) + seconds + len(found.email)


class Round:
    """One round of one peer: the seconds of each piece of work, and a number that shows that the work was done."""

    def __init__(self, peer, rows, folder):
        self.peer, self.rows, self.folder = peer, rows, folder
        self.seconds, self.sums = {}, {}

    def take(self, name, body, *arguments):
        # What earlier work left behind is not this one's to collect.
        gc.collect()
        start = time.perf_counter()
        result = body(*arguments)
        self.seconds[name] = time.perf_counter() - start
        self.sums[name] = result if result is not None else self.content()

    def content(self):
        """The file's content in short, seen from outside."""
        connection = sqlite3.connect(self.path)
        sums = "SELECT COUNT(*), TOTAL(age + length(name) + length(email)), TOTAL(score) FROM person"
        content = list(connection.execute(sums).fetchone())
        connection.close()
        return content

    def create(self, name):
        self.path = os.path.join(self.folder, f"{self.rows}-{name}.sqlite")
        self.peer.create(self.path)

    def run(self):
        rows, peer = self.rows, self.peer
        people = [person(index) for index in range(rows)]
        self.create("insert")
        self.take("insert", peer.insert, people)
        self.create("batch")
        self.take("batch", peer.insert_batch, people)
        self.take("fetch", peer.fetch_all)
        self.take("filter", peer.fetch_filtered)
        # As far apart as those of the benchmark.
        self.take("lookup", peer.look_up, [index * 7919 % rows + 1 for index in range(rows)])
        self.take("update", peer.update)
        self.take("single", peer.save_each, min(rows, MOST_COMMITS))
        self.take("delete", peer.delete)
        self.create("teams")
        peer.insert_teams([{"id": index + 1, "name": f"Team {index}"} for index in range(TEAMS)])
        peer.insert_batch([person(index, TEAMS) for index in range(rows)])
        self.take("follow", peer.follow)
        peer.close()


def main(peer):
    """Prints one JSON object: the library's version, the seconds and the sums of one round."""
    rows, folder = int(sys.argv[1]), sys.argv[2]
    # The first use of each statement makes what later ones share.
    Round(peer, min(rows, 100), folder).run()
    measured = Round(peer, rows, folder)
    measured.run()
    json.dump(
        {"version": peer.version, "sqlite": sqlite3.sqlite_version, "seconds": measured.seconds, "sums": measured.sums},
        sys.stdout)
