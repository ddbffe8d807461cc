/// The texts that an object was asked for more than once, by slot.
///
/// The row has the bytes of a text only. Making a `String` of 19 of them takes 580 instructions, finding one that is
/// kept 160. Most texts are read once, and keeping those would take memory for nothing. So the second reading keeps
/// them.
///
/// Used by its object only, on the context's queue.
///
/// Two steps decide what is kept, in the object's own state and here:
///
/// ```text
/// first reading of slot 5   make the String, set bit 5 & 3 of `hasReadTexts`
/// second reading            make the String, keep it: attachment = .texts
/// third reading             take the kept one
/// ```
///
/// Four bits serve all slots, so a text can be kept at its first reading because slot 1 was read before slot 5: that
/// costs memory for one String, no wrong answer. `NSManagedObject.snapshot` drops everything when it is set.
final class ReadTexts {
  @exclusivity(unchecked) fileprivate var texts: [String?]

  fileprivate init(slotCount: Int) { texts = Array(repeating: nil, count: slotCount) }
}

extension NSManagedObject {
  /// The text in a slot; nil for none.
  ///
  /// Only packed texts pass through the bits: a slot with a `String` of its own is that String, and loading it is a
  /// retain.
  ///
  /// - Parameter slots: those of `snapshot`, or of the values that a fetch left with a fault.
  @inline(__always)
  final func text(_ slot: Int, among slots: UnsafeMutablePointer<SnapshotSlot>) -> String? {
    slots[slot].second == PackedText.mark ? packedText(slot, slots) : String.load(slots + slot)
  }

  /// Not inlined, so that the accessors of the many objects with short-lived texts stay small.
  @inline(never)
  private final func packedText(_ slot: Int, _ slots: UnsafeMutablePointer<SnapshotSlot>) -> String? {
    if case .texts(let read) = attachment, let text = read.texts[slot] { return text }
    let text = String.load(slots + slot)
    if state.contains(.hasReadText(slot)) { keep(text, slot) } else { state.insert(.hasReadText(slot)) }
    return text
  }

  /// Values that a partial fetch left with a fault have no place for texts, since the attachment is that fetch: such a
  /// text is made at each reading.
  private final func keep(_ text: String?, _ slot: Int) {
    switch attachment {
    case .none:
      let read = ReadTexts(slotCount: layout.slotCount)
      read.texts[slot] = text
      attachment = .texts(read)
    case .texts(let read): read.texts[slot] = text
    // These values are not the object's row.
    case .batch: break
    }
  }

  /// Drops the texts of the row before.
  ///
  /// Called by the observer of `snapshot`, and only if a bit is set. Texts of the former row would be answers from
  /// before the change.
  @inline(never)
  final func forgetTexts() {
    state.subtract(.hasReadTexts)
    if case .texts = attachment { attachment = .none }
  }
}
