"""Django's ORM without the rest of Django: bulk_create, bulk_update, iterator, select_related."""

import django
from django.conf import settings

from rows import END_OF_AGES, LEAST_SCORE, LOWEST_AGE, PRAGMAS, main, read

settings.configure(
    USE_TZ=False,
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": ":memory:",
            "OPTIONS": {
                "transaction_mode": "IMMEDIATE",
                "init_command": "".join(f"PRAGMA {name} = {value};" for name, value in PRAGMAS.items()),
            },
        }
    })
django.setup()

from django.db import connection, models, transaction  # noqa: E402: needs the settings


class Team(models.Model):
    id = models.BigIntegerField(primary_key=True)
    name = models.TextField()

    class Meta:
        app_label = "peers"
        db_table = "team"


class Person(models.Model):
    id = models.BigIntegerField(primary_key=True)
    age = models.BigIntegerField()
    email = models.TextField()
    joined = models.DateTimeField()
    name = models.TextField()
    score = models.FloatField()
    team = models.ForeignKey(Team, models.SET_NULL, null=True)

    class Meta:
        app_label = "peers"
        db_table = "person"


def chunks(keys, size=500):
    return (keys[start:start + size] for start in range(0, len(keys), size))


class Django:
    version = django.get_version()

    def create(self, path):
        self.close()
        connection.settings_dict["NAME"] = path
        with connection.schema_editor() as editor:
            editor.create_model(Team)
            editor.create_model(Person)

    def close(self):
        connection.close()

    def insert(self, people):
        with transaction.atomic():
            for one in people:
                # Says that the row is new; otherwise Django first tries to change it.
                Person(**one).save(force_insert=True)

    def insert_batch(self, people):
        with transaction.atomic():
            Person.objects.bulk_create(Person(**one) for one in people)

    def insert_teams(self, teams):
        Team.objects.bulk_create(Team(**team) for team in teams)

    def fetch_all(self):
        return sum(read(found) for found in Person.objects.iterator())

    def fetch_filtered(self):
        people = Person.objects.filter(age__gte=LOWEST_AGE, age__lt=END_OF_AGES, score__gt=LEAST_SCORE)
        return sum(read(found) for found in people.order_by("name").iterator())

    def look_up(self, keys):
        return sum(read(Person.objects.get(pk=key)) for key in keys)

    def follow(self):
        return sum(len(found.team.name) for found in Person.objects.select_related("team").iterator())

    def update(self):
        people = list(Person.objects.all())
        for found in people:
            found.age += 1
        Person.objects.bulk_update(people, ["age"])

    def save_each(self, count):
        for found in Person.objects.all()[:count]:
            found.age += 1
            found.save(update_fields=["age"])

    def delete(self):
        keys = [found.pk for found in Person.objects.all()]
        with transaction.atomic():
            for some in chunks(keys):
                Person.objects.filter(pk__in=some).delete()


main(Django())
