import CoreData

func attribute(_ name: String, _ type: NSAttributeType) -> NSAttributeDescription {
  let a = NSAttributeDescription(); a.name = name; a.attributeType = type; return a
}
func entity(_ name: String, _ p: [NSPropertyDescription]) -> NSEntityDescription {
  let e = NSEntityDescription(); e.name = name; e.properties = p; return e
}
func relate(_ one: NSEntityDescription, _ name: String, _ many: NSEntityDescription, _ back: String) {
  let r = NSRelationshipDescription(), i = NSRelationshipDescription()
  r.name = name; r.destinationEntity = many; r.maxCount = 0
  i.name = back; i.destinationEntity = one; i.maxCount = 1
  r.inverseRelationship = i; i.inverseRelationship = r
  one.properties += [r]; many.properties += [i]
}
let school = entity("School", [attribute("name", .stringAttributeType)])
let student = entity("Student", [attribute("name", .stringAttributeType)])
let grade = entity("Grade", [attribute("value", .integer64AttributeType)])
relate(school, "students", student, "school")
relate(student, "grades", grade, "student")
let model = NSManagedObjectModel()
model.entities = [school, student, grade]
let folder = FileManager.default.temporaryDirectory.appendingPathComponent("loose-\(UUID())")
try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
defer { try? FileManager.default.removeItem(at: folder) }
let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
try coordinator.addPersistentStore(ofType: NSSQLiteStoreType, configurationName: nil, at: folder.appendingPathComponent("s.sqlite"), options: nil)
let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
context.persistentStoreCoordinator = coordinator
let mode = CommandLine.arguments[1]
let (schools, students, grades) = (100, 100_000, 450_000)
let clock = ContinuousClock()
func memory() -> String {
  let s = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
  return s.split(separator: "\n").filter { $0.hasPrefix("VmHWM") || $0.hasPrefix("VmRSS") }.joined(separator: " ")
}
func step(_ name: String, _ body: () throws -> Void) rethrows {
  let t = try clock.measure(body); print(name, t, memory())
}
func build(_ c: NSManagedObjectContext?) -> ([NSManagedObject], [NSManagedObject], [NSManagedObject]) {
  let a = (0..<schools).map { i in let o = NSManagedObject(entity: school, insertInto: c); o.setValue("School \(i)", forKey: "name"); return o }
  let b = (0..<students).map { i in let o = NSManagedObject(entity: student, insertInto: c); o.setValue("Student \(i)", forKey: "name"); return o }
  let g = (0..<grades).map { i in let o = NSManagedObject(entity: grade, insertInto: c); o.setValue(i, forKey: "value"); return o }
  return (a, b, g)
}
try context.performAndWait {
  let c = mode == "loose" ? nil : context
  var all: ([NSManagedObject], [NSManagedObject], [NSManagedObject]) = ([], [], [])
  step("make") { all = build(c) }
  step("relate") {
    for (i, s) in all.1.enumerated() { s.setValue(all.0[i % schools], forKey: "school") }
    for (i, g) in all.2.enumerated() { g.setValue(all.1[i % students], forKey: "student") }
  }
  if c == nil { step("insert") { for o in all.0 + all.1 + all.2 { context.insert(o) } } }
  print("inserted", context.insertedObjects.count)
  try step("save") { try context.save() }
}
let check = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
check.persistentStoreCoordinator = coordinator
try check.performAndWait {
  var wrong = 0
  for g in try check.fetch(NSFetchRequest<NSManagedObject>(entityName: "Grade")) {
    let i = g.value(forKey: "value") as! Int
    let s = g.value(forKey: "student") as? NSManagedObject
    let k = s?.value(forKey: "school") as? NSManagedObject
    if s?.value(forKey: "name") as? String != "Student \(i % students)" || k?.value(forKey: "name") as? String != "School \(i % students % schools)" { wrong += 1 }
  }
  for e in ["School", "Student", "Grade"] { print(e, try check.count(for: NSFetchRequest<NSManagedObject>(entityName: e))) }
  print("wrong", wrong, memory())
}
