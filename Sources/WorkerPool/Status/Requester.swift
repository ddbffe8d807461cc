import PoolClient

/// Who asks the pool for a change, for the log: rights hang on the user alone, whom the kernel names.
struct Requester: Equatable {
  let userID: UInt32
  /// Nil where it is not known.
  let userName: String?
  /// Who is logged in at a web program, as that program says; empty for a person without a name. Nil for a command
  /// line.
  let webUser: String?

  /// As in "by user 1000 (anna)".
  var text: String {
    let user = "user \(userID)" + (userName.map { " (\($0))" } ?? "")
    guard let webUser else { return "by \(user)" }
    return (webUser.isEmpty ? "" : "by \(webUser) ") + "through the web program of \(user)"
  }

  var fields: [LogField] {
    [.userID(userID)] + (userName.map { [.user($0)] } ?? []) + (webUser.map { [.webUser($0)] } ?? [])
  }
}
