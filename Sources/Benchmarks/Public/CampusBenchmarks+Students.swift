import CSQLite
import CoreData
import Foundation

/// Students: a tenth of the rows, each with a school and five grades.
extension CampusBenchmarks {
  private static let subjects = ["Maths", "Physics", "History", "English", "Art"]
  private static let marks = ["A*", "A", "B", "C", "D", "E", "F"]
  private static let studentsOfSchool = 1000

  private static func mark(_ student: Int, _ subject: Int) -> String { marks[(student &* 31 &+ subject &* 7) % 7] }

  static func students(_ options: Options) throws -> [Figure] {
    let count = max(1, options.rows / 10)
    let values = (0..<count).map(UserValues.init)
    return try compareSteps(options, rows: count) {
      try studentSteps(values)
    } plain: {
      try plainStudentSteps(values)
    }
  }

  private static func create(_ values: [UserValues], in context: NSManagedObjectContext) throws {
    var schools: [School] = []
    for (index, value) in values.enumerated() {
      if index % studentsOfSchool == 0 {
        let school = School(context: context)
        school.id = CampusModel.uuid(1 << 40 + schools.count)
        school.name = "School \(schools.count)"
        school.location = "Town \(schools.count)"
        school.type = schools.count % 2 == 0 ? "state" : "private"
        schools.append(school)
      }
      let student = Student(context: context)
      student.id = value.id
      student.firstName = value.firstName
      student.surname = value.surname
      student.age = value.age
      student.school = schools.last
      for (subject, name) in subjects.enumerated() {
        let grade = Grade(context: context)
        grade.id = CampusModel.uuid(1 << 41 + index * subjects.count + subject)
        grade.subject = name
        grade.mark = mark(index, subject)
        grade.student = student
      }
    }
    try context.save()
  }

  private static func studentSteps(_ values: [UserValues]) throws -> [Step] {
    let stack = try Stack(CampusModel.make())
    let context = stack.context()
    return try context.performAndWait {
      var steps: [Step] = []
      steps.append(("students: create with grades, and save", try Use.of { try create(values, in: context) }))
      context.reset()
      steps.append(
        (
          "students: fetch by SUBQUERY, sorted, read all",
          try Use.of {
            let request = NSFetchRequest<Student>(entityName: "Student")
            request.predicate = NSPredicate(
              format: "SUBQUERY(grades, $g, $g.subject == 'Physics' AND $g.mark == 'A*').@count > 0")
            request.sortDescriptors = [NSSortDescriptor(key: "surname", ascending: true)]
            var sum = 0
            for student in try context.fetch(request) {
              sum &+= Int(student.age) &+ (student.surname?.utf8.count ?? 0) &+ (student.firstName?.utf8.count ?? 0)
            }
            consume(sum)
          }
        ))
      context.reset()
      steps.append(
        (
          "students: delete all schools, with what belongs to them",
          try Use.of {
            for school in try context.fetch(NSFetchRequest<School>(entityName: "School")) { context.delete(school) }
            try context.save()
          }
        ))
      return steps
    }
  }

  private static func plainStudentSteps(_ values: [UserValues]) throws -> [Step] {
    let stack = try Stack(CampusModel.make())
    let sqlite = PlainSQLite(stack.path)
    let create = Use.of { sqlite.transaction { insertStudents(values, sqlite) } }
    let fetch = Use.of {
      sqlite.readPeople(
        """
        SELECT ZAGE, ZSURNAME, ZFIRSTNAME, ZID FROM ZSTUDENT AS s WHERE EXISTS \
        (SELECT 1 FROM ZGRADE AS g WHERE g.ZSTUDENT = s.Z_PK AND g.ZSUBJECT = 'Physics' AND g.ZMARK = 'A*') \
        ORDER BY ZSURNAME
        """)
    }
    let delete = Use.of {
      sqlite.transaction {
        for table in ["ZGRADE", "ZSTUDENT", "ZSCHOOL"] {
          let keys = sqlite.integers("SELECT Z_PK FROM \(table)")
          sqlite.run("DELETE FROM \(table) WHERE Z_PK = ?", keys) { sqlite3_bind_int64($1, 1, $0) }
        }
      }
    }
    return [("", create), ("", fetch), ("", delete)]
  }

  private static func insertStudents(_ values: [UserValues], _ sqlite: PlainSQLite) {
    sqlite.run(
      "INSERT INTO ZSCHOOL (Z_PK, Z_ENT, Z_OPT, ZLOCATION, ZNAME, ZTYPE, ZID) VALUES (?, 2, 1, ?, ?, ?, ?)",
      0...(values.count - 1) / studentsOfSchool
    ) { school, statement in
      sqlite3_bind_int64(statement, 1, Int64(school + 1))
      PlainSQLite.bind("Town \(school)", 2, statement)
      PlainSQLite.bind("School \(school)", 3, statement)
      PlainSQLite.bind(school % 2 == 0 ? "state" : "private", 4, statement)
      PlainSQLite.bind(CampusModel.uuid(1 << 40 + school), 5, statement)
    }
    sqlite.run(
      """
      INSERT INTO ZSTUDENT (Z_PK, Z_ENT, Z_OPT, ZAGE, ZFIRSTNAME, ZSURNAME, ZID, ZSCHOOL) \
      VALUES (?, 3, 1, ?, ?, ?, ?, ?)
      """, values.enumerated()
    ) { student, statement in
      sqlite3_bind_int64(statement, 1, Int64(student.offset + 1))
      sqlite3_bind_int64(statement, 2, Int64(student.element.age))
      PlainSQLite.bind(student.element.firstName, 3, statement)
      PlainSQLite.bind(student.element.surname, 4, statement)
      PlainSQLite.bind(student.element.id, 5, statement)
      sqlite3_bind_int64(statement, 6, Int64(student.offset / studentsOfSchool + 1))
    }
    sqlite.run(
      "INSERT INTO ZGRADE (Z_PK, Z_ENT, Z_OPT, ZMARK, ZSUBJECT, ZID, ZSTUDENT) VALUES (?, 1, 1, ?, ?, ?, ?)",
      0..<values.count * subjects.count
    ) { grade, statement in
      let (student, subject) = grade.quotientAndRemainder(dividingBy: subjects.count)
      sqlite3_bind_int64(statement, 1, Int64(grade + 1))
      PlainSQLite.bind(mark(student, subject), 2, statement)
      PlainSQLite.bind(subjects[subject], 3, statement)
      PlainSQLite.bind(CampusModel.uuid(1 << 41 + grade), 4, statement)
      sqlite3_bind_int64(statement, 5, Int64(student + 1))
    }
  }
}
