import Jobs

// Names that the folder `Pool` uses until its parts are moved. They go with that.

typealias JobSourceClaim = InheritedJob

extension Coordinator {
  var claimedElsewhere: Set<JobKey> { survivorJobs }
  var waitingByKind: [String: Int] { notBegunByKind }
  mutating func startableByKind() -> [String: Int] { demandByKind() }
  mutating func lookForNewJobs() { refetchAll() }
  mutating func lookForWaitingJobs() { checkDependents() }
  mutating func noteOver(_ jobs: [JobKey]) { releaseDependents(of: jobs) }
  mutating func setClaimedElsewhere(_ jobs: [InheritedJob]) { setSurvivorJobs(jobs) }
  mutating func setWaitsForStrangers(_ waits: Bool) { setWaitsForSurvivors(waits) }
}
