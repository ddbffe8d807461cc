import Foundation
import Jobs
import WorkerProtocol

/// Why a line of the status socket is not a request.
struct StatusRequestError: Error, Equatable {
  let reason: String
}

extension StatusRequest {
  /// Processes that may be asked for, and seconds of a deadline.
  static let counts = 0...PoolLimit.workers
  static let deadlines = 0.0...86_400.0

  /// Reads a line strictly: an unknown key, or a value out of range, is an error and is not ignored.
  static func parse(_ line: String) throws(StatusRequestError) -> StatusRequest {
    let members: [JSONMember]
    do {
      guard let object = try JSONParser.parse(line).objectValue else {
        throw StatusRequestError(reason: "a request is a JSON object")
      }
      members = object
    } catch let error as StatusRequestError {
      throw error
    } catch {
      throw StatusRequestError(reason: "a request is one JSON object on a line: \(error)")
    }
    for member in members where !keys.contains(member.name) {
      let hint = Spelling.hint(to: member.name, among: keys, .quotes)
      throw StatusRequestError(reason: "unknown key \"\(member.name)\"\(hint)")
    }
    let request: StatusRequest
    do {
      request = try JSONDecoder().decode(StatusRequest.self, from: Data(line.utf8))
    } catch {
      let commands = Command.allCases.map(\.rawValue).joined(separator: ", ")
      throw StatusRequestError(
        reason: "not a request of workerpool \(Release.text), which runs here; its commands are \(commands)")
    }
    if let count = request.count, !counts.contains(count) {
      throw StatusRequestError(reason: "count must be from \(counts.lowerBound) to \(counts.upperBound)")
    }
    if let deadline = request.deadline, !deadlines.contains(deadline) {
      throw StatusRequestError(reason: "deadline must be from 0 to \(Int(deadlines.upperBound)) seconds")
    }
    try checkNames(request)
    return request
  }

  /// A name that no job can have is an error at once: it is neither searched for nor kept.
  private static func checkNames(_ request: StatusRequest) throws(StatusRequestError) {
    for (key, name) in [("queue", request.queue), ("kind", request.kind)] {
      guard let name, !JobRequest.isName(name) else { continue }
      throw StatusRequestError(reason: "\(key) must be 1 to 100 letters, digits, \".\", \"_\" and \"-\"")
    }
    for (key, name) in [("plugin", request.plugin), ("batch", request.batch)] {
      guard let name, !(1...longestName).contains(name.utf8.count) else { continue }
      throw StatusRequestError(reason: "\(key) must have 1 to \(longestName) bytes")
    }
    if let name = request.webUser, name.utf8.count > longestName {
      throw StatusRequestError(reason: "webUser must have at most \(longestName) bytes")
    }
  }

  /// Bytes of a plugin's or a batch's name.
  private static let longestName = 255

  /// The names of the properties are the keys.
  private static let keys = Mirror(reflecting: StatusRequest(.status)).children.compactMap(\.label)
}
