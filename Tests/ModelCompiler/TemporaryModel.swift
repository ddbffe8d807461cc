import Foundation
import ModelFiles
import TestFiles

@testable import ClassGenerator

/// A model file of one version in a temporary folder, which is removed with the object.
final class TemporaryModel {
  let folder = temporaryURL("model")
  var file: URL { folder.appendingPathComponent("Model.xcdatamodel") }

  /// - Parameter body: the content of the element `<model>`.
  init(_ body: String) throws {
    try FileManager.default.createDirectory(at: file, withIntermediateDirectories: true)
    try write(body)
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  func write(_ body: String) throws {
    try Data("<model>\(body)</model>".utf8).write(to: file.appendingPathComponent("contents"))
  }

  /// The Swift source that the compiler generates.
  func source() throws -> String { try ModelSource(ModelFile(file).document(), name: "Model").text() }
}
