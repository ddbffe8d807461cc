/// Ends the process with the sentence where the condition does not hold, in optimised builds too: `precondition` is silent there.
@inline(__always)
func require(_ condition: Bool, _ sentence: @autoclosure () -> String) {
  if !condition { fatalError(sentence()) }
}
