"""Python's sqlite3 module alone: what Python costs without a library."""

import sqlite3
import sys

from rows import END_OF_AGES, LEAST_SCORE, LOWEST_AGE, PRAGMAS, START, main

COLUMNS = "name, age, score, joined, email"
INSERT = "INSERT INTO person (id, age, email, joined, name, score, team_id) VALUES (?, ?, ?, ?, ?, ?, ?)"


def read(row):
    name, age, score, joined, email = row
    return len(name) + age + int(score) + int(joined) + len(email)


class Plain:
    version = "{}.{}.{}".format(*sys.version_info[:3])
    connection = None

    def create(self, path):
        self.close()
        # Autocommit, so that BEGIN is where this file has it.
        self.connection = sqlite3.connect(path, isolation_level=None)
        for name, value in PRAGMAS.items():
            self.connection.execute(f"PRAGMA {name} = {value}")
        self.connection.executescript(
            """
            CREATE TABLE team (id INTEGER PRIMARY KEY, name TEXT);
            CREATE TABLE person (
              id INTEGER PRIMARY KEY, age INTEGER, email TEXT, joined REAL, name TEXT, score REAL, team_id INTEGER);
            CREATE INDEX person_team ON person (team_id);
            """)

    def close(self):
        if self.connection:
            self.connection.close()

    def commit(self, body):
        self.connection.execute("BEGIN IMMEDIATE")
        body()
        self.connection.execute("COMMIT")

    def rows(self, people):
        for one in people:
            joined = (one["joined"] - START).total_seconds()
            yield one["id"], one["age"], one["email"], joined, one["name"], one["score"], one["team_id"]

    def insert(self, people):
        def body():
            for row in self.rows(people):
                self.connection.execute(INSERT, row)

        self.commit(body)

    def insert_batch(self, people):
        self.commit(lambda: self.connection.executemany(INSERT, self.rows(people)))

    def insert_teams(self, teams):
        rows = [(team["id"], team["name"]) for team in teams]
        self.commit(lambda: self.connection.executemany("INSERT INTO team (id, name) VALUES (?, ?)", rows))

    def fetch_all(self):
        return sum(read(row) for row in self.connection.execute(f"SELECT {COLUMNS} FROM person"))

    def fetch_filtered(self):
        sql = f"SELECT {COLUMNS} FROM person WHERE age >= ? AND age < ? AND score > ? ORDER BY name"
        return sum(read(row) for row in self.connection.execute(sql, (LOWEST_AGE, END_OF_AGES, LEAST_SCORE)))

    def look_up(self, keys):
        sql = f"SELECT {COLUMNS} FROM person WHERE id = ?"
        return sum(read(self.connection.execute(sql, (key,)).fetchone()) for key in keys)

    def follow(self):
        sql = "SELECT team.name FROM person JOIN team ON team.id = person.team_id"
        return sum(len(name) for (name,) in self.connection.execute(sql))

    def update(self):
        rows = self.connection.execute(f"SELECT id, {COLUMNS} FROM person").fetchall()
        changed = [(row[2] + 1, row[0]) for row in rows]
        self.commit(lambda: self.connection.executemany("UPDATE person SET age = ? WHERE id = ?", changed))

    def save_each(self, count):
        rows = self.connection.execute("SELECT id, age FROM person LIMIT ?", (count,)).fetchall()
        for key, age in rows:
            self.connection.execute("UPDATE person SET age = ? WHERE id = ?", (age + 1, key))

    def delete(self):
        keys = self.connection.execute("SELECT id FROM person").fetchall()
        self.commit(lambda: self.connection.executemany("DELETE FROM person WHERE id = ?", keys))


main(Plain())
