/* CURVE keys and their files. The checks are those of ssh for its own: a secret that others can read is no secret, and
 * a mere warning about it would be ignored.
 *
 *   # n1
 *   public = rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7
 *
 * '#' is a digit of Z85 too, so it begins a comment only as the first character of a line. */
#include "synop/keys.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zmq.h>

#include "synop/file.h"
#include "synop/key_folder.h"
#include "synop/memory.h"

#define KEY_FILE_MAX 4096

/* A process that holds a secret leaves no core, which would contain it and libzmq's copies of it, and no other
 * process of the same user can read its memory. RLIMIT_CORE would not do: the kernel ignores it where cores go into
 * a pipe, and children would inherit it. This ends with exec. */
static void
process_seal (void)
{
  prctl (PR_SET_DUMPABLE, 0);
}

void
key_pair_make (struct key_pair *pair)
{
  process_seal ();
  if (sodium_init () < 0)
    abort (); /* without a source of randomness no key could be trusted */
  crypto_box_keypair (pair->public_key, pair->secret_key);
}

void
key_text (const uint8_t key[KEY_SIZE], char text[KEY_TEXT_SIZE])
{
  zmq_z85_encode (text, key, KEY_SIZE);
}

int
key_from_text (const char *text, size_t length, uint8_t key[KEY_SIZE], struct error *error)
{
  char digits[KEY_TEXT_SIZE] = { 0 };
  bool good;

  if (length != KEY_TEXT_SIZE - 1)
    return error_set (error, "expected a key of %d characters of Z85, not of %zu", KEY_TEXT_SIZE - 1, length);
  memcpy (digits, text, length);
  good = strlen (digits) == length && zmq_z85_decode (key, digits) != NULL;
  sodium_memzero (digits, sizeof digits);
  if (good)
    return 0;
  sodium_memzero (key, KEY_SIZE);
  return error_set (error, "expected a key in Z85; this holds characters that cannot stand in one");
}

static bool
is_blank (char c)
{
  return c == ' ' || c == '\t' || c == '\r';
}

/* Takes blanks off both ends of the `*length` bytes at `*text`. */
static void
trim (const char **text, size_t *length)
{
  while (*length > 0 && is_blank (**text)) {
    (*text)++;
    (*length)--;
  }
  while (*length > 0 && is_blank ((*text)[*length - 1]))
    (*length)--;
}

static bool
is_word (const char *text, size_t length, const char *word)
{
  return length == strlen (word) && memcmp (text, word, length) == 0;
}

/* One line that is neither empty nor a comment: "public = KEY". Errors quote nothing of it: it may be secret. */
static int
line_parse (const char *line, size_t length, enum key_half half, uint8_t key[KEY_SIZE], struct error *error)
{
  const char *wanted = half == KEY_SECRET ? "secret" : "public";
  const char *equals = memchr (line, '=', length);
  if (equals == NULL)
    return error_set (error, "expected \"%s = KEY\"", wanted);

  const char *word = line;
  size_t word_length = (size_t) (equals - line);
  trim (&word, &word_length);
  if (half == KEY_PUBLIC && is_word (word, word_length, "secret"))
    return error_set (error, "a secret key where a public one is due: copy the .pub file, and make new keys if this "
                             "one has left its machine");
  if (half == KEY_SECRET && is_word (word, word_length, "public"))
    return error_set (error, "a public key where the secret one is due");
  if (!is_word (word, word_length, wanted))
    return error_set (error, "expected \"%s = KEY\"", wanted);

  const char *value = equals + 1;
  size_t value_length = (size_t) (line + length - value);
  trim (&value, &value_length);
  return key_from_text (value, value_length, key, error);
}

int
key_file_parse (const char *text, size_t length, const char *name, enum key_half half, uint8_t key[KEY_SIZE],
                struct error *error)
{
  const char *end = text + length;
  int number = 0, found_at = 0;

  while (text < end) {
    const char *newline = memchr (text, '\n', (size_t) (end - text));
    const char *line = text;
    size_t line_length = (size_t) ((newline != NULL ? newline : end) - text);
    text += line_length + (newline != NULL);
    number++;
    trim (&line, &line_length);
    if (line_length == 0 || *line == '#')
      continue;
    if (found_at != 0) {
      error_set (error, "%s:%d: a second key; line %d holds one already, and a file holds one", name, number, found_at);
      goto fail;
    }
    if (line_parse (line, line_length, half, key, error) != 0) {
      error_prefix (error, "%s:%d: ", name, number);
      goto fail;
    }
    found_at = number;
  }
  if (found_at != 0)
    return 0;
  error_set (error, "%s: holds no key; expected a line \"%s = KEY\"", name, half == KEY_SECRET ? "secret" : "public");
fail:
  sodium_memzero (key, KEY_SIZE);
  return -1;
}

/* For keys that key_folder_give gave away: root may use keys of a service's user in a folder of that user. */
static bool
is_of_folder (const char *path, uid_t owner)
{
  char *folder = file_folder (path);
  struct stat status;
  bool same = stat (folder, &status) == 0 && status.st_uid == owner;

  free (folder);
  return same;
}

