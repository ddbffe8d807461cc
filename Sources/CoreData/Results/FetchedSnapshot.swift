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
public struct FetchedSnapshot<Value>: RandomAccessCollection {
  /// The values, in the request's order.
  public let values: [Value]
  /// The IDs of the objects that the values are of, at the same places. That of an object that was not saved yet is
  /// temporary; its save brings another element, with the permanent ID.
  public let objectIDs: [NSManagedObjectID]
  /// The objects whose values were changed, or refreshed, since the element before, and that are still here.
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

  /// What leads from the IDs of the element before to these: insertions, removals, and moves as pairs of both. Of the
  /// first element all are insertions. An object that only has other values is not in it: see `updatedIDs`.
  ///
  /// It is computed when it is asked for, in time proportional to the number of IDs and to the number of differences
  /// between them.
  public var difference: CollectionDifference<NSManagedObjectID> {
    objectIDs.difference(from: previousIDs).inferringMoves()
  }

  /// 0.
  public var startIndex: Int { 0 }
  /// The number of values.
  public var endIndex: Int { values.count }
  /// The value at a place.
  public subscript(position: Int) -> Value { values[position] }
}

extension FetchedSnapshot: Sendable where Value: Sendable {}
