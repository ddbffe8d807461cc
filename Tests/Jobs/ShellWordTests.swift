import Foundation
import Testing

@testable import Jobs

/// The shell itself says what it makes of a word.
@Suite struct ShellWordTests {
  @Test(arguments: [
    "plain", "/var/lib/app.sqlite", "postgres:///app?schema=a&b", "with space", "it's", "'", "", "$HOME `id` \"x\"",
    "~", "a\nb", "*", "ü", "-n", "a;b|c>d(e)#f!g\\h",
  ])
  func theShellReadsTheText(text: String) throws {
    let shell = Process()
    shell.executableURL = URL(fileURLWithPath: "/bin/sh")
    shell.arguments = ["-c", "printf '%s.' \(ShellWord.quoted(text))"]
    let output = Pipe()
    shell.standardOutput = output
    try shell.run()
    let read = try output.fileHandleForReading.readToEnd()
    shell.waitUntilExit()
    #expect(String(decoding: read ?? Data(), as: UTF8.self) == text + ".")
  }

  @Test func aPlainWordStaysReadable() {
    #expect(ShellWord.quoted("/srv/app-1/queue_2") == "/srv/app-1/queue_2")
  }
}
