import Foundation
import LinuxSystem

let completionCommand = CommandDescription(
  name: "completion", summary: "Print a script by which a shell completes commands and options",
  discussion: """
    Put the script where the shell looks for it:

      workerpool completion bash > /usr/share/bash-completion/completions/workerpool
      workerpool completion zsh > /usr/share/zsh/vendor-completions/_workerpool
      workerpool completion fish > /usr/share/fish/vendor_completions.d/workerpool.fish
    """,
  operands: [
    Operand(name: "SHELL", help: "bash, zsh or fish; or values, by which the scripts ask for a list"),
    Operand(name: "LIST", help: "with values: \(CompletionValues.names)", isOptional: true),
  ],
  options: [CommonOptions.queue],
  run: { arguments in
    if arguments.operands[0] == "values", arguments.operands.count == 2 {
      guard let list = CompletionValues(rawValue: arguments.operands[1]) else {
        throw UsageError("\"\(arguments.operands[1])\" is none of \(CompletionValues.names)")
      }
      // A name that a shell would read as several lines completes nothing.
      try list.values(arguments).filter { !$0.contains(where: \.isNewline) }.forEach(Output.line)
      return .success
    }
    guard arguments.operands.count == 1, let shell = ShellCompletion(rawValue: arguments.operands[0]) else {
      throw UsageError("\"\(arguments.operands[0])\" is not bash, zsh or fish")
    }
    Output.text(shell.script(allCommands))
    return .success
  })

let monitoringCommand = CommandDescription(
  name: "monitoring", summary: "Print a dashboard for Grafana, or alert rules for Prometheus",
  discussion: """
    Both use the metrics of `run --metrics-file`, which Prometheus' node exporter collects, or those that Prometheus
    fetches from `workerpool web` (/metrics):

      workerpool monitoring dashboard > dashboard.json     # in Grafana: Dashboards, New, Import
      workerpool monitoring alerts > workerpool.yml        # beside prometheus.yml; rule_files names it
    """,
  operands: [Operand(name: "WHAT", help: "dashboard or alerts")], options: [],
  run: { arguments in
    switch arguments.operands[0] {
    case "dashboard": Output.text(String(decoding: PackageResources.dashboard_json, as: UTF8.self))
    case "alerts": Output.text(String(decoding: PackageResources.alerts_yml, as: UTF8.self))
    case let other: throw UsageError("\"\(other)\" is neither dashboard nor alerts")
    }
    return .success
  })

let manualCommand = CommandDescription(
  name: "manual", summary: "Print a manual page, or write all of them into a directory",
  discussion: """
    The pages are in the format of man(1):

      workerpool manual run | man -l -
      workerpool manual --output /usr/share/man/man1
    """,
  operands: [Operand(name: "COMMAND", help: "a command; without it the page of workerpool itself", isOptional: true)],
  options: [CommandOption(name: "output", value: "DIR", help: "write the page of each command into this directory")],
  run: { arguments in
    guard let directory = arguments.string("output") else {
      guard let name = arguments.operands.first else {
        Output.text(ManualPage.overview(allCommands))
        return .success
      }
      guard let command = allCommands.first(where: { $0.name == name }) else {
        throw UsageError("workerpool has no command \(name)")
      }
      Output.text(ManualPage.page(for: command))
      return .success
    }
    let pages =
      [("workerpool", ManualPage.overview(allCommands))]
      + allCommands.map { ("workerpool-\($0.name)", ManualPage.page(for: $0)) }
    for (name, page) in pages {
      try ReplacingFile.write(page.utf8, to: "\(directory)/\(name).1", mode: 0o644, surviving: .processes)
    }
    return .success
  })
