/// Property lists in the files of stores, which may be damaged or hostile.
package enum StoredPropertyList {
  /// The list. Foundation's reader ends the process at a set, which no property list of a program holds: such data
  /// counts as damaged.
  ///
  /// - Throws: an error of Foundation, or `ModelElementsError` for damaged binary data.
  package static func read(_ data: Data) throws -> Any {
    if data.starts(with: Data("bplist00".utf8)), try BinaryPropertyList(data).hasSets() {
      throw ModelElementsError("is a damaged property list")
    }
    return try PropertyListSerialization.propertyList(from: data, format: nil)
  }
}
