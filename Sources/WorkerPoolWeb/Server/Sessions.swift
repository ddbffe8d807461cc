import LinuxSystem
import Synchronization

/// Who has logged in: what pages show them and do for them.
struct Visitor: Sendable {
  /// In the cookie of their browser.
  let session: String
  /// In each form of their pages: a page that has it was made by this server for them.
  let formKey: String
  let role: Role
  let name: String?

  var isReadOnly: Bool { role == .look }
  /// For the pool's log.
  var loggedName: String { name ?? "" }
}

/// Those who have logged in. They are kept in memory, so that the end of the program logs all of them out.
final class Sessions: Sendable {
  private struct Session {
    let visitor: Visitor
    var usedAt: Double
  }

  /// The session that was used least recently makes room for one more.
  static let most = 1000

  private let sessions = Mutex<[String: Session]>([:])
  /// Seconds from the last use of a session to its end.
  private let lifetime: Double
  private let now: @Sendable () -> Double

  /// - Parameter now: seconds of a clock that is never set.
  init(lifetime: Double, now: @escaping @Sendable () -> Double = { Clock.now }) {
    self.lifetime = lifetime
    self.now = now
  }

  /// Logs a person in.
  func begin(with token: AccessToken) -> Visitor {
    let visitor = Visitor(
      session: Secret.random(), formKey: Secret.random(), role: token.role, name: token.name)
    let now = now()
    sessions.withLock { sessions in
      if sessions.count >= Self.most {
        sessions = sessions.filter { now - $0.value.usedAt < lifetime }
      }
      if sessions.count >= Self.most, let oldest = sessions.min(by: { $0.value.usedAt < $1.value.usedAt }) {
        sessions[oldest.key] = nil
      }
      sessions[visitor.session] = Session(visitor: visitor, usedAt: now)
    }
    return visitor
  }

  /// Whose session it is; nil for one that has ended. This is a use of it.
  func use(_ session: String) -> Visitor? {
    let now = now()
    return sessions.withLock { sessions in
      guard let entry = sessions[session] else { return nil }
      guard now - entry.usedAt < lifetime else {
        sessions[session] = nil
        return nil
      }
      sessions[session]?.usedAt = now
      return entry.visitor
    }
  }

  /// Logs a person out.
  func end(_ session: String) { _ = sessions.withLock { $0.removeValue(forKey: session) } }
}
