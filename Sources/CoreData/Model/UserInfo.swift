/// The values that a program keeps with an entity or a property. They may change while a model is in use, on any
/// thread.
///
/// All other settings of a model in use are immutable, as Apple's documentation demands, so only this one needs a lock.
///
/// `@unchecked Sendable`: used under the lock. The values are the program's own.
final class UserInfo: @unchecked Sendable {
  private let lock = NSLock()
  private var stored: [AnyHashable: Any]? = [:]

  var values: [AnyHashable: Any]? {
    get { lock.withLock { stored } }
    set { lock.withLock { stored = newValue } }
  }
}
