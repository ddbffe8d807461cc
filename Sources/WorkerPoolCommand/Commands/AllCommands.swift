/// Every command, in the order of the help.
let allCommands: [CommandDescription] = [
  runCommand, submitCommand, tryCommand, statusCommand, webCommand, reportCommand, jobsCommand, failuresCommand,
  periodicCommand, workersCommand, fetchCommand, logsCommand, retryCommand, cancelCommand, deleteCommand, undoCommand,
  pauseCommand, resumeCommand, scaleCommand, reloadCommand, reexecCommand, stopCommand, migrateCommand, copyCommand,
  systemdUnitCommand, monitoringCommand,
  completionCommand, manualCommand, exampleCommand, demoCommand,
]
