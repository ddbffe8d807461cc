/// Every command, in the order of the help.
let allCommands: [CommandDescription] = [
  runCommand, submitCommand, statusCommand, jobsCommand, workersCommand, fetchCommand, retryCommand, cancelCommand,
  pauseCommand, resumeCommand, scaleCommand, reloadCommand, stopCommand, systemdUnitCommand, demoCommand,
]
