import Foundation
import Testing
import WorkerPool

/// Producers that save and are gone.
@Suite(.serialized) struct HastyProducerTests {
  @Test(.timeLimit(.minutes(20))) func aJobBeginsAtOnceThoughItsProducerHasEndedWithTheCommit() throws {
    let items = try ItemPool()
    let pool = try items.start()
    var delays: [Double] = []
    for number in 1...5 {
      let producer = try run(Built.path("hasty-producer"), [items.store, items.model, items.queue, "nothing"])
      #expect(producer.code == 0, "\(producer.errors)")
      try pool.waitForJobs(number)
      delays.append(
        try #require(
          Double(try sqlite(items.store, "SELECT ZSTARTEDAT - ZCREATEDAT FROM WPPOOLJOB WHERE Z_PK = \(number)"))))
    }
    // What finds new jobs otherwise comes every ten seconds.
    #expect(delays.allSatisfy { $0 < 1 }, "\(delays)")
    try pool.stop()
  }
}
