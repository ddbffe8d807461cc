/// The place of a model on disk: a bundle of versions (`.xcdatamodeld`, compiled `.momd`) or one version
/// (`.xcdatamodel`, compiled `.mom`).
package struct ModelFile {
  /// The folder of one version, or its compiled file.
  package let version: URL

  /// The version at a URL: itself, or a bundle's current version, or without a current one the bundle's first.
  package init(_ url: URL) throws(ManagedObjectModelError) {
    switch url.pathExtension {
    case "xcdatamodel", "mom":
      version = url
    case "omo":
      version = url.deletingPathExtension().appendingPathExtension("mom")
    case "xcdatamodeld", "momd":
      if let name = Self.currentVersionName(of: url) {
        version = url.appendingPathComponent(name)
      } else if let first = try Self.versions(of: url).first {
        version = first
      } else if let optimised = try Self.files(of: url, ["omo"]).first {
        version = optimised.deletingPathExtension().appendingPathExtension("mom")
      } else {
        throw ManagedObjectModelError(url, "holds no model version (.xcdatamodel)")
      }
    default:
      throw ManagedObjectModelError(
        url, "is not a data model: expected .xcdatamodeld or .xcdatamodel, or compiled .momd, .mom or .omo")
    }
    try requireReadable()
  }

  /// Throws if the version is there in its optimised form only.
  ///
  /// Apple's compiler writes an `.omo` beside the `.mom` of a bundle's current version. It begins with "momv2" and
  /// holds the same model, laid out for being mapped into memory, in a form that Apple does not document.
  private func requireReadable() throws(ManagedObjectModelError) {
    let optimised = version.deletingPathExtension().appendingPathExtension("omo")
    guard version.pathExtension == "mom", !FileManager.default.fileExists(atPath: version.path),
      FileManager.default.fileExists(atPath: optimised.path)
    else { return }
    throw ManagedObjectModelError(
      optimised,
      "is the optimised form of a compiled model, which only Apple's framework reads; put \(version.lastPathComponent) "
        + "of the same model beside it, or use the .xcdatamodeld")
  }

  /// All versions of a bundle, by file name.
  ///
  /// - Throws: an error if the bundle cannot be read.
  package static func versions(of bundle: URL) throws(ManagedObjectModelError) -> [URL] {
    try files(of: bundle, ["xcdatamodel", "mom"])
  }

  private static func files(
    of bundle: URL, _ extensions: [String]
  ) throws(ManagedObjectModelError) -> [URL] {
    do {
      // By its path: by its URL, Foundation on Linux lists nothing for a symbolic link.
      return try FileManager.default.contentsOfDirectory(atPath: bundle.path)
        .map { bundle.appendingPathComponent($0) }
        .filter { extensions.contains($0.pathExtension) }
        .sorted(on: { $0.lastPathComponent })
    } catch {
      throw ManagedObjectModelError(bundle, "cannot be read: \(error.localizedDescription)")
    }
  }

  /// The parsed document, from XML or from "elements".
  package func document() throws(ManagedObjectModelError) -> ModelDocument {
    if version.pathExtension == "mom" { return try ModelDocument(compiledRoot(), of: version) }
    let contents = version.appendingPathComponent("contents")
    let elements = version.appendingPathComponent("elements")
    if let data = FileManager.default.contents(atPath: contents.path) {
      return try ModelDocument(parse(data, contents), of: contents)
    }
    if let data = FileManager.default.contents(atPath: elements.path) {
      let root: ModelNode
      do {
        root = try ModelElements(data).document()
      } catch {
        throw ManagedObjectModelError(elements, error.reason)
      }
      return try ModelDocument(root, of: elements)
    }
    for file in [contents, elements] where access(file.path, F_OK) == 0 && access(file.path, R_OK) != 0 {
      throw ManagedObjectModelError(file, "cannot be read: \(String(cString: strerror(errno)))")
    }
    throw ManagedObjectModelError(version, "holds neither a readable \"contents\" nor \"elements\"")
  }

  private static let archiveStart = Data("bplist".utf8)

  /// The contents of a version that Apple's tools compiled, a keyed archive; nil for other forms.
  package var archive: Data? {
    guard version.pathExtension == "mom", let data = FileManager.default.contents(atPath: version.path),
      data.starts(with: Self.archiveStart)
    else { return nil }
    return data
  }

  private func compiledRoot() throws(ManagedObjectModelError) -> ModelNode {
    guard let data = FileManager.default.contents(atPath: version.path) else {
      throw ManagedObjectModelError(version, "cannot be read")
    }
    guard !data.starts(with: Self.archiveStart) else {
      throw ManagedObjectModelError(version, "was compiled by Apple's tools: use its source, the .xcdatamodeld")
    }
    return try parse(data, version)
  }

  private func parse(_ data: Data, _ file: URL) throws(ManagedObjectModelError) -> ModelNode {
    do {
      return try ModelNode.parse(data)
    } catch {
      throw ManagedObjectModelError(file, line: error.line, "is not well-formed XML, at line \(error.line)")
    }
  }

  /// The file name of the current version in a bundle's property list; nil for none.
  package static func currentVersionName(of bundle: URL) -> String? {
    func entry(_ key: String, in file: String) -> String? {
      guard let data = FileManager.default.contents(atPath: bundle.appendingPathComponent(file).path),
        // A file that is no property list names no version.
        let list = try? PropertyListSerialization.propertyList(from: data, format: nil) as? [String: Any]
      else { return nil }
      return list[key] as? String
    }
    if bundle.pathExtension == "momd" {
      return entry(CompiledModel.currentVersionKey, in: CompiledModel.versionInfoName).map { "\($0).mom" }
    }
    return entry("_XCCurrentVersionName", in: ".xccurrentversion")
  }
}

extension ModelDocument {
  /// A compiled version whose text is part of a program.
  ///
  /// - Parameter name: what errors call the model instead of a file's path.
  package init(compiled text: String, name: String) throws(ManagedObjectModelError) {
    let place = URL(fileURLWithPath: name)
    do {
      try self.init(ModelNode.parse(Data(text.utf8)), of: place)
    } catch let error as ModelNodeError {
      throw ManagedObjectModelError(place, line: error.line, "is not well-formed XML, at line \(error.line)")
    } catch let error as ManagedObjectModelError {
      throw error
    } catch {
      throw ManagedObjectModelError(place, "cannot be read: \(error)")
    }
  }
}
