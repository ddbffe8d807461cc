import Testing

@testable import WorkerPool

@Suite struct TicketsTests {
  @Test func eachTicketIsRedeemedOnce() {
    var tickets = Tickets<String>()
    let (first, second) = (tickets.issue(to: "first"), tickets.issue(to: "second"))
    #expect(first != second)
    let redeemed = [tickets.redeem(first), tickets.redeem(first)]
    #expect(redeemed == ["first", nil])
    #expect(tickets.all == [second: "second"])
  }

  @Test func aNumberIsNeverGivenOutAgain() {
    var tickets = Tickets<Int>()
    let numbers = (0..<5).map { index in
      let ticket = tickets.issue(to: index)
      _ = tickets.redeem(ticket)
      return ticket
    }
    #expect(Set(numbers).count == 5)
  }

  @Test func aHolderMayBeNotedAfterItsNumber() {
    var tickets = Tickets<[Int]>()
    let ticket = tickets.next()
    #expect(tickets[ticket] == nil)
    tickets[ticket] = [1]
    tickets[ticket]?.append(2)
    let holder = tickets.redeem(ticket)
    #expect(holder == [1, 2])
  }
}
