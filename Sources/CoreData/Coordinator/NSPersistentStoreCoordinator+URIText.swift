extension NSPersistentStoreCoordinator {
  /// The ID of a URI as text, as `managedObjectID(forURIRepresentation:)` gives it; nil if the text is no URI.
  ///
  /// It serves programs that have the text in a C buffer; otherwise `objectID(forURI:)` takes a string.
  ///
  /// - Parameter length: the number of bytes, without an ending zero.
  public final func managedObjectID(fromUTF8String utf8String: UnsafePointer<CChar>, length: Int) -> NSManagedObjectID?
  {
    let text = String(decoding: UnsafeRawBufferPointer(start: utf8String, count: length), as: UTF8.self)
    return URL(string: text).flatMap { managedObjectID(forURIRepresentation: $0) }
  }
}
