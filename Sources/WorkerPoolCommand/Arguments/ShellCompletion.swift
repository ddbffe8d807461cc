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
      return """
            \(command.name))
              options="\(options.map { "--\($0.name)" }.joined(separator: " "))"
              paths=" \(paths.joined(separator: " ")) "
              values=" \(others.joined(separator: " ")) "
              ;;
        """
    }
    return """
      # bash completion of workerpool; made by `workerpool completion bash`
      _workerpool() {
        local word=${COMP_WORDS[COMP_CWORD]} last=${COMP_WORDS[COMP_CWORD - 1]} options= paths= values=
        COMPREPLY=()
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
          return
        elif [[ $word == -* ]]; then
          COMPREPLY=($(compgen -W "$options" -- "$word"))
        fi
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
        let value = option.value.map { ":\($0):\(paths.contains($0) ? "_files" : " ")" } ?? ""
        let repeating = option.isRepeating ? "*" : ""
        return "      " + ShellWord.quoted("\(repeating)--\(option.name)[\(brackets(option.help))]\(value)")
      }
      return """
            \(command.name)) _arguments \\
        \(specifications.joined(separator: " \\\n")) \\
              '*:: :_files' ;;
        """
    }
    return """
      #compdef workerpool
      # zsh completion of workerpool; made by `workerpool completion zsh`
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
    var lines = ["# fish completion of workerpool; made by `workerpool completion fish`", "complete -c workerpool -f"]
    for command in commands {
      lines.append(
        "complete -c workerpool -n __fish_use_subcommand -a \(command.name) -d \(ShellWord.quoted(command.summary))")
    }
    for command in commands {
      for option in options(command) {
        let short = option.short.map { " -s \($0)" } ?? ""
        let value = option.value.map { paths.contains($0) ? " -r -F" : " -x" } ?? ""
        lines.append(
          "complete -c workerpool -n '__fish_seen_subcommand_from \(command.name)' -l \(option.name)\(short)\(value)"
            + " -d \(ShellWord.quoted(option.help))")
      }
    }
    return lines.joined(separator: "\n") + "\n"
  }
}
