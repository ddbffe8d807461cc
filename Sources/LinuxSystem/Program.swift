import CSystem
import Glibc

/// A program, and how to start it.
package struct Program: Sendable {
  package var path: String
  package var arguments: [String]
  /// The whole environment.
  package var environment: [String: String]
  /// Where it starts; nil for the directory of this process.
  package var directory: String?
  package var limits: [ResourceLimit]
  /// The file `cgroup.procs` of a control group that limits its memory. The process has `RLIMIT_DATA` of ``limits``
  /// only where it cannot get into the group; nil for no group.
  package var memoryGroup: Descriptor?
  /// The signal that the process gets when the thread that started it ends.
  package var parentDeathSignal: Int32
  /// Whether orphans among its descendants become its own children, and not this process's.
  package var isSubreaper = false
  /// The environment variable in which the process finds its own process ID. Processes that it starts inherit the
  /// variable, and have other IDs.
  package var pidVariable: String?
  /// What the process passes on to all that it starts; nil for nothing.
  package var mark: ProcessMark?
  /// The limits of the process and all that it starts, which cannot be lifted later; nil for those of this process.
  package var confinement: Confinement?

  /// The number at which a program finds the descriptor that it inherits beside the standard ones.
  package static let inheritedDescriptor = Int32(csystem_inherited)

  package init(
    path: String, arguments: [String] = [], environment: [String: String], limits: [ResourceLimit] = [],
    parentDeathSignal: Int32 = SIGKILL
  ) {
    self.path = path
    self.arguments = arguments
    self.environment = environment
    self.limits = limits
    self.parentDeathSignal = parentDeathSignal
  }

  /// Starts the program in a process group of its own, with default signals, without new privileges, and with no
  /// descriptor but these. Blocks as long as execve(2) does: the program's file system may hang.
  ///
  /// - Parameters:
  ///   - input: its standard input; nil for `/dev/null`.
  ///   - inherited: what it finds at the number ``inheritedDescriptor``; nil for nothing.
  /// - Returns: the ID of the process, which the caller waits for.
  package func start(
    input: Descriptor? = nil, output: Descriptor, errors: Descriptor, inherited: Descriptor? = nil
  ) throws(SystemCallError) -> pid_t {
    let bounds = try confinement?.prepare()
    let pidText = pidVariable.map { strdup("\($0)=0000000000") }
    var arguments = ([path] + arguments).map { strdup($0) } + [nil]
    var environment = environment.map { strdup("\($0.key)=\($0.value)") } + (pidText.map { [$0] } ?? []) + [nil]
    let folder = directory.map { strdup($0) } ?? nil
    defer { for string in arguments + environment + [folder] { free(string) } }
    let limits = limits.map { csystem_limit(resource: $0.resource, value: $0.value) }
    var pid: pid_t = 0
    let error = (bounds?.filter ?? []).withUnsafeBufferPointer { filter in
      path.withCString { path in
        arguments.withUnsafeMutableBufferPointer { arguments in
          environment.withUnsafeMutableBufferPointer { environment in
            limits.withUnsafeBufferPointer { limits in
              var program = csystem_program(
                path: path, arguments: arguments.baseAddress, environment: environment.baseAddress,
                standard_output: output.number, standard_error: errors.number, parent_death_signal: parentDeathSignal,
                limits: limits.baseAddress, limit_count: Int32(limits.count), standard_input: input?.number ?? 0,
                inherited: inherited?.number ?? 0, directory: folder.map { UnsafePointer($0) },
                is_subreaper: isSubreaper ? 1 : 0,
                own_pid: (pidText ?? nil).map { $0 + (pidVariable ?? "").utf8.count + 1 }, mark: mark?.bits ?? 0,
                ruleset: bounds?.ruleset.number ?? 0, filter: filter.baseAddress, filter_length: Int32(filter.count),
                memory_group: memoryGroup?.number ?? 0)
              return csystem_spawn(&program, &pid)
            }
          }
        }
      }
    }
    guard error == 0 else {
      // execve(2) says ENOENT for both: no file, and a script whose interpreter is not there.
      let interpreter = error == ENOENT ? Self.interpreter(of: path) : nil
      throw SystemCallError(
        "spawn", path: path, number: error,
        detail: interpreter.map { "the program is there, but its interpreter \($0) is not" })
    }
    return pid
  }

  /// The interpreter that the first line of a script names; nil for another file, and for none.
  private static func interpreter(of path: String) -> String? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var line = [UInt8](repeating: 0, count: 256)
    let count = read(descriptor, &line, line.count)
    guard count > 2, line.starts(with: "#!".utf8) else { return nil }
    let text = line[2..<count].prefix { $0 != UInt8(ascii: "\n") }
    return text.split(separator: UInt8(ascii: " ")).first.map { String(decoding: $0, as: UTF8.self) }
  }
}

/// A resource limit, as setrlimit(2) takes it.
package struct ResourceLimit: Equatable, Sendable {
  package let resource: Int32
  package let value: UInt64

  package init(resource: Int32, value: UInt64) {
    self.resource = resource
    self.value = value
  }
}
