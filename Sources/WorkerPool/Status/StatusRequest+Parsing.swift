import Foundation
import Jobs

/// Why a line of the status socket is no request.
struct StatusRequestError: Error, Equatable {
  let reason: String
}

extension StatusRequest {
  /// Processes that may be asked for, and seconds of a deadline.
  static let counts = 0...1000
  static let deadlines = 0.0...86_400.0

  /// Reads a line strictly: an unknown key, or a value that cannot be meant, is an error and not passed over.
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
      let hint = Spelling.nearest(to: member.name, among: keys).map { "; did you mean \"\($0)\"?" } ?? ""
      throw StatusRequestError(reason: "unknown key \"\(member.name)\"\(hint)")
    }
    let request: StatusRequest
    do {
      request = try JSONDecoder().decode(StatusRequest.self, from: Data(line.utf8))
    } catch {
      let commands = Command.allCases.map(\.rawValue).joined(separator: ", ")
      throw StatusRequestError(reason: "not a request; the commands are \(commands)")
    }
    if let count = request.count, !counts.contains(count) {
      throw StatusRequestError(reason: "count must be from \(counts.lowerBound) to \(counts.upperBound)")
    }
    if let deadline = request.deadline, !deadlines.contains(deadline) {
      throw StatusRequestError(reason: "deadline must be from 0 to \(Int(deadlines.upperBound)) seconds")
    }
    return request
  }

  /// The names of the properties are the keys.
  private static let keys = Mirror(reflecting: StatusRequest(.status)).children.compactMap(\.label)
}
