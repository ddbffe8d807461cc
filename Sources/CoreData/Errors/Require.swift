/// Ends the process with the sentence if the condition is false. Optimised builds print it too, unlike
/// `precondition`'s.
///
/// It is for mistakes of callers outside the module, such as passing an object of another context. Mistakes that only
/// the module can make are tested with `precondition`. The sentence is made only if the condition is false.
@inline(__always)
func require(_ condition: Bool, _ sentence: @autoclosure () -> String) {
  if !condition { fatalError(sentence()) }
}
