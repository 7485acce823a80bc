/* See access_tokens.h. */
#include "aggregator/access/access_tokens.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "synop/array.h"
#include "synop/file.h"
#include "synop/key_folder.h"
#include "synop/memory.h"

#define PREFIX "synop_"
#define RANDOM_BYTES 32
#define HASH_SIZE 32
#define HASH_DIGITS (2 * HASH_SIZE)
#define FILE_MAX (4 << 20)

struct token {
  char user[VIEWER_NAME_MAX + 1];
  uint8_t hash[HASH_SIZE];
};

struct access_tokens {
  char *path;
  struct stat status; /* of what was read */
  bool read;
  struct token *list;
  size_t count, room;
};

/* ---- the file ---- */

static int
file_check (const char *path, const struct stat *status, struct error *error)
{
  if (!S_ISREG (status->st_mode))
    return error_set (error, "%s: not a regular file", path);
  if (status->st_mode & (S_IRWXG | S_IRWXO))
    return error_set (error, "%s: others than its owner can get at these tokens (mode %03o); run: chmod 600 %s", path,
                      (unsigned) status->st_mode & 0777, path);
  if (status->st_uid != geteuid () && status->st_uid != 0 && geteuid () != 0)
    return error_set (error, "%s: these tokens belong to user %u; expected user %u or root", path,
                      (unsigned) status->st_uid, (unsigned) geteuid ());
  return 0;
}

/* Its text, to be freed; NULL and error. A file that is not there is an empty one, with `status` all 0. */
static char *
file_text (const char *path, struct stat *status, struct error *error)
{
  int fd = file_open (path);
  char *text = NULL;
  ssize_t length;

  memset (status, 0, sizeof *status);
  if (fd == -ENOENT)
    return memory_string ("");
  if (fd < 0) {
    error_set (error, "%s: %s", path, file_error_text (-fd));
    return NULL;
  }
  if (fstat (fd, status) == 0 && file_check (path, status, error) == 0) {
    text = memory_new (FILE_MAX + 1, 1);
    length = file_read (fd, text, FILE_MAX);
    if (length < 0 || length == FILE_MAX) {
      error_set (error, "%s: %s", path, length < 0 ? strerror (errno) : "it is too large");
      free (text);
      text = NULL;
    } else {
      text[length] = '\0';
    }
  }
  file_close (&fd);
  return text;
}

/* False: it is no token's line. */
static bool
line_read (const char *line, size_t length, struct token *token)
{
  const char *blank = memchr (line, ' ', length);
  size_t user = blank ? (size_t) (blank - line) : 0, size = 0;

  if (!blank || user > VIEWER_NAME_MAX || length - user - 1 != HASH_DIGITS)
    return false;
  memcpy (token->user, line, user);
  token->user[user] = '\0';
  return viewer_is_user (token->user) &&
         sodium_hex2bin (token->hash, HASH_SIZE, blank + 1, HASH_DIGITS, NULL, &size, NULL) == 0 && size == HASH_SIZE;
}

static int
text_read (struct access_tokens *tokens, const char *text, struct error *error)
{
  tokens->count = 0;
  for (unsigned number = 1; *text; number++) {
    size_t length = strcspn (text, "\n");
    if (length && *text != '#' && !line_read (text, length, array_add (tokens->list, tokens->count, tokens->room))) {
      tokens->count = 0;
      return error_set (error, "%s:%u: expected USER and a hash, as \"synop-aggregator token USER\" writes them",
                        tokens->path, number);
    }
    text += length + (text[length] == '\n');
  }
  return 0;
}

static bool
is_same (const struct stat *one, const struct stat *other)
{
  return one->st_dev == other->st_dev && one->st_ino == other->st_ino && one->st_size == other->st_size &&
         one->st_ctim.tv_sec == other->st_ctim.tv_sec && one->st_ctim.tv_nsec == other->st_ctim.tv_nsec;
}

/* Reads the file if it has changed. */
static int
refresh (struct access_tokens *tokens, struct error *error)
{
  struct stat now = { 0 };
  char *text;
  int result;

  if (!*tokens->path)
    return 0;
  if (stat (tokens->path, &now) < 0)
    memset (&now, 0, sizeof now);
  if (tokens->read && is_same (&now, &tokens->status))
    return 0;
  tokens->read = false;
  tokens->count = 0;
  text = file_text (tokens->path, &tokens->status, error);
  if (!text)
    return -1;
  result = text_read (tokens, text, error);
  tokens->read = result == 0;
  free (text);
  return result;
}

