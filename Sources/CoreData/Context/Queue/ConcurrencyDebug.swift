/// Traps any use of a context or an object outside the context's queue, if it is on: by the launch argument
/// `-com.apple.CoreData.ConcurrencyDebug 1`, or an environment variable with this name.
enum ConcurrencyDebug {
  static let isEnabled = LaunchArgument.value("ConcurrencyDebug").map { $0 != "0" } ?? false

  /// Traps unless the current thread may use the object.
  static func check(_ object: NSManagedObject) {
    guard let context = object.reference?.context, !context.isOnItsQueue else { return }
    fatalError("\(object.objectID) was used \(violation(context)).")
  }

  /// Traps unless the current thread may use the context.
  static func check(_ context: NSManagedObjectContext) {
    guard !context.isOnItsQueue else { return }
    fatalError("The context \(context.label) was used \(violation(context)).")
  }

  private static func violation(_ context: NSManagedObjectContext) -> String {
    let advice =
      context.concurrencyType == .confinementConcurrencyType
      ? "make a context of its own on each thread" : "use perform(_:) or performAndWait(_:)"
    return "on \(actual), but belongs to \(expected(context)) of the context \(context.label): \(advice)"
  }

  private static func expected(_ context: NSManagedObjectContext) -> String {
    switch context.concurrencyType {
    case .mainQueueConcurrencyType: "the main queue"
    case .privateQueueConcurrencyType: "the private queue"
    case .confinementConcurrencyType: "the thread \(context.confinementThread?.label ?? "that made it")"
    }
  }

  private static var actual: String {
    if let context = PerformScope.currentContext, context.concurrencyType == .privateQueueConcurrencyType {
      return "the private queue of the context \(context.label)"
    }
    if PerformScope.isOnMainQueue { return "the main queue" }
    return "the thread \(Thread.current.label), which is on no context's queue"
  }
}

extension Thread {
  /// For messages.
  fileprivate var label: String {
    if isMainThread { return "main" }
    if let name, !name.isEmpty { return "\"\(name)\"" }
    return "without a name"
  }
}
