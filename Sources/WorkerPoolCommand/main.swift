import Glibc
import WorkerPool

// The process that started this one may have blocked signals, as the threads of Dispatch do; a new program inherits
// that mask.
//
// A pool that takes the place of another program in its process has blocked them on purpose: those that have come
// meanwhile wait.
if !Pool.replacesProgram {
  var noSignals = sigset_t()
  sigemptyset(&noSignals)
  pthread_sigmask(SIG_SETMASK, &noSignals, nil)
}
signal(SIGPIPE, SIG_DFL)

exit(CommandLineTool(commands: allCommands).run(Array(CommandLine.arguments.dropFirst())).rawValue)
