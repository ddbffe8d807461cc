/// What stores have in common that write in one transaction: a file, or a memory.
protocol WriteScope: AnyObject {
  /// The same for the same file in every coordinator of every process; empty for a memory.
  var name: String { get }

  /// Runs the body while nobody else of this coordinator writes here. May be nested.
  func exclusively(_ body: () throws -> Void) throws

  /// Runs the body in a transaction, which an error rolls back; joins the one that the same thread has open.
  ///
  /// - Parameter doing: for errors, such as "Saving".
  func transaction(_ doing: String, _ body: () throws -> Void) throws
}
