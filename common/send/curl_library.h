/* libcurl, loaded at run time: what is used of it. A program that posts nothing does without it. */
#ifndef SYNOP_COMMON_CURL_LIBRARY_H
#define SYNOP_COMMON_CURL_LIBRARY_H

#include <curl/curl.h>

#include "synop/error.h"

#define CURL_LIBRARY(FUNCTION)                                                                                         \
  FUNCTION (global_init)                                                                                               \
  FUNCTION (easy_init)                                                                                                 \
  FUNCTION (easy_setopt)                                                                                               \
  FUNCTION (easy_getinfo)                                                                                              \
  FUNCTION (easy_perform)                                                                                              \
  FUNCTION (easy_strerror)                                                                                             \
  FUNCTION (easy_cleanup)                                                                                              \
  FUNCTION (multi_init)                                                                                                \
  FUNCTION (multi_add_handle)                                                                                          \
  FUNCTION (multi_remove_handle)                                                                                       \
  FUNCTION (multi_perform)                                                                                             \
  FUNCTION (multi_poll)                                                                                                \
  FUNCTION (multi_wakeup)                                                                                              \
  FUNCTION (multi_info_read)                                                                                           \
  FUNCTION (multi_cleanup)                                                                                             \
  FUNCTION (slist_append)                                                                                              \
  FUNCTION (slist_free_all)                                                                                            \
  FUNCTION (getdate)

/* Without the `curl_` before each. */
struct curl_library {
#define CURL_DECLARE(name) __typeof__ (&(curl_##name)) name;
  CURL_LIBRARY (CURL_DECLARE)
#undef CURL_DECLARE
};

/* It stays loaded. NULL and error: it is not there. From any thread. */
const struct curl_library *curl_library (struct error *error);

#endif
