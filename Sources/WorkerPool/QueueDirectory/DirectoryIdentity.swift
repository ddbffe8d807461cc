import Foundation
import Glibc
import Jobs
import LinuxSystem

/// The identity of a `taken/` directory, by which the store knows whose taken files it has noted: 128 random bits in
/// hexadecimal, in the file `.identity` of the directory itself.
///
/// It lies beside the files of which the notes speak, so that it is there exactly if they are:
///
/// | the directory | its identity |
/// |---|---|
/// | is moved on its file system, or mounted elsewhere | the same |
/// | is missing, since its file system is not mounted | another one, of the directory that the pool makes instead |
/// | is deleted and made anew | a new one |
/// | is copied, or restored from a backup of files | a new one: the copy does not know what became of the original |
///
/// A new identity is safe in any case: it may leave notes that nothing needs, but never a file without its note.
enum DirectoryIdentity {
  private static let file = ".identity"

  /// Removes the identity of a directory that has nothing else.
  static func removeAlone(from path: String) {
    // A directory that cannot be listed stays as it is.
    let names = try? FileManager.default.contentsOfDirectory(atPath: path)
    if names == [file] { unlink("\(path)/\(file)") }
  }

  /// - Parameter place: what distinguishes the directory from a copy of it.
  /// - Throws: `FileError` when the file cannot be read, or cannot be written where there is none.
  static func of(_ directory: OpenDirectory, place: String) throws(FileError) -> String {
    let path = directory.path + "/" + file
    do throws(GuardedFile.Refusal) {
      let text = try GuardedFile(file, in: directory.descriptor, path: path).bytes(atMost: 1000)
      let words = String(decoding: text, as: UTF8.self).split(whereSeparator: \.isWhitespace)
      if words.count == 2, words[0].count == 32, words[1] == place { return String(words[0]) }
    } catch {
      switch error {
      case .missing, .notRegular, .tooLarge, .changing: break
      case .notPermitted: throw FileError(path: path, action: "be read", errno: EACCES)
      case .failed(let error): throw error
      }
    }
    let identity = RandomName.make()
    do throws(FileError) {
      // By the descriptor: the directory's path may lead elsewhere by now.
      try ReplacingFile.write(
        "\(identity) \(place)\n".utf8, to: "/proc/self/fd/\(directory.descriptor)/\(file)", mode: 0o600,
        temporaryName: ".identity.new", surviving: .power)
    } catch {
      throw FileError(path: path, action: error.action, errno: error.errno)
    }
    // Before the first note: a loss of power must not take the identity away from its notes.
    try directory.synchronize()
    return identity
  }
}
