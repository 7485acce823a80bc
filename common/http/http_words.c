/* See http_words.h. */
#include "common/http/http_words.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "synop/hash_table.h"
#include "synop/http.h"

#define HOST_MAX 256

/* ---- addresses ---- */

/* "[::1]:80" becomes "::1" and "80". False: it is none of the forms. */
static bool
address_split (const char *text, char host[HOST_MAX], const char **port)
{
  const char *colon = strrchr (text, ':'), *end = colon, *begin = text;

  if (colon == NULL)
    return false;
  if (*text == '[') {
    if (colon == text || colon[-1] != ']')
      return false;
    begin++;
    end--;
  } else if (memchr (text, ':', (size_t) (colon - text)) != NULL) {
    return false;
  }
  if (begin == end || end - begin >= HOST_MAX)
    return false;
  snprintf (host, HOST_MAX, "%.*s", (int) (end - begin), begin);
  *port = colon + 1;
  return true;
}

static bool
port_is_good (const char *port)
{
  size_t digits = strspn (port, "0123456789");

  return digits > 0 && digits <= 5 && port[digits] == '\0' && atoi (port) <= 65535;
}

int
http_address_parse (const char *text, struct http_address *address, struct error *error)
{
  struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV }, *found;
  char host[HOST_MAX];
  const char *port;
  int rc;

  if (!address_split (text, host, &port) || !port_is_good (port))
    return error_set (error, "\"%.200s\": expected HOST:PORT, [IPV6]:PORT or *:PORT", text);
  rc = getaddrinfo (strcmp (host, "*") == 0 ? NULL : host, port, &hints, &found);
  if (rc != 0)
    return error_set (error, "%s: %s", host, gai_strerror (rc));
  memcpy (&address->socket, found->ai_addr, found->ai_addrlen);
  address->length = found->ai_addrlen;
  freeaddrinfo (found);
  return 0;
}

bool
http_address_is_loopback (const struct http_address *address)
{
  const struct sockaddr_in *four = (const void *) &address->socket;
  const struct sockaddr_in6 *six = (const void *) &address->socket;

  if (address->socket.ss_family == AF_INET)
    return ntohl (four->sin_addr.s_addr) >> 24 == 127;
  return address->socket.ss_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK (&six->sin6_addr);
}

uint64_t
http_address_host (const struct sockaddr *address)
{
  const struct in_addr *four = &((const struct sockaddr_in *) address)->sin_addr;
  const struct in6_addr *six = &((const struct sockaddr_in6 *) address)->sin6_addr;

  return (address->sa_family == AF_INET                                  ? hash_keyed (four, sizeof *four)
          : address->sa_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED (six) ? hash_keyed (&six->s6_addr[12], sizeof *four)
          : address->sa_family == AF_INET6                               ? hash_keyed (six, sizeof *six)
                                                                         : 0) |
         1;
}

uint64_t
http_host_parse (const char *text, size_t length)
{
  struct sockaddr_in four = { .sin_family = AF_INET };
  struct sockaddr_in6 six = { .sin6_family = AF_INET6 };
  size_t bracket = length > 0 && text[0] == '[';
  char host[INET6_ADDRSTRLEN + 8], *colon;

  if (length >= sizeof host)
    return 0;
  snprintf (host, sizeof host, "%.*s", (int) (length - bracket), text + bracket);
  if (bracket)
    host[strcspn (host, "]")] = '\0';
  else if ((colon = strchr (host, ':')) != NULL && strchr (colon + 1, ':') == NULL)
    *colon = '\0';
  return inet_pton (AF_INET, host, &four.sin_addr) == 1    ? http_address_host ((const struct sockaddr *) &four)
         : inet_pton (AF_INET6, host, &six.sin6_addr) == 1 ? http_address_host ((const struct sockaddr *) &six)
                                                           : 0;
}

void
http_address_text (const struct http_address *address, char text[HTTP_ADDRESS_SIZE])
{
  char host[INET6_ADDRSTRLEN] = "?", port[8] = "?";

  getnameinfo ((const struct sockaddr *) &address->socket, address->length, host, sizeof host, port, sizeof port,
               NI_NUMERICHOST | NI_NUMERICSERV);
  snprintf (text, HTTP_ADDRESS_SIZE, strchr (host, ':') != NULL ? "[%s]:%s" : "%s:%s", host, port);
}

int
http_check_listen (const char *value, struct error *error)
{
  char host[HOST_MAX];
  const char *port;

  if (value[0] == '\0' || (address_split (value, host, &port) && port_is_good (port)))
    return 0;
  return error_set (error, "\"%.200s\": expected HOST:PORT, [IPV6]:PORT or *:PORT; empty: no HTTP", value);
}

/* ---- headers ---- */

/* ";q=0", ";q=0.000" among an item's parameters. */
static bool
item_is_refused (const char *parameters, size_t length)
{
  const char *end = parameters + length;

  while ((parameters = memchr (parameters, ';', (size_t) (end - parameters))) != NULL) {
    parameters++;
    while (parameters < end && (*parameters == ' ' || *parameters == '\t'))
      parameters++;
    if (end - parameters >= 3 && strncasecmp (parameters, "q=0", 3) == 0) {
      parameters += 3;
      while (parameters < end && (*parameters == '.' || *parameters == '0' || *parameters == ' '))
        parameters++;
      return parameters == end;
    }
  }
  return false;
}

bool
http_list_has (const char *list, const char *name)
{
  size_t length = strlen (name);

  for (; list != NULL && *list != '\0'; list += strcspn (list, ",")) {
    size_t item, word;

    list += strspn (list, ", \t");
    item = strcspn (list, ",");
    word = strcspn (list, ",; \t");
    if (word == length && strncasecmp (list, name, length) == 0)
      return !item_is_refused (list, item);
  }
  return false;
}
