import Foundation
import WorkerProtocol

extension PluginDescription {
  private static let keys: Set = ["name", "version", "protocolVersions", "kinds", "heartbeat", "needs"]
  private static let kindKeys: Set = [
    "kind", "timeout", "maxAttempts", "maxCrashes", "backoff", "maxBackoff", "limit", "limitPerKey", "rate",
  ]
  private static let rateKeys: Set = ["jobs", "period"]
  private static let needsKeys: Set = ["read", "write", "execute", "network"]

  /// The keys in what a plugin has printed that no pool of this version reads, with their places: "kinds.0.timout".
  ///
  /// They are no errors, since a newer plugin may describe more than an older pool knows; but most are mistyped.
  static func unknownKeys(json: String) -> [String] {
    guard let root = try? JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any] else { return [] }
    var unknown = names(in: root, except: keys, at: "")
    for (index, kind) in (root["kinds"] as? [[String: Any]] ?? []).enumerated() {
      unknown += names(in: kind, except: kindKeys, at: "kinds.\(index).")
      unknown += names(in: kind["rate"], except: rateKeys, at: "kinds.\(index).rate.")
    }
    return unknown + names(in: root["needs"], except: needsKeys, at: "needs.")
  }

  private static func names(in value: Any?, except known: Set<String>, at place: String) -> [String] {
    guard let object = value as? [String: Any] else { return [] }
    return object.keys.filter { !known.contains($0) }.sorted().map { place + $0 }
  }
}
