/* libmicrohttpd and zlib, loaded at run time: what is used of them. */
#ifndef SYNOP_COMMON_HTTP_LIBRARY_H
#define SYNOP_COMMON_HTTP_LIBRARY_H

#include <microhttpd.h>
#include <zlib.h>

#include "synop/error.h"

#define HTTP_LIBRARY(FUNCTION)                                                                                         \
  FUNCTION (MHD_start_daemon)                                                                                          \
  FUNCTION (MHD_stop_daemon)                                                                                           \
  FUNCTION (MHD_quiesce_daemon)                                                                                        \
  FUNCTION (MHD_get_daemon_info)                                                                                       \
  FUNCTION (MHD_get_connection_info)                                                                                   \
  FUNCTION (MHD_get_timeout)                                                                                           \
  FUNCTION (MHD_run)                                                                                                   \
  FUNCTION (MHD_lookup_connection_value)                                                                               \
  FUNCTION (MHD_get_connection_values)                                                                                 \
  FUNCTION (MHD_create_response_from_callback)                                                                         \
  FUNCTION (MHD_add_response_header)                                                                                   \
  FUNCTION (MHD_queue_response)                                                                                        \
  FUNCTION (MHD_suspend_connection)                                                                                    \
  FUNCTION (MHD_resume_connection)                                                                                     \
  FUNCTION (MHD_destroy_response)
#define HTTP_ZLIB(FUNCTION)                                                                                            \
  FUNCTION (deflateInit2_)                                                                                             \
  FUNCTION (deflate)                                                                                                   \
  FUNCTION (deflateEnd)

struct http_library {
#define HTTP_DECLARE(name) __typeof__ (&name) name;
  HTTP_LIBRARY (HTTP_DECLARE)
  HTTP_ZLIB (HTTP_DECLARE)
#undef HTTP_DECLARE
};

/* They stay loaded. NULL and error: one is not there. */
const struct http_library *http_library (struct error *error);

#endif
