/// Every command, in the order of the help.
let allCommands: [CommandDescription] = [
  runCommand, submitCommand, statusCommand, webCommand, reportCommand, jobsCommand, failuresCommand, periodicCommand,
  workersCommand, fetchCommand, logsCommand, retryCommand, cancelCommand, deleteCommand,
  pauseCommand, resumeCommand, scaleCommand, reloadCommand, reexecCommand, stopCommand, migrateCommand, copyCommand,
  systemdUnitCommand, monitoringCommand,
  completionCommand, manualCommand, exampleCommand, demoCommand,
]
