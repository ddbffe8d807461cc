/// Makes the `NSError`s that Core Data throws.
enum CoreDataErrors {
  static func error(_ code: CocoaError.Code, _ message: String? = nil, _ info: [String: Any] = [:]) -> NSError {
    var info = info
    let explanation = explanation(code)
    info[NSLocalizedDescriptionKey] =
      message ?? explanation.prefix(1).uppercased() + explanation.dropFirst() + "."
    return NSError(domain: NSCocoaErrorDomain, code: code.rawValue, userInfo: info)
  }

  /// One error for several: itself alone, or 1560 with the list under `NSDetailedErrorsKey`; nil for none.
  static func combined(_ errors: [any Error]) -> (any Error)? {
    // One's own error comes out as it was thrown, not as an NSError of it.
    if errors.count <= 1 { return errors.first }
    let flat = errors.map { $0 as NSError }.flatMap { ($0.userInfo[NSDetailedErrorsKey] as? [NSError]) ?? [$0] }
    let list = flat.map(\.localizedDescription).joined(separator: "; ")
    return error(.validationMultipleErrors, "Several values are not valid: \(list)", [NSDetailedErrorsKey: flat])
  }
}
