/// The clients that wait for an answer of the store. A question to the store carries a number, its ticket, and the
/// answer brings the number back.
struct Tickets<Holder> {
  private var holders: [Int: Holder] = [:]
  private var last = 0

  /// A number that was never given out before, for a holder that is set with the subscript.
  mutating func next() -> Int {
    last += 1
    return last
  }

  /// Notes the holder, and returns the number for the question.
  mutating func issue(to holder: Holder) -> Int {
    let ticket = next()
    holders[ticket] = holder
    return ticket
  }

  /// Takes out the holder of the number; `nil` if there is none, or no longer.
  mutating func redeem(_ ticket: Int) -> Holder? { holders.removeValue(forKey: ticket) }

  /// The holder of a number.
  subscript(ticket: Int) -> Holder? {
    get { holders[ticket] }
    set { holders[ticket] = newValue }
  }

  /// All holders by their numbers.
  var all: [Int: Holder] { holders }
}
