import Foundation
import TestFiles
import Testing

@testable import WorkerPoolWeb

/// The file of `--token-file`.
@Suite struct TokenFileTests {
  private let a = String(repeating: "a", count: 32)
  private let b = "B-._~+/=" + String(repeating: "b", count: 24)

  /// - Parameter credentials: the directory of systemd's credentials; nil for the one in which the file lies.
  private func read(
    _ text: String, mode: mode_t = 0o600, credentials: String? = "/nowhere"
  ) throws -> AccessTokens {
    let file = temporaryURL("tokens")
    defer { try? FileManager.default.removeItem(at: file) }
    try text.write(to: file, atomically: false, encoding: .utf8)
    #expect(chmod(file.path, mode) == 0)
    do {
      return try AccessTokens(
        file: file.path, credentials: credentials ?? file.deletingLastPathComponent().path + "/")
    } catch {
      throw Refusal(text: "\(error)".replacingOccurrences(of: file.path, with: "FILE"))
    }
  }

  private struct Refusal: Error, Equatable { let text: String }

  @Test func eachLineIsATokenWithARoleAndAName() throws {
    let tokens = try read(
      """
      # those of the team
      \(a)

        \(b)\tlook   wall  display  # in the hall\r
      \(a)1 operate # nobody
      """)
    #expect(tokens.all.map(\.secret) == [a, b, a + "1"])
    #expect(tokens.all.map(\.role) == [.operate, .look, .operate])
    #expect(tokens.all.map(\.name) == [nil, "wall display", nil])
    #expect(tokens.printed == nil)
    #expect(tokens.token(b)?.role == .look)
    for wrong in [String(a.dropLast()), a + "2", "", b.lowercased()] { #expect(tokens.token(wrong) == nil) }
  }

  @Test func aBadLineIsNamedWithoutItsSecret() throws {
    let short = String(repeating: "s", count: 31)
    let role = "FILE, line 1: the word behind the token must be its role, look or operate; a name comes after the role"
    for (text, reason) in [
      (
        "\n\(short)",
        "FILE, line 2: the token has 31 characters; it must have 32 to 512, as from: openssl rand -hex 32"
      ),
      ("\(a) \(b)", role), ("\(a) Operate", role), ("\(a) Anna operate", role),
      ("\(a)\n# \n\(a) look", "FILE, line 3: the token is that of line 1"),
      ("\(a)ä", "FILE, line 1: a token has letters, digits and - . _ ~ + / = only"),
      (
        "\(a) look \(String(repeating: "n", count: 65))",
        "FILE, line 1: a name has at most 64 characters, without control characters"
      ),
      ("\(a) look a\u{1B}[2J", "FILE, line 1: a name has at most 64 characters, without control characters"),
      ("# nothing\n", "FILE has no token"),
      ("", "FILE has no token"),
    ] {
      #expect(throws: Refusal(text: reason)) { try read(text) }
    }
  }

  @Test func aFileThatOthersMayReadIsRefused() throws {
    for mode: mode_t in [0o640, 0o604, 0o660, 0o602, 0o644] {
      #expect(throws: Refusal(text: "FILE may be read or written by other users: chmod 600 it")) {
        try read(a, mode: mode)
      }
    }
    #expect(try read(a, mode: 0o400).all.count == 1)
    let missing = temporaryURL("tokens").path
    #expect(throws: TokenFileError.self) { try AccessTokens(file: missing) }
  }

  /// systemd gives a service's user the right to read a file of root, which shows as a right of the group.
  @Test func aCredentialOfSystemdMayBeReadByItsGroup() throws {
    for mode: mode_t in [0o400, 0o440] { #expect(try read(a, mode: mode, credentials: nil).all.count == 1) }
    for mode: mode_t in [0o444, 0o460, 0o450] {
      #expect(throws: Refusal(text: "FILE may be read or written by other users: chmod 600 it")) {
        try read(a, mode: mode, credentials: nil)
      }
    }
    #expect(throws: Refusal.self) { try read(a, mode: 0o440, credentials: "/") }
  }
}
