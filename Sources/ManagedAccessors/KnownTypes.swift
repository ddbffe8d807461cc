/// The types of Swift, Foundation and CoreData that accessors may have, with the modules in their mangled names.
enum KnownTypes {
  private static let swiftStructures: Set<String> = [
    "String", "Bool", "Double", "Float", "Int", "Int8", "Int16", "Int32", "Int64", "UInt", "UInt8", "UInt16", "UInt32",
    "UInt64", "Array", "Dictionary", "Set", "AnyHashable",
  ]
  /// Types that FoundationEssentials declares and Foundation exports.
  private static let essentials: Set<String> = [
    "Date", "UUID", "URL", "Data", "Decimal", "Locale", "TimeZone", "Calendar", "DateComponents", "DateInterval",
    "IndexPath", "AttributedString",
  ]
  private static let foundationStructures: Set<String> = [
    "IndexSet", "CharacterSet", "PersonNameComponents", "CGFloat",
  ]
  private static let foundationProtocols: Set<String> = ["NSCoding", "NSSecureCoding", "NSCopying", "NSObjectProtocol"]
  private static let coreDataClasses: Set<String> = [
    "NSManagedObject", "NSManagedObjectID", "NSManagedObjectContext", "NSEntityDescription",
  ]

  /// The modules of the types above.
  static let modules: Set<String> = ["Swift", "Foundation", "FoundationEssentials", "CoreData"]

  static let aliases: [String: TypeSyntax] = [
    "TimeInterval": .named([TypeSyntax.Part(name: "Double")])
  ]

  static func type(_ name: String) -> ManagedType? {
    switch name {
    case "Any": .any
    case "AnyObject": .anyObject
    case _ where foundationProtocols.contains(name): .existential(nominal("Foundation", name, .protocol))
    default: nominal(name).map { .nominal($0, arguments: []) }
    }
  }

  static func nominal(_ name: String) -> NominalType? {
    if swiftStructures.contains(name) { return .swift(name, .struct) }
    if essentials.contains(name) { return nominal("FoundationEssentials", name, .struct) }
    if foundationStructures.contains(name) { return nominal("Foundation", name, .struct) }
    if coreDataClasses.contains(name) { return nominal("CoreData", name, .class) }
    // Foundation's other classes have the prefix "NS". Its structures with that prefix are of no use in models.
    let unprefixedName = name.dropFirst(2)
    if name.hasPrefix("NS"), unprefixedName.first?.isUppercase ?? false,
      !["NSRange", "NSPoint", "NSSize", "NSRect"].contains(name)
    {
      return nominal("Foundation", name, .class)
    }
    return nil
  }

  private static func nominal(_ module: String, _ name: String, _ kind: TypeDeclaration.Kind) -> NominalType {
    NominalType(module: module, path: [NominalType.Component(name: name, kind: kind)])
  }
}
