internal import LinuxSystem

extension CoreDataErrors {
  /// Runs the body. A file that cannot be written or synchronised comes out as a Core Data error of the code, with the
  /// system's error below it.
  ///
  /// Stores that write files themselves use it: binary and XML files, and the files of external data. `FileError` has
  /// the path and the action, so the sentence is its description; `errno` is under `NSUnderlyingErrorKey` in
  /// `NSPOSIXErrorDomain`, where a program finds ENOSPC.
  package static func translatingFiles<T>(_ code: CocoaError.Code, _ body: () throws -> T) throws -> T {
    do {
      return try body()
    } catch let error as FileError {
      throw CoreDataErrors.error(
        code, error.description,
        [NSUnderlyingErrorKey: NSError(domain: NSPOSIXErrorDomain, code: Int(error.errno))])
    }
  }
}
