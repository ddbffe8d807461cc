import Foundation
import LinuxSystem

/// What a person who has logged in may do.
enum Role: String, CaseIterable, Sendable {
  /// See everything, and change nothing.
  case look
  /// See everything, and change the pool and its jobs.
  case operate
}

/// A secret that logs in everyone who has it.
struct AccessToken: Sendable {
  let secret: String
  var role: Role
  /// Who has it; nil when nobody is named.
  let name: String?
}

/// The tokens of a program: those of a file, or a random one that is printed.
struct AccessTokens: Sendable {
  let all: [AccessToken]
  /// The random one.
  let printed: AccessToken?

  init(_ all: [AccessToken]) {
    self.all = all
    printed = nil
  }

  /// A random token, which lives as long as the program.
  static func random() -> AccessTokens {
    let token = AccessToken(secret: Secret.random(), role: .operate, name: nil)
    return AccessTokens([token], printed: token)
  }

  private init(_ all: [AccessToken], printed: AccessToken) {
    self.all = all
    self.printed = printed
  }

  /// The token that a request has. It is compared with all of them, in a time that tells nothing about any.
  func token(_ shown: String) -> AccessToken? {
    all.reduce(nil) { found, token in Secret.isSame(shown, token.secret) ? token : found }
  }
}

// MARK: - The file

extension AccessTokens {
  /// Fewer characters can be guessed.
  private static let shortest = 32
  private static let longestSecret = 512
  private static let longestName = 64
  private static let longestFile = 1 << 20

  /// Reads a file with a token on each line, its role and the name of who has it. Without a role it is `operate`.
  ///
  ///     # made by: openssl rand -hex 32
  ///     8d969eef6ecad3c29a3a629280e686cf0c3f5d5a86aff3ca12020c923adc6c92 operate Anna
  ///     0c5a…                                                            look    wall display
  ///
  /// - Parameters:
  ///   - path: a file of this user or of root, which nobody else may read.
  ///   - credentials: the directory in which systemd hands files to this service alone, of any mode without writing
  ///     (https://systemd.io/CREDENTIALS/). Default: that of the environment.
  init(
    file path: String, credentials: String? = ProcessInfo.processInfo.environment["CREDENTIALS_DIRECTORY"]
  ) throws(TokenFileError) {
    let file: GuardedFile
    let bytes: [UInt8]
    do throws(GuardedFile.Refusal) {
      file = try GuardedFile(path, path: path, links: .followed)
      bytes = try file.bytes(atMost: Self.longestFile)
    } catch {
      throw TokenFileError(path: path, reason: "\(error)")
    }
    guard file.isOwn else {
      let owner = file.status.st_uid
      throw TokenFileError(path: path, reason: "belongs to user \(owner); it must belong to this user or to root")
    }
    // The group's bits there are the mask of an access control list, which names the service's user (acl(5)).
    let isCredential = credentials.map { Self.isFile(path, in: $0) } ?? false
    guard file.status.st_mode & (isCredential ? 0o037 : 0o077) == 0 else {
      let advice =
        file.status.st_uid == geteuid()
        ? "chmod 600 it"
        : "make it this user's, with mode 600, or let systemd hand it over with LoadCredential="
      throw TokenFileError(path: path, reason: "may be read or written by other users: \(advice)")
    }
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw TokenFileError(path: path, reason: "is not text in UTF-8")
    }
    var tokens: [AccessToken] = []
    var lines: [String: Int] = [:]
    for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
      func wrong(_ reason: String) -> TokenFileError { TokenFileError(path: path, line: index + 1, reason: reason) }
      // A word that begins so begins a comment.
      let words = line.split(whereSeparator: \.isWhitespace).prefix { !$0.hasPrefix("#") }
      guard let secret = words.first.map(String.init) else { continue }
      // No message shows a part of a secret.
      guard secret.utf8.allSatisfy(Secret.isAllowed) else {
        throw wrong("a token has letters, digits and - . _ ~ + / = only")
      }
      guard (Self.shortest...Self.longestSecret).contains(secret.utf8.count) else {
        let count = secret.utf8.count
        throw wrong(
          "the token has \(count) characters; it must have \(Self.shortest) to \(Self.longestSecret), as from: "
            + "openssl rand -hex 32")
      }
      if let other = lines.updateValue(index + 1, forKey: secret) {
        throw wrong("the token is that of line \(other)")
      }
      let role = words.dropFirst().first.map(String.init) ?? Role.operate.rawValue
      guard let role = Role(rawValue: role) else {
        let roles = Role.allCases.map(\.rawValue).joined(separator: " or ")
        throw wrong("the word behind the token must be its role, \(roles); a name comes after the role")
      }
      let name = words.dropFirst(2).joined(separator: " ")
      guard name.count <= Self.longestName,
        name.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control })
      else { throw wrong("a name has at most \(Self.longestName) characters, without control characters") }
      tokens.append(AccessToken(secret: secret, role: role, name: name.isEmpty ? nil : name))
    }
    guard !tokens.isEmpty else { throw TokenFileError(path: path, reason: "has no token") }
    self.init(tokens)
  }

  private static func isFile(_ path: String, in directory: String) -> Bool {
    let parent = URL(fileURLWithPath: path).deletingLastPathComponent().path
    return FileID(path: parent).map { $0 == FileID(path: directory) } ?? false
  }
}

/// Why a file with tokens is not used.
struct TokenFileError: Error, CustomStringConvertible {
  let path: String
  var line: Int?
  let reason: String

  var description: String { line.map { "\(path), line \($0): \(reason)" } ?? "\(path) \(reason)" }
}

/// Random texts that cannot be guessed.
enum Secret {
  /// 256 bits from the system.
  static func random() -> String {
    var generator = SystemRandomNumberGenerator()
    return (0..<4).map { _ in
      let digits = String(generator.next() as UInt64, radix: 16)
      return String(repeating: "0", count: 16 - digits.count) + digits
    }.joined()
  }

  /// Compares in a time that does not tell how much is right.
  static func isSame(_ one: String, _ other: String) -> Bool {
    let (one, other) = (Array(one.utf8), Array(other.utf8))
    guard one.count == other.count else { return false }
    return zip(one, other).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
  }

  /// What a token may have in the header Authorization (RFC 6750, section 2.1).
  static func isAllowed(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default: "-._~+/=".utf8.contains(byte)
    }
  }
}
