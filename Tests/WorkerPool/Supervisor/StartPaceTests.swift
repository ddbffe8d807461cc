import Testing

@testable import WorkerPool

@Suite struct StartPaceTests {
  @Test func moreProcessesAreStartedAsThoseBeforeThemArrive() {
    #expect(StartPace.room(arriving: 0, arrived: 0, processors: 2) == 4)
    #expect(StartPace.room(arriving: 4, arrived: 0, processors: 2) == 0, "the others wait for these")
    #expect(StartPace.room(arriving: 1, arrived: 3, processors: 2) == 3)
    #expect(StartPace.room(arriving: 0, arrived: 20, processors: 2) == 20, "those before them came up")
    #expect(StartPace.room(arriving: 30, arrived: 900, processors: 2) == 2)
    #expect(StartPace.room(arriving: 40, arrived: 900, processors: 2) == 0)
  }
}
