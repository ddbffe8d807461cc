import CSQLite
import CoreData
import Foundation

/// The steps of a public comparison of stores on phones, beside the same work in plain SQLite: users with unique IDs,
/// then students with schools and grades.
///
/// Names, steps and sizes follow https://github.com/jacobsapps/RealmVsSwiftData; a million users and 100,000 students
/// there are `--rows 1000000`. The code is new.
enum CampusBenchmarks {
  static var measures: [Measure] {
    [
      Measure(name: "users") { try users($0) },
      Measure(name: "students") { try students($0) },
      Measure(name: "instantiate") { try [instantiate($0)] },
    ]
  }

  /// One step of a round, with the resources that it used.
  typealias Step = (name: String, use: Use)

  /// Runs both sides in turn, each with all its steps: a figure for each step.
  static func compareSteps(
    _ options: Options, rows: Int, ours: () throws -> [Step], plain: () throws -> [Step]
  ) throws -> [Figure] {
    var (oursSteps, plainSteps): ([[Step]], [[Step]]) = ([], [])
    for _ in 0..<options.rounds {
      oursSteps.append(try ours())
      plainSteps.append(try plain())
    }
    return oursSteps[0].indices.map { index in
      let (oursUse, plainUse) = (oursSteps.map { $0[index].use }, plainSteps.map { $0[index].use })
      return Figure(
        name: oursSteps[0][index].name, unit: .seconds, ours: oursUse.map(\.seconds), plain: plainUse.map(\.seconds),
        oursUse: oursUse, plainUse: plainUse, rows: rows)
    }
  }

  // MARK: Objects without a context

  private final class PlainUser {
    var id: UUID?
    var firstName: String?
    var surname: String?
    var age: Int16 = 0
  }

  private static func instantiate(_ options: Options) throws -> Figure {
    let entity = CampusModel.entity("User", of: CampusModel.make())
    let values = (0..<options.rows).map(UserValues.init)
    var figure = try compare("instantiate objects of four values, without a context", options) {
      var users: [User] = []
      users.reserveCapacity(values.count)
      return Use.of {
        for value in values {
          let user = User(entity: entity, insertInto: nil)
          user.take(value)
          users.append(user)
        }
      }
    } plain: {
      var users: [PlainUser] = []
      users.reserveCapacity(values.count)
      return Use.of {
        for value in values {
          let user = PlainUser()
          user.id = value.id
          user.firstName = value.firstName
          user.surname = value.surname
          user.age = value.age
          users.append(user)
        }
      }
    }
    figure.comparedWith = "Swift objects"
    return figure
  }

  // MARK: Users

  private static func users(_ options: Options) throws -> [Figure] {
    let values = (0..<options.rows).map(UserValues.init)
    return try compareSteps(options, rows: options.rows) {
      try userSteps(values)
    } plain: {
      try plainUserSteps(values)
    }
  }

  private static func userSteps(_ values: [UserValues]) throws -> [Step] {
    let stack = try Stack(CampusModel.make())
    let context = stack.context()
    return try context.performAndWait {
      func named(_ name: String?) -> NSFetchRequest<User> {
        let request = NSFetchRequest<User>(entityName: "User")
        guard let name else { return request }
        request.predicate = NSPredicate(format: "firstName == %@", name)
        request.sortDescriptors = [NSSortDescriptor(key: "surname", ascending: true)]
        return request
      }
      var steps: [Step] = []
      steps.append(
        (
          "users: create and save",
          try Use.of {
            for value in values { User(context: context).take(value) }
            try context.save()
          }
        ))
      context.reset()
      steps.append(
        (
          "users: fetch those of a name, sorted, read all",
          try Use.of {
            var sum = 0
            for user in try context.fetch(named("Jane")) {
              sum &+= Int(user.age) &+ (user.surname?.utf8.count ?? 0) &+ (user.firstName?.utf8.count ?? 0)
            }
            consume(sum)
          }
        ))
      steps.append(
        (
          "users: rename them",
          try Use.of {
            for user in try context.fetch(named("Jane")) { user.firstName = "Wendy" }
            try context.save()
          }
        ))
      context.reset()
      steps.append(
        (
          "users: delete all",
          try Use.of {
            for user in try context.fetch(named(nil)) { context.delete(user) }
            try context.save()
          }
        ))
      return steps
    }
  }

  private static func plainUserSteps(_ values: [UserValues]) throws -> [Step] {
    let stack = try Stack(CampusModel.make())
    let sqlite = PlainSQLite(stack.path)
    let create = Use.of {
      sqlite.transaction {
        sqlite.run(
          "INSERT INTO ZUSER (Z_PK, Z_ENT, Z_OPT, ZAGE, ZFIRSTNAME, ZSURNAME, ZID) VALUES (?, 4, 1, ?, ?, ?, ?)",
          values.enumerated()
        ) { user, statement in
          sqlite3_bind_int64(statement, 1, Int64(user.offset + 1))
          sqlite3_bind_int64(statement, 2, Int64(user.element.age))
          PlainSQLite.bind(user.element.firstName, 3, statement)
          PlainSQLite.bind(user.element.surname, 4, statement)
          PlainSQLite.bind(user.element.id, 5, statement)
        }
      }
    }
    let fetch = Use.of {
      sqlite.readPeople(
        "SELECT ZAGE, ZSURNAME, ZFIRSTNAME, ZID FROM ZUSER WHERE ZFIRSTNAME = 'Jane' ORDER BY ZSURNAME")
    }
    let rename = Use.of {
      let keys = sqlite.integers("SELECT Z_PK FROM ZUSER WHERE ZFIRSTNAME = 'Jane' ORDER BY ZSURNAME")
      sqlite.transaction {
        sqlite.run("UPDATE ZUSER SET ZFIRSTNAME = 'Wendy', Z_OPT = Z_OPT + 1 WHERE Z_PK = ?", keys) {
          sqlite3_bind_int64($1, 1, $0)
        }
      }
    }
    let delete = Use.of {
      let keys = sqlite.integers("SELECT Z_PK FROM ZUSER")
      sqlite.transaction {
        sqlite.run("DELETE FROM ZUSER WHERE Z_PK = ?", keys) { sqlite3_bind_int64($1, 1, $0) }
      }
    }
    return [("", create), ("", fetch), ("", rename), ("", delete)]
  }
}
