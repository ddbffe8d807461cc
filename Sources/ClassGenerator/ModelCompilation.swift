import ModelFiles

/// The compilation of one model: reads its source, writes a compiled model and a Swift file.
package struct ModelCompilation {
  let source: URL
  let module: String
  let swiftFile: URL
  let momd: URL

  package static let usage = "ModelCompiler model SOURCE --module NAME --swift FILE --momd FOLDER"

  package init(source: URL, module: String, swiftFile: URL, momd: URL) {
    self.source = source
    self.module = module
    self.swiftFile = swiftFile
    self.momd = momd
  }

  /// Reads `SOURCE --module NAME --swift FILE --momd FOLDER`.
  package init(_ arguments: ArraySlice<String>) throws {
    var values: [String: String] = [:]
    var rest = arguments
    while let argument = rest.popFirst() {
      if argument.hasPrefix("--") { values[argument] = rest.popFirst() } else { values["source"] = argument }
    }
    guard let source = values["source"], let module = values["--module"], let swift = values["--swift"],
      let momd = values["--momd"]
    else { throw UsageError(Self.usage) }
    self.init(
      source: URL(fileURLWithPath: source), module: module, swiftFile: URL(fileURLWithPath: swift),
      momd: URL(fileURLWithPath: momd))
  }

  package func run() throws {
    let (files, current) = try CompiledModel.files(of: source, module: module)
    let text = try ModelSource(current, name: momd.deletingPathExtension().lastPathComponent).text()
    try FileManager.default.createDirectory(at: momd, withIntermediateDirectories: true)
    for (name, data) in files { try write(data, to: momd.appendingPathComponent(name)) }
    for name in try FileManager.default.contentsOfDirectory(atPath: momd.path) where files[name] == nil {
      try FileManager.default.removeItem(at: momd.appendingPathComponent(name))
    }
    try write(Data(text.utf8), to: swiftFile)
  }

  /// Leaves a file with the same content untouched, so that nothing that depends on it is built again.
  private func write(_ data: Data, to file: URL) throws {
    guard FileManager.default.contents(atPath: file.path) != data else { return }
    try data.write(to: file, options: .atomic)
  }
}

/// The error for unknown arguments. The build plugin never passes any.
package struct UsageError: Error, CustomStringConvertible {
  let usage: String
  package init(_ usage: String) { self.usage = usage }
  package var description: String { "usage: \(usage)" }
}
