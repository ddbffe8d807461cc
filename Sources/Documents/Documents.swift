import CoreData

/// The model that `worker-index` writes and the demo reads: documents, the words in them, and how often.
///
/// Term has no inverse relationship. With one, every job would write the row of a common word, and jobs would wait for
/// each other.
public enum DocumentsModel {
  /// The compiled model.
  public static var url: URL? { Bundle.module.url(forResource: "Documents", withExtension: "momd") }

  /// The entities and the names that their classes may have in a model, so that this module's classes are theirs.
  public static let classNames: [String: Set<String>] = Dictionary(
    uniqueKeysWithValues: ["Document", "Occurrence", "Term"].map { ($0, [$0, "Documents.\($0)"]) })
}
