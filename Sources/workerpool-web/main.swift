import Glibc
import WorkerPoolWeb

WebProgram.holdSignals()
exit(WebProgram.run(Array(CommandLine.arguments.dropFirst())))
