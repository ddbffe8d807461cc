"""SQLAlchemy's ORM: units of work, INSERT of many rows from dictionaries, yield_per, joined loading."""

from datetime import datetime
from typing import Optional

import sqlalchemy
from sqlalchemy import ForeignKey, create_engine, event, insert, select
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, joinedload, mapped_column, relationship

from rows import END_OF_AGES, LEAST_SCORE, LOWEST_AGE, PRAGMAS, main, read


class Base(DeclarativeBase):
    pass


class Team(Base):
    __tablename__ = "team"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str]


class Person(Base):
    __tablename__ = "person"
    id: Mapped[int] = mapped_column(primary_key=True)
    age: Mapped[int]
    email: Mapped[str]
    joined: Mapped[datetime]
    name: Mapped[str]
    score: Mapped[float]
    team_id: Mapped[Optional[int]] = mapped_column(ForeignKey("team.id"), index=True)
    team: Mapped[Optional[Team]] = relationship()


class Alchemy:
    version = sqlalchemy.__version__
    engine = None

    def create(self, path):
        self.close()
        self.engine = create_engine(f"sqlite:///{path}")

        @event.listens_for(self.engine, "connect")
        def set_pragmas(connection, _):
            for name, value in PRAGMAS.items():
                connection.execute(f"PRAGMA {name} = {value}")

        Base.metadata.create_all(self.engine)

    def close(self):
        if self.engine:
            self.engine.dispose()

    def session(self):
        return Session(self.engine, expire_on_commit=False)

    def insert(self, people):
        with self.session() as session:
            session.add_all(Person(**one) for one in people)
            session.commit()

    def insert_batch(self, people):
        with self.session() as session:
            session.execute(insert(Person), people)
            session.commit()

    def insert_teams(self, teams):
        with self.session() as session:
            session.execute(insert(Team), teams)
            session.commit()

    def fetch_all(self):
        with self.session() as session:
            return sum(read(found) for found in session.scalars(select(Person), execution_options={"yield_per": 1000}))

    def fetch_filtered(self):
        statement = (
            select(Person)
            .where(Person.age >= LOWEST_AGE, Person.age < END_OF_AGES, Person.score > LEAST_SCORE)
            .order_by(Person.name))
        with self.session() as session:
            return sum(read(found) for found in session.scalars(statement, execution_options={"yield_per": 1000}))

    def look_up(self, keys):
        with self.session() as session:
            return sum(read(session.get(Person, key)) for key in keys)

    def follow(self):
        statement = select(Person).options(joinedload(Person.team)).execution_options(yield_per=1000)
        with self.session() as session:
            return sum(len(found.team.name) for found in session.scalars(statement))

    def update(self):
        with self.session() as session:
            for found in session.scalars(select(Person)).all():
                found.age += 1
            session.commit()

    def save_each(self, count):
        with self.session() as session:
            for found in session.scalars(select(Person).limit(count)).all():
                found.age += 1
                session.commit()

    def delete(self):
        with self.session() as session:
            for found in session.scalars(select(Person)).all():
                session.delete(found)
            session.commit()


main(Alchemy())
