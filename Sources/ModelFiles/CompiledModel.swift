/// A compiled model: a folder `NAME.momd` with a `VERSION.mom` for each version, and `VersionInfo.plist`, which names
/// the current version, if the source does, and has the version hashes of all.
///
/// Folder, file names and the property list's keys are Apple's. A `.mom` here is the version's XML document with the
/// name of the module that the model was built into; Apple's has another, undocumented form.
package enum CompiledModel {
  package static let versionInfoName = "VersionInfo.plist"
  package static let currentVersionKey = "NSManagedObjectModel_CurrentVersionName"
  package static let versionHashesKey = "NSManagedObjectModel_VersionHashes"
  /// The attribute of the document's root element that holds the module's name.
  package static let productModuleKey = "productModuleName"

  /// The contents of a compiled model's files, by file name.
  ///
  /// - Parameter source: a `.xcdatamodeld`, or a single `.xcdatamodel`.
  /// - Throws: `ManagedObjectModelError` if any version has a fault.
  package static func files(
    of source: URL, module: String
  ) throws(ManagedObjectModelError) -> (files: [String: Data], current: ModelDocument) {
    let current = try ModelFile(source)
    let versions = source.pathExtension == "xcdatamodeld" ? try ModelFile.versions(of: source) : [source]
    var files: [String: Data] = [:]
    var hashes: [String: [String: Data]] = [:]
    var currentDocument: ModelDocument?
    for version in versions {
      let document = try ModelFile(version).document()
      if version.lastPathComponent == current.version.lastPathComponent { currentDocument = document }
      files["\(name(of: version)).mom"] = xml(marked(document.root, module))
      hashes[name(of: version)] = document.versionHashes
    }
    guard let currentDocument else {
      throw ManagedObjectModelError(
        source.appendingPathComponent(".xccurrentversion"),
        "names the current version \(current.version.lastPathComponent), which does not exist")
    }
    let namesCurrent = source.pathExtension != "xcdatamodeld" || ModelFile.currentVersionName(of: source) != nil
    files[versionInfoName] = Data(versionInfo(current: namesCurrent ? name(of: current.version) : nil, hashes).utf8)
    return (files, currentDocument)
  }

  /// The text of the current version's compiled form, for a program that keeps it in its own code.
  package static func currentText(
    of source: URL, module: String
  ) throws(ManagedObjectModelError) -> (text: String, document: ModelDocument) {
    let document = try ModelFile(source).document()
    return (String(decoding: xml(marked(document.root, module)), as: UTF8.self), document)
  }

  private static func name(of version: URL) -> String { version.deletingPathExtension().lastPathComponent }

  private static func versionInfo(current: String?, _ hashes: [String: [String: Data]]) -> String {
    var lines: [String] = []
    if let current { lines += ["\t<key>\(currentVersionKey)</key>", "\t<string>\(escaped(current))</string>"] }
    lines += ["\t<key>\(versionHashesKey)</key>", "\t<dict>"]
    for (version, hashes) in hashes.sorted(on: { $0.key }) {
      lines += ["\t\t<key>\(escaped(version))</key>", "\t\t<dict>"]
      for (entity, hash) in hashes.sorted(on: { $0.key }) {
        lines += ["\t\t\t<key>\(escaped(entity))</key>", "\t\t\t<data>\(hash.base64EncodedString())</data>"]
      }
      lines.append("\t\t</dict>")
    }
    lines.append("\t</dict>")
    return """
      <?xml version="1.0" encoding="UTF-8"?>
      <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
      <plist version="1.0">
      <dict>
      \(lines.joined(separator: "\n"))
      </dict>
      </plist>

      """
  }

  // MARK: XML

  /// The document with the module's name, and without "elements", which only place entities in Xcode's editor.
  private static func marked(_ root: ModelNode, _ module: String) -> ModelNode {
    let marked = ModelNode(
      name: root.name, attributes: root.attributes.merging([productModuleKey: module]) { $1 })
    for child in root.children where child.name != "elements" { marked.append(child) }
    return marked
  }

  /// A document as XML.
  package static func xml(_ root: ModelNode) -> Data {
    var text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
    write(root, indent: "", into: &text)
    return Data(text.utf8)
  }

  private static func write(_ node: ModelNode, indent: String, into text: inout String) {
    text += "\(indent)<\(node.name)"
    for (name, value) in node.attributes.sorted(on: { $0.key }) { text += " \(name)=\"\(escaped(value))\"" }
    let children = node.children.filter { !isForGenerator($0) }
    guard !children.isEmpty else {
      text += "/>\n"
      return
    }
    text += ">\n"
    for child in children { write(child, indent: indent + "  ", into: &text) }
    text += "\(indent)</\(node.name)>\n"
  }

  /// What only the class generator reads is not part of a compiled model.
  private static func isForGenerator(_ node: ModelNode) -> Bool {
    switch node.name {
    case "entry": UserInfoEntry(node: node).generatorNote != nil
    case "userInfo": !node.children.isEmpty && node.children.allSatisfy(isForGenerator)
    default: false
    }
  }

  /// Escapes line ends and tabs too: a parser reads unescaped ones as spaces.
  private static func escaped(_ text: String) -> String {
    text.escaped { scalar in
      switch scalar {
      case "\"": "&quot;"
      case "\n", "\t": "&#\(scalar.value);"
      default: String.xmlEscape(scalar)
      }
    }
  }
}
