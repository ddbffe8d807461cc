/// Access to values by name: key-value coding.
///
/// Each public method has an internal twin without a subclass's override, because accessors and stores must not call
/// code that calls accessors:
///
/// ```text
/// value(forKey:)       an override, or propertyValue(forKey:)
/// propertyValue        slot, members, fetched property; else unmodelledValue
/// unmodelledValue      objectID, self, entity, states; else value(forUndefinedKey:)
/// value(forUndefinedKey:)   an override, or the class's ManagedKeyPathTable; else a trap
/// ```
extension NSManagedObject {
  /// `value(forKey:)` without a subclass's override, which may itself call accessors.
  ///
  /// Also what `ManagedAttribute` and typed accessors without a slot of their type read.
  final func propertyValue(forKey key: String) -> Any? {
    guard let location = layout.locations[key] else { return unmodelledValue(key) }
    switch location {
    case .slot(let slot):
      let kind = layout.kinds[slot]
      if kind == .toOne { return related(slot) }
      let slots = accessSlots(reading: slot)
      return kind == .string ? text(slot, among: slots) : layout.value(slot, in: slots)
    // Copies share their memory until one is changed.
    case .toMany(let index): return toMany(index).asCollection.mutableCopy()
    case .fetched(let index): return fetchedValue(layout.fetchedProperties[index])
    }
  }

  /// `setValue(_:forKey:)` without a subclass's override.
  ///
  /// A number is converted to the attribute's type in `Snapshot.set`; a value that cannot be of that type ends the
  /// process there with the property's name.
  final func setPropertyValue(_ value: Any?, forKey key: String) {
    guard let location = layout.locations[key] else { return setValue(value, forUndefinedKey: key) }
    switch location {
    case .slot(let slot) where layout.kinds[slot] == .toOne:
      setRelated(managedObject(value, for: key), slot: slot)
    case .slot(let slot):
      let observed = willChangeObserved(key)
      willEdit()
      snapshot.unsafelyUnwrapped.set(value, slot: slot, of: entity)
      observed?.finish()
    case .toMany(let index):
      setMembers(managedObjects(value, for: key), of: index)
    case .fetched:
      fatalError("The fetched property \(layout.name).\(key) cannot be set.")
    }
  }

  /// The value at the end of a path of properties, with the collection operators of key-value coding.
  ///
  /// ```swift
  /// let pages = author.value(forKeyPath: "books.@sum.pages") as? Int
  /// let titles = author.value(forKeyPath: "books.title") as? Set<String>
  /// ```
  ///
  /// A path through a to-many relationship gives a collection of the values. It fills each object on the way: a fetch
  /// with a dictionary result lets the store compute a sum. Traps for a key that an entity on the way does not have.
  ///
  /// Operators: `@count`, `@sum`, `@avg`, `@min`, `@max`, and the unions of objects, arrays and sets such as
  /// `@distinctUnionOfObjects`.
  ///
  /// ```swift
  /// let longest = author.value(forKeyPath: "books.@max.pages") as? Int ?? 0
  /// let authorsName = book.value(forKeyPath: "author.name") as? String
  /// ```
  ///
  /// Call it on the context's queue. It parses the path at each call: keep the values, or read properties, in a loop. A
  /// nil on the way gives nil.
  ///
  /// Source: Apple's Key-Value Coding Programming Guide, "Using Collection Operators".
  public final func value(forKeyPath keyPath: String) -> Any? {
    NSExpression(forKeyPath: keyPath).expressionValue(with: self, context: nil)
  }