/* Checks the file's owner and mode. */
static int
file_check (int fd, const char *path, enum key_half half, struct error *error)
{
  struct stat status;

  if (fstat (fd, &status) != 0)
    return error_set (error, "%s: %s", path, strerror (errno));
  if (!S_ISREG (status.st_mode))
    return error_set (error, "%s: not a regular file", path);
  if (half == KEY_PUBLIC) {
    if ((status.st_mode & S_IWOTH) != 0)
      return error_set (error, "%s: everybody can write to this key; run: chmod 644 %s", path, path);
    return 0;
  }
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    return error_set (error, "%s: others than its owner can get at this secret key (mode %03o); run: chmod 600 %s",
                      path, (unsigned) status.st_mode & 0777, path);
  if (status.st_uid != geteuid () && status.st_uid != 0 && !(geteuid () == 0 && is_of_folder (path, status.st_uid)))
    return error_set (error, "%s: this secret key belongs to user %u; expected user %u or root", path,
                      (unsigned) status.st_uid, (unsigned) geteuid ());
  return 0;
}

static int
key_file_read (const char *path, enum key_half half, uint8_t key[KEY_SIZE], struct error *error)
{
  char text[KEY_FILE_MAX + 1];
  ssize_t length;
  int result = -1;

  /* Without O_NONBLOCK a FIFO of that name would hang the program. */
  int fd = open (path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (fd < 0)
    return error_set (error, "%s: %s", path, strerror (errno));
  if (file_check (fd, path, half, error) != 0)
    goto out;
  length = file_read (fd, text, sizeof text);
  if (length < 0)
    error_set (error, "%s: %s", path, strerror (errno));
  else if (length > KEY_FILE_MAX)
    error_set (error, "%s: larger than %d bytes, so not a key file", path, KEY_FILE_MAX);
  else
    result = key_file_parse (text, (size_t) length, path, half, key, error);
out:
  sodium_memzero (text, sizeof text);
  close (fd);
  return result;
}

int
key_public_read (const char *path, uint8_t key[KEY_SIZE], struct error *error)
{
  /* A few points of the curve give the same shared secret with every key: libsodium refuses them, libzmq does not
   * expect that. */
  static const uint8_t any[KEY_SIZE] = { 8 };
  uint8_t shared[KEY_SIZE];

  if (key_file_read (path, KEY_PUBLIC, key, error) != 0)
    return -1;
  if (crypto_scalarmult (shared, any, key) != 0)
    return error_set (error, "%s: not a key that can be used safely; make new ones on the host that it is of", path);
  return 0;
}

int
key_pair_read (const char *path, struct key_pair *pair, struct error *error)
{
  process_seal ();
  if (key_file_read (path, KEY_SECRET, pair->secret_key, error) != 0)
    return -1;
  crypto_scalarmult_base (pair->public_key, pair->secret_key);
  return 0;
}

/* Written under another name first, since link() publishes a complete file in one step and never replaces another. */
static int
key_file_write (const char *path, mode_t mode, const char *text, size_t length, struct error *error)
{
  const char *slash = strrchr (path, '/');
  int folder_length = slash != NULL ? (int) (slash + 1 - path) : 0;
  char *temporary = memory_format ("%.*s.%s.XXXXXX", folder_length, path, path + folder_length);
  bool created = false;
  int result = -1;
  int fd = mkostemp (temporary, O_CLOEXEC); /* O_EXCL, 0600 */

  if (fd < 0)
    goto out;
  created = true;
  key_folder_give (path, &fd);
  if (file_write (fd, text, length) != 0 || fchmod (fd, mode) != 0 || fsync (fd) != 0)
    goto out;
  if (link (temporary, path) != 0)
    goto out;
  result = 0;
out:
  if (result != 0 && errno == EEXIST)
    error_set (error, "%s: is there already, and is not overwritten", path);
  else if (result != 0)
    error_set (error, "%s: %s", path, strerror (errno));
  file_close (&fd);
  if (created)
    unlink (temporary);
  if (result == 0)
    file_folder_sync (path);
  free (temporary);
  return result;
}

static int
key_write (const char *path, enum key_half half, const uint8_t key[KEY_SIZE], const char *comment, struct error *error)
{
  char text[KEY_FILE_MAX];
  char digits[KEY_TEXT_SIZE];
  char line[128];
  size_t length = 0;

  for (; comment != NULL && comment[length] != '\0' && length < sizeof line - 1; length++)
    line[length] = (unsigned char) comment[length] < ' ' || comment[length] == 0x7f ? ' ' : comment[length];
  line[length] = '\0';

  key_text (key, digits);
  int text_length = snprintf (text, sizeof text, "%s%s%s%s = %s\n", length > 0 ? "# " : "", line,
                              length > 0 ? "\n" : "", half == KEY_SECRET ? "secret" : "public", digits);
  int result = key_file_write (path, half == KEY_SECRET ? 0600 : 0644, text, (size_t) text_length, error);
  sodium_memzero (text, sizeof text);
  sodium_memzero (digits, sizeof digits);
  return result;
}

int
key_public_write (const char *path, const uint8_t key[KEY_SIZE], const char *comment, struct error *error)
{
  return key_write (path, KEY_PUBLIC, key, comment, error);
}

int
key_secret_write (const char *path, const uint8_t key[KEY_SIZE], const char *comment, struct error *error)
{
  return key_write (path, KEY_SECRET, key, comment, error);
}
