"""The work of server-benchmarks by SQLAlchemy's ORM with psycopg, on a table with the same columns.

    python3 sqlalchemy_rows.py ADDRESS ROWS ROUNDS

Prints one JSON object: the least of each measure in seconds, as the time and the processor time of this process.
"""

import json
import sys
import time
from datetime import datetime, timedelta, timezone

from sqlalchemy import BigInteger, DateTime, create_engine, select
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

START = datetime(2001, 1, 1, tzinfo=timezone.utc)


class Base(DeclarativeBase):
    pass


class Person(Base):
    __tablename__ = "alchemist"
    key: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    version: Mapped[int] = mapped_column(BigInteger)
    age: Mapped[int] = mapped_column(BigInteger)
    email: Mapped[str]
    joined: Mapped[datetime] = mapped_column(DateTime(timezone=True))
    name: Mapped[str]
    score: Mapped[float]
    # A lost update is an error here, too.
    __mapper_args__ = {"version_id_col": version}


def person(index):
    return Person(
        key=index + 1, age=index % 90, email=f"p{index}@example.org",
        joined=START + timedelta(seconds=600_000_000.5 + index), name=f"Person number {index}", score=index * 0.5)


def read(found):
    return len(found.name) + found.age + int(found.score) + len(found.email) + int((found.joined - START).total_seconds())


class Measures:
    def __init__(self):
        self.efforts = {}

    def take(self, name, body):
        start, processor = time.monotonic(), time.process_time()
        body()
        effort = (time.monotonic() - start, time.process_time() - processor)
        self.efforts.setdefault(name, []).append(effort)

    def least(self):
        return {name: [min(part) for part in zip(*efforts)] for name, efforts in self.efforts.items()}


def main():
    address, rows, rounds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    engine = create_engine(address.replace("postgresql://", "postgresql+psycopg://", 1))
    Person.metadata.create_all(engine)
    measures = Measures()

    def session():
        return Session(engine, expire_on_commit=False)

    def insert():
        with session() as made:
            made.add_all(person(index) for index in range(rows))
            made.commit()

    def fetch_all():
        with session() as reader:
            sum(read(found) for found in reader.scalars(select(Person)))

    def look_up():
        with session() as reader:
            sum(read(reader.get(Person, index * 7919 % rows + 1)) for index in range(rows // 4))

    for _ in range(rounds):
        with engine.begin() as connection:
            connection.exec_driver_sql('TRUNCATE "alchemist"')
        measures.take("insert and save", insert)
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.exec_driver_sql('VACUUM ANALYZE "alchemist"')
        measures.take("fetch all and read all", fetch_all)
        measures.take("look up by ID", look_up)
        with session() as writer:
            people = writer.scalars(select(Person)).all()

            def update():
                for found in people:
                    found.age += 1
                    found.name = "changed"
                writer.commit()

            measures.take("update and save", update)
        with session() as writer:
            people = writer.scalars(select(Person).limit(500)).all()

            def save_each():
                for found in people:
                    found.age += 1
                    writer.commit()

            measures.take("save one row", save_each)
        with session() as writer:
            people = writer.scalars(select(Person).order_by(Person.key.desc()).limit(rows // 2)).all()

            def delete():
                for found in people:
                    writer.delete(found)
                writer.commit()

            measures.take("delete and save", delete)
    json.dump(measures.least(), sys.stdout)


main()
