/// Builds a keyed archive whose objects may refer to each other.
///
/// It is the counterpart of `KeyedArchive`: each method appends to the list of objects and returns a reference. Objects
/// of a graph are made with `once`, which gives them a place before their fields are known, so that a circle ends at
/// the second visit. Their fields are made later, from a list: an entity leads through its relationships to all others,
/// and recursion would be as deep as the model is large.
///
/// ```text
/// archive { entity(book) }
///   once(book)        place 1 reserved, pending [fields of book]
///   pop: fields of book
///     string("Book")  place 3
///     once(author)    place 4 reserved, pending [fields of author]
///   pop: fields of author
///     once(book)      known: reference to place 1
/// ```
///
/// Equal texts and classes are stored once.
final class KeyedArchiveWriter {
  typealias Fields = [String: PropertyListValue]

  /// The archive's list. Its first element stands for nil.
  private var objects: [PropertyListValue] = [.string("$null")]
  /// The places of class records, by class name.
  private var classes: [String: Int] = [:]
  /// The places of texts.
  private var strings: [String: Int] = [:]
  /// The places of objects that are archived once, by what they were made of.
  ///
  /// An `ObjectIdentifier`, or a property together with the entity that has it.
  private var places: [AnyHashable: Int] = [:]
  /// The objects whose fields are still to be made.
  private var pending: [() -> Void] = []

  /// The archive of the object that the body adds. A writer is used once.
  func archive(_ body: () -> PropertyListValue) -> Data {
    let root = body()
    while let next = pending.popLast() { next() }
    return BinaryPropertyListWriter.data(
      .dictionary([
        "$version": .integer(100_000), "$archiver": .string("NSKeyedArchiver"), "$top": .dictionary(["root": root]),
        "$objects": .array(objects),
      ]))
  }

  /// The reference that means nil.
  static let null = PropertyListValue.reference(0)

  // MARK: Objects

  /// An object of a class, with its superclasses up to `NSObject`, and values by key.
  ///
  /// For objects that nothing else refers to: values, predicates, arrays.
  func object(_ classNames: [String], _ fields: Fields) -> PropertyListValue {
    objects.append(.dictionary(fields.merging(["$class": classReference(classNames)]) { $1 }))
    return .reference(objects.count - 1)
  }

  /// A reference to an object that is archived once, later.
  ///
  /// - Parameters:
  ///   - identity: what tells this object from others.
  ///   - classNames: the class and its superclasses without `NSObject`.
  ///   - fields: makes the fields, after this call has returned.
  func once(
    _ identity: AnyHashable, _ classNames: @autoclosure () -> [String], _ fields: @escaping () -> Fields
  ) -> PropertyListValue {
    if let place = places[identity] { return .reference(place) }
    let place = objects.count
    places[identity] = place
    objects.append(.null)
    let kind = classReference(classNames())
    pending.append { [self] in objects[place] = .dictionary(fields().merging(["$class": kind]) { $1 }) }
    return .reference(place)
  }

  /// A record with a class's name and those of its superclasses, which unarchivers read to find a class that they know.
  private func classReference(_ names: [String]) -> PropertyListValue {
    let classNames = names + ["NSObject"]
    if let place = classes[classNames[0]] { return .reference(place) }
    objects.append(
      .dictionary(["$classname": .string(classNames[0]), "$classes": .array(classNames.map(PropertyListValue.string))]))
    classes[classNames[0]] = objects.count - 1
    return .reference(objects.count - 1)
  }

  // MARK: Values

  /// A text, stored once; the null reference for nil.
  func string(_ text: String?) -> PropertyListValue {
    guard let text else { return Self.null }
    if let place = strings[text] { return .reference(place) }
    strings[text] = objects.count
    return scalar(.string(text))
  }

  /// A value in a place of its own, so that arrays and dictionaries, which hold references only, can have it.
  func scalar(_ value: PropertyListValue) -> PropertyListValue {
    objects.append(value)
    return .reference(objects.count - 1)
  }

  /// An array; mutable where Apple's archives of models have a mutable one.
  func array(_ members: [PropertyListValue], mutable: Bool = false) -> PropertyListValue {
    object(mutable ? ["NSMutableArray", "NSArray"] : ["NSArray"], ["NS.objects": .array(members)])
  }

