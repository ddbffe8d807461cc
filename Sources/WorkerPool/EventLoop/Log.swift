import Foundation
import Glibc

/// Where the pool says what it does: one line for each thing, for people. Values of objects never come here.
public struct Log: Sendable {
  private let write: @Sendable (String) -> Void

  /// Hands each line, without a newline, to `write`, which may be called on any thread.
  public init(_ write: @escaping @Sendable (String) -> Void) {
    self.write = write
  }

  /// Lines with the time in UTC go to standard error, each in one write.
  public static let standardError = Log { line in
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    var parts = tm()
    gmtime_r(&now.tv_sec, &parts)
    var stamp = [CChar](repeating: 0, count: 32)
    strftime(&stamp, stamp.count, "%H:%M:%S", &parts)
    let milliseconds = String(now.tv_nsec / 1_000_000 + 1000).dropFirst()
    var text =
      "\(String(decoding: stamp.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)).\(milliseconds) \(line)\n"
    text.withUTF8 { _ = Glibc.write(2, $0.baseAddress, $0.count) }
  }

  /// Says nothing.
  public static let silent = Log { _ in }

  /// Writes a line.
  public func callAsFunction(_ line: String) { write(line) }
}
