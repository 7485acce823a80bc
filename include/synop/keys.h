/* CURVE keys and the files that hold them.
 *
 * A key file is text; '#' begins a comment. It holds one line: "public = <Z85, 40 characters>" or
 * "secret = <Z85, 40 characters>". A secret's file is made 0600 and refused when others can read it; its public half is
 * computed. Secrets are wiped from memory with sodium_memzero when they are no longer needed; a process that ever made or
 * read one leaves no core and cannot be traced by its own user. */
#ifndef SYNOP_KEYS_H
#define SYNOP_KEYS_H

#include <stddef.h>
#include <stdint.h>

#include "synop/error.h"

#define KEY_SIZE 32
#define KEY_TEXT_SIZE 41 /* Z85 and a NUL */

struct key_pair {
  uint8_t public_key[KEY_SIZE];
  uint8_t secret_key[KEY_SIZE];
};

void key_pair_make (struct key_pair *pair);
void key_text (const uint8_t key[KEY_SIZE], char text[KEY_TEXT_SIZE]); /* Z85, as ZeroMQ's */
int key_from_text (const char *text, size_t length, uint8_t key[KEY_SIZE], struct error *error);

/* The pure parser, for files and for the fuzzer: `name` stands in errors ("FILE:LINE: ..."). */
enum key_half { KEY_PUBLIC, KEY_SECRET };
int key_file_parse (const char *text, size_t length, const char *name, enum key_half half, uint8_t key[KEY_SIZE],
                    struct error *error);

int key_public_read (const char *path, uint8_t key[KEY_SIZE], struct error *error);
int key_pair_read (const char *path, struct key_pair *pair, struct error *error); /* a secret's file */
/* Never overwrite: an existing file is an error. Written whole or not at all. */
int key_public_write (const char *path, const uint8_t key[KEY_SIZE], const char *comment, struct error *error);
int key_secret_write (const char *path, const uint8_t key[KEY_SIZE], const char *comment, struct error *error);

#endif
