/// Traps uses of a context or an object away from the context's queue, where it is switched on: by the launch argument
/// `-com.apple.CoreData.ConcurrencyDebug 1`, or an environment variable of that name; in debug builds it is on unless that says 0.
enum ConcurrencyDebug {
  static let isEnabled: Bool = {
    let name = "com.apple.CoreData.ConcurrencyDebug"
    let arguments = CommandLine.arguments
    if let index = arguments.firstIndex(of: "-" + name), index + 1 < arguments.count {
      return arguments[index + 1] != "0"
    }
    if let value = ProcessInfo.processInfo.environment[name] { return value != "0" }
    #if DEBUG
      return true
    #else
      return false
    #endif
  }()

  /// Traps unless the thread may use the object.
  static func check(_ object: NSManagedObject) {
    guard let context = object.reference?.context, !context.isOnItsQueue else { return }
    fatalError("\(object.objectID) was used \(violation(context)).")
  }

  /// Traps unless the thread may use the context.
  static func check(_ context: NSManagedObjectContext) {
    guard !context.isOnItsQueue else { return }
    fatalError("The context \(context.label) was used \(violation(context)).")
  }

  private static func violation(_ context: NSManagedObjectContext) -> String {
    let actual = PerformScope.isOnMainQueue ? "the main queue" : "another thread (\(Thread.current.name ?? "unnamed"))"
    let expected = context.concurrencyType == .mainQueueConcurrencyType ? "the main queue" : "the private queue"
    return "on \(actual), but belongs to \(expected) of \(context.label): use perform(_:) or performAndWait(_:)"
  }
}
