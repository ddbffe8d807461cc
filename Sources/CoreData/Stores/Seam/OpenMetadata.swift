/// The metadata of an open store: any thread reads and sets it, also while a save writes it.
///
/// `@unchecked Sendable`: everything is used under `lock`.
///
/// ```text
/// Program                               Save
/// ------------------------------------  ------------------------------------------
/// set(A)            revision 1
///                                       takeUnsaved: A, written 1
/// set(B)            revision 2          writes A
///                                       didCommit: saved 1
///                                       B is still unsaved: the next save writes it
/// ```
package final class OpenMetadata: @unchecked Sendable {
  private let lock = NSLock()
  private var values: [String: Any]?
  /// The number of the present values, of those that the last transaction wrote, and of those that the file has.
  private var revision = 0
  private var writtenRevision = 0
  private var savedRevision = 0

  var current: [String: Any]? { lock.withLock { values } }

  /// Whether the file does not have the values yet.
  var isUnsaved: Bool { lock.withLock { savedRevision != revision } }

  /// Sets values that the file does not have yet.
  func set(_ new: [String: Any]?) {
    lock.withLock {
      values = new
      revision += 1
    }
  }

  /// Sets the values that the file has.
  package func load(_ saved: [String: Any]?) {
    lock.withLock {
      values = saved
      revision += 1
      savedRevision = revision
    }
  }

  /// Drops a value that the file has no more.
  func forget(_ key: String) { lock.withLock { values?[key] = nil } }

  /// The values that a transaction has to write; nil if the file has them. `didCommit` follows when it is committed.
  package func takeUnsaved() -> [String: Any]? {
    lock.withLock {
      writtenRevision = revision
      return savedRevision == revision ? nil : values
    }
  }

  /// The file has what the last transaction wrote. Values that were set since are unsaved.
  package func didCommit() { lock.withLock { savedRevision = max(savedRevision, writtenRevision) } }
}
