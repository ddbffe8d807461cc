/// The name of a method, as sort descriptors take it: `"caseInsensitiveCompare:"`.
///
/// Stands in for the Objective-C type, which Linux lacks, so that `Selector("compare:")` and a string literal compile.
public struct Selector: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
  /// The name with its colons.
  public let name: String

  public init(_ name: String) { self.name = name }

  public init(stringLiteral value: String) { self.name = value }

  public var description: String { name }
}

/// The name of the selector.
public func NSStringFromSelector(_ selector: Selector) -> String { selector.name }

/// The selector of a name.
public func NSSelectorFromString(_ name: String) -> Selector { Selector(name) }
