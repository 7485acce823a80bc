/* Behind a proxy that is trusted: who asks it, and as which address. */
#include <string.h>
#include <strings.h>

#include "common/http/http_private.h"

bool
http_is_proxy (const struct http *http, uint64_t host)
{
  for (size_t i = 0; i < http->proxy_count; i++)
    if (http->proxies[i] == host)
      return true;
  return false;
}

int
http_proxies_read (const char *list, uint64_t proxies[HTTP_PROXIES_MAX], size_t *count, struct error *error)
{
  for (*count = 0; *list != '\0'; list += strcspn (list, ",")) {
    size_t length;

    list += strspn (list, ", ");
    length = strcspn (list, ", ");
    if (length == 0)
      break;
    if (*count == HTTP_PROXIES_MAX)
      return error_set (error, "more than %d addresses", HTTP_PROXIES_MAX);
    proxies[*count] = http_host_parse (list, length);
    if (proxies[(*count)++] == 0)
      return error_set (error, "\"%.*s\" is no address, as 10.0.0.1 or fd00::1", (int) length, list);
    list += length;
  }
  return 0;
}

/* A proxy adds its own header behind those that were there. */
struct last {
  const char *name, *value;
};

static enum MHD_Result
take_last (void *context, enum MHD_ValueKind kind, const char *name, const char *value)
{
  struct last *last = context;

  (void) kind;
  if (strcasecmp (name, last->name) == 0)
    last->value = value;
  return MHD_YES;
}

/* What the proxy that asks says in its header; NULL: nothing, or it is not trusted. */
static const char *
forwarded (const struct http_request *request, const char *name)
{
  struct last last = { .name = name };

  if (request->http->proxy_count > 0 &&
      http_is_proxy (request->http, http_connection_host (request->http, request->connection)))
    request->http->library->MHD_get_connection_values (request->connection, MHD_HEADER_KIND, take_last, &last);
  return last.value;
}

/* Of a list: what was added last. */
static const char *
last_item (const char *list)
{
  const char *comma = strrchr (list, ',');

  list = comma ? comma + 1 : list;
  return list + strspn (list, " \t");
}

uint64_t
http_forwarded_host (const struct http *http, const char *list, uint64_t peer)
{
  const char *end = list + strlen (list), *begin;

  while (end > list) {
    for (begin = end; begin > list && begin[-1] != ',';)
      begin--;
    const char *item = begin + strspn (begin, " \t");
    uint64_t host = item < end ? http_host_parse (item, strcspn (item, ", \t")) : 0;
    if (host == 0)
      return peer;
    peer = host;
    if (!http_is_proxy (http, host))
      return host;
    end = begin > list ? begin - 1 : list;
  }
  return peer;
}

uint64_t
http_request_host (const struct http_request *request)
{
  uint64_t peer = http_connection_host (request->http, request->connection);
  const char *list = forwarded (request, "X-Forwarded-For");

  return list ? http_forwarded_host (request->http, list, peer) : peer;
}

bool
http_request_is_tls (const struct http_request *request)
{
  const char *scheme = forwarded (request, "X-Forwarded-Proto");

  return scheme ? strcasecmp (last_item (scheme), "https") == 0 : request->http->certificate != NULL;
}

const char *
http_request_authority (const struct http_request *request)
{
  const char *host = forwarded (request, "X-Forwarded-Host");

  return host ? last_item (host) : http_request_header (request, "Host");
}