  /// Sets a property of a related object, or one element of a composite attribute. Does nothing if a relationship on
  /// the way is nil.
  ///
  /// ```swift
  /// book.setValue("Jane Austen", forKeyPath: "author.name")  // the author of this book, and of all her other books
  /// ```
  ///
  /// A path of one key is `setValue(_:forKey:)`. Paths through to-many relationships set nothing. Traps for a key that
  /// the last entity does not have, and for a composite attribute without such an element. Call it on the context's
  /// queue.
  ///
  /// Source: Apple's documentation of `setValue(_:forKeyPath:)`.
  public final func setValue(_ value: Any?, forKeyPath keyPath: String) {
    guard let dot = keyPath.firstIndex(of: ".") else { return setValue(value, forKey: keyPath) }
    let key = String(keyPath[..<dot])
    let remainingPath = String(keyPath[keyPath.index(after: dot)...])
    if let slot = layout.slot(key), let composite = layout.slots[slot].composite {
      let path = remainingPath.components(separatedBy: ".")
      if composite.element(at: path) == nil { unknownKey(keyPath) }
      var elements = self.value(forKey: key) as? [String: Any] ?? [:]
      CompositeValue.set(value, at: path[...], in: &elements)
      return setValue(elements, forKey: key)
    }
    (self.value(forKey: key) as? NSManagedObject)?.setValue(value, forKeyPath: remainingPath)
  }

  /// The values of several properties by name; `NSNull` for nil. Traps for a key that the entity does not have, and for
  /// a name that occurs twice.
  ///
  /// ```swift
  /// let values = book.dictionaryWithValues(forKeys: ["title", "pages"])
  /// ```
  ///
  /// The dictionary is a copy of this moment that may go to another queue if its values may: relationships are managed
  /// objects, which may not. A fetch with `.dictionaryResultType` gives the same for many rows without making objects.
  /// It fills the object, if it is a fault.
  ///
  /// Source: Apple's documentation of `dictionaryWithValues(forKeys:)`.
  public final func dictionaryWithValues(forKeys keys: [String]) -> [String: Any] {
    Dictionary(uniqueKeysWithValues: keys.map { ($0, value(forKey: $0) ?? NSNull()) })
  }

  /// Sets several properties by name; `NSNull` for nil. Traps as `setValue(_:forKey:)`, with the properties before it
  /// set.
  ///
  /// ```swift
  /// book.setValuesForKeys(["title": "Emma", "pages": 474, "author": NSNull()])
  /// ```
  ///
  /// The order is open, so do not pass properties that depend on each other. It marks the object as updated and does
  /// not validate. Remove unknown keys from outside input first, since they trap.
  ///
  /// Source: Apple's documentation of `setValuesForKeys(_:)`.
  public final func setValuesForKeys(_ keyedValues: [String: Any]) {
    for (key, value) in keyedValues { setValue(value is NSNull ? nil : value, forKey: key) }
  }

  /// The value without firing a fault or notifying observers; nil in a fault. A to-many relationship gives a mutable
  /// set, an ordered one a mutable ordered set; their changes set no inverse and notify no observer.
  ///
  /// For handwritten accessors: see `willChangeValue(forKey:)`. Traps for a key that the entity does not have.
  ///
  /// ```swift
  /// final class Note: NSManagedObject {
  ///   var isEmpty: Bool {
  ///     willAccessValue(forKey: "text")
  ///     defer { didAccessValue(forKey: "text") }
  ///     return (primitiveValue(forKey: "text") as? String ?? "").isEmpty
  ///   }
  /// }
  /// ```
  ///
  /// Numbers are `NSNumber`. A fetched property has no primitive value: nil. Use it inside of accessors and hooks only,
  /// where the usual access would call itself; everywhere else `value(forKey:)` and typed accessors. Call it on the
  /// context's queue.
  ///
  /// Source: Apple's documentation of `primitiveValue(forKey:)`.
  public final func primitiveValue(forKey key: String) -> Any? {
    guard let location = layout.locations[key] else { unknownKey(key) }
    checkQueue()
    switch location {
    case .slot(let slot):
      guard let snapshot else { return nil }
      return layout.kinds[slot] == .toOne ? related(slot) : snapshot.value(slot)
    case .toMany(let index):
      // Handwritten accessors change it in place.
      return layout.toManys[index].isOrdered
        ? MutableRelationshipList.view(of: self, index, isPrimitive: true)
        : MutableRelationshipSet(owner: self, index: index, isPrimitive: true)
    case .fetched: return nil
    }
  }

