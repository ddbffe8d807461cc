import Foundation
import Testing

/// The Swift compiler that built the tests.
enum Compiler {
  struct Diagnostic: CustomStringConvertible {
    let line: Int
    let text: String
    var description: String { "line \(line): \(text)" }
  }

  /// The errors and warnings for a file that is compiled against the module under test, through the passes that find
  /// data races.
  static func diagnostics(of file: URL, inSwift version: Int = 6) throws -> [Diagnostic] {
    let package = URL(fileURLWithPath: #filePath).pathComponents.dropLast(5).joined(separator: "/").dropFirst()
    let products = try #require(Bundle.main.executableURL).deletingLastPathComponent()
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [
      "swiftc", "-swift-version", String(version), "-emit-sil", "-o", "/dev/null", "-I", products.path + "/Modules",
      "-I", "\(package)/Sources/CSQLite", "-I", "\(package)/Sources/CZlib", "-I", "\(package)/Sources/CSystem",
      file.path,
    ]
    let pipe = Pipe()
    process.standardError = pipe
    process.standardOutput = FileHandle.nullDevice
    try process.run()
    let output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    let place = try Regex<(Substring, Substring, Substring, Substring)>(
      "^\(NSRegularExpression.escapedPattern(for: file.path)):(\\d+):\\d+: (error|warning): (.*)$")
    return try output.split(separator: "\n").compactMap { text in
      if text.hasPrefix("<unknown>") || text.contains("missing required module") {
        throw CompilerFailure(output: output)
      }
      guard let match = text.wholeMatch(of: place), let line = Int(match.output.1) else { return nil }
      return Diagnostic(line: line, text: String(match.output.3))
    }
  }

  struct CompilerFailure: Error {
    let output: String
  }
}
