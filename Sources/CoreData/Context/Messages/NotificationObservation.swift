/// Calls a block for each notification of one name, as long as this object lives.
///
/// It may be freed anywhere, also while Foundation frees another observer's block, which it does inside its lock. So
/// `deinit` calls the notification centre on another queue. Until then the block is not called any more.
///
/// `@unchecked Sendable`: `token` is set in the initialiser and read in `deinit`, when no other reference exists.
final class NotificationObservation: @unchecked Sendable {
  /// Not a global queue, which would wake the process once a second from then on: see ``DispatchTimers``.
  private static let endings = DispatchQueue(label: "ends of observations")
  private let center: NotificationCenter
  private var token: (any NSObjectProtocol)?

  /// Observes from now on.
  ///
  /// - Parameters:
  ///   - object: the poster; nil for all.
  ///   - block: called on the poster's thread. It must not retain the owner of this object.
  init(
    of name: Notification.Name, from object: Any?, in center: NotificationCenter = .default,
    _ block: @escaping @Sendable (Notification) -> Void
  ) {
    self.center = center
    token = center.addObserver(forName: name, object: object, queue: nil) { [weak self] in
      if self != nil { block($0) }
    }
  }

  deinit {
    // `nonisolated(unsafe)`: only the block below has it.
    nonisolated(unsafe) let token = token
    Self.endings.async { [center] in token.map(center.removeObserver) }
  }
}