/* ---- whose is it ---- */

static void
hash_make (const char *token, uint8_t hash[HASH_SIZE])
{
  crypto_generichash (hash, HASH_SIZE, (const unsigned char *) token, strlen (token), NULL, 0);
}

int
access_tokens_find (struct access_tokens *tokens, const char *token, char name[VIEWER_NAME_MAX + 1],
                    struct error *error)
{
  uint8_t hash[HASH_SIZE];
  const struct token *found = NULL;

  if (refresh (tokens, error) < 0)
    return -1;
  hash_make (token, hash);
  for (size_t i = 0; i < tokens->count; i++)
    if (sodium_memcmp (tokens->list[i].hash, hash, HASH_SIZE) == 0)
      found = &tokens->list[i];
  if (!found)
    return error_set (error, "the token is nobody's: \"synop-aggregator token USER\" on the master makes one");
  strcpy (name, found->user);
  return 0;
}

struct access_tokens *
access_tokens_create (void)
{
  struct access_tokens *tokens = memory_new (1, sizeof *tokens);

  tokens->path = memory_string ("");
  return tokens;
}

void
access_tokens_set (struct access_tokens *tokens, const char *path)
{
  free (tokens->path);
  tokens->path = memory_string (path);
  tokens->read = false;
  tokens->count = 0;
}

void
access_tokens_destroy (struct access_tokens *tokens)
{
  free (tokens->path);
  free (tokens->list);
  free (tokens);
}

/* ---- made and taken away: the file is written anew, whole or not at all ---- */

static int
file_put (const char *path, const struct buffer *text, struct error *error)
{
  char *temporary = memory_format ("%s.%ld", path, (long) getpid ());
  int fd = open (temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600), result = -1;

  if (fd >= 0 && file_write (fd, text->data, text->length) == 0 && fsync (fd) == 0) {
    key_folder_give (temporary, &fd);
    result = rename (temporary, path);
  }
  if (result < 0) {
    error_set (error, "%s: %s", path, strerror (errno));
    if (fd >= 0)
      unlink (temporary);
  } else {
    file_folder_sync (path);
  }
  file_close (&fd);
  free (temporary);
  return result;
}

/* The file's text without the lines of a user (NULL: all of it), and how many of these there are. */
static int
text_without (const char *path, const char *user, struct buffer *text, struct error *error)
{
  struct stat status;
  char *old = file_text (path, &status, error);
  int count = 0;

  for (const char *at = old; at && *at;) {
    size_t length = strcspn (at, "\n");
    struct token token;
    bool his = user && *at != '#' && line_read (at, length, &token) && strcmp (token.user, user) == 0;
    count += his;
    if (!his)
      buffer_printf (text, "%.*s\n", (int) length, at);
    at += length + (at[length] == '\n');
  }
  free (old);
  return old ? count : -1;
}

int
access_token_make (const char *path, const char *user, struct buffer *token, struct error *error)
{
  char base64[sodium_base64_ENCODED_LEN (RANDOM_BYTES, sodium_base64_VARIANT_URLSAFE_NO_PADDING)];
  uint8_t bytes[RANDOM_BYTES], hash[HASH_SIZE];
  char digits[HASH_DIGITS + 1];
  struct buffer text = { 0 };
  int result;

  if (!viewer_is_user (user))
    return error_set (error, "a user's name has 1 to %d characters, no ':' and no blanks", VIEWER_NAME_MAX);
  if (!*path)
    return error_set (error, "[access] tokens names no file");
  if (sodium_init () < 0)
    return error_set (error, "no random numbers can be had");
  randombytes_buf (bytes, sizeof bytes);
  sodium_bin2base64 (base64, sizeof base64, bytes, sizeof bytes, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
  buffer_printf (token, PREFIX "%s", base64);
  hash_make (buffer_text (token), hash);
  sodium_bin2hex (digits, sizeof digits, hash, sizeof hash);
  result = text_without (path, NULL, &text, error);
  if (result >= 0) {
    buffer_printf (&text, "%s %s\n", user, digits);
    result = file_put (path, &text, error);
  }
  buffer_free (&text);
  explicit_bzero (bytes, sizeof bytes);
  explicit_bzero (base64, sizeof base64);
  return result;
}

int
access_token_revoke (const char *path, const char *user, struct error *error)
{
  struct buffer text = { 0 };
  int count = text_without (path, user, &text, error);

  if (count > 0 && file_put (path, &text, error) < 0)
    count = -1;
  buffer_free (&text);
  return count;
}
