/* Which requests are answered at all, when a browser sends them for other sites; and what answers forbid the browser. */
#include <arpa/inet.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "common/http/http_private.h"

#define HOST_MAX 255

/* ---- DNS rebinding: a name of another site that leads here ---- */

/* "[::1]:80" becomes "::1", "host:80" "host". False: it is none. */
static bool
host_copy (const char *authority, char host[HOST_MAX + 1])
{
  size_t bracket = authority[0] == '[', length = strcspn (authority + bracket, bracket ? "]" : ":");

  if (length == 0 || length > HOST_MAX)
    return false;
  snprintf (host, HOST_MAX + 1, "%.*s", (int) length, authority + bracket);
  return true;
}

static bool
host_is_local (const char *host)
{
  const char *dot = strrchr (host, '.'), *last = dot ? dot + 1 : host;
  char own[HOST_NAME_MAX + 1] = "";
  struct in6_addr address;

  if (inet_pton (AF_INET, host, &address) == 1 || inet_pton (AF_INET6, host, &address) == 1 ||
      strcasecmp (last, "localhost") == 0)
    return true;
  gethostname (own, sizeof own - 1);
  if (strcasecmp (host, own) == 0)
    return true;
  own[strcspn (own, ".")] = '\0';
  return strcasecmp (host, own) == 0;
}

bool
http_host_is_known (const char *authority, const char *names)
{
  char host[HOST_MAX + 1];

  return host_copy (authority, host) && (host_is_local (host) || http_list_has (names, host));
}

static bool
host_is_fine (const struct http *http, const struct http_request *request)
{
  const char *host = http_request_header (request, "Host"), *names = http->options.settings->names;

  if (host == NULL || (names[0] == '\0' && (http->passwords != NULL || !http->loopback)))
    return true;
  return http_host_is_known (host, names);
}

/* ---- requests that a page of another site makes ---- */

static bool
header_is (const struct http_request *request, const char *name, const char *value)
{
  const char *found = http_request_header (request, name);

  return found != NULL && strcmp (found, value) == 0;
}

/* A link from elsewhere may lead to a page, and nothing else. */
static bool
origin_is_fine (const struct http_request *request, bool page)
{
  if (http_request_header (request, "Sec-Fetch-Site") == NULL || header_is (request, "Sec-Fetch-Site", "same-origin") ||
      header_is (request, "Sec-Fetch-Site", "none"))
    return true;
  return page && header_is (request, "Sec-Fetch-Mode", "navigate") && header_is (request, "Sec-Fetch-Dest", "document");
}

const char *
http_guard_refuses (const struct http *http, const struct http_request *request, bool page)
{
  return !host_is_fine (http, request)     ? "the request's Host is not a name of this host; [http] names adds names"
         : !origin_is_fine (request, page) ? "a page of another site asks this"
                                           : NULL;
}

/* ---- what answers forbid ---- */

void
http_guard_headers (const struct http *http, struct MHD_Response *response)
{
  static const char *const headers[][2] = {
    { "Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
                                 "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'" },
    { "X-Content-Type-Options", "nosniff" },
    { "X-Frame-Options", "DENY" },
    { "Referrer-Policy", "no-referrer" },
    { "Cross-Origin-Opener-Policy", "same-origin" },
    { "Cross-Origin-Resource-Policy", "same-origin" },
    { "Permissions-Policy", "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()" },
  };

  for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++)
    http->library->MHD_add_response_header (response, headers[i][0], headers[i][1]);
}
