/// The place that stores share when they write in one transaction: a file, or memory.
protocol WriteScope: AnyObject {
  /// A name that is equal for the same file in all coordinators and processes; empty in memory.
  var name: String { get }

  /// Runs the body while no other save of this coordinator writes here. Calls may be nested.
  func exclusively(_ body: () throws -> Void) throws

  /// Runs the body in a transaction, which an error rolls back. Joins an open one of the same thread.
  ///
  /// - Parameter doing: the activity for errors, such as "Saving".
  func transaction(_ doing: String, _ body: () throws -> Void) throws
}
