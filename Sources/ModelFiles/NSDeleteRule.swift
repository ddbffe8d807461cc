/// What happens to the other side of a relationship when an object is deleted. The raw values are Apple's.
public enum NSDeleteRule: UInt, Sendable {
  /// Nothing: the other side keeps a dangling reference.
  case noActionDeleteRule = 0
  /// The other side forgets the object.
  case nullifyDeleteRule = 1
  /// The related objects are deleted as well.
  case cascadeDeleteRule = 2
  /// The delete fails while there are related objects.
  case denyDeleteRule = 3
}

extension NSDeleteRule {
  /// The rule that a model file calls by this name.
  package init?(modelFileName: String) {
    switch modelFileName {
    case "No Action": self = .noActionDeleteRule
    case "Nullify": self = .nullifyDeleteRule
    case "Cascade": self = .cascadeDeleteRule
    case "Deny": self = .denyDeleteRule
    default: return nil
    }
  }
}
