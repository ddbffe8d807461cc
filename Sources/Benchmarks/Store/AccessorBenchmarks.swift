import CoreData
import Foundation

/// Nanoseconds for one access to a property of a realised object, beside a stored property of a plain object.
enum AccessorBenchmarks {
  static var measures: [Measure] {
    [Measure(name: "accessors") { try rows($0) }]
  }

  /// The same object without Core Data.
  private final class PlainPerson {
    var name: String
    var age: Int64

    init(_ values: PersonValues) {
      name = values.name
      age = values.age
    }
  }

  private static let objects = 1000
  private static let passes = 1000

  private static func rows(_ options: Options) throws -> [Figure] {
    let stack = try FilledStore(rows: objects).copy()
    let context = stack.context()
    let plain = (0..<objects).map { PlainPerson(PersonValues($0)) }
    return try context.performAndWait {
      let people = try context.fetch(NSFetchRequest<Person>(entityName: "Person"))
      // Give each object its values and, for the writes, a snapshot.
      for person in people { person.age += 1 }
      /// The nanoseconds for one access, in each round.
      func measure<Object>(_ objects: [Object], _ body: (Object) -> Int) -> [Double] {
        var times: [Double] = []
        for _ in 0..<options.rounds {
          times.append(
            seconds {
              var sum = 0
              for _ in 0..<passes { for object in objects { sum &+= body(object) } }
              consume(sum)
            })
        }
        return times.map { $0 / Double(objects.count * passes) * 1e9 }
      }
      func row(_ name: String, _ ours: [Double], _ plain: [Double]) -> Figure {
        Figure(name: name, unit: .nanoseconds, ours: ours, plain: plain, comparedWith: "stored")
      }
      let declared = try DeclaredPerson.objects(objects, in: DeclaredPerson.context())
      let readNumber = measure(plain) { Int($0.age) }
      let readText = measure(plain) { $0.name.utf8.count }
      let writeNumber = measure(plain) { object in
        object.age = 7
        return 0
      }
      let writeText = measure(plain) { object in
        object.name = "Somebody whose name is long"
        return 0
      }
      return [
        row("read Int64, generated", measure(people) { Int($0.age) }, readNumber),
        row("read String, generated", measure(people) { $0.name?.utf8.count ?? 0 }, readText),
        row(
          "write Int64, generated",
          measure(people) { person in
            person.age = 7
            return 0
          }, writeNumber),
        row(
          "write String, generated",
          measure(people) { person in
            person.name = "Somebody whose name is long"
            return 0
          }, writeText),
        row("read Int64, @NSManaged", measure(declared) { Int($0.age) }, readNumber),
        row("read String, @NSManaged", measure(declared) { $0.name.utf8.count }, readText),
        row(
          "write Int64, @NSManaged",
          measure(declared) { person in
            person.age = 7
            return 0
          }, writeNumber),
        row(
          "write String, @NSManaged",
          measure(declared) { person in
            person.name = "Somebody whose name is long"
            return 0
          }, writeText),
        row(
          "read Int64, value(forKey:)",
          measure(people) { ($0.value(forKey: "age") as? NSNumber)?.intValue ?? 0 }, readNumber),
        row(
          "read String, value(forKey:)",
          measure(people) { ($0.value(forKey: "name") as? String)?.utf8.count ?? 0 }, readText),
        row("read to-one, generated", measure(people) { $0.team == nil ? 1 : 0 }, readNumber),
      ]
    }
  }
}

/// A person whose accessors are declared by hand instead of generated.
final class DeclaredPerson: NSManagedObject {
  @NSManaged var name: String
  @NSManaged var age: Int64

  /// New objects in a confinement context.
  static func objects(_ count: Int, in context: NSManagedObjectContext) -> [DeclaredPerson] {
    (0..<count).map { index in
      let values = PersonValues(index)
      let person = DeclaredPerson(context: context)
      person.name = values.name
      person.age = values.age
      return person
    }
  }

  static func context() throws -> NSManagedObjectContext {
    let entity = NSEntityDescription()
    entity.name = "DeclaredPerson"
    entity.managedObjectClassName = "DeclaredPerson"
    entity.properties = [("name", NSAttributeType.stringAttributeType), ("age", .integer64AttributeType)].map {
      let attribute = NSAttributeDescription()
      attribute.name = $0
      attribute.attributeType = $1
      return attribute
    }
    let model = NSManagedObjectModel()
    model.entities = [entity]
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(ofType: NSInMemoryStoreType, configurationName: nil, at: nil, options: nil)
    let context = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    return context
  }
}
