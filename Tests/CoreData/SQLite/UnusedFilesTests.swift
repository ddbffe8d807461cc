import Foundation
import StoreTools
import TestFiles
import Testing

@testable import CoreData

/// Files of external data leave when no row names them and nobody can need them, and not before.
@Suite("Unused files of external data") struct UnusedFilesTests {
  private let large = ExternalPhotos.large

  private func remove(_ store: TemporaryStore) throws -> Int? {
    try StoreMaintenance(url: store.url).removeUnusedFiles()
  }

  @Test("Files that a killed save leaves are removed, by maintenance and by the next opening")
  func killed() async throws {
    let store = try ExternalPhotos.store()
    try store.save { $0.make("Photo", ["name": "a", "data": ExternalPhotos.large(1)]) }
    for round in 0..<2 {
      await #expect(processExitsWith: .signal(SIGKILL)) { [place = store.url.path as String] in
        let coordinator = NSPersistentStoreCoordinator(managedObjectModel: ExternalPhotos.model())
        try coordinator.addPersistentStore(
          ofType: NSSQLiteStoreType, configurationName: nil, at: URL(fileURLWithPath: place), options: nil)
        let opened = try #require(coordinator.persistentStores.first as? SQLiteStore)
        try opened.database.write { connection in
          // The files are there, and the transaction is not committed.
          for byte: UInt8 in 0..<3 { _ = opened.externalFiles?.stored(ExternalPhotos.large(byte)) }
          kill(getpid(), SIGKILL)
        }
      }
      #expect(ExternalPhotos.files(beside: store.url).count == 4)
      if round == 0 {
        try #expect(remove(store) == 3)
      } else {
        _ = try ExternalPhotos.open(store.url)
      }
      #expect(ExternalPhotos.files(beside: store.url).count == 1)
    }
    try #expect(ExternalPhotos.values(at: store.url) == [large(1)])
  }

  @Test("Files of a transaction that is not committed, and of a copy that is being made, stay")
  func unfinished() throws {
    let store = try ExternalPhotos.store()
    let opened = try #require(store.coordinator.persistentStores.first as? SQLiteStore)
    let files = try #require(opened.externalFiles)
    try opened.database.write { _ in
      _ = files.stored(large(1))
      try #expect(remove(store) == nil)
      #expect(ExternalPhotos.files(beside: store.url).count == 1)
    }
    files.removeWritten()
    let other = try ExternalPhotos.store()
    try other.save { $0.make("Photo", ["name": "b", "data": large(2)]) }
    let names = ExternalPhotos.files(beside: other.url)
    try files.folder.bring(names, from: ExternalFolder(of: other.url)) {
      #expect(ExternalPhotos.files(beside: store.url) == names)
      try #expect(remove(store) == nil)
      #expect(ExternalPhotos.files(beside: store.url) == names)
    }
    // No row names them, since nothing was copied but files.
    try #expect(remove(store) == 1)
  }

  @Test("Files that were brought by a copy that failed are removed")
  func failedCopy() throws {
    let (store, other) = (try ExternalPhotos.store(), try ExternalPhotos.store())
    try store.save { $0.make("Photo", ["name": "a", "data": large(1)]) }
    let folder = ExternalFolder(of: other.url)
    let names = ExternalPhotos.files(beside: store.url)
    #expect(throws: CancellationError.self) {
      try folder.bring(names, from: ExternalFolder(of: store.url)) { throw CancellationError() }
    }
    #expect(!FileManager.default.fileExists(atPath: ExternalData.supportFolder(of: other.url).path))
  }

  @Test("A file stays while another process reads a state in which a row names it", .enabled(if: Python.isThere))
  func otherProcess() throws {
    let store = try ExternalPhotos.store()
    try store.save { $0.make("Photo", ["name": "a", "data": large(1)]) }
    let old = ExternalPhotos.files(beside: store.url)
    let python = try Python(
      """
      import sqlite3, sys
      base = sqlite3.connect(sys.argv[1], isolation_level=None)
      base.execute("BEGIN")
      base.execute("SELECT count(*) FROM ZPHOTO").fetchall()
      print("pinned", flush=True)
      sys.stdin.readline()
      name = base.execute("SELECT substr(ZDATA, 2, 36) FROM ZPHOTO").fetchone()[0].decode()
      print(len(open(sys.argv[2] + "/" + name, "rb").read()), flush=True)
      base.execute("COMMIT")
      base.close()
      """, store.url.path, ExternalPhotos.folder(of: store.url).path)
    #expect(python.line() == "pinned")
    try store.save { context in try context.all("Photo").first?.setValue(large(2), forKey: "data") }
    try #expect(remove(store) == nil)
    python.go()
    #expect(python.line() == "300000")
    python.wait()
    try #expect(remove(store) == 1)
    #expect(ExternalPhotos.files(beside: store.url).isDisjoint(with: old))
  }

  @Test("Files of many replaced values leave while the store is open, and the last ones when it is closed")
  func whileOpen() throws {
    let store = try ExternalPhotos.store()
    let coordinator = try store.otherCoordinator()
    let context = coordinator.context()
    try context.performAndWait {
      let photo = context.make("Photo", ["name": "a"])
      for byte in 0..<60 {
        photo.setValue(large(UInt8(byte)), forKey: "data")
        try context.save()
      }
      #expect(ExternalPhotos.files(beside: store.url).count < 60)
      #expect(ExternalPhotos.files(beside: store.url).count > 1)
    }
    try coordinator.remove(try #require(coordinator.persistentStores.first))
    #expect(ExternalPhotos.files(beside: store.url).count == 1)
    try #expect(ExternalPhotos.values(at: store.url) == [large(59)])
  }

  @Test("A check lists the missing files, and a backup refuses to leave one out")
  func check() throws {
    let store = try ExternalPhotos.store()
    try store.save { $0.make("Photo", ["name": "a", "data": large(1)]) }
    try #expect(StoreMaintenance(url: store.url).problems().isEmpty)
    let name = try #require(ExternalPhotos.files(beside: store.url).first)
    unlink(ExternalPhotos.folder(of: store.url).appendingPathComponent(name).path)
    let problems = try StoreMaintenance(url: store.url).problems()
    #expect(problems.count == 1 && problems[0].contains(name) && problems[0].contains("ZPHOTO"))
    let backup = store.folder.appendingPathComponent("copy.sqlite")
    let error = #expect(throws: NSError.self) { try StoreMaintenance(url: store.url).backUp(to: backup) }
    #expect(error?.localizedDescription.contains(name) == true)
    #expect(!FileManager.default.fileExists(atPath: backup.path))
    #expect(!FileManager.default.fileExists(atPath: ExternalData.supportFolder(of: backup).path))
  }

  @Test("A second backup to the same place takes the place of the first one's files")
  func secondBackup() throws {
    let store = try ExternalPhotos.store()
    try store.save { $0.make("Photo", ["name": "a", "data": large(1)]) }
    let backup = store.folder.appendingPathComponent("copy.sqlite")
    try StoreMaintenance(url: store.url).backUp(to: backup)
    try ExternalPhotos.replaceAll(at: store.url, by: large(2))
    try StoreMaintenance(url: store.url).backUp(to: backup)
    #expect(ExternalPhotos.files(beside: backup).count == 1)
    try #expect(ExternalPhotos.values(at: backup) == [large(2)])
  }

  @Test("A value that the history preserves keeps its file")
  func preserved() throws {
    let model = ExternalPhotos.model()
    model.entitiesByName["Photo"]?.attributesByName["data"]?.preservesValueInHistoryOnDeletion = true
    let store = try TemporaryStore(model, options: [NSPersistentHistoryTrackingKey: true])
    let photo = try store.save { $0.make("Photo", ["name": "a", "data": large(1)]) }
    try store.save { $0.delete($0.object(with: photo.objectID)) }
    try #expect(remove(store) == 0)
    try store.read { context in
      let request = NSPersistentHistoryChangeRequest.fetchHistory(after: nil as NSPersistentHistoryToken?)
      let result = try context.execute(request) as? NSPersistentHistoryResult
      let changes = (result?.result as? [NSPersistentHistoryTransaction])?.flatMap { $0.changes ?? [] } ?? []
      #expect(changes.last?.tombstone?["data"] as? Data == large(1))
      _ = try context.execute(NSPersistentHistoryChangeRequest.deleteHistory(before: Date.distantFuture))
    }
    try #expect(remove(store) == 1)
  }
}

/// A process that reads stores as any program may.
private final class Python {
  static let isThere: Bool = {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["python3", "-c", "import sqlite3"]
    process.standardError = FileHandle.nullDevice
    guard (try? process.run()) != nil else { return false }
    process.waitUntilExit()
    return process.terminationStatus == 0
  }()

  private let process = Process()
  private let (input, output) = (Pipe(), Pipe())

  init(_ program: String, _ arguments: String...) throws {
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["python3", "-c", program] + arguments
    process.standardInput = input
    process.standardOutput = output
    try process.run()
  }

  func line() -> String {
    var text = ""
    while case let byte = output.fileHandleForReading.readData(ofLength: 1), !byte.isEmpty, byte != Data([10]) {
      text += String(decoding: byte, as: UTF8.self)
    }
    return text
  }

  func go() { input.fileHandleForWriting.write(Data("go\n".utf8)) }

  func wait() { process.waitUntilExit() }
}
