/// The types, imports and `@NSManaged` declarations of one source file.
struct SourceFile {
  let path: String
  var imports: [String] = []
  var types: [TypeDeclaration] = []
  var aliases: [AliasDeclaration] = []
  var members: [ManagedMember] = []
  var namedMembers: [NamedMember] = []
  /// Whether the file lists its members itself, as generated classes do.
  var hasTables = false
  var errors: [AccessorError] = []

  var name: String { path.split(separator: "/").last.map(String.init) ?? path }
}

/// A type that a file declares.
struct TypeDeclaration {
  enum Kind: String {
    case `class` = "C"
    case `struct` = "V"
    case `enum` = "O"
    case `protocol` = "P"
  }

  let kind: Kind
  /// The names from the outermost type inwards. For a type in an extension it starts with the names that the extension
  /// has.
  let path: [String]
  /// `private` or `fileprivate`, itself or through the extension it stands in.
  let isPrivate: Bool
  let file: String
  /// The first type after the colon: a class's superclass, if it names one.
  var inherited: [String] = []
}

struct AliasDeclaration {
  let path: [String]
  let type: TypeSyntax
}

/// A declaration that is marked `@NSManaged`.
struct ManagedMember {
  enum Kind {
    case property(TypeSyntax)
    case method([Parameter])
  }

  struct Parameter {
    /// The argument label; empty for `_`.
    let label: String
    let type: TypeSyntax
  }

  let kind: Kind
  let name: String
  /// The type that declares it, by the names in the file.
  let owner: [String]
  let isInExtension: Bool
  /// `private` or `fileprivate`, itself or through the extension it stands in.
  let isPrivate: Bool
  /// `public`, `open` or `package`, itself or through the extension it stands in.
  let isPublic: Bool
  /// The conditions of the surrounding `#if`s.
  let conditions: [String]
  let line: Int
  let column: Int
}
