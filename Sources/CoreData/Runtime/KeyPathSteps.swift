/// The properties that a Swift key path goes through, one after the other.
///
/// The standard library only compares whole key paths. But `\Employee.name` must be found as the `\Person.name` that it
/// inherits, and `\Person.team?.name` as two steps. So this type reads the key path's memory.
///
/// ```text
/// key path object                             a step
///  0  metadata, reference counts               0  header: kind in bits 24…30, flags below
/// 16  stored property of AnyKeyPath            4  padding up to a multiple of 8
/// 24  size of the steps, and flags             8  identifier of the property      (computed)
/// 32  steps                                   16  getter                          (computed)
///                                             24  setter, if it is settable       (computed)
///                                              …  type of the value, unless it is the last step
/// ```
///
/// `\Person.team?.name` has three steps: computed (`team`), optional chaining, computed (`name`); the second has a
/// header only. A stored property or a subscript is a kind that this does not read.
///
/// Source: stdlib/public/core/KeyPath.swift and shims/KeyPath.h of Swift. With another layout only whole key paths are
/// known.
struct KeyPathSteps {
  /// The identity of a property: its getter, or the standard library's stand-in for it.
  ///
  /// Managed classes' properties are computed, by accessors or a wrapper, so each has an identifier: the getter's
  /// address or an index that the compiler chose. It is the same in a key path of a subclass, which is why inherited
  /// properties are recognised.
  struct Property: Hashable {
    let identifier: UInt64
    let kind: UInt32
  }

  /// The properties, without the steps through optionals (`?`, `!`).
  private(set) var properties: [Property] = []

  /// Nil for paths with other steps, such as stored properties and subscripts.
  ///
  /// Called by `KeyPathNames`, once for each key path that a program uses; names are kept there.
  init?(_ keyPath: AnyKeyPath) {
    guard RuntimeAssumptions.keyPaths.holds else { return nil }
    self.init(reading: keyPath, Layout(), atMost: KeyPathSteps.largest)
  }

  /// Reads nothing beyond `size`, and refuses a size that no key path has: with another layout the word may hold
  /// anything.
  ///
  /// - Parameter largest: the most bytes that the steps may have: more are no key path.
  private init?(reading keyPath: AnyKeyPath, _ layout: Layout, atMost largest: Int) {
    let object = UnsafeRawPointer(Unmanaged.passUnretained(keyPath).toOpaque())
    defer { withExtendedLifetime(keyPath) {} }
    // After the object's header and its one stored property come a word with the size, then the steps.
    let size = Int(object.load(fromByteOffset: layout.buffer, as: UInt32.self) & Layout.sizeMask)
    guard size <= largest else { return nil }
    let steps = UnsafeRawBufferPointer(start: object + layout.buffer + 8, count: size)
    var offset = 0
    while offset + 4 <= size {
      let header = steps.load(fromByteOffset: offset, as: UInt32.self)
      offset = (offset + 4 + 7) & ~7
      switch header & Layout.stepMask {
      case Layout.optionalStep: break
      case Layout.computedStep:
        guard header & Layout.hasArguments == 0, offset + 16 <= size else { return nil }
        let identifier = steps.load(fromByteOffset: offset, as: UInt64.self)
        properties.append(Property(identifier: identifier, kind: header & Layout.identifierMask))
        offset += header & Layout.isSettable == 0 ? 16 : 24
      default: return nil
      }
      // The type of a step's value stands between it and the next step.
      offset += 8
    }
    if properties.isEmpty { return nil }
  }

  /// A parameter of the check, so that a test can see it fail with another offset.
  struct Layout {
    /// The bytes before the word with the size.
    var buffer = 24
    fileprivate static let sizeMask: UInt32 = 0x00ff_ffff
    fileprivate static let stepMask: UInt32 = 0x7f00_0000
    fileprivate static let computedStep: UInt32 = 2 << 24
    fileprivate static let optionalStep: UInt32 = 4 << 24
    fileprivate static let isSettable: UInt32 = 0x0040_0000
    fileprivate static let identifierMask: UInt32 = 0x0030_0000
    fileprivate static let hasArguments: UInt32 = 0x0008_0000
  }

  /// A thousand steps: more than any program writes.
  private static let largest = 1 << 15
  /// More than the samples have, the longest of which has five steps, and little enough to be read beyond one's end.
  private static let largestSample = 512

  // MARK: The assumption

  /// Whether the key paths of samples have the layout. `RuntimeAssumptions` asks once.
  ///
  /// Five paths whose steps are known: two properties that differ, an inherited one, a chain with `?`, one with `!`. A
  /// layout that gives these answers by chance does not exist.
  static func areReadable(_ layout: Layout = Layout()) -> Bool {
    func properties(_ keyPath: AnyKeyPath) -> [Property] {
      KeyPathSteps(reading: keyPath, layout, atMost: largestSample)?.properties ?? []
    }
    let first = properties(\Sample.next)
    let second = properties(\Sample.number)
    return first.count == 1 && second.count == 1 && first != second
      && properties(\SampleBelow.number) == second
      && properties(\Sample.next?.next?.number) == first + first + second
      && properties(\Sample.next!.number) == first + second
  }

  /// Computed properties, like those of managed classes.
  private class Sample {
    var next: Sample? {
      get { nil }
      set {}
    }
    var number: Int { 0 }
  }

  private final class SampleBelow: Sample {}
}
