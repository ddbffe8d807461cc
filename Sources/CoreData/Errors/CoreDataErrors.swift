/// Makes the `NSError`s that Core Data throws.
///
/// All code of the package that throws an error with a code of Core Data makes it here. So each has Apple's domain, a
/// `CocoaError.Code` that a text search finds, and a sentence. Swift error types inside of the module (`RowConflicts`,
/// `RejectedRows`, `SQLiteError`, …) are converted before they leave it.
///
/// The sentence says what happened, to what, and what to do. It has names of entities, properties, files and IDs, and
/// no values of objects: logs of errors must not spread what a store keeps.
package enum CoreDataErrors {
  /// An error with the code and a sentence.
  ///
  /// - Parameters:
  ///   - code: a code of Core Data.
  ///   - message: a whole sentence for the description, with the place, the entity or the file that the code is about.
  ///   - info: more entries of the user info. The description is set here.
  package static func error(_ code: CocoaError.Code, _ message: String, _ info: [String: Any] = [:]) -> NSError {
    var info = info
    info[NSLocalizedDescriptionKey] = message
    return NSError(domain: NSCocoaErrorDomain, code: code.rawValue, userInfo: info)
  }

  /// The error for a place that can be read and holds no store.
  ///
  /// It is the 134080 that a caller may answer by making a store. A file that cannot be read, or belongs to another
  /// program, has the same code and no mark: making a store there could destroy something.
  package static func noStore(_ message: String) -> NSError { error(.persistentStoreOpen, message, [noStoreKey: true]) }

  /// The mark of `noStore(_:)`, in the user info since an `NSError` has no other place. It is not public:
  /// `isForMissingStore` reads it.
  fileprivate static let noStoreKey = "NSPersistentStoreIsMissing"

  /// One error that stands for all: a single error itself, or a 1560 that lists them under `NSDetailedErrorsKey`. Nil
  /// for an empty array.
  ///
  /// Validation calls it at each level: for the elements of a composite attribute, the properties of an object, and the
  /// objects of a save. Each call takes the lists of the level below apart, so that the result is flat as Apple's is.
  static func combined(_ errors: [any Error]) -> (any Error)? {
    // A caller that threw an error type of its own catches that type again: no bridging to NSError.
    if errors.count <= 1 { return errors.first }
    let flat = errors.map { $0 as NSError }.flatMap { ($0.userInfo[NSDetailedErrorsKey] as? [NSError]) ?? [$0] }
    let list = flat.map(\.localizedDescription).joined(separator: "; ")
    return error(.validationMultipleErrors, "Several values are not valid: \(list)", [NSDetailedErrorsKey: flat])
  }
}

extension NSError {
  /// Whether the place could be read and holds no store. After any other error there may be a store. The pool asks it
  /// before it makes a store of its own.
  package var isForMissingStore: Bool { userInfo[CoreDataErrors.noStoreKey] != nil }
}
