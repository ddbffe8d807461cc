import ModelFiles

/// The compilation of one model: reads its source, writes a Swift file and a compiled model, or one Swift file with
/// both.
package struct ModelCompilation {
  let source: URL
  let module: String
  let swiftFile: URL
  /// The folder of the compiled model; nil makes the model part of the Swift file.
  let momd: URL?

  package static let usage = "ModelCompiler model SOURCE --module NAME --swift FILE [--momd FOLDER]"

  package init(source: URL, module: String, swiftFile: URL, momd: URL?) {
    self.source = source
    self.module = module
    self.swiftFile = swiftFile
    self.momd = momd
  }

  /// Reads `SOURCE --module NAME --swift FILE [--momd FOLDER]`.
  package init(_ arguments: ArraySlice<String>) throws {
    var values: [String: String] = [:]
    var unreadArguments = arguments
    while let argument = unreadArguments.popFirst() {
      if argument.hasPrefix("--") { values[argument] = unreadArguments.popFirst() } else { values["source"] = argument }
    }
    guard let source = values["source"], let module = values["--module"], let swift = values["--swift"] else {
      throw CompilerUsage(Self.usage)
    }
    self.init(
      source: URL(fileURLWithPath: source), module: module, swiftFile: URL(fileURLWithPath: swift),
      momd: values["--momd"].map { URL(fileURLWithPath: $0) })
  }

  package func run() throws {
    let name = source.deletingPathExtension().lastPathComponent
    if let momd {
      let (files, current) = try CompiledModel.files(of: source, module: module)
      let text = try ModelSource(current, name: name).text()
      try write(files, into: momd)
      try write(Data(text.utf8), to: swiftFile)
    } else {
      let (compiled, current) = try CompiledModel.currentText(of: source, module: module)
      try write(Data(ModelSource(current, name: name, embedding: compiled).text().utf8), to: swiftFile)
    }
  }

  private func write(_ files: [String: Data], into momd: URL) throws {
    try FileManager.default.createDirectory(at: momd, withIntermediateDirectories: true)
    for (name, data) in files { try write(data, to: momd.appendingPathComponent(name)) }
    for name in try FileManager.default.contentsOfDirectory(atPath: momd.path) where files[name] == nil {
      try FileManager.default.removeItem(at: momd.appendingPathComponent(name))
    }
  }

  /// Leaves a file with the same content untouched, so that nothing that depends on it is built again.
  private func write(_ data: Data, to file: URL) throws {
    guard FileManager.default.contents(atPath: file.path) != data else { return }
    try data.write(to: file, options: .atomic)
  }
}

/// The error for unknown arguments of the model compiler. The build plugin never passes any.
package struct CompilerUsage: Error, CustomStringConvertible {
  let usage: String
  package init(_ usage: String) { self.usage = usage }
  package var description: String { "usage: \(usage)" }
}
