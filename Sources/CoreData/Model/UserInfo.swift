/// The values that a program keeps with an entity or a property. They may change while a model is in use, on any
/// thread.
///
/// Apple's documentation forbids changes of a model in use, except of user info, which programs keep notes in. So it is
/// the one thing of a description that needs a lock.
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
