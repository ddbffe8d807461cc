import Foundation
import ModelFiles

@testable import ClassGenerator

/// A model file of one version in a folder of its own, which goes with the object.
final class TemporaryModel {
  let folder = FileManager.default.temporaryDirectory.appendingPathComponent("model-\(UUID().uuidString)")
  var file: URL { folder.appendingPathComponent("Model.xcdatamodel") }

  /// - Parameter body: What is inside of `<model>`, from its first line on.
  init(_ body: String) throws {
    try FileManager.default.createDirectory(at: file, withIntermediateDirectories: true)
    try write(body)
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  func write(_ body: String) throws {
    try Data("<model>\(body)</model>".utf8).write(to: file.appendingPathComponent("contents"))
  }

  /// What the compiler makes of it.
  func source() throws -> String { try ModelSource(ModelFile(file).document(), name: "Model").text() }
}
