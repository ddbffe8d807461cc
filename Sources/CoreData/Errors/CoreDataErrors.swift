/// Makes the `NSError`s that Core Data throws.
package enum CoreDataErrors {
  /// An error with the code; without a message its description is the code's explanation.
  package static func error(_ code: CocoaError.Code, _ message: String? = nil, _ info: [String: Any] = [:]) -> NSError {
    var info = info
    let explanation = explanation(code)
    info[NSLocalizedDescriptionKey] =
      message ?? explanation.prefix(1).uppercased() + explanation.dropFirst() + "."
    return NSError(domain: NSCocoaErrorDomain, code: code.rawValue, userInfo: info)
  }

  /// The error for a place that can be read and holds no store.
  package static func noStore(_ message: String) -> NSError { error(.persistentStoreOpen, message, [noStoreKey: true]) }

  fileprivate static let noStoreKey = "NSPersistentStoreIsMissing"

  /// One error that stands for all: a single error itself, or a 1560 that lists them under `NSDetailedErrorsKey`. Nil
  /// for an empty array.
  static func combined(_ errors: [any Error]) -> (any Error)? {
    // A caller that threw an error type of its own catches that type again: no bridging to NSError.
    if errors.count <= 1 { return errors.first }
    let flat = errors.map { $0 as NSError }.flatMap { ($0.userInfo[NSDetailedErrorsKey] as? [NSError]) ?? [$0] }
    let list = flat.map(\.localizedDescription).joined(separator: "; ")
    return error(.validationMultipleErrors, "Several values are not valid: \(list)", [NSDetailedErrorsKey: flat])
  }
}

extension NSError {
  /// Whether the place could be read and holds no store. All other errors leave open what is there.
  package var isForMissingStore: Bool { userInfo[CoreDataErrors.noStoreKey] != nil }
}
