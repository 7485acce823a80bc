/* "aggregator keys": who may connect. It works on the folder of keys and reads no configuration file; it asks a
 * running aggregator over its local socket to reload the keys, and says so when none answers. */
#include "aggregator/command/commands.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "aggregator/command/password_command.h"
#include "synop/clock.h"
#include "synop/config.h"
#include "synop/file.h"
#include "synop/frame.h"
#include "synop/json.h"
#include "synop/key_folder.h"
#include "synop/key_set.h"
#include "synop/keys.h"
#include "synop/log.h"
#include "synop/memory.h"
#include "synop/version.h"

#define ANSWER_TIMEOUT_NS (5 * NS_PER_S)
#define KEY_FILE_MAX 4096

enum { EXIT_FINE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

struct arguments {
  char *keys, *socket;
  bool replace, json, help, version;
  int log_level;
  const char *operands[3]; /* the action, NODE, FILE */
  int count;
  char *nodes; /* the folder of nodes' keys; owned */
};

static int
check_socket (const char *value, struct error *error)
{
  size_t most = sizeof ((struct sockaddr_un *) NULL)->sun_path - 1;
  if (strlen (value) <= most)
    return 0;
  return error_set (error, "expected a path of at most %zu bytes, which is what a socket's name can hold", most);
}

static const struct option options[] = {
  { "", "keys", NULL, OPTION_PATH, offsetof (struct arguments, keys), "/etc/synop/keys",
    .help = "The folder with aggregator.key, aggregator.pub and nodes/." },
  { "", "socket", NULL, OPTION_PATH, offsetof (struct arguments, socket), "/run/synop/aggregator.sock",
    .check = check_socket, .help = "Where a running aggregator answers." },
  { "", "log_level", NULL, OPTION_CHOICE, offsetof (struct arguments, log_level), "info", .choices = log_level_names,
    .help = "How much goes to standard error." },
};

static const char head[] =
    "Usage: synop-aggregator keys init                  makes aggregator.key, aggregator.pub and nodes/\n"
    "       synop-aggregator keys add NODE FILE         admits the node whose public key (agent.pub) is in FILE; "
    "\"-\":\n"
    "                                                   standard input; --replace: instead of the key that it has\n"
    "       synop-aggregator keys list [--json]         every node that is admitted, with its public key\n"
    "       synop-aggregator keys revoke NODE           admits the node no longer; it is cut off at once\n"
    "       synop-aggregator keys password USER         a line for [http] password_file; the password comes from "
    "standard input\n"
    "\n"
    "An agent needs a copy of aggregator.pub beside its own keys. \"add\" and \"revoke\" notify a running aggregator.\n"
    "\n";
static const char tail[] = "  --replace, --json           As above.\n"
                           "\n"
                           "Exit codes: 0 done; 1 could not be done; 2 wrong arguments.\n";

static int
keys_fail (int code, const struct error *error)
{
  log_error ("%s", error->text);
  return code;
}

static int
print (struct buffer *text, int result)
{
  if (file_print (text) != 0)
    result = EXIT_FAILED;
  buffer_free (text);
  return result;
}

static int
check_folders (const struct arguments *arguments, struct error *error)
{
  if (key_folder_check_nodes (arguments->keys, error) == 0)
    return 0;
  if (access (arguments->nodes, F_OK) != 0)
    error_prefix (error, "\"synop-aggregator keys init --keys %s\" comes first: ", arguments->keys);
  return -1;
}

/* ---- reloading a running aggregator ---- */

/* Sends "reload" and reads a line. 1: nobody answers there. */
static int
request (int fd, const char *path, char *answer, size_t size, struct error *error)
{
  static const char words[] = "reload\n";
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  struct timeval limit = { .tv_sec = ANSWER_TIMEOUT_NS / NS_PER_S };
  int64_t until = clock_monotonic () + ANSWER_TIMEOUT_NS;
  size_t length = 0;

  strcpy (address.sun_path, path); /* check_socket has checked its length */
  setsockopt (fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  if (connect (fd, (const struct sockaddr *) &address, sizeof address) != 0) {
    error_set (error, "%s: %s", path, strerror (errno));
    return errno == ENOENT || errno == ECONNREFUSED ? 1 : -1;
  }
  if (send (fd, words, sizeof words - 1, MSG_NOSIGNAL) != (ssize_t) sizeof words - 1)
    return error_set (error, "%s: the request could not be sent: %s", path, strerror (errno));
  while (memchr (answer, '\n', length) == NULL) {
    int64_t left_ns = until - clock_monotonic ();
    struct pollfd ready = { .fd = fd, .events = POLLIN };
    if (left_ns <= 0 || length == size - 1)
      return error_set (error, "%s: the aggregator did not answer in time", path);
    if (poll (&ready, 1, (int) (left_ns / NS_PER_MS) + 1) <= 0)
      continue;
    ssize_t got = recv (fd, answer + length, size - 1 - length, 0);
    if (got <= 0)
      return error_set (error, "%s: the aggregator ended without an answer", path);
    length += (size_t) got;
  }
  answer[strcspn (answer, "\n")] = '\0';
  return 0;
}

/* Adds the result to `text`. Returns the exit code. */
static int
reload (const struct arguments *arguments, struct buffer *text)
{
  char answer[1024] = "";
  struct error error;
  int result = -1;

  int fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0)
    error_set (&error, "socket: %s", strerror (errno));
  else
    result = request (fd, arguments->socket, answer, sizeof answer, &error);
  if (fd >= 0)
    close (fd);
  if (result == 1) {
    buffer_printf (text, "No aggregator answers at %s; one that runs elsewhere reads its keys again on SIGHUP.\n",
                   arguments->socket);
    return EXIT_FINE;
  }
  if (result == 0 && strcmp (answer, "ok") != 0) {
    const char *reason = strncmp (answer, "error ", 6) == 0 ? answer + 6 : answer;
    result = error_set (&error, "the running aggregator has read its keys again and says: %s", reason);
  }
  if (result != 0)
    return keys_fail (EXIT_FAILED, &error);
  buffer_printf (text, "The running aggregator has read its keys again.\n");
  return EXIT_FINE;
}

/* ---- the actions ---- */

static int
keys_init (const struct arguments *arguments)
{
  const char *keys = arguments->keys;
  struct buffer text = { 0 };
  struct error error;

  if (key_folder_init (keys, "aggregator", "aggregator", &error) != 0 ||
      key_folder_make (arguments->nodes, &error) != 0)
    return keys_fail (EXIT_FAILED, &error);
  buffer_printf (&text,
                 "Made %s/aggregator.key, %s/aggregator.pub and %s.\n"
                 "Each node needs a copy of aggregator.pub; its own agent.pub goes in with: "
                 "synop-aggregator keys add --keys %s NODE agent.pub\n",
                 keys, keys, arguments->nodes, keys);
  return print (&text, EXIT_FINE);
}

static int
read_standard_input (uint8_t key[KEY_SIZE], struct error *error)
{
  char text[KEY_FILE_MAX + 1];
  size_t length = fread (text, 1, sizeof text, stdin);
  if (ferror (stdin))
    return error_set (error, "standard input: %s", strerror (errno));
  if (length > KEY_FILE_MAX)
    return error_set (error, "standard input: larger than %d bytes, so not a key file", KEY_FILE_MAX);
  return key_file_parse (text, length, "standard input", KEY_PUBLIC, key, error);
}

/* The new file under a hidden name, which key_set_load passes over; read back, since that checks the key itself. */
static int
keys_write_node (const struct arguments *arguments, const char *node, const uint8_t key[KEY_SIZE], struct error *error)
{
  char *path = memory_format ("%s/%s.pub", arguments->nodes, node);
  char *fresh = memory_format ("%s/.%s.new", arguments->nodes, node);
  uint8_t read[KEY_SIZE];
  int result = -1;

  (void) unlink (fresh); /* left by an interrupted attempt */
  if (key_public_write (fresh, key, node, error) != 0)
    goto out;
  if (key_public_read (fresh, read, error) != 0)
    error_set (error, "the key of %s is not one that can be used safely; make new ones with \"synop-agent keys init\"",
               node);
  else if ((arguments->replace ? rename (fresh, path) : link (fresh, path)) == 0)
    result = 0;
  else if (errno == EEXIST)
    error_set (error, "%s: %s has a key already; --replace gives it this one", path, node);
  else
    error_set (error, "%s: %s", path, strerror (errno));
  (void) unlink (fresh);
  file_folder_sync (path);
out:
  free (path);
  free (fresh);
  return result;
}

/* A key under two names would be admitted under neither. */
static int
check_unlisted (const struct arguments *arguments, const char *node, const uint8_t key[KEY_SIZE], struct error *error)
{
  struct key_set *set = key_set_create ();
  struct error faults;
  int result = 0;

  if (key_set_load (set, arguments->nodes, &faults) != 0)
    log_warning ("%s", faults.text);
  const char *other = key_set_node (set, key);
  if (other != NULL && strcmp (other, node) != 0)
    result =
        error_set (error, "%s/%s.pub holds this key already; each node needs one of its own", arguments->nodes, other);
  key_set_destroy (set);
  return result;
}

static int
keys_add (const struct arguments *arguments)
{
  const char *node = arguments->operands[1], *file = arguments->operands[2];
  struct buffer text = { 0 };
  struct error error;
  uint8_t key[KEY_SIZE];

  if (node_name_check (node, strlen (node), &error) != 0)
    return keys_fail (EXIT_USAGE, &error);
  if (check_folders (arguments, &error) != 0 ||
      (strcmp (file, "-") == 0 ? read_standard_input (key, &error) : key_public_read (file, key, &error)) != 0 ||
      check_unlisted (arguments, node, key, &error) != 0 || keys_write_node (arguments, node, key, &error) != 0)
    return keys_fail (EXIT_FAILED, &error);
  buffer_printf (&text, "Node %s is admitted: %s/%s.pub\n", node, arguments->nodes, node);
  int result = reload (arguments, &text);
  return print (&text, result);
}

static int
keys_revoke (const struct arguments *arguments)
{
  const char *node = arguments->operands[1];
  struct buffer text = { 0 };
  struct error error;

  if (node_name_check (node, strlen (node), &error) != 0)
    return keys_fail (EXIT_USAGE, &error);
  if (check_folders (arguments, &error) != 0)
    return keys_fail (EXIT_FAILED, &error);
  char *path = memory_format ("%s/%s.pub", arguments->nodes, node);
  int result = unlink (path);
  if (result != 0)
    error_set (&error, "%s: %s; \"synop-aggregator keys list --keys %s\" shows the nodes", path, strerror (errno),
               arguments->keys);
  else
    file_folder_sync (path);
  free (path);
  if (result != 0)
    return keys_fail (EXIT_FAILED, &error);
  buffer_printf (&text, "Node %s is admitted no longer.\n", node);
  result = reload (arguments, &text);
  return print (&text, result);
}

static void
list_text (void *context, const char *node, const uint8_t key[KEY_SIZE])
{
  char text[KEY_TEXT_SIZE];
  key_text (key, text);
  buffer_printf (context, "%-16s %s\n", node, text);
}

static void
list_json (void *context, const char *node, const uint8_t key[KEY_SIZE])
{
  struct json *json = context;
  char text[KEY_TEXT_SIZE];
  key_text (key, text);
  json_object (json);
  json_text (json_key (json, "node"), node);
  json_text (json_key (json, "public_key"), text);
  json_object_end (json);
  json_newline (json);
}

static int
keys_list (const struct arguments *arguments)
{
  struct key_set *set = key_set_create ();
  struct json json = { 0 };
  struct error error;
  int result = EXIT_FINE;

  if (check_folders (arguments, &error) != 0 || key_set_load (set, arguments->nodes, &error) != 0)
    result = keys_fail (EXIT_FAILED, &error); /* what could be read is shown all the same */
  if (arguments->json)
    key_set_each (set, list_json, &json);
  else
    key_set_each (set, list_text, &json.out);
  key_set_destroy (set);
  return print (&json.out, result);
}

static int
keys_password (const struct arguments *arguments)
{
  struct buffer line = { 0 };
  struct error error;

  if (password_command (arguments->operands[1], &line, &error) != 0)
    return keys_fail (EXIT_FAILED, &error);
  return print (&line, EXIT_FINE);
}

static const struct action {
  const char *name;
  int count; /* of operands, with itself */
  int (*run) (const struct arguments *arguments);
  const char *usage;
} actions[] = {
  { "init", 1, keys_init, "init" },
  { "add", 3, keys_add, "add NODE FILE" },
  { "list", 1, keys_list, "list" },
  { "revoke", 2, keys_revoke, "revoke NODE" },
  { "password", 2, keys_password, "password USER" },
};

static int
run (const struct arguments *arguments)
{
  struct error error;

  error_set (
      &error,
      "expected \"synop-aggregator keys init\", \"add\", \"list\", \"revoke\" or \"password\"; \"synop-aggregator "
      "keys --help\" shows "
      "more");
  for (size_t i = 0; arguments->count > 0 && i < sizeof actions / sizeof *actions; i++) {
    if (strcmp (arguments->operands[0], actions[i].name) != 0)
      continue;
    if (arguments->count == actions[i].count)
      return actions[i].run (arguments);
    error_set (&error, "expected \"synop-aggregator keys %s\"", actions[i].usage);
    return keys_fail (EXIT_USAGE, &error);
  }
  if (arguments->count > 0)
    config_hint_nearest (&error, arguments->operands[0],
                         (const char *const[]){ "init", "add", "list", "revoke", "password", NULL });
  return keys_fail (EXIT_USAGE, &error);
}

static void
keys_take_word (void *context, const char *word)
{
  struct arguments *arguments = context;
  arguments->help |= strcmp (word, "help") == 0;
  arguments->version |= strcmp (word, "version") == 0;
  arguments->replace |= strcmp (word, "replace") == 0;
  arguments->json |= strcmp (word, "json") == 0;
}

int
aggregator_keys_command (int argc, char **argv)
{
  static const char *const words[] = { "replace", "json", NULL };
  struct arguments arguments = { 0 };
  struct config *config = config_create (options, sizeof options / sizeof *options, &arguments, NULL);
  struct error error;
  int result;

  signal (SIGPIPE, SIG_IGN);
  config_set_program (config, "synop-aggregator keys", NULL);
  arguments.count =
      config_read_operands (config, argc, argv, arguments.operands, 3, words, keys_take_word, &arguments, &error);
  log_set_level ((enum log_level) arguments.log_level);
  if (arguments.version && !arguments.help) {
    struct buffer text = { 0 };
    buffer_add_string (&text, "synop aggregator " SYNOP_VERSION "\n");
    result = print (&text, EXIT_FINE);
  } else if (arguments.help) {
    struct buffer text = { 0 };
    buffer_add_string (&text, head);
    config_print_help (config, &text);
    buffer_add_string (&text, tail);
    result = print (&text, EXIT_FINE);
  } else if (arguments.count < 0) {
    result = keys_fail (EXIT_USAGE, &error);
  } else {
    arguments.nodes = memory_format ("%s/nodes", arguments.keys);
    result = run (&arguments);
    free (arguments.nodes);
  }
  config_destroy (config);
  return result;
}
