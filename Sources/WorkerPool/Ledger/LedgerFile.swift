import CSystem
import Glibc
import Jobs
import LinuxSystem

/// The file of a ledger: mapped into memory, so that writing costs no system call and outlives a `kill -9`, with a copy
/// in memory from which the file is made again when another process has removed or truncated it.
///
/// A record of 32 bytes takes 10 ns so, and 1.1 µs by pwrite(2). A job has three records, and takes 36 µs of all
/// processors where the pool runs 55,000 a second: 9 %. One write for sixteen records would be 80 ns each. But each
/// write is an event (IN_MODIFY) for the watch that notices when another process truncates the file: with that a write
/// takes 3.2 µs, and wakes the loop once more. So the price of no system call, the handler of SIGBUS in
/// ``TruncatedPages``, is the smaller one.
///
/// Used on one thread at a time.
final class LedgerFile {
  let path: String
  private var descriptor: Descriptor
  private var mapping: LedgerMapping
  private var copy: UnsafeMutableRawPointer
  private(set) var size: Int

  /// Makes the file. There must be none at the path.
  init(path: String, size: Int) throws(FileError) {
    self.path = path
    self.size = size
    descriptor = try Self.make(path)
    do {
      mapping = try LedgerMapping(descriptor, path, size: size)
    } catch {
      unlink(path)
      throw error
    }
    copy = .allocate(byteCount: size, alignment: 16)
    memset(copy, 0, size)
  }

  deinit { copy.deallocate() }

  func store<Value: BitwiseCopyable>(_ value: Value, at offset: Int) {
    mapping.start.storeBytes(of: value, toByteOffset: offset, as: Value.self)
    copy.storeBytes(of: value, toByteOffset: offset, as: Value.self)
  }

  /// Stores a value after all that was stored before, as other processes see it.
  func storeInOrder(_ value: UInt32, at offset: Int) {
    csystem_store_in_order(mapping.start + offset, value)
    copy.storeBytes(of: value, toByteOffset: offset, as: UInt32.self)
  }

  func load(at offset: Int) -> UInt32 { copy.load(fromByteOffset: offset, as: UInt32.self) }

  func grow(to larger: Int) throws(FileError) {
    mapping = try LedgerMapping(descriptor, path, size: larger)
    // The same as before, unless the file was truncated.
    memcpy(mapping.start, copy, size)
    let bytes = UnsafeMutableRawPointer.allocate(byteCount: larger, alignment: 16)
    memset(bytes + size, 0, larger - size)
    memcpy(bytes, copy, size)
    copy.deallocate()
    copy = bytes
    size = larger
  }

  /// Whether the path leads to this file, and the file has its whole length.
  var isIntact: Bool {
    var (there, own) = (stat(), stat())
    return stat(path, &there) == 0 && fstat(descriptor.number, &own) == 0 && FileID(there) == FileID(own)
      && Int(own.st_size) >= size
  }

  /// Puts a whole file into its place.
  func makeAgain() throws(FileError) {
    let newPath = path + ".new"
    unlink(newPath)
    let file = try Self.make(newPath)
    do throws(FileError) {
      let new = try LedgerMapping(file, newPath, size: size)
      memcpy(new.start, copy, size)
      guard rename(newPath, path) == 0 else {
        throw FileError(path: path, action: "be put in place", errno: errno)
      }
      (descriptor, mapping) = (file, new)
    } catch {
      unlink(newPath)
      throw error
    }
  }

  private static func make(_ path: String) throws(FileError) -> Descriptor {
    do {
      return try Descriptor(open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600), "open")
    } catch {
      throw FileError(path: path, action: "be made", errno: error.number)
    }
  }
}

/// A ledger's file in memory.
///
/// When another process truncates the file, writing to its pages raises SIGBUS (mmap(2)). A handler then puts an empty
/// page there that belongs to this process alone: what is written to it is lost for others until the file is made
/// again.
final class LedgerMapping {
  let start: UnsafeMutableRawPointer
  private let size: Int
  private let slot: Int?

  /// Allocates the file's blocks before it is mapped: writing to a page without a block raises SIGBUS when the disk is
  /// full (mmap(2)).
  init(_ descriptor: Descriptor, _ path: String, size: Int) throws(FileError) {
    let error = posix_fallocate(descriptor.number, 0, size)
    guard error == 0 else { throw FileError(path: path, action: "get \(size) bytes", errno: error) }
    let flags = PROT_READ | PROT_WRITE
    guard let start = mmap(nil, size, flags, MAP_SHARED, descriptor.number, 0), start != MAP_FAILED else {
      throw FileError(path: path, action: "be mapped", errno: errno)
    }
    self.start = start
    self.size = size
    slot = TruncatedPages.guardRange(start, size: size)
  }

  deinit {
    if let slot { TruncatedPages.forget(slot) }
    munmap(start, size)
  }
}
