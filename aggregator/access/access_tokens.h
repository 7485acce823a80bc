/* Tokens of users: a file of hashes, from which nobody learns a token. It is read again whenever it has changed.
 *
 *   # user hash
 *   ana 8d2c3f...                    BLAKE2b-256 of the token, in hexadecimal */
#ifndef SYNOP_AGGREGATOR_ACCESS_TOKENS_H
#define SYNOP_AGGREGATOR_ACCESS_TOKENS_H

#include "synop/buffer.h"
#include "synop/error.h"
#include "synop/viewer.h"

struct access_tokens;

struct access_tokens *access_tokens_create (void);
void access_tokens_destroy (struct access_tokens *tokens);
void access_tokens_set (struct access_tokens *tokens, const char *path); /* "": there are none */
/* Whose token it is. -1 and error: nobody's, or the file cannot be used. */
int access_tokens_find (struct access_tokens *tokens, const char *token, char name[VIEWER_NAME_MAX + 1],
                        struct error *error);

/* Makes a token and adds its hash to the file, which is made 0600 where it is missing. */
int access_token_make (const char *path, const char *user, struct buffer *token, struct error *error);
/* Takes away all of the user's: how many there were, or -1. */
int access_token_revoke (const char *path, const char *user, struct error *error);

#endif