  func set(_ members: [PropertyListValue]) -> PropertyListValue {
    object(["NSSet"], ["NS.objects": .array(members)])
  }

  /// A dictionary with texts as keys, in the given order.
  func dictionary(_ entries: [(key: String, value: PropertyListValue)], mutable: Bool = false) -> PropertyListValue {
    object(
      mutable ? ["NSMutableDictionary", "NSDictionary"] : ["NSDictionary"],
      ["NS.keys": .array(entries.map { string($0.key) }), "NS.objects": .array(entries.map(\.value))])
  }

  /// A value of a kind that Foundation has; nil stands for others too.
  ///
  /// For user info, defaults and constants of expressions. Keys of a dictionary that are no texts are left out with
  /// their values.
  func value(_ value: Any?) -> PropertyListValue {
    switch value {
    case let text as String: return string(text)
    case let decimal as NSDecimalNumber: return self.decimal(decimal.decimalValue)
    case let number as NSNumber: return scalar(Self.number(number))
    case let flag as Bool: return scalar(.bool(flag))
    case let number as any BinaryInteger: return scalar(.integer(Int64(truncatingIfNeeded: number)))
    case let number as Double: return scalar(.real(number))
    case let number as Float: return scalar(.real(Double(number)))
    case let decimal as Decimal: return self.decimal(decimal)
    case let date as Date:
      return object(["NSDate"], ["NS.time": .real(date.timeIntervalSinceReferenceDate)])
    case let data as Data: return scalar(.data(data))
    case let identifier as UUID:
      return object(["NSUUID"], ["NS.uuidbytes": .data(withUnsafeBytes(of: identifier.uuid) { Data($0) })])
    case let url as URL: return object(["NSURL"], ["NS.base": Self.null, "NS.relative": string(url.absoluteString)])
    case is NSNull: return object(["NSNull"], [:])
    case let expression as NSExpression: return self.expression(expression)
    case let predicate as NSPredicate: return self.predicate(predicate)
    case let members as [Any]: return array(members.map(self.value))
    case let members as NSArray: return array(members.map { self.value($0) })
    case let members as NSOrderedSet:
      return object(["NSOrderedSet"], ["NS.objects": .array(members.map { self.value($0) })])
    case let members as Set<AnyHashable>:
      return set(members.map { self.value($0.base) })
    case let members as NSSet: return set(members.map { self.value($0) })
    case let entries as [AnyHashable: Any]:
      return dictionary(
        entries.compactMap { key, value in (key.base as? String).map { ($0, self.value(value)) } }
          .sorted(on: { $0.0 }))
    default: return Self.null
    }
  }

  /// A number in the form in which it was made: Boolean, floating point or integer.
  private static func number(_ number: NSNumber) -> PropertyListValue {
    switch String(cString: number.objCType) {
    case "c", "B": .bool(number.boolValue)
    case "d", "f": .real(number.doubleValue)
    default: .integer(number.int64Value)
    }
  }

  /// A decimal number in the form that `ArchivedObject.decimal` reads: digits as a whole number in words of 16 bits,
  /// and the power of ten.
  private func decimal(_ number: Decimal) -> PropertyListValue {
    var words: [UInt16] = []
    var magnitude = abs(number.isNaN ? 0 : number)
    let exponent = number.isNaN ? 0 : number.exponent
    // The digits without the exponent, as a whole number.
    var digits = Decimal()
    _ = NSDecimalMultiplyByPowerOf10(&digits, &magnitude, Int16(clamping: -exponent), .plain)
    while digits > 0, words.count < 8 {
      var quotient = digits / 65536
      var whole = Decimal()
      NSDecimalRound(&whole, &quotient, 0, .down)
      words.append(NSDecimalNumber(decimal: digits - whole * 65536).uint16Value)
      digits = whole
    }
    let length = Int64(words.count)
    words += [UInt16](repeating: 0, count: 8 - words.count)
    let mantissa = words.map(\.littleEndian).withUnsafeBytes { Data($0) }
    return object(
      ["NSDecimalNumber", "NSNumber", "NSValue"],
      [
        "NS.exponent": .integer(Int64(exponent)), "NS.length": .integer(length),
        "NS.negative": .bool(number.isNaN || number < 0), "NS.compact": .bool(true), "NS.mantissa.bo": .integer(1),
        "NS.mantissa": .data(mantissa),
      ])
  }
}
