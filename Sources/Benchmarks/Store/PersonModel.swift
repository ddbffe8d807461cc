import CoreData
import Foundation

/// People.xcdatamodeld and its generated classes: five attributes of the most used types, and a relationship.
enum PersonModel {
  static var url: URL {
    guard let url = Bundle.module.url(forResource: "People", withExtension: "momd") else {
      fatalError("The model People is not among the resources.")
    }
    return url
  }

  static func make() -> NSManagedObjectModel {
    guard let model = NSManagedObjectModel(contentsOf: url) else { fatalError("The model People cannot be read.") }
    return model
  }
}

extension Person {
  func take(_ values: PersonValues) {
    name = values.name
    age = values.age
    score = values.score
    joined = Date(timeIntervalSinceReferenceDate: values.joined)
    email = values.email
  }

  /// Reads all five, as `PlainSQLite.readPerson` does.
  @inline(__always)
  func readAll() -> Int {
    let name = self.name ?? ""
    var sum = name.utf8.count &+ Int(name.utf8.first ?? 0)
    sum &+= Int(age)
    sum &+= Int(score)
    sum &+= Int(joined?.timeIntervalSinceReferenceDate ?? 0)
    let email = self.email ?? ""
    return sum &+ email.utf8.count &+ Int(email.utf8.first ?? 0)
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
