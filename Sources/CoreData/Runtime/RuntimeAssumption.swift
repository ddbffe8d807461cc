internal import Synchronization

/// What this module assumes of Swift's runtime beyond its interface: the memory layout of something that the compiler
/// or the standard library makes, or the methods of a class of Foundation.
///
/// Each one is checked on samples of this module before anything relies on it. If it does not hold, the parts that rely
/// on it are off, and standard error says once what the program loses.
///
/// So each user of an assumption has a slower or smaller way without it: all methods are called, names are registered
/// by hand, dictionaries are searched. A new toolchain makes programs slower at worst, and a line of the log says why.
/// A new assumption needs the same: a check with samples, a way without it, and a sentence for `loss`.
struct RuntimeAssumption: Sendable {
  /// What is assumed, as a sentence without a full stop.
  let statement: String
  /// What the program loses if it does not hold.
  let loss: String
  /// Constant for the life of the process, so that users may branch on it without a lock.
  let holds: Bool

  /// Checks the assumption, and writes to standard error if it does not hold.
  ///
  /// Runs in the initialiser of a lazy constant, once, on the thread that asks first; others wait.
  init(_ statement: String, otherwise loss: String, check: () -> Bool) {
    self.statement = statement
    self.loss = loss
    holds = !RuntimeAssumptions.areRefuted && check()
    if !holds { FileHandle.standardError.write(Data("CoreData: \(explanation)\n".utf8)) }
  }

  /// For a user who can update the toolchain or report it, so it names no type of this module.
  private var explanation: String {
    "this program's Swift runtime differs from those that this module knows (\(statement) does not hold): \(loss)"
  }
}

/// All assumptions. Each is checked when something first relies on it, or by `check()`.
///
/// Lazy constants: a program that uses no key path never checks that assumption, unless `check()` is called.
enum RuntimeAssumptions {
  static let methodTables = RuntimeAssumption(
    "a class's metadata lists its methods",
    otherwise: "saves and fetches call every method of every object, which is slower, and an unknown key of a section "
      + "or a sort descriptor ends the process instead of being an error"
  ) { MethodTable.isReadable() }

  static let typeDescriptors = RuntimeAssumption(
    "an image lists its types",
    otherwise: "classes are found by their full name only, and key paths have the names that the program registers"
  ) { SwiftImages.areReadable() }

  static let keyPaths = RuntimeAssumption(
    "a key path lists its steps",
    otherwise: "only key paths of one property have names, not those through several or of an inherited one"
  ) { KeyPathSteps.areReadable() }

  static let shortTexts = RuntimeAssumption(
    "a short text is in its String", otherwise: "properties are found by name with a dictionary, which is slower"
  ) { ShortText.isReadable() }

  static let compoundPredicates = RuntimeAssumption(
    "Foundation's compound predicates have \(FoundationCompound.methodCount) methods to replace",
    otherwise: "any two of them are equal, and they print as an address; those that this module makes do not"
  ) { FoundationCompound.isTaught() }

  /// Checks all of them, once. A coordinator's first `init` does, so that a program learns at its start what is off.
  ///
  /// Costs about what reading the lists of types once costs. Later checks are loads.
  static func check() { _ = all }

  /// A new assumption has to be added here, or `check()` does not know it.
  static let all = [methodTables, typeDescriptors, keyPaths, shortTexts, compoundPredicates]

  private static let refuted = Mutex(false)

  fileprivate static var areRefuted: Bool { refuted.withLock { $0 } }

  /// Lets no assumption hold, so that a test sees what a program does then. Call it at the start of a process of its
  /// own: constants that were computed before stay as they are.
  static func refute() { refuted.withLock { $0 = true } }
}
