internal import Glibc

/// On which contexts' behalf the current thread works: the chain of `perform` and `performAndWait` calls it is in.
///
/// Lets a nested call for a context that is already in the chain run inline instead of waiting for itself.
final class PerformScope {
  let context: NSManagedObjectContext
  let outer: PerformScope?

  private init(_ context: NSManagedObjectContext, outer: PerformScope?) {
    self.context = context
    self.outer = outer
  }

  /// Runs the body with the context on top of the chain `outer`.
  static func run<T>(_ context: NSManagedObjectContext, outer: PerformScope?, _ body: () throws -> T) rethrows -> T {
    let scope = PerformScope(context, outer: outer)
    let before = pthread_getspecific(key)
    pthread_setspecific(key, Unmanaged.passUnretained(scope).toOpaque())
    defer { pthread_setspecific(key, before) }
    return try withExtendedLifetime(scope) { try body() }
  }

  static var current: PerformScope? {
    pthread_getspecific(key).map { Unmanaged<PerformScope>.fromOpaque($0).takeUnretainedValue() }
  }

  /// The innermost context whose block runs on this thread.
  static var currentContext: NSManagedObjectContext? { current?.context }

  static func contains(_ context: NSManagedObjectContext) -> Bool {
    var scope = current
    while let next = scope {
      if next.context === context { return true }
      scope = next.outer
    }
    return false
  }

  private static let key: pthread_key_t = {
    var key: pthread_key_t = 0
    // Fails only when the process has used up all its keys, at the first use.
    precondition(pthread_key_create(&key, nil) == 0, "No thread-specific key is left for Core Data.")
    return key
  }()
}
