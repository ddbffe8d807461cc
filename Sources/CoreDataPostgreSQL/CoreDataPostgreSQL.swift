// A program that imports this module has Core Data, whose coordinators then open stores of `NSPostgreSQLStoreType`.
@_exported public import CoreData

/// `CoreData` finds this type by its name, so importing the module is enough to open stores at a server. It
/// registers a class of stores and runs nothing.
///
/// libpq is loaded when the first such store is opened: without the package libpq5, version 14 or later, opening it
/// throws an error that names the package.
///
/// ## The parts of the module
///
/// In the order in which they are best read:
///
/// ```text
/// Driver/       what a connection, a result, a parameter and a type are; the seam where tests put other connections
/// LibPQ/        the one implementation of the driver, by libpq's C functions
/// Connections/  a coordinator's connections to one database: readers, the writer, transactions, errors, the clock
/// Rows/         a row of a table into a snapshot and back, in the server's binary format
/// Schema/       the tables, functions, triggers and indexes that a store has in its schema
/// Saving/       the statements of one save
/// Batch/        batch requests
/// History/      the persistent history, and the announcements of commits
/// Sessions/     locks and messages for pools that share a store
/// ServerStore*  the store itself, which answers the coordinator with all of these
/// ```
///
/// `CoreData` holds what this store shares with the one in SQLite: the generator of SELECTs (`SQLGenerator`), the plans
/// that say which column is which property (`RowPlan`), the order of a save (`ChangeWriter`), batch updates and
/// deletions.
///
/// ## What a coordinator costs the server
///
/// ```text
/// sessions     1 writer, opened by the first save
///              up to 4 readers, opened when a read finds none idle (NSPersistentStoreConnectionPoolMaxSizeKey)
///              1 for each state in which contexts are pinned (setQueryGenerationFrom), with an open transaction
///              1 listener, where the store posts NSPersistentStoreRemoteChange
///              1 for a pool's session, and 1 for each lock that the pool waits for or holds
/// statements   each session keeps up to 500 prepared
/// objects      one schema with a table for each root entity and each many-to-many relationship, 4 tables of the
///              store itself, 1 sequence, 11 functions of texts, and the functions and triggers of derived attributes
/// temporary    the table cd_doomed, for a batch deletion of an entity with relationships; the session ends afterwards
/// ```
///
/// A coordinator with two stores in one database has one set of sessions for both. All sessions have the
/// `application_name` "CoreData", unless the URL, PGAPPNAME or the program names another one; `pg_stat_activity` shows
/// it.
///
/// ## On which guarantees of the server the module relies
///
/// Writing transactions run at READ COMMITTED. Each statement sees what was committed before it began, and an UPDATE
/// that waits for a row evaluates its condition again when the other transaction has committed (page "Transaction
/// Isolation"). So `WHERE _key = $1 AND _version = $2` finds a conflict although the level is the lowest one: the
/// loser's UPDATE changes no row. A stricter level would report the same conflict as error 40001, and would end
/// transactions that do not conflict, too.
///
/// What has to see one state in several statements runs at REPEATABLE READ READ ONLY: contexts that are pinned, the
/// history, and fetches of dictionaries that are evaluated in memory. Such transactions write nothing, so they never
/// end with 40001, except on a standby that must replay what conflicts with them.
///
/// | lock | taken by | waits for |
/// |---|---|---|
/// | FOR NO KEY UPDATE of a row | UPDATE of a save, triggers of derived attributes | another writer of the row |
/// | FOR UPDATE of a row | DELETE, UPDATE of a unique column, limited batch update | a check of a reference, too |
/// | FOR SHARE of a row | a row that `detectConflicts(for:)` names | a writer of the row |
/// | FOR KEY SHARE of a row | the server itself, for a foreign key | a deletion of the row |
/// | the row of `_store` | the end of a save with history | the end of another save with history |
/// | ACCESS EXCLUSIVE of tables | a migration | all transactions that use them |
/// | advisory (0x4344, hash of the schema) | creating a schema, renewing its functions | another program that does so |
/// | advisory (0x4345, hash of the schema) | `inOneTransaction(at:_:)` | nothing: it fails at once |
/// | advisory (64 bits) | pools that share a store: `ServerSession` | nothing: the pool asks again |
///
/// Source: the page "Explicit Locking". Rows are locked in the order of entities and keys, so that two saves do not
/// wait for each other in a circle in most cases. Where they do, the server ends one with 40P01 after
/// `deadlock_timeout`, and `ServerDatabase.repeating` runs it again.
///
/// ## When a connection dies
///
/// | at this moment | happens this |
/// |---|---|
/// | a reader is idle | the next read notices, closes all idle readers, and runs once more on a new connection |
/// | a fetch has given no row yet | the same |
/// | a fetch has given rows | error 134080: the rows before the loss cannot be taken back |
/// | the writer is idle | the next transaction notices before it asks for anything, and has a new connection |
/// | the network fails within a second after a save | the next save fails with 134080 and writes nothing |
/// | between BEGIN and COMMIT | error 134080; the server rolls back when it notices the end of the session |
/// | COMMIT is on its way | the server is asked how the transaction ended: `ServerDatabase.hasCommitted` |
/// | a context is pinned | each further read fails with 134080 until the context is pinned anew |
/// | the COPY of a batch insertion is running | error 134080; nothing of the batch is there |
/// | the listener waits | it connects again five times a second and reports a commit, since it may have missed one |
/// | a pool's session waits | the pool is told that it is cut off: its lock is free for others |
///
/// A loss also voids the reserved keys (`ReservedKeys`) and the noted numbers of own transactions (`OwnCommits`): a
/// standby that has taken the server's place may give either again.
///
/// ## Which rights a user needs
///
/// | to do this | rights |
/// |---|---|
/// | create the store | CREATE in the database; the user then owns schema and tables |
/// | migrate it, renew its functions | ownership of schema, tables and functions |
/// | read it | USAGE of the schema, SELECT of its tables |
/// | save | also INSERT, UPDATE, DELETE of its entities and relationships, USAGE of the sequence `_keys` |
/// | save with a history | also UPDATE of `_store`, INSERT of `_transactions` and `_changes` |
/// | open it with a history, or to follow commits | also UPDATE of `_store`, unless it is opened read-only |
/// | delete rows of related entities by a batch | also TEMPORARY in the database, which all have by default |
///
/// A user without a right gets 134080, and the server's sentence names the table. LISTEN, NOTIFY and advisory locks
/// need no right. Source: the page "Privileges".
///
/// ## How to look at it
///
/// ```text
/// sessions            SELECT pid, state, xact_start, wait_event, query FROM pg_stat_activity
///                     WHERE application_name = 'CoreData'
/// who waits for whom  SELECT pid, pg_blocking_pids(pid), query FROM pg_stat_activity
///                     WHERE cardinality(pg_blocking_pids(pid)) > 0
/// pinned contexts     state 'idle in transaction', and an old xact_start
/// advisory locks      SELECT pid, classid, objid, objsubid FROM pg_locks WHERE locktype = 'advisory'
///                     two numbers (objsubid 2): 17220 and 17221, see above; one number (objsubid 1): a pool's
/// all statements      log_statement = all in postgresql.conf; the names s1, s2, … are those of prepared statements
/// ```
///
/// ## Where the promises are tested
///
/// ```text
/// lost connections, COMMIT in doubt       CommitOutcomeTests, with connections that fail at each step in turn
/// the driver, errors of connecting        ServerConnectionTests, CopiedRowsTests
/// several hosts, PgBouncer                ServerHostsTests, PoolerTests
/// the store                               ServerStoreTests, and all suites that run for each kind of store
/// predicates                              PredicatesOnServerTests: random ones, against memory
/// derived attributes                      ServerDerivedValuesTests, …EdgeTests, …AttackTests
/// folded texts                            ServerTextFunctionTests: every character
/// migration                               ServerAdditionsTests, ServerNeighbourTests
/// locks of pools                          ServerSessionTests
/// ```
package enum ServerModule: StoreModule {
  package static var storeClass: any PlacedStore.Type { ServerStore.self }
}
