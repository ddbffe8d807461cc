import Foundation
import Glibc
import Jobs
import LinuxSystem
import PoolClient
import WorkerProtocol

/// The answer of a program that is asked whether it could take over a running pool, with the options of that pool.
enum HandoverCheck {
  /// What it prints when it could.
  static let answer = "workerpool takes over"

  /// Makes sure that the pool could go on with this program: what it hands over can be read, its options and its model
  /// can be used, the store needs no change for which it must be stopped, and there is room for a new ledger. Leaves
  /// nothing changed.
  ///
  /// - Throws: what is in the way.
  static func run(_ handed: Result<Handover, Handover.Unreadable>, _ configuration: PoolConfiguration) throws {
    let handover = try handed.get()
    for (option, path, former) in [
      ("queue", configuration.queue, handover.queue), ("store", configuration.store, handover.store),
    ] where FileID(path: path) != FileID(path: former) {
      throw Handover.Unreadable(
        description: "--\(option) is \(path) now, and the pool runs on \(former); stop the pool to change that")
    }
    if let difference = ModelFit.difference(model: configuration.model, store: configuration.store) {
      throw Pool.StartError.modelDoesNotFit(
        model: configuration.model, store: configuration.store, difference: difference)
    }
    do {
      _ = try StoreReader(poolStore: configuration.store)
    } catch {
      throw Pool.StartError.store(path: configuration.store, reason: ErrorText.text(error))
    }
    try OutputFiles.check(configuration)
    if let path = configuration.recording { try ConversationRecorder.check(path: path) }
    try PluginPresence.require(in: configuration.pluginDirectories)
    try requireRoom(QueueLayout(root: configuration.queue).run + "/handover.new")
    print(answer)
  }

  /// Makes a ledger's file, and removes it: on a full disk the pool would end when its own cannot be made.
  private static func requireRoom(_ path: String) throws(FileError) {
    unlink(path)
    defer { unlink(path) }
    _ = try LedgerFile(path: path, size: LedgerLayout.offset(ofEntry: LedgerLayout.firstCapacity))
  }
}
