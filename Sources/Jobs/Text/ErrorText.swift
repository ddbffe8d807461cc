import CoreData
import LinuxSystem

/// Errors as a person reads them.
public enum ErrorText {
  /// One sentence without a full stop: the error's text, and for an `NSError` that of the errors under it which have a
  /// text of their own.
  ///
  /// ```swift
  /// do { try context.save() } catch { print("cannot save:", ErrorText.text(error)) }
  /// // cannot save: An object changed in the store since being read: … (NSCocoaErrorDomain 133020)
  /// ```
  ///
  /// An error of Swift says what its `description` says. A Foundation error about a file names the file, and what the
  /// system says of it.
  public static func text(_ error: any Error) -> String {
    if type(of: error) is CocoaError.Type, let error = error as? CocoaError { return fileText(error) }
    // Swift's own errors become an NSError only when they are cast; Core Data's are one from the beginning.
    guard type(of: error) is NSError.Type else { return "\(error)" }
    let error = error as NSError
    var text = error.localizedDescription
    if let reason = error.localizedFailureReason, !text.contains(reason) { text += " (\(reason))" }
    // What follows belongs to the sentence.
    if text.hasSuffix(".") { text.removeLast() }
    text += " (\(error.domain) \(error.code))"
    if let underlying = error.userInfo[NSUnderlyingErrorKey] as? any Error, hasText(underlying),
      !text.contains((underlying as NSError).localizedDescription)
    {
      text += ": \(self.text(underlying))"
    }
    return text
  }

  /// False for a bare domain and code, of which Foundation makes "The operation could not be completed".
  private static func hasText(_ error: any Error) -> Bool {
    guard type(of: error) is NSError.Type else { return true }
    let info = (error as NSError).userInfo
    return info[NSLocalizedDescriptionKey] != nil || info[NSLocalizedFailureReasonErrorKey] != nil
  }

  /// Foundation's errors about files: what the system says, and about which file.
  private static func fileText(_ error: CocoaError) -> String {
    let reason = (error.underlying as? POSIXError).map { ErrorNumber.text($0.code.rawValue) }
    let text = reason ?? error.localizedDescription
    guard let path = error.filePath ?? error.url?.path else { return text }
    return "\(path): \(text)"
  }
}
