import CoreData
import Foundation

/// Finds and reads a model.
public enum ModelLoader {
  /// The model at a path: `.xcdatamodeld`, `.xcdatamodel`, a compiled `.momd` or `.mom`, or any other name for an
  /// SQLite store, which keeps a copy of its model.
  ///
  /// ```swift
  /// let model = try ModelLoader.load("App.xcdatamodeld")
  /// let kept = try ModelLoader.load("app.sqlite")
  /// print(model.entities.count, kept.entities.count)
  /// ```
  ///
  /// - Throws: ``ModelLoaderError``.
  public static func load(_ path: String) throws(ModelLoaderError) -> NSManagedObjectModel {
    guard FileManager.default.fileExists(atPath: path) else { throw .noFile(path) }
    let url = URL(fileURLWithPath: path)
    guard isModelFile(path) else {
      do {
        try StoreFiles.requireRegular(path)
      } catch {
        throw .notKept(path, reason: error.reason)
      }
      // Nothing but SQLite may open a store's file: closing another descriptor would release the locks that SQLite has
      // on it for this process (sqlite.org/howtocorrupt.html, 2.2).
      do {
        return try NSPersistentStoreCoordinator.cachedModelForPersistentStore(at: url)
      } catch {
        if let obstacle = obstacle(path) { throw .unreadable(path, reason: obstacle) }
        // A store from before 2015 has all but the model.
        let metadata = try? NSPersistentStoreCoordinator.metadataForPersistentStore(ofType: NSSQLiteStoreType, at: url)
        throw metadata == nil ? .notKept(path, reason: (error as NSError).localizedDescription) : .noCopy(path)
      }
    }
    do {
      return try NSManagedObjectModel.load(contentsOf: url)
    } catch {
      throw .unreadable(path, reason: obstacle(path) ?? reason(error))
    }
  }

  /// Why this user cannot read the file, or the store in it; nil when that is not in the way. SQLite's own error would
  /// only say that it is unable to open the file.
  private static func obstacle(_ path: String) -> String? {
    if access(path, R_OK) != 0 { return "user \(geteuid()) may not read it: \(String(cString: strerror(errno)))" }
    guard !isModelFile(path) else { return nil }
    // SQLite makes the log and its index beside a store.
    let directory = URL(fileURLWithPath: path).resolvingSymlinksInPath().deletingLastPathComponent().path
    guard access(directory, W_OK | X_OK) != 0 else { return nil }
    return "SQLite may not write to its directory \(directory): \(String(cString: strerror(errno)))"
  }

  private static func reason(_ error: ManagedObjectModelError) -> String {
    error.line.map { "line \($0) of \(error.description)" } ?? error.description
  }

  /// Whether the path names a model's own file, by its extension.
  public static func isModelFile(_ path: String) -> Bool {
    ["xcdatamodeld", "xcdatamodel", "momd", "mom", "omo"].contains(URL(fileURLWithPath: path).pathExtension)
  }
}

/// Why there is no model.
public enum ModelLoaderError: Error, Hashable, Sendable, CustomStringConvertible {
  /// There is no file at the path.
  case noFile(String)
  /// The file at the path cannot be read as a model, for that reason.
  case unreadable(String, reason: String)
  /// The file at the path is a store that keeps no copy of its model.
  case noCopy(String)
  /// The file at the path is neither a model nor a store that keeps one.
  case notKept(String, reason: String)

  /// What happened, in one sentence.
  public var description: String {
    switch self {
    case .noFile(let path): "there is no model at \(path)"
    case .unreadable(let path, let reason): "\(path) cannot be read as a data model: \(reason)"
    case .noCopy(let path):
      "the store \(path) keeps no copy of its model, as those that frameworks before 2015 wrote: name the model's file "
        + "with --model"
    case .notKept(let path, let reason): "\(path) is neither a data model nor a store that keeps its model: \(reason)"
    }
  }
}
