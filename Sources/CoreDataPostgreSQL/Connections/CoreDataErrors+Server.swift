/// The domain of errors under `NSUnderlyingErrorKey` that a PostgreSQL server reports.
///
/// ```swift
/// import CoreDataPostgreSQL
///
/// do { try context.save() } catch let error as NSError {
///   let server = error.userInfo[NSUnderlyingErrorKey] as? NSError
///   if server?.domain == NSPostgreSQLErrorDomain { print(server?.userInfo["SQLSTATE"] ?? "", error) }
/// }
/// ```
///
/// `userInfo["SQLSTATE"]` has the server's code (https://www.postgresql.org/docs/15/errcodes-appendix.html), which
/// tells more than Core Data's. That one is:
///
/// - 133000 for a reference to an object that was deleted meanwhile (23503),
/// - 133021 for a unique value that another row has (23505),
/// - 134030 for a standby or a user that may only read (25006), and a full disk (53100),
/// - 134080 for a lost connection, a missing right (42501), and a schema that is used for something else (42P07, 42710,
///   42723),
/// - 134090 for transactions that the server has ended because they waited for each other or too long (40001, 40P01,
///   55P03): save again,
/// - 134070 for all others.
///
/// The description names what was done, the server's words, and what to do where that is known.
public let NSPostgreSQLErrorDomain = "NSPostgreSQLErrorDomain"

extension CoreDataErrors {
  /// Core Data's error for an error of a server. All errors of a store leave it through here, by `fromServer`.
  ///
  /// ```text
  /// UPDATE by a user without the right        42501
  /// code                                      134080
  /// description                               "Saving to postgresql://db/shop, schema app: permission denied for
  ///                                           table Book (SQLSTATE 42501); ask the database's owner to GRANT …"
  /// NSUnderlyingErrorKey                      NSPostgreSQLErrorDomain, userInfo["SQLSTATE"] = "42501"
  /// ```
  ///
  /// A lost connection comes first: a server that shuts down ends sessions with 57P01, and that the session is gone
  /// says more than why. The code F0000 is this module's own use of `config_file_error`, for a URL that libpq does not
  /// understand and a library that cannot be loaded.
  ///
  /// - Parameter doing: what the store was asked for, in the form "Saving to …".
  static func error(_ server: ServerError, _ doing: String) -> NSError {
    let code: CocoaError.Code
    var advice = ""
    switch server.state {
    case _ where server.isConnectionLost: code = .persistentStoreOpen
    case "40001", "40P01", "55P03":
      code = .persistentStoreTimeout
      advice = "; save again"
    case "23505": code = .managedObjectConstraintMerge
    case "23503":
      code = .managedObjectReferentialIntegrity
      advice = "; an object that the save refers to was deleted meanwhile: refresh and save again"
    case "F0000": code = .persistentStoreOpen
    case "42501":
      code = .persistentStoreOpen
      advice = "; ask the database's owner to GRANT the right, or name another user in the store's URL"
    case "25006":
      code = .persistentStoreSave
      advice =
        "; the server is a standby, or the user may only read: name the primary, or add "
        + "target_session_attrs=read-write to the URL"
    case "42P07", "42710", "42723":
      code = .persistentStoreOpen
      advice = "; the schema is used for something else: name another one by schema=NAME in the URL"
    case "53100": advice = "; free space at the server"; code = .persistentStoreSave
    default: code = .persistentStoreOperation
    }
    return error(
      code, "\(doing): \(server)\(advice)",
      [
        NSUnderlyingErrorKey: NSError(
          domain: NSPostgreSQLErrorDomain, code: 0,
          userInfo: ["SQLSTATE": server.state, NSLocalizedDescriptionKey: server.message])
      ])
  }

  /// Whether the server has ended a transaction because several waited for each other in a circle.
  /// `ServerDatabase.repeating` asks; it gets the error in Core Data's form, since the stores of the transaction have
  /// converted it.
  static func isDeadlock(_ error: NSError) -> Bool {
    let server = error.userInfo[NSUnderlyingErrorKey] as? NSError
    return server?.domain == NSPostgreSQLErrorDomain && server?.userInfo["SQLSTATE"] as? String == "40P01"
  }

  /// Runs the body and converts a server's errors, and values that no server takes, to Core Data's. Other errors pass,
  /// also those that an inner call has converted: of nested calls the innermost one says what was done.
  static func fromServer<T>(_ doing: @autoclosure () -> String, _ body: () throws -> T) throws -> T {
    do {
      return try body()
    } catch let error as ServerError {
      throw CoreDataErrors.error(error, doing())
    } catch let value as RefusedValue {
      throw CoreDataErrors.error(value, doing())
    }
  }
}
