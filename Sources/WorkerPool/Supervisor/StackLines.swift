/// What a worker prints when it is asked where its threads are, before it is killed.
struct StackLines: Equatable, Sendable {
  /// Bytes that are kept.
  static let longest = 16_384

  private(set) var lines: [String] = []
  private var size = 0

  /// Adds a line, unless there is no room.
  mutating func add(_ line: String) {
    guard size + line.utf8.count < Self.longest else { return }
    size += line.utf8.count + 1
    lines.append(line)
  }
}
