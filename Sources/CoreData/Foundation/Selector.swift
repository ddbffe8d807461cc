/// The name of a method, such as "caseInsensitiveCompare:", for sort descriptors.
///
/// It replaces the Objective-C type, which Linux lacks, so that `Selector("compare:")` and string literals compile. It
/// cannot be called.
///
/// ```swift
/// let byTitle = NSSortDescriptor(key: "title", ascending: true, selector: "localizedStandardCompare:")
/// ```
///
/// `#selector` does not exist on Linux: use the text in code for Linux and Apple's platforms.
public struct Selector: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
  /// The name as it was given, with a colon for each argument: "compare:".
  public let name: String

  /// The selector of a name. Any text is accepted; a sort descriptor compares with the default method for a name that
  /// it does not know.
  public init(_ name: String) { self.name = name }

  /// The selector of a string literal.
  public init(stringLiteral value: String) { self.name = value }

  /// The name as it was given, for messages.
  public var description: String { name }
}

/// The name of the selector, with its colons: `Selector.name` in Apple's spelling.
public func NSStringFromSelector(_ selector: Selector) -> String { selector.name }

/// The selector of a name: `Selector(_:)` in Apple's spelling. Any text is accepted.
public func NSSelectorFromString(_ name: String) -> Selector { Selector(name) }
