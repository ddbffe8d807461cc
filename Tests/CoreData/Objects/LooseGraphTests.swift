import CoreData
import Testing

/// `WORKERPOOL_STUDENTS=100000` makes the graph ten times as large.
@Suite struct LooseGraphTests {
  @Test func aWholeGraphIsSavedWithNothingLost() throws {
    let students = ProcessInfo.processInfo.environment["WORKERPOOL_STUDENTS"].flatMap(Int.init) ?? 10_000
    let (schools, grades) = (students / 1_000, students / 2 * 9)
    let store = try TemporaryStore(SchoolGraph.model())
    let graph = SchoolGraph(store.model, schools: schools, students: students, grades: grades)
    try store.save { context in
      for student in graph.students { context.insert(student) }
      #expect(context.insertedObjects.count == schools + students + grades)
    }
    try #expect(
      store.sql(SchoolGraph.check(schools: schools, students: students)) == [
        ["\(schools)", "\(students)", "\(grades)", "0"]
      ])
  }
}

/// Schools with students, who have grades: built without a context.
private struct SchoolGraph {
  var schools: [NSManagedObject] = []
  var students: [NSManagedObject] = []

  static func model() -> NSManagedObjectModel {
    let school = LibraryModel.entity("School", [LibraryModel.attribute("name", .stringAttributeType)])
    let student = LibraryModel.entity("Student", [LibraryModel.attribute("name", .stringAttributeType)])
    let grade = LibraryModel.entity("Grade", [LibraryModel.attribute("value", .integer64AttributeType)])
    LibraryModel.relate(school, "students", student, "school", toMany: (true, false))
    LibraryModel.relate(student, "grades", grade, "student", toMany: (true, false))
    let model = NSManagedObjectModel()
    model.entities = [school, student, grade]
    return model
  }

  init(_ model: NSManagedObjectModel, schools: Int, students: Int, grades: Int) {
    func make(_ name: String) -> NSManagedObject {
      NSManagedObject(entity: model.entitiesByName[name]!, insertInto: nil)
    }
    for number in 0..<schools {
      let school = make("School")
      school.setValue("School \(number)", forKey: "name")
      self.schools.append(school)
    }
    for number in 0..<students {
      let student = make("Student")
      student.setValue("Student \(number)", forKey: "name")
      student.setValue(self.schools[number % schools], forKey: "school")
      self.students.append(student)
    }
    for number in 0..<grades {
      let grade = make("Grade")
      grade.setValue(number, forKey: "value")
      self.students[number % students].addObject(grade, toRelationship: "grades")
    }
  }

  /// Rows of each kind, and those whose partners are not the ones that they were given.
  static func check(schools: Int, students: Int) -> String {
    """
    SELECT (SELECT count(*) FROM ZSCHOOL), (SELECT count(*) FROM ZSTUDENT), (SELECT count(*) FROM ZGRADE),
      (SELECT count(*) FROM ZGRADE g LEFT JOIN ZSTUDENT s ON s.Z_PK = g.ZSTUDENT
       LEFT JOIN ZSCHOOL c ON c.Z_PK = s.ZSCHOOL
       WHERE s.ZNAME IS NOT 'Student ' || (g.ZVALUE % \(students))
       OR c.ZNAME IS NOT 'School ' || (CAST(substr(s.ZNAME, 9) AS INTEGER) % \(schools)))
    """
  }
}
