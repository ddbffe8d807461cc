/// The place that stores share when they write in one transaction: a file, or memory.
///
/// ```text
/// a save to a SQLite store and an XML store
///
/// exclusively(XML) { exclusively(SQLite) {          in the order of their names; memory has none, and comes first
///   transaction(XML) { transaction(SQLite) {
///     write to both
///     prepareToCommit of both                       the XML file is written under a temporary name
///   } COMMIT                                        the innermost ends first
///   } persist: the XML file gets its name
/// } }
/// ```
///
/// What is likely to fail, such as writing to a full disk, comes before the first commit.
package protocol WriteScope: AnyObject {
  /// A name that is equal for the same file in all coordinators and processes; empty in memory.
  var name: String { get }

  /// Runs the body while no other save of this coordinator writes here. Calls may be nested.
  func exclusively(_ body: () throws -> Void) throws

  /// Runs the body in a transaction, which an error rolls back. Joins an open one of the same thread.
  ///
  /// - Parameter doing: the activity for errors, such as "Saving".
  func transaction(_ doing: String, _ body: () throws -> Void) throws

  /// Runs the body, which has one transaction in it and nothing else that lasts. May run it again after an error that
  /// is nobody's fault.
  func repeating(_ body: () throws -> Void) throws

  /// Whether nobody else can write here from the beginning of a transaction to its end. Where others can, they wait for
  /// the rows that the transaction has written.
  ///
  /// SQLite and memory: true. A server locks rows, so others may commit to different rows during the transaction.
  var locksOutWriters: Bool { get }

  /// Whether an error in a transaction takes back what was written in it.
  var rollsBack: Bool { get }

  /// Does the part of the open transaction's commit that may fail, if it can be taken back. Nothing is written in the
  /// transaction afterwards.
  func prepareToCommit() throws
}

extension WriteScope {
  package func repeating(_ body: () throws -> Void) throws { try body() }
  package var locksOutWriters: Bool { true }
  package var rollsBack: Bool { true }
  package func prepareToCommit() throws {}
}
