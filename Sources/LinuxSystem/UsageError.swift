/// The arguments of a program are wrong: which, and what was probably meant.
package struct UsageError: Error, CustomStringConvertible {
  package let description: String

  package init(_ description: String) { self.description = description }
}
