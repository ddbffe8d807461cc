/// The properties of one entity that an update changed, in the form of a history row: one bit for each, from the
/// highest bit of the first byte.
///
/// To-one relationships come first, with a second bit if the destination may be of several entities; then attributes,
/// then to-many relationships. Each kind has the root entity's properties first, ordered by name. Learnt from Apple's
/// files: it fits the length of every mask in them.
///
/// ```text
/// Book     bit     80      40      20     10
///                  author  isRead  pages  title         ZCOLUMNS 60: isRead and pages were changed
/// Author   bit     80      40
///                  name    books                        ZCOLUMNS 40: books
/// ```
///
/// The meaning of a bit depends on the model, so a migration sets the masks of old changes to NULL: which properties
/// they changed is unknown from then on, that they changed is not.
struct HistoryColumns: Sendable {
  /// The property of each bit.
  private let names: [String]
  private let bits: [String: [Int]]

  var byteCount: Int { (names.count + 7) / 8 }

  init(_ mapping: TableMapping) {
    var toOnes: [String] = []
    var attributes: [String] = []
    var toManys: [String] = []
    let chain = Array(sequence(first: mapping.entity, next: \.superentity)).reversed()
    for entity in chain {
      for property in entity.declaredProperties.sorted(onBytes: { $0.name }) {
        if let toOne = mapping.toOnes[property.name] {
          toOnes += Array(repeating: property.name, count: toOne.entityColumn == nil ? 1 : 2)
        } else if mapping.attributes[property.name] != nil || mapping.composites[property.name] != nil {
          attributes.append(property.name)
        } else if mapping.toManys[property.name] != nil {
          toManys.append(property.name)
        }
      }
    }
    names = toOnes + attributes + toManys
    bits = Dictionary(grouping: names.indices) { [names] in names[$0] }
  }

  func mask(of changed: some Sequence<String>) -> Data {
    var mask = Data(count: byteCount)
    for name in changed {
      for bit in bits[name] ?? [] { mask[bit / 8] |= 0x80 >> (bit % 8) }
    }
    return mask
  }

  func names(in mask: Data) -> Set<String> {
    var maskedNames: Set<String> = []
    for (offset, byte) in mask.enumerated() where byte != 0 {
      for bit in 0..<8 where byte & (0x80 >> bit) != 0 && offset * 8 + bit < names.count {
        maskedNames.insert(names[offset * 8 + bit])
      }
    }
    return maskedNames
  }
}
