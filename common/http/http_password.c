/* HTTP Basic, and a password file: see http_password.h.
 *
 *   # who may ask
 *   grafana:$argon2id$v=19$m=65536,t=2,p=1$...          libsodium's crypto_pwhash_str
 *
 *   Authorization: Basic Z3JhZmFuYTpzZWNyZXQ=           base64 of USER:PASSWORD */
#include "common/http/http_password.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "synop/buffer.h"
#include "synop/clock.h"
#include "synop/file.h"
#include "synop/http.h"
#include "synop/memory.h"

#define FILE_MAX (64 * 1024)
#define USER_MAX 64
#define CREDENTIALS_MAX 512
#define KNOWN_MAX 32
#define TRIES_A_SECOND 2 /* each of another host */
#define HASH_SIZE 32

struct entry {
  char user[USER_MAX + 1];
  char hash[crypto_pwhash_STRBYTES];
};

struct
try {
  uint64_t host;
  int64_t until_ns; /* neither it nor, in this place, others try again */
};

struct http_passwords {
  struct entry *entries;
  size_t count;
  uint8_t key[crypto_generichash_KEYBYTES];
  uint8_t known[KNOWN_MAX][HASH_SIZE]; /* keyed hashes of credentials that were good, the oldest replaced first */
  size_t known_count;
  struct try tries[TRIES_A_SECOND];
};

/* ---- the file ---- */

static bool
user_is_good (const char *user, size_t length)
{
  if (length == 0 || length > USER_MAX)
    return false;
  for (size_t i = 0; i < length; i++)
    if ((unsigned char) user[i] <= ' ' || user[i] == ':' || user[i] == 0x7f)
      return false;
  return true;
}

static int
line_take (struct http_passwords *passwords, const char *line, size_t length, struct error *error)
{
  const char *colon = memchr (line, ':', length);
  size_t user = colon != NULL ? (size_t) (colon - line) : 0;
  struct entry *entry;

  if (colon == NULL || !user_is_good (line, user) || length - user - 1 >= sizeof entry->hash ||
      strncmp (colon + 1, "$argon2", strlen ("$argon2")) != 0)
    return error_set (error, "expected USER:HASH, as \"synop-aggregator keys password USER\" makes it");
  passwords->entries = memory_resize (passwords->entries, passwords->count + 1, sizeof *entry);
  entry = &passwords->entries[passwords->count++];
  *entry = (struct entry){ 0 };
  memcpy (entry->user, line, user);
  memcpy (entry->hash, colon + 1, length - user - 1);
  return 0;
}

static int
lines_take (struct http_passwords *passwords, const char *path, const char *text, struct error *error)
{
  for (unsigned line = 1; *text != '\0'; line++) {
    size_t length = strcspn (text, "\n"), shown = length;

    while (shown > 0 && (text[shown - 1] == ' ' || text[shown - 1] == '\r'))
      shown--;
    if (shown > 0 && *text != '#' && line_take (passwords, text, shown, error) < 0)
      return error_prefix (error, "%s:%u: ", path, line);
    text += length + (text[length] == '\n');
  }
  return passwords->count > 0 ? 0 : error_set (error, "%s: there is nobody in it", path);
}

struct http_passwords *
http_passwords_read (const char *path, struct error *error)
{
  struct http_passwords *passwords = memory_new (1, sizeof *passwords);
  char *text = memory_new (1, FILE_MAX + 1);
  int rc = file_read_text (path, text, FILE_MAX + 1, error);

  if (rc == 0)
    rc = lines_take (passwords, path, text, error);
  free (text);
  randombytes_buf (passwords->key, sizeof passwords->key);
  if (rc == 0)
    return passwords;
  http_passwords_free (passwords);
  return NULL;
}

void
http_passwords_free (struct http_passwords *passwords)
{
  if (passwords == NULL)
    return;
  free (passwords->entries);
  explicit_bzero (passwords, sizeof *passwords);
  free (passwords);
}

