/* The pure parts: addresses, and what a client's headers say. */
#ifndef SYNOP_COMMON_HTTP_WORDS_H
#define SYNOP_COMMON_HTTP_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "synop/buffer.h"
#include "synop/error.h"

struct http_address {
  struct sockaddr_storage socket;
  socklen_t length;
};

/* HOST:PORT, [IPV6]:PORT, *:PORT. A host's name is looked up. */
int http_address_parse (const char *text, struct http_address *address, struct error *error);
bool http_address_is_loopback (const struct http_address *address);
/* The same number for all addresses of a host, and another for others, whoever chooses them; never 0. */
uint64_t http_address_host (const struct sockaddr *address);
#define HTTP_ADDRESS_SIZE 80
void http_address_text (const struct http_address *address, char text[HTTP_ADDRESS_SIZE]); /* "[::1]:5580" */

/* The number of "10.0.0.1", "10.0.0.1:80", "fd00::1", "[fd00::1]:80" (so many bytes of it); 0: it is no address. */
uint64_t http_host_parse (const char *text, size_t length);

/* Does a list such as Accept or Accept-Encoding name it, and not with q=0? NULL: there is no such header. */
bool http_list_has (const char *list, const char *name);

#endif
