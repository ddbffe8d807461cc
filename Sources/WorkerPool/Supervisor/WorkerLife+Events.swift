import LinuxSystem

/// What happens in a worker's life, and what the supervisor does about it.
extension WorkerLife {
  /// An event of the process, or a request to it.
  enum Event: Equatable, Sendable {
    /// There is a process now.
    case started
    /// There will be none.
    case couldNotStart(SystemCallError)
    /// It said a valid hello.
    case hello
    /// It said an invalid hello.
    case refused(StartFailure)
    /// It closed its connection, or broke the protocol.
    case disconnected
    /// It has to be replaced.
    case retire
    /// Its successors cannot be started, so it stays.
    case keep
    /// It is not needed any more.
    case drain
    /// It was told to finish, and holds no job any more.
    case idle
    /// The pool does not wait any longer for its jobs in hand.
    case terminate
    /// It holds jobs and has not answered for this many seconds.
    case hung(seconds: Double)
    /// Its job has used more than it may, for this cause: it is asked for its stacks, and killed.
    case overran(Obituary.Cause)
    /// It has to end at once.
    case kill(Obituary.Cause)
    /// The time of the last effect ``Effect/wait(_:)`` is over.
    case deadline
    case exited(Death)
  }

  /// The purpose of a wait.
  enum Wait: CaseIterable, Sendable {
    /// To say hello.
    case hello
    /// To exit by itself, before it is killed.
    case exit
    /// To print its stacks.
    case stacks
    /// To print more of them, once it has begun.
    case moreStacks
  }

  /// An action of the supervisor.
  enum Effect: Equatable, Sendable {
    /// Report to the log that the process is there, and connect it.
    case announce
    /// Note that it came up, and how long that took.
    case cameUp
    /// Tell the log why its hello was not valid.
    case tellRefusal(StartFailure)
    /// Forget a process that does not exist; if it comes into being, it is killed.
    case forget
    /// No process could be started, for this reason.
    case blameStart(SystemCallError)
    /// The program's file system does not answer.
    case blameFileSystem
    /// Tell the coordinator that it gets no more jobs.
    case tellDrain
    case wait(Wait)
    /// Send it a signal, and to all that it has started.
    case signal(Int32)
    /// Send a signal to the process alone.
    case signalLeader(Int32)
    /// Write a line that begins with the name of the process.
    case log(LogEvent, String)
    /// Settle its jobs and its slot.
    case bury(Death, Ending)
  }

  /// How a process ended, for its slot and its plugin.
  enum Ending: Equatable, Sendable {
    /// As the pool wanted: it went when it was told to, or the pool ended it because it stops or needs fewer processes.
    case wanted
    /// It never came up. Without a reason it had ended before it said hello.
    case neverCameUp(StartFailure?)
    /// It died. Where its plugin may be at fault its slot may stay empty for a while.
    case died(mayBlamePlugin: Bool)
  }
}
