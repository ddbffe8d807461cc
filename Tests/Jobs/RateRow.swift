import CoreData
import Testing

@testable import Jobs

/// The row in which pools note when jobs of the kind `a` began, and which places they hold.
enum RateRow {
  private static func turn(in context: NSManagedObjectContext) throws -> PoolTurn {
    try #require(try context.fetch(PoolTurn.fetchRequest()).first { $0.name == "rate a" })
  }

  /// The lines: times with counts, then places with their pools.
  static func lines(in context: NSManagedObjectContext) throws -> [Substring] {
    try #require(turn(in: context).text).split(separator: "\n")
  }

  /// Puts all times back. Saves and resets the context.
  static func age(by seconds: Double, in context: NSManagedObjectContext) throws {
    let turn = try turn(in: context)
    turn.text = turn.text?.split(separator: "\n").map { line -> String in
      let parts = line.split(separator: " ")
      guard parts.count == 2, let time = Double(parts[0]) else { return String(line) }
      return "\(time - seconds) \(parts[1])"
    }.joined(separator: "\n")
    try context.save()
    context.reset()
  }
}
