"""Peewee: insert_many, bulk_update, iterator, a join."""

import peewee
from peewee import DateTimeField, FloatField, ForeignKeyField, IntegerField, Model, SqliteDatabase, TextField, chunked

from rows import END_OF_AGES, LEAST_SCORE, LOWEST_AGE, PRAGMAS, main, read

database = SqliteDatabase(None)


class Base(Model):
    class Meta:
        database = database


class Team(Base):
    id = IntegerField(primary_key=True)
    name = TextField()


class Person(Base):
    id = IntegerField(primary_key=True)
    age = IntegerField()
    email = TextField()
    joined = DateTimeField()
    name = TextField()
    score = FloatField()
    team = ForeignKeyField(Team, null=True)


class Peewee:
    version = peewee.__version__

    def create(self, path):
        self.close()
        database.init(path, pragmas=PRAGMAS)
        database.create_tables([Team, Person])

    def close(self):
        if not database.deferred:
            database.close()

    def insert(self, people):
        with database.atomic():
            for one in people:
                Person.create(**one)

    def insert_batch(self, people):
        with database.atomic():
            for some in chunked(people, 100):
                Person.insert_many(some).execute()

    def insert_teams(self, teams):
        with database.atomic():
            for some in chunked(teams, 100):
                Team.insert_many(some).execute()

    def fetch_all(self):
        return sum(read(found) for found in Person.select().iterator())

    def fetch_filtered(self):
        condition = (Person.age >= LOWEST_AGE) & (Person.age < END_OF_AGES) & (Person.score > LEAST_SCORE)
        return sum(read(found) for found in Person.select().where(condition).order_by(Person.name).iterator())

    def look_up(self, keys):
        return sum(read(Person.get_by_id(key)) for key in keys)

    def follow(self):
        return sum(len(found.team.name) for found in Person.select(Person, Team).join(Team).iterator())

    def update(self):
        people = list(Person.select())
        for found in people:
            found.age += 1
        with database.atomic():
            Person.bulk_update(people, fields=[Person.age], batch_size=100)

    def save_each(self, count):
        for found in Person.select().limit(count):
            found.age += 1
            found.save(only=[Person.age])

    def delete(self):
        keys = [found.id for found in Person.select()]
        with database.atomic():
            for some in chunked(keys, 500):
                Person.delete().where(Person.id.in_(some)).execute()


main(Peewee())
