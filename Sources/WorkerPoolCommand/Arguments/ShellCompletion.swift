import Jobs

/// The scripts by which shells complete the words of a command line, made from the descriptions of the commands.
enum ShellCompletion: String, CaseIterable {
  case bash, zsh, fish

  func script(_ commands: [CommandDescription]) -> String {
    switch self {
    case .bash: Self.bash(commands)
    case .zsh: Self.zsh(commands)
    case .fish: Self.fish(commands)
    }
  }

  /// Values that are paths.
  private static let paths: Set = ["FILE", "DIR", "PATH"]

  /// Values that `workerpool completion values NAME` lists, by what stands behind the option.
  private static let lists = ["STATE": "states", "REASON": "reasons", "ORDER": "orders", "KIND": "kinds"]

  /// The list of an option's values; nil for an option without a list.
  private static func list(_ option: CommandOption) -> String? {
    if ["queue", "job-queue"].contains(option.name), option.value == "NAME" { return "queues" }
    if option.name == "batch" { return nil }
    return option.value.flatMap { lists[$0] }
  }

  /// The list of a command's operands.
  private static func operandList(_ command: CommandDescription) -> String? {
    let names = command.operands.map(\.name)
    if names.contains("JOB") { return "jobs" }
    if names.contains("KIND") { return "kinds" }
    return names.contains("QUEUE") ? "queues" : nil
  }

  private static func options(_ command: CommandDescription) -> [CommandOption] {
    command.options + [CommandOption(name: "help", help: "show the help")]
  }

  // MARK: bash

  private static func bash(_ commands: [CommandDescription]) -> String {
    let cases = commands.map { command in
      let options = options(command)
      let values = options.filter { $0.value != nil }
      let paths = values.filter { Self.paths.contains($0.value ?? "") }.map { "--\($0.name)" }
      let others = values.filter { !Self.paths.contains($0.value ?? "") }.map { "--\($0.name)" }
      let lists = values.compactMap { option in list(option).map { "[--\(option.name)]=\($0)" } }
      return """
            \(command.name))
              options="\(options.map { "--\($0.name)" }.joined(separator: " "))"
              paths=" \(paths.joined(separator: " ")) "
              values=" \(others.joined(separator: " ")) "
              lists=(\(lists.joined(separator: " ")))
              operands=\(operandList(command) ?? "")
              ;;
        """
    }
    return """
      # bash completion of workerpool; made by `workerpool completion bash`
      _workerpool() {
        local part word last words=() options= paths= values= operands=
        local -A lists=()
        COMPREPLY=()
        # bash gives --queue=DIR as three words.
        for part in "${COMP_WORDS[@]:0:COMP_CWORD + 1}"; do
          [[ $part == = ]] || words+=("$part")
        done
        [[ $part != = ]] || words+=("")
        word=${words[-1]} last=${words[-2]}
        if [ "$COMP_CWORD" -eq 1 ]; then
          COMPREPLY=($(compgen -W "\(commands.map(\.name).joined(separator: " ")) --help --version" -- "$word"))
          return
        fi
        case ${COMP_WORDS[1]} in
      \(cases.joined(separator: "\n"))
        esac
        if [[ $paths == *" $last "* ]]; then
          compopt -o filenames
          mapfile -t COMPREPLY < <(compgen -f -- "$word")
        elif [[ $values == *" $last "* ]]; then
          [[ -n ${lists[$last]} ]] && _workerpool_values "${lists[$last]}"
        elif [[ $word == -* ]]; then
          COMPREPLY=($(compgen -W "$options" -- "$word"))
        elif [[ -n $operands ]]; then
          _workerpool_values "$operands"
        fi
      }
      # The values come from the pool of the queue directory that the line names.
      _workerpool_values() {
        local index queue=queue line
        for ((index = 2; index < ${#words[@]} - 1; index++)); do
          [[ ${words[index]} == --queue ]] && queue=${words[index + 1]}
        done
        while IFS= read -r line; do
          [[ $line == "$word"* ]] && COMPREPLY+=("$(printf %q "$line")")
        done < <(workerpool completion values "$1" --queue "$queue" 2>/dev/null)
      }
      complete -F _workerpool workerpool

      """
  }

