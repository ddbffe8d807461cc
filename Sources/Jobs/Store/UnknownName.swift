/// A name that is not known, with the known name that was probably meant.
///
/// The one place that decides this: for the names that a running pool is asked about, for those of its options, and for
/// those by which people choose jobs in a store.
public struct UnknownName: Codable, Equatable, Sendable {
  /// `kind`, `plugin`, `queue` or `batch`.
  public var what: String
  /// The name, as it was asked for.
  public var name: String
  /// The name that was probably meant.
  public var nearest: String?

  /// Nil for a name that is among the known ones.
  ///
  /// ```text
  /// kind imprt        known: import            imprt; did you mean import?
  /// queue page-18     known: page-17           page-18, and no hint: numbered names are new ones
  /// ```
  package init?(_ what: String, _ name: String, among known: some Sequence<String>) {
    var candidates: [String] = []
    // Queues and batches are numbered: a customer's, a page's. Such a name is a new one.
    let areNumbered = ["queue", "batch"].contains(what)
    for candidate in known {
      if candidate == name { return nil }
      if !areNumbered || !Self.differInNumbersOnly(candidate, name) { candidates.append(candidate) }
    }
    self.what = what
    self.name = name
    nearest = Spelling.nearest(to: name, among: candidates)
  }

  /// The name that was probably meant, as the end of a sentence: "; did you mean NAME?". Empty when no known name is
  /// near.
  public var hint: String { Spelling.hint(nearest) }

  private static func differInNumbersOnly(_ one: String, _ other: String) -> Bool {
    one.replacing(#/[0-9]+/#, with: "0") == other.replacing(#/[0-9]+/#, with: "0")
  }
}
