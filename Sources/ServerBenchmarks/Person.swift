import BenchmarkRows
import CoreDataPostgreSQL
import Foundation

/// What the model compiler makes of the entity.
final class Person: NSManagedObject {
  private static let ageProperty = ManagedProperty<Int64>("age")
  private static let emailProperty = ManagedProperty<String?>("email")
  private static let joinedProperty = ManagedProperty<Date?>("joined")
  private static let nameProperty = ManagedProperty<String?>("name")
  private static let scoreProperty = ManagedProperty<Double>("score")

  var age: Int64 {
    get { self[Self.ageProperty] }
    set { self[Self.ageProperty] = newValue }
  }
  var email: String? {
    get { self[Self.emailProperty] }
    set { self[Self.emailProperty] = newValue }
  }
  var joined: Date? {
    get { self[Self.joinedProperty] }
    set { self[Self.joinedProperty] = newValue }
  }
  var name: String? {
    get { self[Self.nameProperty] }
    set { self[Self.nameProperty] = newValue }
  }
  var score: Double {
    get { self[Self.scoreProperty] }
    set { self[Self.scoreProperty] = newValue }
  }

  func take(_ values: PersonValues) {
    age = values.age
    email = values.email
    joined = Date(timeIntervalSinceReferenceDate: values.joined)
    name = values.name
    score = values.score
  }

  func readAll() -> Int {
    var sum = (name?.utf8.count ?? 0) &+ Int(age) &+ Int(score)
    sum &+= email?.utf8.count ?? 0
    return sum &+ Int(joined?.timeIntervalSinceReferenceDate ?? 0)
  }
}

enum PersonModel {
  static let model: NSManagedObjectModel = {
    let person = NSEntityDescription()
    person.name = "Person"
    person.managedObjectClassName = NSStringFromClass(Person.self)
    person.properties = [
      ("age", NSAttributeType.integer64AttributeType), ("email", .stringAttributeType), ("joined", .dateAttributeType),
      ("name", .stringAttributeType), ("score", .doubleAttributeType),
    ].map { name, type in
      let attribute = NSAttributeDescription()
      attribute.name = name
      attribute.attributeType = type
      attribute.isOptional = type != .integer64AttributeType && type != .doubleAttributeType
      if !attribute.isOptional { attribute.defaultValue = 0 }
      return attribute
    }
    let model = NSManagedObjectModel()
    model.entities = [person]
    return model
  }()
}
