/// Traps any use of a context or an object outside the context's queue, if it is on: by the launch argument
/// `-com.apple.CoreData.ConcurrencyDebug 1`, or the environment variable `com.apple.CoreData.ConcurrencyDebug`.
///
/// Wrong use is a data race that mostly has no effect: a program that is tested without the switch may fail once in a
/// month. With it the first wrong use ends the process, in a debug build and in an optimised one, with a sentence that
/// names both queues.
///
/// Contexts test the switch in `checkQueue()`. Objects test a bit of their state (`isChecked`) that they get when they
/// are registered: without the switch, an access to a property costs no more than it does anyway, since one mask tests
/// for this bit and for faults.
enum ConcurrencyDebug {
  /// Read once, at the first use: the value is built into the state of each object that is registered.
  static let isEnabled = LaunchArgument.value("ConcurrencyDebug").map { $0 != "0" } ?? false

  /// Traps unless the current thread may use the object. An object without a context belongs to no queue and is not
  /// checked.
  static func check(_ object: NSManagedObject) {
    guard let context = object.reference?.context, !context.isOnItsQueue else { return }
    fatalError("\(object.objectID) was used \(violation(context)).")
  }

  /// Traps unless the current thread may use the context.
  static func check(_ context: NSManagedObjectContext) {
    guard !context.isOnItsQueue else { return }
    fatalError("The context \(context.label) was used \(violation(context)).")
  }

  /// "on QUEUE, but belongs to QUEUE of the context NAME: advice".
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

  /// Where the current thread is. A block of a private queue runs on a thread that libdispatch lends it, whose name
  /// says nothing: the chain of `perform` calls tells the context.
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
