/// The properties that a Swift key path goes through, one after the other.
///
/// The standard library only compares whole key paths. But `\Employee.name` must be found as the `\Person.name` that it
/// inherits, and `\Person.team?.name` as two steps. So this type reads the key path's memory.
///
/// Source: stdlib/public/core/KeyPath.swift and shims/KeyPath.h of Swift. `isReadable` checks once that the program's
/// standard library has that layout; with another layout only whole key paths are known.
struct KeyPathSteps {
  /// The identity of a property: its getter, or the standard library's stand-in for it.
  struct Property: Hashable {
    let identifier: UInt64
    let kind: UInt32
  }

  /// The properties, without the steps through optionals (`?`, `!`).
  private(set) var properties: [Property] = []

  /// Nil for paths with other steps, such as stored properties and subscripts.
  init?(_ keyPath: AnyKeyPath) {
    guard KeyPathSteps.isReadable else { return nil }
    self.init(reading: keyPath)
  }

  private init?(reading keyPath: AnyKeyPath) {
    let object = UnsafeRawPointer(Unmanaged.passUnretained(keyPath).toOpaque())
    defer { withExtendedLifetime(keyPath) {} }
    // After the object's header and its one stored property come a word with the size, then the steps.
    let size = Int(object.load(fromByteOffset: Layout.buffer, as: UInt32.self) & Layout.sizeMask)
    let steps = UnsafeRawBufferPointer(start: object + Layout.buffer + 8, count: size)
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

  private enum Layout {
    static let buffer = 24
    static let sizeMask: UInt32 = 0x00ff_ffff
    static let stepMask: UInt32 = 0x7f00_0000
    static let computedStep: UInt32 = 2 << 24
    static let optionalStep: UInt32 = 4 << 24
    static let isSettable: UInt32 = 0x0040_0000
    static let identifierMask: UInt32 = 0x0030_0000
    static let hasArguments: UInt32 = 0x0008_0000
  }

  private static let isReadable: Bool = {
    let first = KeyPathSteps(reading: \Sample.next)?.properties ?? []
    let second = KeyPathSteps(reading: \Sample.number)?.properties ?? []
    return first.count == 1 && second.count == 1 && first != second
      && KeyPathSteps(reading: \SampleBelow.number)?.properties == second
      && KeyPathSteps(reading: \Sample.next?.next?.number)?.properties == first + first + second
      && KeyPathSteps(reading: \Sample.next!.number)?.properties == first + second
  }()

  private class Sample {
    var next: Sample? {
      get { nil }
      set {}
    }
    var number: Int { 0 }
  }

  private final class SampleBelow: Sample {}
}
