// swift-tools-version: 6.1
import PackageDescription

// For tests that start programs, or call parts of the pool or of the stores. In a release build these parts are
// optimised, and the tests themselves are not, which takes less than half the time. The tests of contexts and objects
// are optimised, like the programs that use them.
let unoptimised: [SwiftSetting] = [.unsafeFlags(["-Onone"], .when(configuration: .release))]

let package = Package(
  name: "workerpool",
  products: [
    .library(name: "CoreData", targets: ["CoreData"]),
    .library(name: "CoreDataPostgreSQL", targets: ["CoreDataPostgreSQL"]),
    .library(name: "StoreTools", targets: ["StoreTools"]),
    .plugin(name: "ModelCompilerPlugin", targets: ["ModelCompilerPlugin"]),
    .library(name: "WorkerKit", targets: ["WorkerKit"]),
    .library(name: "WorkerKitTesting", targets: ["WorkerKitTesting"]),
    .library(name: "PoolClient", targets: ["PoolClient"]),
    .executable(name: "workerpool", targets: ["WorkerPoolCommand"]),
    .executable(name: "workerpool-web", targets: ["workerpool-web"]),
    .executable(name: "worker-import", targets: ["worker-import"]),
    .executable(name: "worker-export", targets: ["worker-export"]),
    .executable(name: "worker-index", targets: ["worker-index"]),
    .executable(name: "worker-exec", targets: ["worker-exec"]),
    .executable(name: "worker-maintain", targets: ["worker-maintain"]),
    .library(name: "WorkerPool", targets: ["WorkerPool"]),
  ],
  targets: [
    .systemLibrary(
      name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
    .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
    .systemLibrary(name: "CSystem"),
    .systemLibrary(
      name: "CMicroHTTPD", pkgConfig: "libmicrohttpd", providers: [.apt(["libmicrohttpd-dev"])]),
    // Its header only: the library is loaded when the first store on a server is opened.
    .systemLibrary(name: "CPostgreSQL", providers: [.apt(["libpq-dev"])]),
    .target(name: "LinuxSystem", dependencies: ["CSystem"]),
    .target(name: "ObjectIdentity"),
    .target(name: "ModelFiles"),
    .target(
      name: "CoreData", dependencies: ["ModelFiles", "ObjectIdentity", "LinuxSystem", "CSQLite", "CZlib", "CSystem"]),
    // What programs that share a store need besides Core Data.
    .target(name: "StoreTools", dependencies: ["CoreData", "LinuxSystem"]),
    .target(name: "CoreDataPostgreSQL", dependencies: ["CoreData", "CPostgreSQL"]),
    .target(name: "ClassGenerator", dependencies: ["ModelFiles"]),
    .target(name: "ManagedAccessors"),
    .executableTarget(name: "ModelCompiler", dependencies: ["ClassGenerator", "ManagedAccessors", "ModelFiles"]),
    .plugin(
      name: "ModelCompilerPlugin", capability: .buildTool(), dependencies: ["ModelCompiler"],
      path: "Sources/ModelCompilerPlugin"),
    .target(
      name: "WorkerProtocol", dependencies: ["CSystem", "LinuxSystem", "ObjectIdentity"], path: "Protocol",
      exclude: ["PROTOCOL.md", "Vectors"]),
    .target(name: "Documents", dependencies: ["CoreData"], plugins: ["ModelCompilerPlugin"]),
    .target(
      name: "Jobs",
      dependencies: ["CoreData", "LinuxSystem", "ModelFiles", "ObjectIdentity", "WorkerProtocol"],
      plugins: ["ModelCompilerPlugin"]),
    .target(
      name: "WorkerKit",
      dependencies: [
        "CoreData", "CoreDataPostgreSQL", "Jobs", "LinuxSystem", "StoreTools", "WorkerProtocol", "CSystem",
      ]),
    // For the tests of a plugin: programs do not link it.
    .target(
      name: "WorkerKitTesting", dependencies: ["CoreData", "Jobs", "LinuxSystem", "WorkerKit", "WorkerProtocol"]),
    // Its code needs CoreData only; the pool's store may be at a server.
    .target(
      name: "PoolClient",
      dependencies: ["CoreData", "CoreDataPostgreSQL", "Jobs", "WorkerProtocol", "CSystem", "LinuxSystem"]),
    // A pool's status in the text format of Prometheus, for the pool, the command and the web program.
    .target(name: "PoolMetrics", dependencies: ["LinuxSystem", "PoolClient"]),
    .target(
      name: "WorkerPool",
      dependencies: [
        "CoreData", "CoreDataPostgreSQL", "Jobs", "PoolClient", "PoolMetrics", "StoreTools", "WorkerProtocol",
        "CSystem", "LinuxSystem",
      ]),
    .target(
      name: "WorkerPoolWeb",
      dependencies: ["CoreData", "Jobs", "LinuxSystem", "PoolClient", "PoolMetrics", "WorkerProtocol", "CMicroHTTPD"],
      resources: [
        .embedInCode("Assets/style.css"), .embedInCode("Assets/script.js"), .embedInCode("Assets/icon.svg"),
      ]),
    .executableTarget(name: "workerpool-web", dependencies: ["WorkerPoolWeb"]),
    // The programs that it starts are built with it: the plugins, and what `workerpool web` turns into.
    .executableTarget(
      name: "WorkerPoolCommand",
      dependencies: [
        "CoreData", "Documents", "Jobs", "LinuxSystem", "PoolClient", "PoolMetrics", "StoreTools", "WorkerPool",
        "WorkerProtocol",
        "worker-import", "worker-export", "worker-index", "worker-exec", "worker-maintain", "workerpool-web",
      ],
      resources: [
        .embedInCode("Monitoring/dashboard.json"), .embedInCode("Monitoring/alerts.yml"),
        .embedInCode("Example/model.xml"), .embedInCode("Example/countries.csv"), .embedInCode("Example/photos.csv"),
      ]),
    .target(name: "CCounters"),
    .target(name: "BenchmarkRows"),
    .executableTarget(
      name: "Benchmarks",
      dependencies: [
        "BenchmarkRows", "CCounters", "CoreData", "Jobs", "LinuxSystem", "ObjectIdentity", "StoreTools", "WorkerPool",
        "WorkerKit",
        "CSQLite", "CSystem",
      ],
      exclude: ["Peers", "Thresholds.json"],
      plugins: ["ModelCompilerPlugin"]),
    .executableTarget(
      name: "server-benchmarks",
      dependencies: ["BenchmarkRows", "CoreDataPostgreSQL", "CPostgreSQL", "PostgreSQLServers"],
      // Its folder People is the one of Benchmarks.
      path: "Sources/ServerBenchmarks", exclude: ["pools.py", "sqlalchemy_rows.py"],
      linkerSettings: [.linkedLibrary("pq")],
      plugins: ["ModelCompilerPlugin"]),
    .executableTarget(
      name: "Examples", dependencies: ["CoreData"], plugins: ["ModelCompilerPlugin"]),
    .executableTarget(name: "worker-import", dependencies: ["CoreData", "WorkerKit"], path: "Workers/Import"),
    .executableTarget(
      name: "worker-export", dependencies: ["CoreData", "LinuxSystem", "WorkerKit"], path: "Workers/Export"),
    .executableTarget(
      name: "worker-index", dependencies: ["CoreData", "Documents", "WorkerKit"], path: "Workers/Index"),
    .executableTarget(
      name: "worker-exec", dependencies: ["CoreData", "LinuxSystem", "WorkerKit", "WorkerProtocol", "CSystem"],
      path: "Workers/Exec"),
    .executableTarget(
      name: "worker-maintain", dependencies: ["CoreData", "PoolClient", "StoreTools", "WorkerKit", "WorkerProtocol"],
      path: "Workers/Maintain"),
    .executableTarget(name: "fake-worker", dependencies: ["WorkerProtocol"], path: "Tests/Support/FakeWorker"),
    .target(name: "PostgreSQLServers", dependencies: ["CPostgreSQL"], path: "Tests/Support/PostgreSQLServers"),
    .target(name: "TestFiles", dependencies: ["PostgreSQLServers"], path: "Tests/Support/TestFiles"),
    .target(
      name: "CoreDataTestSupport", dependencies: ["CoreData", "CSQLite", "LibraryStore", "TestFiles"],
      path: "Tests/Support/CoreDataTestSupport"),
    // The tests of CoreData, as modules of about the same size, so that the compiler builds several at once.
    .testTarget(
      name: "CoreDataContextTests", dependencies: ["CoreData", "CoreDataTestSupport", "StoreTools", "TestFiles"],
      path: "Tests/CoreData/Context"),
    .testTarget(
      name: "CoreDataModelTests", dependencies: ["CoreData", "CoreDataTestSupport", "ModelFiles", "TestFiles"],
      path: "Tests/CoreData/Model", swiftSettings: unoptimised),
    .testTarget(
      name: "CoreDataObjectsTests", dependencies: ["CoreData", "CoreDataTestSupport", "TestFiles"],
      path: "Tests/CoreData/Objects", exclude: ["Surface/AppleNames.txt"]),
    .testTarget(
      name: "CoreDataSQLiteTests",
      dependencies: ["CoreData", "CoreDataTestSupport", "CSQLite", "LinuxSystem", "StoreTools", "TestFiles"],
      path: "Tests/CoreData/SQLite", swiftSettings: unoptimised),
    .testTarget(
      name: "CoreDataStoresTests",
      dependencies: ["CoreData", "CoreDataPostgreSQL", "CoreDataTestSupport", "StoreTools", "TestFiles"],
      path: "Tests/CoreData/Stores", swiftSettings: unoptimised),
    .testTarget(
      name: "StoreToolsTests", dependencies: ["CoreData", "LibraryStore", "LinuxSystem", "StoreTools", "TestFiles"],
      path: "Tests/StoreTools"),
    .target(name: "LibraryStore", dependencies: ["CoreData", "TestFiles"], path: "Tests/Support/LibraryStore"),
    .testTarget(
      name: "ModelCompilerTests", dependencies: ["ClassGenerator", "ModelFiles", "TestFiles"],
      path: "Tests/ModelCompiler", swiftSettings: unoptimised),
    .target(
      name: "FarmModel", dependencies: ["CoreData"], path: "Tests/Support/FarmModel", plugins: ["ModelCompilerPlugin"]),
    .executableTarget(
      name: "context-stress", dependencies: ["CoreData", "TestFiles"], path: "Tests/Support/ContextStress",
      plugins: ["ModelCompilerPlugin"]),
    .testTarget(
      name: "ExamplesTests", dependencies: ["Examples", "context-stress", "TestFiles"], path: "Tests/Examples"),
    .testTarget(
      name: "GeneratedClassesTests", dependencies: ["CoreData", "FarmModel", "TestFiles"],
      path: "Tests/GeneratedClasses",
      plugins: ["ModelCompilerPlugin"]),
    .target(
      name: "Notebook", dependencies: ["CoreData"], path: "Tests/Support/Notebook", plugins: ["ModelCompilerPlugin"]),
    .testTarget(
      name: "ManagedAccessorsTests", dependencies: ["CoreData", "ManagedAccessors", "Notebook", "TestFiles"],
      path: "Tests/ManagedAccessors", plugins: ["ModelCompilerPlugin"]),
    .testTarget(name: "ObjectIdentityTests", dependencies: ["ObjectIdentity"], path: "Tests/ObjectIdentity"),
    // All tests are one program, so one of them brings it along for all.
    .target(name: "ExitTestMonitor", path: "Tests/Support/ExitTestMonitor"),
    .testTarget(
      name: "LinuxSystemTests", dependencies: ["LinuxSystem", "CSystem", "ExitTestMonitor", "TestFiles"],
      path: "Tests/LinuxSystem", swiftSettings: unoptimised),
    .testTarget(
      name: "WorkerProtocolTests", dependencies: ["WorkerProtocol", "CSystem", "TestFiles"],
      path: "Tests/WorkerProtocol", swiftSettings: unoptimised),
    .testTarget(
      name: "JobsTests",
      dependencies: ["CoreData", "CoreDataPostgreSQL", "Jobs", "TestFiles", "WorkerProtocol"], path: "Tests/Jobs",
      swiftSettings: unoptimised),
    .executableTarget(
      name: "test-worker", dependencies: ["CoreData", "WorkerKit", "CSystem", "CTrespass"],
      path: "Tests/Support/TestWorker"),
    .target(name: "CTrespass", path: "Tests/Support/CTrespass"),
    .testTarget(
      name: "WorkerKitTests",
      dependencies: [
        "CoreData", "Jobs", "WorkerKit", "WorkerKitTesting", "WorkerPool", "WorkerProtocol", "CSystem", "test-worker",
        "TestFiles",
      ],
      path: "Tests/WorkerKit", swiftSettings: unoptimised),
    .testTarget(
      name: "WorkerPoolTests",
      dependencies: [
        "PoolMetrics", "StoreTools", "WorkerPool", "WorkerProtocol", "CSystem", "LinuxSystem", "fake-worker",
        "TestFiles",
      ],
      path: "Tests/WorkerPool", swiftSettings: unoptimised),
    .testTarget(
      name: "WorkerPoolWebTests", dependencies: ["CoreData", "Jobs", "WorkerPoolWeb", "TestFiles"],
      path: "Tests/WorkerPoolWeb", swiftSettings: unoptimised),
    .testTarget(
      name: "WorkersTests", dependencies: ["CoreData", "Jobs", "worker-import", "worker-export", "TestFiles"],
      path: "Tests/Workers", swiftSettings: unoptimised),
  ]
)

// The tests that kill programs, servers and hosts take as long to compile as all tests of the pool, and run only
// against optimised programs: WORKERPOOL_END_TO_END=1 adds them.
if Context.environment["WORKERPOOL_END_TO_END"] != nil {
  package.targets += [
    .executableTarget(
      name: "increment-worker", dependencies: ["CoreData", "WorkerKit"], path: "Tests/Support/IncrementWorker"),
    .executableTarget(name: "hasty-producer", dependencies: ["PoolClient"], path: "Tests/Support/HastyProducer"),
    .testTarget(
      name: "EndToEndTests",
      dependencies: [
        "WorkerPool", "WorkerPoolCommand", "WorkerProtocol", "CSystem", "worker-import", "worker-export",
        "worker-index", "worker-exec", "worker-maintain", "workerpool-web", "increment-worker", "test-worker",
        "fake-worker", "hasty-producer", "Benchmarks", "TestFiles",
      ], path: "Tests/EndToEnd", swiftSettings: unoptimised),
  ]
}
