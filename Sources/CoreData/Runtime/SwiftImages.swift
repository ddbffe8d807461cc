internal import CSystem

/// The images that hold Swift code: the program and the libraries that it has loaded, each with lists that the compiler
/// made for reflection.
///
/// ```text
/// image ─▶ swift5_type_metadata         a relative pointer (4 bytes) for each type
///       ─▶ swift5_protocol_conformances a relative pointer for each conformance record
/// ```
///
/// The runtime registers each image's sections when it is loaded, and enumerates them with
/// `swift_enumerateAllMetadataSections`. On Linux there is no other way from a class's short name to the class: the
/// runtime finds types by mangled names, which contain the module.
enum SwiftImages {
  /// The lists of types and of conformances to protocols in an image.
  ///
  /// Slices of the image's read-only data, which stay as long as the process.
  struct Image {
    let types: UnsafeRawBufferPointer
    let conformances: UnsafeRawBufferPointer
  }

  /// All images that are loaded now; none if their lists cannot be read.
  static var all: [Image] { RuntimeAssumptions.typeDescriptors.holds ? listed : [] }

  /// `version >= 3` is that of the structure with the fields that are read here.
  private static var listed: [Image] {
    var images: [Image] = []
    withUnsafeMutablePointer(to: &images) { images in
      swift_enumerateAllMetadataSections(
        { sections, context in
          guard let sections, sections.pointee.version >= 3 else { return true }
          let imageSections = sections.pointee
          context?.assumingMemoryBound(to: [Image].self).pointee.append(
            Image(
              types: SwiftImages.bytes(imageSections.types), conformances: SwiftImages.bytes(imageSections.conformances)
            ))
          return true
        }, images)
    }
    return images
  }

  private static func bytes(_ range: csystem_metadata_range) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: UnsafeRawPointer(bitPattern: range.start), count: range.length)
  }

  // MARK: The assumption

  /// Whether this module's image lists a sample class, and says what it is. `RuntimeAssumptions` asks once.
  ///
  /// The samples are private classes of this file, so that a program's own classes cannot be mistaken for them.
  static func areReadable() -> Bool {
    let sample = TypeDescriptor(classMetadata: SampleBelow.self)
    var isListed = false
    for image in listed { image.forEachType { isListed = isListed || $0 == sample } }
    return isListed && sample.isClass && !sample.isGeneric && sample.path.last == "SampleBelow"
      && sample.superclass == TypeDescriptor(classMetadata: Sample.self) && sample.type == SampleBelow.self
  }

  private class Sample {}

  private final class SampleBelow: Sample {}
}

extension SwiftImages.Image {
  /// Calls the body with each type that the image declares.
  ///
  /// The records are four bytes each. Types are in the order of the linker.
  func forEachType(_ body: (TypeDescriptor) -> Void) {
    guard let start = types.baseAddress else { return }
    for offset in stride(from: 0, to: types.count & ~3, by: 4) {
      if let type = RelativePointer(start + offset).typeReference { body(type) }
    }
  }

  /// Calls the body with each type of the image that conforms to a protocol.
  ///
  /// ```text
  /// conformance record
  ///  0  protocol descriptor      relative, perhaps through another pointer
  ///  4  type                     relative; how to read it, say bits 3…5 of the flags
  ///  8  witness table
  /// 12  flags
  /// ```
  func forEachType(conformingTo protocolDescriptor: UnsafeRawPointer, _ body: (TypeDescriptor) -> Void) {
    guard let start = conformances.baseAddress else { return }
    for offset in stride(from: 0, to: conformances.count & ~3, by: 4) {
      guard let record = RelativePointer(start + offset).target,
        RelativePointer(record).indirectable == protocolDescriptor
      else { continue }
      let flags = (record + 12).load(as: UInt32.self)
      if let type = RelativePointer(record + 4).typeReference(kind: Int(flags >> 3 & 7)) { body(type) }
    }
  }
}
