// GNU libmicrohttpd for Swift, which cannot call its functions of variable arguments.
#pragma once
#include <microhttpd.h>
#include <string.h>

// Swift would see these as members of enumerations whose names depend on the library's version.
static const enum MHD_Result cmicrohttpd_no = MHD_NO;
static const enum MHD_Result cmicrohttpd_yes = MHD_YES;
static const enum MHD_ValueKind cmicrohttpd_header = MHD_HEADER_KIND;
static const enum MHD_ValueKind cmicrohttpd_argument = MHD_GET_ARGUMENT_KIND;
static const enum MHD_ConnectionNotificationCode cmicrohttpd_started = MHD_CONNECTION_NOTIFY_STARTED;
static const enum MHD_ResponseMemoryMode cmicrohttpd_copy = MHD_RESPMEM_MUST_COPY;

/// Decodes a part of an address in place. A zero byte, which would end the text for the library and show another page,
/// is a replacement character instead: it has as many bytes as "%00".
static inline size_t cmicrohttpd_unescape(void *closure, struct MHD_Connection *connection, char *text) {
  (void)closure;
  (void)connection;
  for (char *place = text; (place = strstr(place, "%00")) != NULL; place += 3) memcpy(place, "\xEF\xBF\xBD", 3);
  return MHD_http_unescape(text);
}

/// Starts a server with one thread on a listening socket. NULL when there are no resources.
static inline struct MHD_Daemon *cmicrohttpd_start(
    int listener, unsigned int connections, size_t bytes_of_connection, unsigned int idle_seconds,
    MHD_AccessHandlerCallback handler, MHD_RequestCompletedCallback completed, MHD_NotifyConnectionCallback notified,
    void *closure) {
  return MHD_start_daemon(
      MHD_USE_AUTO_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, handler, closure,
      MHD_OPTION_LISTEN_SOCKET, listener, MHD_OPTION_CONNECTION_LIMIT, connections,
      MHD_OPTION_CONNECTION_MEMORY_LIMIT, bytes_of_connection, MHD_OPTION_CONNECTION_TIMEOUT, idle_seconds,
      MHD_OPTION_NOTIFY_COMPLETED, completed, closure, MHD_OPTION_NOTIFY_CONNECTION, notified, closure,
      MHD_OPTION_UNESCAPE_CALLBACK, &cmicrohttpd_unescape, NULL, MHD_OPTION_END);
}

/// The socket of a connection; -1 when it has none.
static inline int cmicrohttpd_socket(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info ? info->connect_fd : -1;
}
