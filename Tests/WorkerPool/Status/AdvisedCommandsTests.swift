import PoolClient
import Testing

@Suite struct AdvisedCommandsTests {
  private let advice = "2 jobs are dead; why: workerpool jobs --state dead; to run one again: workerpool retry JOB"

  @Test func commandsNameTheQueueDirectoryThatTheReaderNamed() {
    let completed = AdvisedCommands(queue: "other/my queue").completed(advice)
    #expect(
      completed == "2 jobs are dead; why: workerpool jobs --queue 'other/my queue' --state dead; "
        + "to run one again: workerpool retry --queue 'other/my queue' JOB")
  }

  @Test func commandsForThePoolOfTheDirectoryStayAsTheyAre() {
    #expect(AdvisedCommands.plain.completed(advice) == advice)
  }
}
