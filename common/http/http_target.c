/* Who asks, and for what, in one spelling. */
#include <string.h>

#include "common/http/http_private.h"

const struct viewer *
http_request_viewer (const struct http_request *request)
{
  return &request->viewer;
}

bool
http_request_is_proxied (const struct http_request *request)
{
  return http_is_proxy (request->http, http_connection_host (request->http, request->connection));
}

void
http_target_add (struct buffer *out, const char *text, const char *plain)
{
  static const char kept[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";

  for (; *text != '\0'; text++)
    if (strchr (kept, *text) != NULL || strchr (plain, *text) != NULL)
      buffer_add (out, text, 1);
    else
      buffer_printf (out, "%%%02X", (unsigned char) *text);
}

struct spelling {
  struct buffer *out;
  char before; /* the next argument */
};

static void
argument_add (void *context, const char *name, const char *value)
{
  struct spelling *spelling = context;

  buffer_add (spelling->out, &spelling->before, 1);
  spelling->before = '&';
  http_target_add (spelling->out, name, "");
  if (value == NULL)
    return;
  buffer_add_string (spelling->out, "=");
  http_target_add (spelling->out, value, "");
}

void
http_request_target (const struct http_request *request, struct buffer *out)
{
  struct spelling spelling = { out, '?' };

  buffer_printf (out, "%s ", request->method);
  http_target_add (out, request->url, "/");
  http_request_each_argument (request, &spelling, argument_add);
}
