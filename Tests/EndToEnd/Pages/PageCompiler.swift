import Foundation
import Testing

/// Compiles the Swift of a page against the package's modules, as they were built with the tests.
struct PageCompiler {
  private let place: TestPlace

  init(_ place: TestPlace) { self.place = place }

  /// Adds the classes that the build plugin would make of a model.
  ///
  /// - Parameter path: that of the model's `contents`.
  func add(model text: String, at path: String) throws {
    try place.write(text, to: path)
    let model = place.url.appendingPathComponent(path).deletingLastPathComponent()
    let outer = model.deletingLastPathComponent()
    let source = outer.pathExtension == "xcdatamodeld" ? outer : model
    let name = source.deletingPathExtension().lastPathComponent
    try FileManager.default.createDirectory(atPath: place.path("generated"), withIntermediateDirectories: true)
    let made = try run(
      Built.path("ModelCompiler"),
      ["model", source.path, "--module", "Page", "--swift", place.path("generated/\(name).swift")])
    try #require(made.code == 0, "\(made.errors)")
  }

  /// What the compiler finds wrong with a file; empty if nothing is.
  func errors(in text: String) throws -> String {
    let isProgram = !text.contains("@main")
    let file = try place.write(text, to: "snippet/main.swift")
    let generated = (try? FileManager.default.contentsOfDirectory(atPath: place.path("generated"))) ?? []
    let headers = try FileManager.default.contentsOfDirectory(
      atPath: DocumentationPage.package.appendingPathComponent("Sources").path
    ).filter { $0.hasPrefix("C") }.flatMap { ["-I", DocumentationPage.package.path + "/Sources/" + $0] }
    let compiled = try run(
      "/usr/bin/env",
      ["swiftc", "-typecheck", "-swift-version", "6", "-module-name", "Page", "-I", Built.directory + "/Modules"]
        + headers + (isProgram ? [] : ["-parse-as-library"]) + [file]
        + generated.map { place.path("generated/" + $0) })
    guard compiled.code != 0 else { return "" }
    let errors = compiled.errors.split(separator: "\n").filter { $0.contains("error:") }
    return errors.isEmpty ? compiled.errors : errors.joined(separator: "\n")
  }
}
