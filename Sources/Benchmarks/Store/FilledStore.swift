import BenchmarkRows
import CoreData
import Foundation
import LinuxSystem

/// A store of people that another process filled, so that this process's memory is as fresh as that of a program that
/// opens a store.
final class FilledStore {
  private let template: Stack.Folder

  /// - Parameter teams: the number of teams of the people.
  init(rows: Int, teams: Int = 0) throws {
    template = try Stack.Folder()
    let path = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().path
    let program = Program(
      path: path, arguments: [Self.option, "\(rows)", "\(teams)", template.url.path],
      environment: ProcessInfo.processInfo.environment)
    let errors = try Descriptor(fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0), "fcntl")
    var status: Int32 = 0
    let pid = try program.start(output: errors, errors: errors)
    while waitpid(pid, &status, 0) < 0, errno == EINTR {}
    guard status == 0 else { throw UsageError("the store of \(rows) rows could not be filled") }
  }

  /// A coordinator on a copy of the file, which is removed with the stack.
  func copy() throws -> Stack {
    let folder = try Stack.Folder()
    try FileManager.default.copyItem(
      at: template.url.appendingPathComponent(Stack.fileName), to: folder.url.appendingPathComponent(Stack.fileName))
    return try Stack(folder)
  }

  // MARK: The other process

  private static let option = "--fill"

  /// Fills a store and exits, if this process was started for that.
  static func fillIfWanted() throws {
    let arguments = CommandLine.arguments.dropFirst()
    guard arguments.first == option else { return }
    let values = Array(arguments.dropFirst())
    guard values.count == 3, let rows = Int(values[0]), let teams = Int(values[1]) else { exit(2) }
    try fill(Stack(at: URL(fileURLWithPath: values[2])), rows, teams)
    exit(0)
  }

  private static func fill(_ stack: Stack, _ rows: Int, _ teams: Int) throws {
    let context = stack.context()
    try context.performAndWait {
      let newTeams = (0..<teams).map { index in
        let team = Team(context: context)
        team.name = "Team \(index)"
        return team
      }
      for index in 0..<rows {
        let person = Person(context: context)
        person.take(PersonValues(index))
        if teams > 0 { person.team = newTeams[index % teams] }
      }
      try context.save()
    }
    // Closing the last connection moves the log into the file, which can then be copied.
    for store in stack.coordinator.persistentStores { try stack.coordinator.remove(store) }
  }
}
