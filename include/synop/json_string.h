/* A text between the quotes of JSON, and whether a text is UTF-8. */
#ifndef SYNOP_JSON_STRING_H
#define SYNOP_JSON_STRING_H

#include <stddef.h>

/* Quotes, backslashes and what text.h calls unsound are escaped (but DEL), what is not UTF-8 becomes U+FFFD: at most 6
 * bytes for each and two quotes. Returns the end of what was written. */
char *json_string_put (char *to, const char *text, size_t length);

/* The length of the UTF-8 character that begins at `at`, which is not ASCII; 0 when it is none. */
size_t json_utf8_length (const unsigned char *at, size_t left);

#endif
