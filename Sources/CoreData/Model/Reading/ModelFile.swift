/// Where a model lies on disk: a bundle of versions (`.xcdatamodeld`) or one version (`.xcdatamodel`).
struct ModelFile {
  /// The folder of one version.
  let version: URL

  /// The version that a URL means: itself, or a bundle's current version, or a bundle's only or first one.
  init(_ url: URL) throws(ManagedObjectModelError) {
    guard url.pathExtension == "xcdatamodeld" else {
      guard url.pathExtension == "xcdatamodel" else {
        throw ManagedObjectModelError(url, "is not a data model: expected a folder .xcdatamodeld or .xcdatamodel")
      }
      version = url
      return
    }
    if let name = Self.currentVersionName(of: url) {
      version = url.appendingPathComponent(name)
    } else if let first = try Self.versions(of: url).first {
      version = first
    } else {
      throw ManagedObjectModelError(url, "holds no model version (.xcdatamodel)")
    }
  }

  /// All versions of a bundle, by file name.
  static func versions(of bundle: URL) throws(ManagedObjectModelError) -> [URL] {
    do {
      return try FileManager.default.contentsOfDirectory(at: bundle, includingPropertiesForKeys: nil)
        .filter { $0.pathExtension == "xcdatamodel" }
        .sorted { $0.lastPathComponent < $1.lastPathComponent }
    } catch {
      throw ManagedObjectModelError(bundle, "cannot be read: \(error.localizedDescription)")
    }
  }

  /// The document, whichever way this version of Xcode wrote it.
  func document() throws(ManagedObjectModelError) -> ModelNode {
    let contents = version.appendingPathComponent("contents")
    let elements = version.appendingPathComponent("elements")
    if let data = FileManager.default.contents(atPath: contents.path) {
      do {
        return try ModelNode.parse(data)
      } catch {
        throw ManagedObjectModelError(contents, "is not well-formed XML, at line \(error.line)")
      }
    }
    if let data = FileManager.default.contents(atPath: elements.path) {
      do {
        return try ModelElements(data).document()
      } catch {
        throw ManagedObjectModelError(elements, error.reason)
      }
    }
    throw ManagedObjectModelError(version, "holds neither a readable \"contents\" nor \"elements\"")
  }

  /// The file name in `.xccurrentversion`, which is a small property list.
  private static func currentVersionName(of bundle: URL) -> String? {
    let file = bundle.appendingPathComponent(".xccurrentversion")
    guard let data = FileManager.default.contents(atPath: file.path),
      let list = try? PropertyListSerialization.propertyList(from: data, format: nil) as? [String: Any]
    else { return nil }
    return list["_XCCurrentVersionName"] as? String
  }
}

/// Why a model could not be read: in which file, and at which entity and property.
public struct ManagedObjectModelError: LocalizedError, CustomStringConvertible {
  /// The file or folder.
  public let url: URL
  /// The entity concerned.
  public let entityName: String?
  /// The property concerned.
  public let propertyName: String?
  /// What is wrong, continuing a sentence that begins with the file's name.
  public let reason: String

  init(_ url: URL, entity: String? = nil, property: String? = nil, _ reason: String) {
    self.url = url
    self.entityName = entity
    self.propertyName = property
    self.reason = reason
  }

  public var description: String {
    switch (entityName, propertyName) {
    case let (entity?, property?): "\(url.path): \(entity).\(property) \(reason)"
    case let (entity?, nil): "\(url.path): the entity \(entity) \(reason)"
    default: "\(url.path) \(reason)"
    }
  }

  public var errorDescription: String? { description }
}
