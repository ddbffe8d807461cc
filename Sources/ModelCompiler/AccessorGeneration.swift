import ClassGenerator
import Foundation
import ManagedAccessors

/// The scan of a module's sources for `@NSManaged`: Swift files in, one Swift file out.
struct AccessorGeneration {
  static let usage = "ModelCompiler accessors --module NAME --swift FILE SOURCE…"

  let module: String
  let swiftFile: URL
  let sources: [String]

  /// Reads `--module NAME --swift FILE SOURCE…`.
  init(_ arguments: ArraySlice<String>) throws {
    var values: [String: String] = [:]
    var sources: [String] = []
    var remainingArguments = arguments
    while let argument = remainingArguments.popFirst() {
      if argument.hasPrefix("--") {
        values[argument] = remainingArguments.popFirst()
      } else {
        sources.append(argument)
      }
    }
    guard let module = values["--module"], let swift = values["--swift"] else { throw CompilerUsage(Self.usage) }
    self.module = module
    self.swiftFile = URL(fileURLWithPath: swift)
    self.sources = sources
  }

  func run() throws {
    let files = try sources.map { path in
      (path: path, contents: try String(contentsOfFile: path, encoding: .utf8))
    }
    let source = AccessorSource(module: module, files: files)
    guard source.errors.isEmpty else { throw AccessorErrors(errors: source.errors) }
    let data = Data(source.text.utf8)
    // A file with the same content stays untouched, so that nothing that depends on it is built again.
    guard FileManager.default.contents(atPath: swiftFile.path) != data else { return }
    try data.write(to: swiftFile, options: .atomic)
  }
}

/// All errors of the scan, one on each line.
struct AccessorErrors: Error {
  let errors: [AccessorError]
  var text: String { errors.map(\.description).joined(separator: "\n") }
}
