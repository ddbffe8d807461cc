/// The keys that a custom store's objects have in this process, by the store's references.
///
/// Keys are assigned in the order in which references are first seen, so they mean nothing in another process: URIs
/// contain the reference.
///
/// ```text
/// reference          entity   key   URI
/// 42                 Book     1     x-coredata://UUID/Book/p42
/// "dispossessed"     Book     2     x-coredata://UUID/Book/pdispossessed
/// "42", a text       Book     3     x-coredata://UUID/Book/p%342         told apart from the number
/// 42                 Author   4     x-coredata://UUID/Author/p42         another entity: another object
/// ```
///
/// The table grows with each reference that is seen and is never emptied while the store is open.
package final class ReferenceKeys: KeyNames, @unchecked Sendable {
  // `@unchecked Sendable`: everything is used under `lock`; references are values, or objects that the store treats
  // like values.
  private struct Place: Hashable {
    let number: Int
    let value: PredicateValue
  }

  private let lock = NSLock()
  private var keys: [Place: Int64] = [:]
  private var references: [(value: Any, number: Int)] = []

  /// The key of an object of the entity; a new key for a new reference.
  func key(of reference: Any, _ number: Int) -> Int64 {
    lock.withLock {
      let place = Place(number: number, value: PredicateValue(reference))
      if let key = keys[place] { return key }
      references.append((reference, number))
      keys[place] = Int64(references.count)
      return Int64(references.count)
    }
  }

  func reference(_ key: Int64) -> Any? { entry(of: key)?.value }

  /// The number of the entity for which a key was assigned.
  func number(_ key: Int64) -> Int? { entry(of: key)?.number }

  private func entry(of key: Int64) -> (value: Any, number: Int)? {
    lock.withLock { references.indices.contains(Int(key) - 1) ? references[Int(key) - 1] : nil }
  }

  // MARK: In URIs

  /// Whole numbers and UUIDs are written as they are, everything else as its text. In a text that is a number or a
  /// UUID, the first character is percent-encoded.
  package func name(_ key: Int64) -> String {
    switch PredicateValue(reference(key)) {
    case .integer(let number): return "p\(number)"
    case .uuid(let uuid): return "p\(uuid.uuidString)"
    case .string(let text): return "p\(ReferenceKeys.escaped(text))"
    default: return "p\(ReferenceKeys.escaped(reference(key).map { "\($0)" } ?? ""))"
    }
  }

  package func key(name: Substring, _ number: Int) -> Int64? {
    let written = name.dropFirst()
    guard name.first == "p", !written.isEmpty, let text = written.removingPercentEncoding else { return nil }
    if let integer = Int64(written) { return key(of: NSNumber(value: integer), number) }
    return UUID(uuidString: String(written)).map { key(of: $0, number) } ?? key(of: text, number)
  }

  private static func escaped(_ text: String) -> String {
    let allowed = CharacterSet.alphanumerics.intersection(CharacterSet(charactersIn: "\0"..."~")).union(
      CharacterSet(charactersIn: "-._~"))
    let escaped = text.addingPercentEncoding(withAllowedCharacters: allowed) ?? ""
    guard let first = text.utf8.first, Int64(text) != nil || UUID(uuidString: text) != nil else { return escaped }
    return "%" + String(first, radix: 16, uppercase: true) + escaped.dropFirst(escaped.hasPrefix("%") ? 3 : 1)
  }
}
