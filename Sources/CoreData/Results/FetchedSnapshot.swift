/// The results of a request at one moment, as `NSManagedObjectContext.values(for:)` gives them: a collection of the
/// values in the request's order, with what changed since the element before. An addition to Apple's API.
///
/// ```swift
/// let request = NSFetchRequest<Book>(entityName: "Book")
/// request.sortDescriptors = [NSSortDescriptor(key: "title", ascending: true)]
/// for try await titles in context.values(for: request, { $0.title ?? "" }) {
///   print(titles.count, titles.first ?? "")
///   for change in titles.difference {
///     switch change {
///     case .insert(let offset, let id, _): print("new at", offset, id.uriRepresentation())
///     case .remove(let offset, _, _): print("gone from", offset)
///     }
///   }
/// }
/// ```
///
/// It never changes. It is `Sendable` if its values are.
///
/// A program that keeps a list of its own applies `difference` to it, and takes the values of `updatedIDs` anew. One
/// that shows the whole takes the collection as it is.
public struct FetchedSnapshot<Value>: RandomAccessCollection {
  /// The values, in the request's order.
  ///
  /// As the closure made them, once for each element of the sequence: a change of one object calls the closure for all.
  public let values: [Value]
  /// The IDs of the objects that the values are of, at the same places. That of an object that was not saved yet is
  /// temporary; its save brings another element, with the permanent ID.
  ///
  /// Use them to find the objects in another context, or as stable identities of rows.
  public let objectIDs: [NSManagedObjectID]
  /// The objects whose values were changed, or refreshed, since the element before, and that are still here.
  ///
  /// ```swift
  /// let request = NSFetchRequest<Book>(entityName: "Book")
  /// for try await titles in context.values(for: request, { $0.title ?? "" }) {
  ///   for (id, title) in zip(titles.objectIDs, titles.values) where titles.updatedIDs.contains(id) {
  ///     print("now", title)
  ///   }
  /// }
  /// ```
  ///
  /// Empty in the first element. An object whose other properties changed is here although its value may be equal.
  public let updatedIDs: Set<NSManagedObjectID>
  /// The IDs of the element before.
  private let previousIDs: [NSManagedObjectID]

  init(
    _ values: [Value], _ objectIDs: [NSManagedObjectID], previousIDs: [NSManagedObjectID],
    updatedIDs: Set<NSManagedObjectID>
  ) {
    self.values = values
    self.objectIDs = objectIDs
    self.previousIDs = previousIDs
    self.updatedIDs = updatedIDs
  }

  /// The insertions and removals that turn the IDs of the element before into these; a move is an associated pair. In
  /// the first element all are insertions. An object that only has other values is not in it: see `updatedIDs`.
  ///
  /// Keep it in a constant: each access computes it again, in time proportional to the number of IDs times the number
  /// of differences. Two lists of 10,000 IDs that differ in ten places take some 100,000 comparisons (Myers, "An O(ND)
  /// Difference Algorithm and Its Variations", 1986).
  public var difference: CollectionDifference<NSManagedObjectID> {
    objectIDs.difference(from: previousIDs).inferringMoves()
  }

  /// 0.
  public var startIndex: Int { 0 }
  /// The number of values.
  ///
  /// `count` says the same.
  public var endIndex: Int { values.count }
  /// The value at a place.
  ///
  /// Traps beyond the end, as an array does. O(1).
  public subscript(position: Int) -> Value { values[position] }
}

extension FetchedSnapshot: Sendable where Value: Sendable {}
