import CSystem
import Foundation
import Glibc
import PoolClient
import TestFiles
import Testing
import WorkerProtocol

@testable import WorkerPool

/// Clients of the status socket beyond those for whom there is room.
@Suite(.ownThreads) struct StatusServerTests {
  /// A status socket with two places. Requests stay in work until the test answers them.
  private final class Place {
    let loop: EventLoop
    let directory = temporaryURL("status")
    private(set) var waiting: [StatusServer.Client] = []
    private var server: StatusServer?

    init(idleTime: Double) throws {
      loop = try EventLoop()
      try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
      server = try StatusServer(
        path: path, loop: loop, log: Log { _ in }, clientLimit: 2, idleTime: idleTime
      ) { [weak self] _, client in self?.waiting.append(client) }
    }

    deinit { try? FileManager.default.removeItem(at: directory) }

    var path: String { directory.path + "/status.sock" }

    /// A new client that the server has seen, with what it sends at once.
    func client(sends line: String = "") throws -> Int32 {
      let descriptor = try UnixSocket.connect(to: path)
      #expect(send(descriptor, line, line.utf8.count, Int32(MSG_NOSIGNAL)) == line.utf8.count)
      turn()
      return descriptor
    }

    func answerAll() {
      for client in waiting { client.reply(StatusReply(count: 7)) }
      waiting = []
      turn()
    }

    /// Handles everything that waits.
    private func turn() {
      for _ in 0..<3 { loop.turn(milliseconds: 0) }
      server?.flush()
    }

    /// What the server has sent to a client, and whether it has closed the connection.
    func heard(_ client: Int32) throws -> (replies: [StatusReply], isClosed: Bool) {
      var bytes: [UInt8] = []
      var chunk = [UInt8](repeating: 0, count: 65_536)
      var count = 0
      while true {
        count = recv(client, &chunk, chunk.count, Int32(MSG_DONTWAIT))
        guard count > 0 else { break }
        bytes += chunk[..<count]
      }
      let isClosed = count == 0 || errno != EAGAIN
      return (
        try bytes.split(separator: 0x0A).map { try JSONDecoder().decode(StatusReply.self, from: Data($0)) }, isClosed
      )
    }
  }

  private static let request = #"{"command":"status"}"# + "\n"

  @Test func aFullHouseRefusesTheNewestAndEndsNoRequest() throws {
    // Given two clients whose requests are in work
    let place = try Place(idleTime: 0)
    let clients = [try place.client(sends: Self.request), try place.client(sends: Self.request)]
    // When a third comes, and asks
    let third = try place.client(sends: Self.request)
    defer { for client in clients + [third] { close(client) } }
    // Then it is told to come again, nothing is done about its request, and the others get their replies
    let refused = try place.heard(third)
    #expect(refused.isClosed && refused.replies.map(\.busy) == [true], "\(refused)")
    #expect(place.waiting.count == 2)
    place.answerAll()
    for client in clients {
      let heard = try place.heard(client)
      #expect(!heard.isClosed && heard.replies.map(\.count) == [7], "\(heard)")
    }
  }

  @Test func aClientThatAsksForNothingGivesWayInAFullHouse() throws {
    // Given a client whose request is in work, and one that has its reply
    let place = try Place(idleTime: 0)
    let idle = try place.client(sends: Self.request)
    place.answerAll()
    let asking = try place.client(sends: Self.request)
    // When a third comes
    let third = try place.client(sends: Self.request)
    defer { for client in [idle, asking, third] { close(client) } }
    // Then the idle one is told that its next request is not heard
    let gone = try place.heard(idle)
    #expect(gone.isClosed && gone.replies.map(\.busy) == [nil, true], "\(gone)")
    place.answerAll()
    for client in [asking, third] { #expect(try place.heard(client).replies.map(\.count) == [7]) }
  }

  @Test func aClientThatHasJustComeIsNotSentAway() throws {
    let place = try Place(idleTime: 3600)
    let clients = [try place.client(), try place.client()]
    let third = try place.client()
    defer { for client in clients + [third] { close(client) } }
    #expect(try place.heard(third).replies.map(\.busy) == [true])
    for client in clients { #expect(try !place.heard(client).isClosed) }
  }
}
