/// Binary values of attributes that allow external storage: the first byte tells where the value is.
///
/// 1: the value follows. 2: the name of a file follows, a UUID in capitals with a zero behind it; the file is in the
/// store's support folder.
package enum ExternalData {
  /// The value; nil if its file is missing or cannot be read.
  static func decode(_ stored: Data, _ storedEntity: StoredEntity) -> Data? {
    switch stored.first {
    case 1: Data(stored.dropFirst())
    case 2:
      file(stored, of: storedEntity.storeReference?.store?.url).flatMap {
        FileManager.default.contents(atPath: $0.path)
      }
    default: stored
    }
  }

  /// The file that a stored value names; nil for none.
  static func file(_ stored: Data, of store: URL?) -> URL? {
    guard stored.first == 2, let store else { return nil }
    let name = String(decoding: stored.dropFirst().prefix { $0 != 0 }, as: UTF8.self)
    // Names are UUIDs; anything else might lead out of the folder.
    guard UUID(uuidString: name) != nil else { return nil }
    return folder(of: store).appendingPathComponent(name)
  }

  /// The folder beside a store's file with its external data.
  package static func supportFolder(of store: URL) -> URL {
    store.deletingLastPathComponent().appendingPathComponent(
      ".\(store.deletingPathExtension().lastPathComponent)_SUPPORT")
  }

  /// The folder of the files.
  static func folder(of store: URL) -> URL { supportFolder(of: store).appendingPathComponent("_EXTERNAL_DATA") }

  static func encode(_ value: Data) -> Data { [1] + value }

  /// Values of more bytes get a file. Apple's limit is about 100 KB.
  static let largestInside = 100 * 1024

  /// Writes a large value into a new file.
  ///
  /// - Returns: what the row stores and the file; nil if the file cannot be written, so that the row has to hold the
  ///   value.
  static func writeFile(_ value: Data, in folder: URL) -> (stored: Data, file: URL)? {
    let name = UUID().uuidString
    let file = folder.appendingPathComponent(name)
    do {
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      try value.write(to: file)
      // The row must not be durable before the file.
      let handle = try FileHandle(forWritingTo: file)
      defer { try? handle.close() }
      try handle.synchronize()
    } catch {
      try? FileManager.default.removeItem(at: file)
      return nil
    }
    var stored = Data([2])
    stored.append(contentsOf: name.utf8)
    stored.append(0)
    return (stored, file)
  }
}

/// A file that a save has made superfluous, if the row does not name it any more.
struct ObsoleteFile {
  let table: String
  let column: String
  let key: Int64
  let stored: Data
}
