/// What deleting an object does to the objects at the other end of a relationship. Raw values are Apple's.
public enum NSDeleteRule: UInt, Sendable {
  /// Nothing: they keep a dangling reference.
  case noActionDeleteRule = 0
  /// They lose their reference to the object.
  case nullifyDeleteRule = 1
  /// They are deleted too.
  case cascadeDeleteRule = 2
  /// The deletion fails when it is saved (1600), unless they are deleted too.
  case denyDeleteRule = 3
}

extension NSDeleteRule {
  /// The rule with this name in model files; nil for an unknown name.
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
