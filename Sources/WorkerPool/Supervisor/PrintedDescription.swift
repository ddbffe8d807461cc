import Foundation
import WorkerProtocol

/// What `describe` of a plugin printed: its description, and the keys that no pool of this version reads.
struct PrintedDescription: Decodable {
  /// A number is too large, or has a fraction where a whole one is expected. Foundation does not say which one.
  struct UnfitNumber: Error {}

  let description: PluginDescription
  /// The unknown keys with their places: "kinds.0.timout".
  ///
  /// They are no errors, since a newer plugin may describe more than an older pool knows; but most are mistyped.
  let unknownKeys: [String]

  /// - Throws: `DecodingError`, or ``UnfitNumber``.
  init(json: String) throws { self = try JSONDecoder().decode(Self.self, from: Data(json.utf8)) }

  init(from decoder: any Decoder) throws {
    let root = try decoder.container(keyedBy: PrintedKey.self)
    do {
      description = try PluginDescription(from: decoder)
    } catch let error as DecodingError {
      throw error
    } catch {
      throw UnfitNumber()
    }
    var unknownKeys = root.keys(unknownTo: PluginDescription.CodingKeys.self)
    var kinds = try root.nestedUnkeyedContainer(forKey: "kinds")
    while !kinds.isAtEnd {
      let kind = try kinds.nestedContainer(keyedBy: PrintedKey.self)
      unknownKeys += kind.keys(unknownTo: PluginDescription.Kind.CodingKeys.self)
      unknownKeys += try kind.object("rate")?.keys(unknownTo: JobRate.CodingKeys.self) ?? []
    }
    unknownKeys += try root.object("needs")?.keys(unknownTo: PluginDescription.Needs.CodingKeys.self) ?? []
    self.unknownKeys = unknownKeys
  }
}

/// A key of an object, whether known or not.
private struct PrintedKey: CodingKey, ExpressibleByStringLiteral {
  let stringValue: String
  var intValue: Int? { nil }

  init(stringValue: String) { self.stringValue = stringValue }
  init?(intValue: Int) { nil }
  init(stringLiteral key: String) { stringValue = key }
}

extension KeyedDecodingContainer<PrintedKey> {
  /// The object under a key; nil if there is none.
  fileprivate func object(_ key: Key) throws -> Self? {
    guard contains(key), try !decodeNil(forKey: key) else { return nil }
    return try nestedContainer(keyedBy: Key.self, forKey: key)
  }

  /// The names, with their places, of keys that a description does not read.
  fileprivate func keys(unknownTo known: (some CodingKey).Type) -> [String] {
    let place = codingPath.map { $0.intValue.map { "\($0)." } ?? "\($0.stringValue)." }.joined()
    return allKeys.map(\.stringValue).filter { known.init(stringValue: $0) == nil }.sorted().map { place + $0 }
  }
}
