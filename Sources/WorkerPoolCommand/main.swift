import Glibc

// Whoever started this may have had signals blocked, as the threads of Dispatch have; a new program inherits that
// (signal(7)), and could not be stopped by SIGTERM.
var noSignals = sigset_t()
sigemptyset(&noSignals)
pthread_sigmask(SIG_SETMASK, &noSignals, nil)
signal(SIGPIPE, SIG_DFL)

exit(CommandLineTool(commands: allCommands).run(Array(CommandLine.arguments.dropFirst())).rawValue)
