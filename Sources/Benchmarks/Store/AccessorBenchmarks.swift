import BenchmarkRows
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

  private static let text = "Somebody whose name is long"

  private static func rows(_ options: Options) throws -> [Figure] {
    let stack = try FilledStore(rows: objects).copy()
    let context = stack.context()
    let stored = StoredTimes((0..<objects).map { PlainPerson(PersonValues($0)) }, rounds: options.rounds)
    return try context.performAndWait {
      let people = try context.fetch(NSFetchRequest<Person>(entityName: "Person"))
      // Give each object its values and, for the writes, a snapshot.
      for person in people { person.age += 1 }
      let declared = try DeclaredPerson.objects(objects, in: DeclaredPerson.context())
      return generatedRows(people, stored) + declaredRows(declared, stored) + rowsByKey(people, stored)
    }
  }

  private static func generatedRows(_ people: [Person], _ stored: StoredTimes) -> [Figure] {
    [
      row("read Int64, generated", people, beside: stored.readNumber, rounds: stored.rounds) { Int($0.age) },
      row("read String, generated", people, beside: stored.readText, rounds: stored.rounds) {
        $0.name?.utf8.count ?? 0
      },
      row("write Int64, generated", people, beside: stored.writeNumber, rounds: stored.rounds) { person in
        person.age = 7
        return 0
      },
      row("write String, generated", people, beside: stored.writeText, rounds: stored.rounds) { person in
        person.name = text
        return 0
      },
      row("read to-one, generated", people, beside: stored.readNumber, rounds: stored.rounds) {
        $0.team == nil ? 1 : 0
      },
    ]
  }

  private static func declaredRows(_ people: [DeclaredPerson], _ stored: StoredTimes) -> [Figure] {
    [
      row("read Int64, @NSManaged", people, beside: stored.readNumber, rounds: stored.rounds) { Int($0.age) },
      row("read String, @NSManaged", people, beside: stored.readText, rounds: stored.rounds) { $0.name.utf8.count },
      row("write Int64, @NSManaged", people, beside: stored.writeNumber, rounds: stored.rounds) { person in
        person.age = 7
        return 0
      },
      row("write String, @NSManaged", people, beside: stored.writeText, rounds: stored.rounds) { person in
        person.name = text
        return 0
      },
    ]
  }

  private static func rowsByKey(_ people: [Person], _ stored: StoredTimes) -> [Figure] {
    [
      row("read Int64, value(forKey:)", people, beside: stored.readNumber, rounds: stored.rounds) {
        ($0.value(forKey: "age") as? NSNumber)?.intValue ?? 0
      },
      row("read String, value(forKey:)", people, beside: stored.readText, rounds: stored.rounds) {
        ($0.value(forKey: "name") as? String)?.utf8.count ?? 0
      },
    ]
  }

  private static func row<Object>(
    _ name: String, _ objects: [Object], beside plain: [Double], rounds: Int, _ access: (Object) -> Int
  ) -> Figure {
    Figure(
      name: name, unit: .nanoseconds, ours: times(of: objects, rounds, access), plain: plain, comparedWith: "stored")
  }

  /// The nanoseconds for one access, in each round.
  private static func times<Object>(
    of objects: [Object], _ rounds: Int, _ access: (Object) -> Int
  ) -> [Double] {
    (0..<rounds).map { _ in
      let time = seconds {
        var sum = 0
        for _ in 0..<passes { for object in objects { sum &+= access(object) } }
        consume(sum)
      }
      return time / Double(objects.count * passes) * 1e9
    }
  }

  /// The times of accesses to stored properties of plain objects.
  private struct StoredTimes {
    let rounds: Int
    let readNumber: [Double]
    let readText: [Double]
    let writeNumber: [Double]
    let writeText: [Double]

    init(_ people: [PlainPerson], rounds: Int) {
      self.rounds = rounds
      readNumber = times(of: people, rounds) { Int($0.age) }
      readText = times(of: people, rounds) { $0.name.utf8.count }
      writeNumber = times(of: people, rounds) { person in
        person.age = 7
        return 0
      }
      writeText = times(of: people, rounds) { person in
        person.name = text
        return 0
      }
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