int
http_password_line (const char *user, const char *password, struct buffer *line, struct error *error)
{
  char hash[crypto_pwhash_STRBYTES];

  if (!user_is_good (user, strlen (user)))
    return error_set (error, "a user's name has 1 to %d characters, no ':' and no blanks", USER_MAX);
  if (password[0] == '\0' || strlen (user) + 1 + strlen (password) > CREDENTIALS_MAX)
    return error_set (error, "expected a password of 1 to %zu bytes", CREDENTIALS_MAX - 1 - strlen (user));
  if (sodium_init () < 0 || crypto_pwhash_str (hash, password, strlen (password), crypto_pwhash_OPSLIMIT_INTERACTIVE,
                                               crypto_pwhash_MEMLIMIT_INTERACTIVE) != 0)
    return error_set (error, "there is not enough memory for a hash");
  buffer_printf (line, "%s:%s\n", user, hash);
  return 0;
}

/* ---- a request ---- */

/* USER:PASSWORD; its length, or 0. */
static size_t
credentials (const char *authorization, char text[CREDENTIALS_MAX + 1])
{
  static const char scheme[] = "Basic ";
  size_t length = 0;

  if (authorization == NULL || strncasecmp (authorization, scheme, strlen (scheme)) != 0)
    return 0;
  authorization += strlen (scheme);
  if (sodium_base642bin ((unsigned char *) text, CREDENTIALS_MAX, authorization, strlen (authorization), " ", &length,
                         NULL, sodium_base64_VARIANT_ORIGINAL) != 0)
    return 0;
  text[length] = '\0';
  return memchr (text, '\0', length) == NULL ? length : 0;
}

static bool
is_known (const struct http_passwords *passwords, const uint8_t hash[HASH_SIZE])
{
  bool known = false;

  for (size_t i = 0; i < KNOWN_MAX && i < passwords->known_count; i++)
    known |= sodium_memcmp (passwords->known[i], hash, HASH_SIZE) == 0;
  return known;
}

static bool
password_verify (const struct http_passwords *passwords, const char *text)
{
  const char *colon = strchr (text, ':');

  for (size_t i = 0; colon != NULL && i < passwords->count; i++) {
    const struct entry *entry = &passwords->entries[i];
    if (strlen (entry->user) == (size_t) (colon - text) && strncmp (entry->user, text, (size_t) (colon - text)) == 0)
      return crypto_pwhash_str_verify (entry->hash, colon + 1, strlen (colon + 1)) == 0;
  }
  return false;
}

/* NULL: the host has tried a wrong one in this second, or others have tried as many as are. */
static struct try *
try_begin (struct http_passwords *passwords, uint64_t host, int64_t now_ns)
{
  struct try *free = NULL;

  for (size_t i = 0; i < TRIES_A_SECOND; i++)
    if (now_ns >= passwords->tries[i].until_ns)
      free = &passwords->tries[i];
    else if (passwords->tries[i].host == host)
      return NULL;
  if (free != NULL)
    *free = (struct try){ host, now_ns + NS_PER_S };
  return free;
}

enum http_password_answer
http_passwords_check (struct http_passwords *passwords, const char *authorization, uint64_t host, int64_t now_ns)
{
  enum http_password_answer answer = HTTP_PASSWORD_WRONG;
  char text[CREDENTIALS_MAX + 1];
  uint8_t hash[HASH_SIZE];
  size_t length = credentials (authorization, text);
  struct try *try;

  if (length == 0)
    return HTTP_PASSWORD_WRONG;
  crypto_generichash (hash, sizeof hash, (const unsigned char *) text, length, passwords->key, sizeof passwords->key);
  if (is_known (passwords, hash)) {
    answer = HTTP_PASSWORD_GOOD;
  } else if ((try = try_begin (passwords, host, now_ns)) == NULL) {
    answer = HTTP_PASSWORD_LATER;
  } else if (password_verify (passwords, text)) {
    memcpy (passwords->known[passwords->known_count++ % KNOWN_MAX], hash, sizeof hash);
    try->until_ns = now_ns;
    answer = HTTP_PASSWORD_GOOD;
  }
  explicit_bzero (text, sizeof text);
  return answer;
}
