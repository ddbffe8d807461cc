import CoreData

/// The model that `worker-index` writes and the demo reads: documents, the words in them, and how often.
///
/// Term has no inverse relationship. With one, every job would write the row of a common word, and jobs would wait for
/// each other.
public enum DocumentsModel {
  /// Writes the compiled model into a file, for a program that takes the path of a model.
  ///
  /// The model is part of this module's code: a program that is copied elsewhere has no resources beside it.
  ///
  /// - Parameter url: a file that ends in `.mom`.
  public static func write(to url: URL) throws { try EmbeddedModel.documents.write(to: url) }

  /// The entities and the names that their classes may have in a model, so that this module's classes are theirs.
  public static let classNames: [String: Set<String>] = Dictionary(
    uniqueKeysWithValues: ["Document", "Occurrence", "Term"].map { ($0, [$0, "Documents.\($0)"]) })
}
