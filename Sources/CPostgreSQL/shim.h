// libpq's types, and its functions in a table that is filled when the library is loaded: nothing is linked, so that
// programs that open no store on a server neither load it nor need it installed.
//
// Source: https://www.postgresql.org/docs/15/libpq.html
#pragma once
#include <dlfcn.h>

#if __has_include(<postgresql/libpq-fe.h>)
#include <postgresql/libpq-fe.h>
#else
#include <libpq-fe.h>
#endif

// The functions that are used, each once: the table's fields have their names and types.
#define LIBPQ_FUNCTIONS(EACH)                                                                                          \
  EACH(PQbackendPID) EACH(PQcancel) EACH(PQclear) EACH(PQcmdTuples) EACH(PQconnectdbParams) EACH(PQconninfo)           \
  EACH(PQconninfoFree) EACH(PQconsumeInput) EACH(PQenterPipelineMode) EACH(PQerrorMessage) EACH(PQexec)                \
  EACH(PQexecPrepared) EACH(PQexitPipelineMode) EACH(PQfinish) EACH(PQfreeCancel) EACH(PQfreemem) EACH(PQftype)        \
  EACH(PQgetCancel) EACH(PQgetCopyData) EACH(PQgetisnull) EACH(PQgetlength) EACH(PQgetlineAsync) EACH(PQgetResult)     \
  EACH(PQgetvalue) EACH(PQhost) EACH(PQisBusy) EACH(PQnfields) EACH(PQnotifies) EACH(PQntuples)                        \
  EACH(PQparameterStatus) EACH(PQpipelineSync) EACH(PQport) EACH(PQprepare) EACH(PQputCopyData) EACH(PQputCopyEnd)     \
  EACH(PQresultErrorField) EACH(PQresultErrorMessage) EACH(PQresultStatus) EACH(PQsendPrepare) EACH(PQsendQuery)       \
  EACH(PQsendQueryPrepared) EACH(PQreset) EACH(PQserverVersion) EACH(PQsetErrorVerbosity) EACH(PQsetNoticeProcessor)   \
  EACH(PQsetSingleRowMode) EACH(PQsocket) EACH(PQstatus) EACH(PQtransactionStatus)

struct libpq_functions {
#define LIBPQ_FIELD(name) __typeof__(&name) name;
  LIBPQ_FUNCTIONS(LIBPQ_FIELD)
#undef LIBPQ_FIELD
  // From version 17 on; NULL before.
  int (*PQsetChunkedRowsMode)(PGconn *, int);
};

// The status of a result of some rows, in version 17 and later.
static const ExecStatusType LIBPQ_TUPLES_CHUNK = (ExecStatusType)12;

// Fills the table from a loaded library. Returns the name of a function that the library lacks; NULL if it has all.
static inline const char *libpq_fill(struct libpq_functions *functions, void *library) {
#define LIBPQ_FIND(name)                                                                                               \
  *(void **)&functions->name = dlsym(library, #name);                                                                  \
  if (!functions->name) return #name;
  LIBPQ_FUNCTIONS(LIBPQ_FIND)
#undef LIBPQ_FIND
  *(void **)&functions->PQsetChunkedRowsMode = dlsym(library, "PQsetChunkedRowsMode");
  return 0;
}
