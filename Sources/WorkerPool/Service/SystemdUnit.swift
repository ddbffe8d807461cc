import Foundation

/// A unit file that runs a pool under systemd.
public enum SystemdUnit {
  /// The text of the unit, for a pool with these arguments of `workerpool run`.
  public static func text(executable: String, arguments: [String], storeTimeout: Double?, stopDeadline: Double)
    -> String
  {
    let words = [quoted(executable, isProgram: true)] + (["run"] + arguments).map { quoted($0) }
    return unit(
      head: "Put this into /etc/systemd/system/workerpool.service, set User=, then: systemctl enable --now workerpool",
      condition: "", command: words.joined(separator: " "), storeTimeout: storeTimeout, stopDeadline: stopDeadline,
      place: "#User=workerpool")
  }

  /// The text of a unit with instances: `workerpool@NAME` runs a pool with the options in `/etc/workerpool/NAME.conf`.
  ///
  /// The file may have longer limits than the unit, so the pool asks systemd for the time that it needs.
  public static func template(executable: String, storeTimeout: Double?, stopDeadline: Double) -> String {
    let options = "/etc/workerpool/%i.conf"
    return unit(
      head: "Put this into /etc/systemd/system/workerpool@.service, write /etc/workerpool/NAME.conf, then:\n"
        + "# systemctl enable --now workerpool@NAME",
      condition: "ConditionPathExists=\(options)\n",
      command: "\(quoted(executable, isProgram: true)) run --config \(options)", storeTimeout: storeTimeout,
      stopDeadline: stopDeadline,
      place: """
        User=workerpool
        StateDirectory=workerpool/%i
        StateDirectoryMode=0700
        WorkingDirectory=%S/workerpool/%i
        """)
  }

  private static func unit(
    head: String, condition: String, command: String, storeTimeout: Double?, stopDeadline: Double, place: String
  ) -> String {
    // The pool is ready when its store is open.
    let startTime = storeTimeout.map { String(Int($0) + 30) } ?? "infinity"
    let stopTime = Int(stopDeadline) + Int(ServiceManager.timeToEnd)
    return """
      # \(head)
      [Unit]
      Description=workerpool: worker processes on a Core Data store
      \(condition)StartLimitIntervalSec=0

      [Service]
      Type=notify
      NotifyAccess=main
      ExecStart=\(command)
      ExecReload=/bin/kill -HUP $MAINPID
      WatchdogSec=30
      # A person may repair the store, its model or the plugins while the pool is down, so systemd keeps trying.
      Restart=on-failure
      RestartSec=10
      # A restart cannot correct wrong arguments (2). When the store was replaced (6), a person must choose one.
      RestartPreventExitStatus=2 6
      # When the OOM killer ends a worker, the pool counts a crash of its job and goes on.
      OOMPolicy=continue
      # For --memory the pool makes a control group for each worker.
      Delegate=memory
      # The pool ends its workers itself. When the pool has crashed, systemd kills every process that is left in
      # the unit; the jobs in hand run again.
      KillMode=mixed
      TimeoutStartSec=\(startTime)
      TimeoutStopSec=\(stopTime)
      NoNewPrivileges=yes
      PrivateTmp=yes
      ProtectSystem=full
      \(place)

      [Install]
      WantedBy=multi-user.target

      """
  }

  /// Where the units of the web program find its options.
  private static let webOptions = "/etc/workerpool-web.conf"

  /// The text of the unit of the web program, which ``webSocket`` starts at the first connection.
  public static func web(executable: String) -> String {
    """
    # Put this into /etc/systemd/system/workerpool-web.service and workerpool-web.socket beside it, write
    # \(webOptions), then: systemctl enable --now workerpool-web.socket
    [Unit]
    Description=workerpool: pages about a pool
    ConditionPathExists=\(webOptions)
    Requires=workerpool-web.socket
    After=workerpool-web.socket

    [Service]
    Type=exec
    ExecStart=\(quoted(executable, isProgram: true)) web --config \(webOptions)
    Restart=on-failure
    RestartSec=10
    # A restart cannot correct wrong arguments.
    RestartPreventExitStatus=2
    # The pool answers its own user only.
    User=workerpool
    UMask=0077
    NoNewPrivileges=yes
    PrivateTmp=yes
    PrivateDevices=yes
    ProtectSystem=full
    ProtectControlGroups=yes
    ProtectKernelModules=yes
    ProtectKernelTunables=yes
    CapabilityBoundingSet=
    LockPersonality=yes
    RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6
    RestrictNamespaces=yes
    RestrictSUIDSGID=yes
    SystemCallArchitectures=native

    [Install]
    Also=workerpool-web.socket

    """
  }

  /// The text of the unit of the socket on which the web program serves.
  public static var webSocket: String {
    """
    # The socket of workerpool-web.service. Another address, or a Unix socket for a proxy:
    # systemctl edit workerpool-web.socket, and there [Socket], an empty ListenStream=, then the new one.
    [Unit]
    Description=workerpool: socket of the pages about a pool
    ConditionPathExists=\(webOptions)

    [Socket]
    ListenStream=127.0.0.1:8088
    # For a Unix socket: who may connect, beside its owner. The proxy's group is SocketGroup=.
    SocketMode=0660
    SocketUser=workerpool

    [Install]
    WantedBy=sockets.target

    """
  }

  /// A word of a command line; systemd's own specifiers and variables are kept from being read as such.
  ///
  /// Source: systemd.syntax(7), "Quoting", and systemd.service(5), "Command lines": in the program's own path variables
  /// are not replaced, so `$` stands for itself there.
  private static func quoted(_ word: String, isProgram: Bool = false) -> String {
    var escaped = ""
    for character in word.unicodeScalars {
      switch character {
      case "\\": escaped += "\\\\"
      case "\"": escaped += "\\\""
      case "%": escaped += "%%"
      case "$": escaped += isProgram ? "$" : "$$"
      case "\n": escaped += "\\n"
      case "\t": escaped += "\\t"
      case _ where character.value < 0x20 || character.value == 0x7F:
        let digits = String(character.value, radix: 16)
        escaped += "\\x" + (digits.count == 1 ? "0" : "") + digits
      default: escaped.unicodeScalars.append(character)
      }
    }
    let isPlain = word.utf8.allSatisfy { byte in
      switch byte {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x2F, 0x5F, 0x3D: true
      default: false
      }
    }
    return isPlain ? word : "\"\(escaped)\""
  }
}
