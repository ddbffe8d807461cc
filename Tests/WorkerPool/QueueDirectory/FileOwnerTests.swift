import Foundation
import Testing

@testable import WorkerPool

/// Whose job files are taken.
@Suite(.enabled(if: geteuid() == 0, "only root can give a file away")) struct FileOwnerTests {
  private let stranger: uid_t = 65_534

  private func reasons(allowsGroup: Bool, incomingMode: mode_t = 0o770) async throws -> [String: String] {
    let place = try IntakePlace()
    defer { place.remove() }
    let files: [(name: String, user: uid_t, group: gid_t, mode: mode_t)] = [
      ("own", geteuid(), getegid(), 0o666), ("group", stranger, getegid(), 0o660),
      ("everybody", stranger, getegid(), 0o662), ("other", stranger, 65_534, 0o660),
    ]
    for file in files {
      try place.put(#"{"kind":"a"}"#, file.name)
      let path = place.layout.incoming + "/" + file.name
      #expect(chmod(path, file.mode) == 0 && chown(path, file.user, file.group) == 0)
    }
    #expect(chmod(place.layout.incoming, incomingMode) == 0)
    let store = try place.store()
    let intake = try Intake(layout: place.layout, store: store, owners: FileOwnerRule(allowsGroup: allowsGroup))
    let report = await place.take(files.map(\.name), intake)
    #expect(report.files + report.rejected.count == files.count)
    return Dictionary(uniqueKeysWithValues: report.rejected)
  }

  @Test func withoutTheOptionFilesOfOtherUsersAreRejected() async throws {
    let reasons = try await reasons(allowsGroup: false)
    #expect(reasons.keys.sorted() == ["everybody", "group", "other"])
    #expect(
      reasons["group"]
        == "belongs to user 65534; a job file must belong to the pool's user or to root, unless the pool runs with "
        + "--allow-group"
    )
  }

  @Test func withTheOptionFilesOfTheGroupAreTaken() async throws {
    let reasons = try await reasons(allowsGroup: true)
    #expect(reasons.keys.sorted() == ["everybody", "other"])
    #expect(reasons["everybody"]?.contains("everybody may write it") == true)
    #expect(reasons["other"]?.contains("must belong to the pool's user, root or group \(getegid())") == true)
  }

  @Test func aDirectoryThatEverybodyCanWriteProvesNothing() async throws {
    let reasons = try await reasons(allowsGroup: true, incomingMode: 0o777)
    #expect(reasons.keys.sorted() == ["everybody", "group", "other"])
    #expect(reasons["group"]?.contains("everybody may put files into") == true)
  }
}
