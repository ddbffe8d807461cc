extension NSPersistentStoreCoordinator {
  /// The ID of a URI in a buffer of UTF-8, as `managedObjectID(forURIRepresentation:)` gives it.
  ///
  /// Use it for a text in a C buffer; `objectID(forURI:)` takes a string. It reads nothing from the stores. Any thread.
  ///
  /// - Parameters:
  ///   - utf8String: the text; it need not end with a zero.
  ///   - length: the number of bytes, without an ending zero.
  /// - Returns: the ID; nil if the text is no URI, or its store is not open here or has no such entity.
  ///
  /// Source: Apple's documentation of `managedObjectID(fromUTF8String:length:)`.
  public final func managedObjectID(fromUTF8String utf8String: UnsafePointer<CChar>, length: Int) -> NSManagedObjectID?
  {
    let text = String(decoding: UnsafeRawBufferPointer(start: utf8String, count: length), as: UTF8.self)
    return URL(string: text).flatMap { managedObjectID(forURIRepresentation: $0) }
  }
}
