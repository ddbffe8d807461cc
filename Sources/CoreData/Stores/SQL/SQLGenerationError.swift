/// The reason why a predicate, a sort order or a list of columns cannot be put into SQL.
///
/// Names keys, entities and functions; never values.
///
/// A program sees 134070 (`persistentStoreOperation`) with the sentence. There is no evaluation in memory instead: it
/// would read every row, and a fetch that works on ten rows of a test would fail on ten million.
package enum SQLGenerationError: Error, Equatable, CustomStringConvertible {
  case unknownKey(String, entity: String)
  case notStored(String, entity: String)
  case toManyWithoutModifier(String)
  case notToMany(String)
  case severalToManySteps(String)
  case unboundVariable(String)
  case unsupportedFunction(String)
  case unsupportedExpression(String)
  case incomparable(String)
  case blockPredicate
  case comparatorSort
  case toManySort(String)
  case invalidPattern
  case tooManyMembers(Int)
  case notGrouped(String)
  case unknownEntity(String)

  package var description: String {
    switch self {
    case .unknownKey(let key, let entity): "The entity \(entity) has no property \"\(key)\"."
    case .notStored(let key, let entity): "\(entity).\(key) is not stored, so the store cannot search or sort by it."
    case .toManyWithoutModifier(let path):
      "\"\(path)\" leads to many objects: it needs ANY, ALL, NONE, an aggregate such as @count, or SUBQUERY."
    case .notToMany(let path): "ANY and ALL need a to-many relationship or a collection; \"\(path)\" is neither."
    case .severalToManySteps(let path): "\"\(path)\" crosses more than one to-many relationship: use SUBQUERY."
    case .unboundVariable(let name): "The predicate's variable $\(name) has no value."
    case .unsupportedFunction(let name): "The store cannot compute the function \(name)."
    case .unsupportedExpression(let text): "The store cannot compute \(text)."
    case .incomparable(let what): "The store cannot compare \(what)."
    case .blockPredicate: "The store cannot run a block predicate; fetch, then filter in memory."
    case .comparatorSort: "The store cannot sort with a comparator block; fetch, then sort in memory."
    case .toManySort(let path): "The store cannot sort by \"\(path)\", which leads to many objects."
    case .invalidPattern: "The pattern of MATCHES is not a regular expression."
    case .tooManyMembers(let count): "A collection of \(count) members of this type is too large for one query."
    case .notGrouped(let key): "\"\(key)\" is fetched but not grouped by; only aggregates may stand beside the groups."
    case .unknownEntity(let name): "The store has no entity \(name)."
    }
  }
}

extension SQLGenerationError {
  /// Runs the body and converts SQL generation errors to Core Data's.
  static func translated<T>(_ body: () throws -> T) throws -> T {
    do {
      return try body()
    } catch let error as SQLGenerationError {
      throw translated(error)
    }
  }

  package static func translated(_ error: SQLGenerationError) -> NSError {
    CoreDataErrors.error(.persistentStoreOperation, error.description)
  }
}