  /// Sets the value. It notifies no observer, sets no inverse and does not mark the object as updated: without another
  /// change, or `willChangeValue(forKey:)` before, no save writes it. Traps for a key that the entity does not have,
  /// and a value of another type.
  ///
  /// ```swift
  /// final class Note: NSManagedObject {
  ///   override func willSave() {
  ///     super.willSave()
  ///     // Setting the property would count as a change: willSave() would be called again.
  ///     setPrimitiveValue(Date(), forKey: "changedAt")
  ///   }
  /// }
  /// ```
  ///
  /// It fills a fault. Use it in `willSave()` to set a value of an object that the save writes anyway. A fetched
  /// property is passed over. Call it on the context's queue.
  ///
  /// Source: Apple's documentation of `setPrimitiveValue(_:forKey:)`.
  public final func setPrimitiveValue(_ value: Any?, forKey key: String) {
    guard let location = layout.locations[key] else { unknownKey(key) }
    switch location {
    case .slot(let slot) where layout.kinds[slot] == .toOne:
      willEditPrimitively()
      writeRelated(managedObject(value, for: key), slot: slot)
    case .slot(let slot):
      willEditPrimitively()
      snapshot.unsafelyUnwrapped.set(value, slot: slot, of: entity)
    case .toMany(let index):
      let toMany = toMany(index)
      let newMembers = MemberList(managedObjects(value, for: key), keepsOrder: toMany.relationship.isOrdered)
      for old in toMany.members?.items ?? [] where !newMembers.contains(old) { toMany.remove(old) }
      for new in newMembers.items {
        bring(new)
        toMany.insert(new)
      }
      if toMany.relationship.isOrdered, toMany.members?.items != newMembers.items { toMany.reorder(newMembers.items) }
    case .fetched: break
    }
  }

  // MARK: Keys that the model does not have

  /// The keys of `unmodelledValue(_:)`.
  static let unmodelledKeys: Set<String> = [
    "objectID", "self", "SELF", "entity", "managedObjectContext", "hasChanges", "isInserted", "inserted", "isUpdated",
    "updated", "isDeleted", "deleted", "isFault", "fault",
  ]

  /// Apple's names for Boolean properties in key-value coding are those without "is"; both work.
  private func unmodelledValue(_ key: String) -> Any? {
    switch key {
    case "objectID": return objectID
    case "self", "SELF": return self
    case "entity": return entity
    case "managedObjectContext": return managedObjectContext
    case "hasChanges": return NSNumber(value: hasChanges)
    case "isInserted", "inserted": return NSNumber(value: isInserted)
    case "isUpdated", "updated": return NSNumber(value: isUpdated)
    case "isDeleted", "deleted": return NSNumber(value: isDeleted)
    case "isFault", "fault": return NSNumber(value: isFault)
    default: return value(forUndefinedKey: key)
    }
  }

  /// The value of a computed property, numbers as NSNumber.
  ///
  /// A predicate that compares it with a number compares numbers, so a Swift number is boxed.
  final func computedValue(at path: AnyKeyPath) -> Any? {
    let value = self[keyPath: path].flatMap(KeyValueReading.unwrapped)
    return value as? NSNumber ?? value
  }

  /// Apple's framework raises NSUnknownKeyException, which Swift code cannot catch either.
  func unknownKey(_ key: String) -> Never {
    fatalError(
      "The entity \(layout.name) is not key value coding-compliant for the key \"\(key)\"; it has "
        + layout.locations.keys.sorted().joined(separator: ", ") + ".")
  }

  /// `NSNull` stands for nil, as in dictionaries of values.
  private func managedObject(_ value: Any?, for key: String) -> NSManagedObject? {
    guard let value, !(value is NSNull) else { return nil }
    guard let object = value as? NSManagedObject else {
      fatalError(
        "The relationship \(layout.name).\(key) holds a managed object, and was given a \(type(of: value)).")
    }
    return object
  }

  /// Elements of a set that are no managed objects are passed over, as Foundation's typed bridges do.
  func managedObjects(_ value: Any?, for key: String) -> [NSManagedObject] {
    switch value {
    case nil, is NSNull: return []
    case let set as NSSet: return set.allObjects.compactMap { $0 as? NSManagedObject }
    case let set as NSOrderedSet: return set.array.compactMap { $0 as? NSManagedObject }
    case let array as [NSManagedObject]: return array
    case let set as Set<NSManagedObject>: return Array(set)
    default:
      fatalError(
        "The relationship \(layout.name).\(key) holds a set of managed objects, and was given a \(type(of: value!)).")
    }
  }
}
