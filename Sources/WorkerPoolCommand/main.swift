import Glibc

exit(CommandLineTool(commands: allCommands).run(Array(CommandLine.arguments.dropFirst())).rawValue)
