/// Binary values of attributes that allow external storage: the first byte tells where the value is.
///
/// 1: the value follows. 2: the name of a file follows, a UUID in capitals with a zero behind it; the file is in the
/// store's support folder.
///
/// `Book.cover` allows external storage. A cover of 10 bytes, and one of 200,000:
///
/// ```text
/// ZCOVER                                                          file
/// --------------------------------------------------------------  --------------------------------------------------
/// 01 07 07 07 07 07 07 07 07 07 07                                none: the value follows the 01
/// 02 (a UUID's text) 00    1 + 36 + 1 = 38 bytes                  .Library_SUPPORT/_EXTERNAL_DATA/(the UUID's text)
/// ```
///
/// An attribute without the option has no first byte: a migration that sets or clears the option rewrites the column
/// (`StoreMigration.value`).
package enum ExternalData {
  /// The value. Called while the statement that read the column still runs: its transaction keeps the file there.
  ///
  /// - Throws: 260 if the file is missing, or another error if it cannot be read.
  static func decode(_ stored: Data, _ storedEntity: StoredEntity) throws -> Data {
    switch stored.first {
    case 1: return Data(stored.dropFirst())
    case 2:
      let folder = (storedEntity.storeReference?.store as? SQLiteStore)?.externalFiles?.folder
      guard let folder, let name = fileName(stored) else {
        throw CoreDataErrors.error(
          .persistentStoreIncompatibleSchema,
          "A value of \(storedEntity.layout.name) names no file of external data: the row is damaged.")
      }
      return try folder.read(name, of: storedEntity.layout.name)
    default: return stored
    }
  }

  /// The name of the file in which a stored value is; nil for other values.
  ///
  /// A text such as "../../etc/passwd" in a damaged row is not a UUID, and is nil.
  static func fileName(_ stored: Data) -> String? {
    guard stored.first == 2, stored.count == storedNameLength, stored.last == 0 else { return nil }
    let name = String(decoding: stored.dropFirst().dropLast(), as: UTF8.self)
    // Names are UUIDs; anything else might lead out of the folder.
    return UUID(uuidString: name) == nil ? nil : name
  }

  /// The bytes of a column that names a file.
  static let storedNameLength = 38

  /// What a row stores for a value in a file.
  static func stored(fileName: String) -> Data { [2] + Data(fileName.utf8) + [0] }

  /// The folder beside a store's file with its external data; beside the file to which a link leads.
  package static func supportFolder(of store: URL) -> URL {
    let file = URL(fileURLWithPath: store.realPath)
    return file.deletingLastPathComponent().appendingPathComponent(
      ".\(file.deletingPathExtension().lastPathComponent)_SUPPORT")
  }

  static func encode(_ value: Data) -> Data { [1] + value }

  /// What a row stores for a value.
  ///
  /// - Parameter files: where large values go; nil for a store without a file.
  static func stored(_ value: Data, _ files: ExternalFiles?) -> Data { files?.stored(value) ?? encode(value) }

  /// Values of more bytes get a file. Apple's limit is about 100 KB.
  static let largestInside = 100 * 1024
}