  // MARK: zsh

  private static func zsh(_ commands: [CommandDescription]) -> String {
    let names = commands.map { "    " + ShellWord.quoted("\($0.name):\(colons($0.summary))") }
      .joined(separator: " \\\n")
    let cases = commands.map { command in
      let specifications = options(command).map { option in
        let list = list(option).map { "{_workerpool_values \($0)}" }
        let value = option.value.map { ":\($0):\(paths.contains($0) ? "_files" : list ?? " ")" } ?? ""
        let repeating = option.isRepeating ? "*" : ""
        // After "=" the value may come in the next word or in the same.
        let name = option.value == nil ? option.name : option.name + "="
        return "      " + ShellWord.quoted("\(repeating)--\(name)[\(brackets(option.help))]\(value)")
      }
      return """
            \(command.name)) _arguments \\
        \(specifications.joined(separator: " \\\n")) \\
              '*: :\(operandList(command).map { "{_workerpool_values \($0)}" } ?? "_files")' ;;
        """
    }
    return """
      #compdef workerpool
      # zsh completion of workerpool; made by `workerpool completion zsh`
      # The values come from the pool of the queue directory that the line names.
      _workerpool_values() {
        local queue=queue index=${words[(I)--queue(|=*)]}
        if [[ $words[index] == --queue ]]; then
          queue=${(Q)words[index + 1]}
        elif (( index )); then
          queue=${(Q)words[index]#--queue=}
        fi
        compadd -- ${(f)"$(workerpool completion values $1 --queue $queue 2>/dev/null)"}
      }
      _workerpool() {
        local -a commands
        commands=( \\
      \(names) )
        if (( CURRENT == 2 )); then
          _describe -t commands 'workerpool command' commands
          return
        fi
        local command=$words[2]
        shift words
        (( CURRENT-- ))
        case $command in
      \(cases.joined(separator: "\n"))
        esac
      }
      _workerpool "$@"

      """
  }

  private static func colons(_ text: String) -> String { text.replacing(":", with: "\\:") }
  private static func brackets(_ text: String) -> String {
    text.replacing("[", with: "\\[").replacing("]", with: "\\]").replacing(":", with: "\\:")
  }

  // MARK: fish

  private static func fish(_ commands: [CommandDescription]) -> String {
    var lines = [
      "# fish completion of workerpool; made by `workerpool completion fish`", "complete -c workerpool -f",
      "# The values come from the pool of the queue directory that the line names.",
      "function __workerpool_values",
      "  set -l queue queue",
      "  set -l last",
      "  for word in (commandline -opc)",
      "    test \"$last\" = --queue; and set queue $word",
      "    string match -q -- '--queue=*' $word; and set queue (string replace -- --queue= '' $word)",
      "    set last $word",
      "  end",
      "  workerpool completion values $argv[1] --queue $queue 2>/dev/null",
      "end",
    ]
    for command in commands {
      lines.append(
        "complete -c workerpool -n __fish_use_subcommand -a \(command.name) -d \(ShellWord.quoted(command.summary))")
    }
    for command in commands {
      if let list = operandList(command) {
        lines.append(
          "complete -c workerpool -n '__fish_seen_subcommand_from \(command.name)' -a '(__workerpool_values \(list))'")
      }
      for option in options(command) {
        let short = option.short.map { " -s \($0)" } ?? ""
        let list = list(option).map { " -a '(__workerpool_values \($0))'" } ?? ""
        let value = option.value.map { paths.contains($0) ? " -r -F" : " -x" + list } ?? ""
        lines.append(
          "complete -c workerpool -n '__fish_seen_subcommand_from \(command.name)' -l \(option.name)\(short)\(value)"
            + " -d \(ShellWord.quoted(option.help))")
      }
    }
    return lines.joined(separator: "\n") + "\n"
  }
}
