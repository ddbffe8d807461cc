/// Reads keyed archives after it has checked the names of all their classes.
///
/// Foundation on Linux ends the process for a forbidden class, and writes to standard error for an unknown one.
///
/// The values of transformable attributes are archives, and a file may come from anywhere. The check reads the property
/// list once more, which costs little compared with creating the objects.
extension NSKeyedUnarchiver {
  /// The object of a keyed archive; nil for other data, and if the program lacks one of its classes.
  ///
  /// For attributes without a transformer: every class of the program is allowed, as in Apple's framework.
  package static func knownObject(from data: Data) -> Any? {
    // The classes of an archive that is no binary property list are not known; Foundation decodes it.
    if let classes = classes(of: data), classes.contains(where: { $0 == nil }) { return nil }
    return decoded(data)
  }

  /// The object of a keyed archive; nil if it names a class that neither is one of these nor inherits from one. No
  /// object is made before all classes are known to be allowed.
  static func knownObject(from data: Data, ofClasses allowed: [AnyClass]) -> Any? {
    guard let classes = classes(of: data) else { return nil }
    for named in classes {
      guard let named, allowed.contains(where: { inherits(named, from: $0) }) else { return nil }
    }
    return decoded(data)
  }

  private static func decoded(_ data: Data) -> Any? {
    // An error means that the data is no archive, or that an object refused to be decoded.
    guard let unarchiver = try? NSKeyedUnarchiver(forReadingFrom: data) else { return nil }
    unarchiver.requiresSecureCoding = false
    // The default policy ends the process for a class that is not in this program.
    unarchiver.decodingFailurePolicy = .setErrorAndReturn
    let value = unarchiver.decodeObject(forKey: NSKeyedArchiveRootObjectKey)
    return unarchiver.error == nil ? value : nil
  }

  /// The class for each class name of a keyed archive, nil for one that the program lacks: for that Foundation would
  /// write to standard error, with each value, that the data may be corrupt. Nil for data that is no keyed archive in a
  /// binary property list, or a damaged one.
  private static func classes(of data: Data) -> [AnyClass?]? {
    // An error means that the data is no such archive.
    guard case .dictionary(let archive)? = try? BinaryPropertyList(data).root(),
      case .array(let objects)? = archive["$objects"]
    else { return nil }
    return objects.compactMap { object -> AnyClass?? in
      guard case .dictionary(let kind) = object, case .string(let name)? = kind["$classname"] else { return nil }
      var names = [name]
      if case .array(let hints)? = kind["$classhints"] {
        for case .string(let hint) in hints { names.append(hint) }
      }
      // Foundation takes the first that the program has.
      return .some(names.lazy.compactMap { NSKeyedUnarchiver.class(forClassName: $0) ?? NSClassFromString($0) }.first)
    }
  }
}
