internal import CPostgreSQL
internal import CoreData
internal import Foundation

/// The functions of libpq, loaded when the first connection is opened and kept until the process ends.
///
/// Programs that may open a store on a server are not linked with libpq: loading it and the fifty libraries that it
/// needs would cost each of their starts 20 ms and more. `libpq_fill` of the module CPostgreSQL looks each function up
/// by its name; `PQsetChunkedRowsMode` may be missing, since it came with version 17, and the others may not.
///
/// Without the library a store in a file opens as ever. A store at a server fails with 134080 and the name of the
/// package, and later stores fail with the same error: the result of the first attempt is kept.
///
/// `RTLD_NOW` finds a library that is incomplete at once, and not in the middle of a save. `RTLD_LOCAL` keeps its
/// symbols from a program that has linked another libpq.
final class LibPQ: Sendable {
  /// C functions, which any thread may call.
  let functions: libpq_functions

  /// - Parameter name: the file's name, for the dynamic linker to find.
  /// - Throws: `ServerError` that says which package to install.
  init(_ name: String) throws {
    guard let library = dlopen(name, RTLD_NOW | RTLD_LOCAL) else {
      let reason = dlerror().map { String(cString: $0) } ?? "no reason is given"
      throw ServerError(
        message: "PostgreSQL's client library cannot be loaded: install the package libpq5 (\(reason))",
        state: Self.notInstalled)
    }
    var functions = libpq_functions()
    if let missing = libpq_fill(&functions, library) {
      throw ServerError(
        message: "PostgreSQL's client library \(name) is too old, it has no \(String(cString: missing)): install the "
          + "package libpq5 in version 14 or later", state: Self.notInstalled)
    }
    self.functions = functions
  }

  /// `config_file_error`: only a person can mend it.
  private static let notInstalled = "F0000"

  /// The name of libpq's present ABI, which all versions since 8.2 have.
  private static let loaded = Result { try LibPQ("libpq.so.5") }

  static func load() throws -> LibPQ { try loaded.get() }
}
