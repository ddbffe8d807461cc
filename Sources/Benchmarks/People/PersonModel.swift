import BenchmarkRows
import CoreData
import Foundation

/// People.xcdatamodeld and its generated classes: five attributes of the most used types, and a relationship. It is the
/// model of the benchmarks of SQLite files and of those of a server.
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

  /// Reads all five, as `PlainSQLite.readPerson` and `PlainServer.readPerson` do.
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
