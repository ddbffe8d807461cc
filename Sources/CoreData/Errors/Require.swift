/// Ends the process with the sentence if the condition is false. Optimised builds print it too, unlike
/// `precondition`'s.
///
/// It is for a programmer's mistakes that a caller outside of the module can make, such as an object of another
/// context. What only the module itself can get wrong is a `precondition`. The sentence is made when the condition is
/// false: it may cost what it likes.
@inline(__always)
func require(_ condition: Bool, _ sentence: @autoclosure () -> String) {
  if !condition { fatalError(sentence()) }
}
