import CoreData

/// What one pool tells another through the store that they share: a request or a reply, as on a status socket.
///
/// A row for each recipient, which deletes it when it has read it. The server announces the row, so it arrives within
/// milliseconds.
///
/// With one row for all pools each reader would have to note up to which key it has read, and would skip rows: each
/// pool reserves a block of keys at the server, so rows with lower keys are committed after rows with higher ones. With
/// a row of its own a recipient needs nothing but the row, and a pool that joins later gets nothing that was meant for
/// others. Pools are few.
public struct PoolNotice: Hashable, Sendable {
  /// The name of the entity.
  public static let entityName = "PoolNotice"

  /// The identity of the pool that tells it.
  public var sender: Int64
  /// The sender's number of a request, which the reply repeats; 0 for what needs no reply.
  public var ticket: Int64
  /// Whether it is a reply.
  public var isReply: Bool
  /// JSON, one object on a line.
  public var text: String

  /// Makes a notice.
  public init(sender: Int64, ticket: Int64 = 0, isReply: Bool = false, text: String) {
    self.sender = sender
    self.ticket = ticket
    self.isReply = isReply
    self.text = text
  }

  init(_ row: PoolNoticeRow) {
    self.init(sender: row.sender, ticket: row.ticket, isReply: row.isReply, text: row.text)
  }
}

extension JobStore {
  /// Tells pools something: a row for each. Saves. They hear of it by the server's announcement, within milliseconds; a
  /// pool that has just ended never reads it, and its rows are deleted with its own.
  ///
  /// ```swift
  /// let store = try JobStore(url: url, model: model)
  /// let others = try store.members(in: context).map(\.identity)
  /// try store.send(PoolNotice(sender: 1, text: #"{"command":"nudge"}"#), to: others, in: context)
  /// ```
  public func send(_ notice: PoolNotice, to recipients: [Int64], in context: NSManagedObjectContext) throws {
    guard !recipients.isEmpty else { return }
    for recipient in recipients {
      let row = PoolNoticeRow(context: context)
      row.recipient = recipient
      row.sender = notice.sender
      row.ticket = notice.ticket
      row.isReply = notice.isReply
      row.text = notice.text
    }
    try context.save()
  }

  /// Takes what other pools have told this one; notices of one sender come in its order. Saves before it returns, so a
  /// notice is read once at most: a pool that is killed then has lost it.
  public func takeNotices(for member: Int64, in context: NSManagedObjectContext) throws -> [PoolNotice] {
    let request = PoolNoticeRow.fetchRequest()
    request.predicate = NSPredicate(format: "recipient == %lld", member)
    request.sortDescriptors = [NSSortDescriptor(key: "objectID", ascending: true)]
    let rows = try context.fetch(request)
    guard !rows.isEmpty else { return [] }
    let notices = rows.map(PoolNotice.init)
    rows.forEach(context.delete)
    try context.save()
    return notices
  }

  /// Forgets what was told to pools that are gone. Saves.
  func forgetNotices(to gone: [Int64], in context: NSManagedObjectContext) throws {
    let request = PoolNoticeRow.fetchRequest()
    request.predicate = NSPredicate(format: "recipient IN %@", gone.map { NSNumber(value: $0) })
    let rows = try context.fetch(request)
    guard !rows.isEmpty else { return }
    rows.forEach(context.delete)
    try context.save()
  }
}
