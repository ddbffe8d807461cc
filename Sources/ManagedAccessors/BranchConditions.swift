/// The conditions of the surrounding `#if` branches.
struct BranchConditions {
  /// For each surrounding `#if` the condition of the current branch, and those of the branches before it.
  private var branches: [(current: String, earlier: [String])] = []

  /// Goes past a directive: `#if`, `#elseif`, `#else` or `#endif`.
  mutating func pass(_ directive: String) {
    let parts = directive.split(separator: " ", maxSplits: 1).map(String.init)
    let condition = parts.count > 1 ? parts[1] : ""
    switch parts[0] {
    case "#if": branches.append((condition, []))
    case "#elseif", "#else":
      guard let branch = branches.popLast() else { return }
      branches.append((condition, branch.earlier + [branch.current]))
    default: _ = branches.popLast()
    }
  }

  /// The conditions that hold here, each in parentheses.
  var active: [String] {
    branches.flatMap { branch in
      branch.earlier.map { "!(\($0))" } + (branch.current.isEmpty ? [] : ["(\(branch.current))"])
    }
  }
}
