import CoreData
import Testing

/// Checks that the body throws a Core Data error with the code.
package func expectError<T>(
  _ code: Int, sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> T
) {
  do {
    _ = try body()
    Issue.record("No error was thrown, where \(code) was expected.", sourceLocation: sourceLocation)
  } catch {
    let error = error as NSError
    #expect(error.domain == NSCocoaErrorDomain && error.code == code, "\(error)", sourceLocation: sourceLocation)
  }
}
