/// Ends the process with the sentence if the condition is false. Optimised builds print it too, unlike
/// `precondition`'s.
@inline(__always)
func require(_ condition: Bool, _ sentence: @autoclosure () -> String) {
  if !condition { fatalError(sentence()) }
}
