import CoreData

/// Five attributes of the types that are most used, and a relationship.
enum PersonModel {
  static func make() -> NSManagedObjectModel {
    func attribute(_ name: String, _ type: NSAttributeType) -> NSAttributeDescription {
      let attribute = NSAttributeDescription()
      attribute.name = name
      attribute.attributeType = type
      return attribute
    }
    let person = NSEntityDescription()
    person.name = "Person"
    person.managedObjectClassName = NSStringFromClass(Person.self)
    person.properties = [
      attribute("name", .stringAttributeType), attribute("age", .integer64AttributeType),
      attribute("score", .doubleAttributeType), attribute("joined", .dateAttributeType),
      attribute("email", .stringAttributeType),
    ]
    let team = NSEntityDescription()
    team.name = "Team"
    team.managedObjectClassName = NSStringFromClass(Team.self)
    team.properties = [attribute("name", .stringAttributeType)]
    let members = NSRelationshipDescription()
    members.name = "members"
    members.destinationEntity = person
    let membership = NSRelationshipDescription()
    membership.name = "team"
    membership.destinationEntity = team
    membership.maxCount = 1
    members.inverseRelationship = membership
    membership.inverseRelationship = members
    team.properties += [members]
    person.properties += [membership]
    let model = NSManagedObjectModel()
    model.entities = [person, team]
    return model
  }
}

final class Person: NSManagedObject {
  private static let nameProperty = ManagedProperty<String>("name")
  private static let ageProperty = ManagedProperty<Int64>("age")
  private static let scoreProperty = ManagedProperty<Double>("score")
  private static let joinedProperty = ManagedProperty<Date?>("joined")
  private static let emailProperty = ManagedProperty<String>("email")
  private static let teamProperty = ManagedProperty<Team?>("team")

  var name: String {
    get { self[Person.nameProperty] }
    set { self[Person.nameProperty] = newValue }
  }
  var age: Int64 {
    get { self[Person.ageProperty] }
    set { self[Person.ageProperty] = newValue }
  }
  var score: Double {
    get { self[Person.scoreProperty] }
    set { self[Person.scoreProperty] = newValue }
  }
  var joined: Date? {
    get { self[Person.joinedProperty] }
    set { self[Person.joinedProperty] = newValue }
  }
  var email: String {
    get { self[Person.emailProperty] }
    set { self[Person.emailProperty] = newValue }
  }
  var team: Team? {
    get { self[Person.teamProperty] }
    set { self[Person.teamProperty] = newValue }
  }

  /// Reads all five, as `PlainSQLite.readPerson` does.
  @inline(__always)
  func readAll() -> Int {
    let name = self.name
    var sum = name.utf8.count &+ Int(name.utf8.first ?? 0)
    sum &+= Int(age)
    sum &+= Int(score)
    sum &+= Int(joined?.timeIntervalSinceReferenceDate ?? 0)
    let email = self.email
    return sum &+ email.utf8.count &+ Int(email.utf8.first ?? 0)
  }
}

final class Team: NSManagedObject {
  private static let nameProperty = ManagedProperty<String>("name")
  var name: String {
    get { self[Team.nameProperty] }
    set { self[Team.nameProperty] = newValue }
  }
}

/// The values of row number `index`: the same on both sides.
struct PersonValues {
  let name: String
  let age: Int64
  let score: Double
  let joined: Double
  let email: String

  init(_ index: Int) {
    name = "Person number \(index)"
    age = Int64(index % 90)
    score = Double(index) * 0.5
    joined = 600_000_000.5 + Double(index)
    email = "p\(index)@example.org"
  }
}
