import CoreData
import Jobs

/// Finds and reads a model file.
public enum ModelFile {
  /// The model at a path: `.xcdatamodeld`, `.xcdatamodel`, or a compiled `.momd` or `.mom`.
  ///
  /// - Throws: ``ModelFileError``.
  public static func load(_ path: String) throws -> NSManagedObjectModel {
    guard FileManager.default.fileExists(atPath: path) else { throw ModelFileError.noFile(path) }
    guard let model = NSManagedObjectModel(contentsOf: URL(fileURLWithPath: path)) else {
      throw ModelFileError.unreadable(path)
    }
    return model
  }
}

/// Why there is no model.
public enum ModelFileError: Error, Hashable, Sendable, CustomStringConvertible {
  /// There is no file at the path.
  case noFile(String)
  /// The file at the path is not a model.
  case unreadable(String)

  /// What happened, in one sentence.
  public var description: String {
    switch self {
    case .noFile(let path): "there is no model at \(path)"
    case .unreadable(let path): "\(path) is not a model that can be read"
    }
  }
}
