import Testing

/// Checks that a process that was expected to trap printed the reason.
package func expectSentence(_ result: ExitTest.Result?, _ parts: String...) {
  let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
  for part in parts { #expect(text.contains(part), "\(text.prefix(400))") }
}
