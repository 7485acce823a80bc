/* Who may ask: the lines of a password file. */
#ifndef SYNOP_COMMON_HTTP_PASSWORD_H
#define SYNOP_COMMON_HTTP_PASSWORD_H

#include <stdbool.h>
#include <stdint.h>

#include "synop/error.h"

struct http_passwords;
/* NULL and error: it cannot be read, or a line is none. */
struct http_passwords *http_passwords_read (const char *path, struct error *error);
void http_passwords_free (struct http_passwords *passwords); /* NULL is fine */

enum http_password_answer { HTTP_PASSWORD_GOOD, HTTP_PASSWORD_WRONG, HTTP_PASSWORD_LATER };
/* `authorization`: the header of that name, or NULL; `host`: who asks. A hash is made to cost time and memory, so that
 * two wrong ones a second are tried, of one host one (else: LATER), and what was good once is found again by a keyed hash
 * that costs nothing. */
enum http_password_answer http_passwords_check (struct http_passwords *passwords, const char *authorization,
                                                uint64_t host, int64_t now_ns);

#endif
