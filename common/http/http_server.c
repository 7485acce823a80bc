/* The server's thread: libmicrohttpd's work, the look at slow connections, and what a reload brings; see http.h. */
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/http/http_private.h"
#include "synop/file.h"
#include "synop/log.h"
#include "synop/memory.h"
#include "synop/thread.h"

#define BACKLOG 128
#define SEND_BYTES (256 * 1024) /* that the kernel holds of a connection: slow ones have no more */
#define DESCRIPTORS_PART 16     /* of those that the program may have connections may be this part */
#define CONNECTIONS_LEAST 8
#define PEM_MAX (256 * 1024)
#define LOOK_MS 1000
#define LAST_WORDS (250 * NS_PER_MS)

const char *const http_auth_names[] = { "password", "none", NULL };

int
http_settings_check (const struct http_settings *settings, struct error *error)
{
  struct http_address address;

  if (settings->listen[0] == '\0')
    return 0;
  if ((settings->certificate[0] == '\0') != (settings->key[0] == '\0'))
    return error_set (error, "[http] certificate and key: HTTPS needs both");
  if (settings->auth == HTTP_AUTH_NONE && settings->password_file[0] != '\0')
    return error_set (error, "[http] auth = none and password_file: give one of them");
  if (http_address_parse (settings->listen, &address, error) < 0)
    return error_prefix (error, "[http] listen: ");
  if (!http_address_is_loopback (&address) && settings->auth != HTTP_AUTH_NONE && settings->password_file[0] == '\0')
    return error_set (error,
                      "[http] listen: others than this host reach %s: set [http] password_file, or auth = none "
                      "to answer everybody",
                      settings->listen);
  return 0;
}

int
http_check_proxies (const char *value, struct error *error)
{
  uint64_t proxies[HTTP_PROXIES_MAX];
  size_t count;

  return http_proxies_read (value, proxies, &count, error);
}

/* ---- the socket ---- */

static size_t
connections_most (void)
{
  struct rlimit limit = { 1024, 1024 };
  size_t most;

  getrlimit (RLIMIT_NOFILE, &limit);
  most = limit.rlim_cur / DESCRIPTORS_PART;
  return most < CONNECTIONS_LEAST ? CONNECTIONS_LEAST : most < HTTP_CONNECTIONS_MAX ? most : HTTP_CONNECTIONS_MAX;
}

static int
socket_open (const char *listen_to, bool tls, struct http *http, bool *taken, struct error *error)
{
  struct http_address address;
  char text[HTTP_ADDRESS_SIZE];
  int one = 1, room = SEND_BYTES, fd;

  if (http_address_parse (listen_to, &address, error) < 0)
    return -1;
  fd = socket (address.socket.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd >= 0) {
    setsockopt (fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    setsockopt (fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
  }
  if (fd < 0 || bind (fd, (const struct sockaddr *) &address.socket, address.length) < 0 || listen (fd, BACKLOG) < 0) {
    *taken = errno == EADDRINUSE || errno == EADDRNOTAVAIL;
    error_set (error, "%s: %s", listen_to, strerror (errno));
    if (fd >= 0)
      close (fd);
    return -1;
  }
  getsockname (fd, (struct sockaddr *) &address.socket, &address.length);
  http_address_text (&address, text);
  http->loopback = http_address_is_loopback (&address);
  snprintf (http->url, sizeof http->url, "http%s://%s/", tls ? "s" : "", text);
  http->listen_fd = fd;
  return 0;
}

/* ---- the daemon ---- */

static void
daemon_log (void *context, const char *format, va_list arguments)
{
  char text[256];

  (void) context;
  vsnprintf (text, sizeof text, format, arguments);
  text[strcspn (text, "\n")] = '\0';
  log_debug ("HTTP: %s", text);
}

static int
daemon_start (struct http *http, struct error *error)
{
  struct MHD_OptionItem options[] = {
    { MHD_OPTION_EXTERNAL_LOGGER, (intptr_t) daemon_log, NULL },
    { MHD_OPTION_LISTEN_SOCKET, http->listen_fd, NULL },
    { MHD_OPTION_CONNECTION_LIMIT, HTTP_CONNECTIONS_MAX, NULL },
    { MHD_OPTION_CONNECTION_MEMORY_LIMIT, HTTP_MEMORY, NULL },
    { MHD_OPTION_CONNECTION_TIMEOUT, 2 * HTTP_ANSWER / NS_PER_S, NULL }, /* http_connections_look is before it */
    { MHD_OPTION_NOTIFY_CONNECTION, (intptr_t) http_connection_notify, http },
    { MHD_OPTION_NOTIFY_COMPLETED, (intptr_t) http_answered, http },
    { http->certificate != NULL ? MHD_OPTION_HTTPS_MEM_CERT : MHD_OPTION_END, 0, http->certificate },
    { MHD_OPTION_HTTPS_MEM_KEY, 0, http->key },
    { MHD_OPTION_HTTPS_PRIORITIES, 0, (char *) "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2" },
    { MHD_OPTION_END, 0, NULL },
  };
  unsigned flags =
      MHD_USE_EPOLL | MHD_USE_ERROR_LOG | MHD_ALLOW_SUSPEND_RESUME | (http->certificate != NULL ? MHD_USE_TLS : 0);

  http->daemon = http->library->MHD_start_daemon (flags, 0, http_accept, http, http_answer, http, MHD_OPTION_ARRAY,
                                                  options, MHD_OPTION_END);
  return http->daemon != NULL ? 0
                              : error_set (error, "%s: %s", http->url,
                                           http->certificate != NULL ? "the certificate and the key cannot be used"
                                                                     : "libmicrohttpd does not start");
}

static void
daemon_stop (struct http *http)
{
  if (http->daemon == NULL)
    return;
  http->library->MHD_quiesce_daemon (http->daemon); /* the socket stays ours */
  http_connections_end (http);
  http->library->MHD_stop_daemon (http->daemon);
  http->daemon = NULL;
}

/* ---- files ---- */

static void
secret_free (char *text)
{
  if (text != NULL)
    explicit_bzero (text, strlen (text));
  free (text);
}

static char *
pem_read (const char *path, struct error *error)
{
  char *text = memory_new (1, PEM_MAX + 1);

  if (file_read_text (path, text, PEM_MAX + 1, error) == 0)
    return text;
  secret_free (text);
  return NULL;
}

/* -1 and error: neither is there. */
static int
files_read (const struct http_settings *settings, struct http_passwords **passwords, char **certificate, char **key,
            struct error *error)
{
  *passwords = NULL;
  *certificate = *key = NULL;
  if (settings->certificate[0] != '\0' && ((*certificate = pem_read (settings->certificate, error)) == NULL ||
                                           (*key = pem_read (settings->key, error)) == NULL))
    goto failed;
  if (settings->password_file[0] != '\0' && (*passwords = http_passwords_read (settings->password_file, error)) == NULL)
    goto failed;
  return 0;

failed:
  free (*certificate);
  secret_free (*key);
  *certificate = *key = NULL;
  return -1;
}

/* ---- the thread ---- */

/* A certificate that differs is another daemon, on the same socket. One that cannot be used leaves the old one. */
static void
take_certificate (struct http *http, char *certificate, char *key)
{
  char *old_certificate = http->certificate, *old_key = http->key;
  struct error error;

  if (certificate == NULL || (strcmp (certificate, old_certificate) == 0 && strcmp (key, old_key) == 0)) {
    free (certificate);
    secret_free (key);
    return;
  }
  daemon_stop (http);
  http->certificate = certificate;
  http->key = key;
  if (daemon_start (http, &error) < 0) {
    log_error ("%s; the old ones stay", error.text);
    http->certificate = old_certificate;
    http->key = old_key;
    old_certificate = certificate;
    old_key = key;
    if (daemon_start (http, &error) < 0)
      log_error ("%s", error.text);
  }
  free (old_certificate);
  secret_free (old_key);
}

static void
take_fresh (struct http *http)
{
  char *certificate, *key;

  pthread_mutex_lock (&http->lock);
  http->fresh = false;
  http_passwords_free (http->passwords);
  http->passwords = http->passwords_fresh;
  certificate = http->certificate_fresh;
  key = http->key_fresh;
  http->passwords_fresh = NULL;
  http->certificate_fresh = http->key_fresh = NULL;
  pthread_mutex_unlock (&http->lock);
  take_certificate (http, certificate, key);
}

static int
patience (const struct http *http, int64_t until_ns)
{
  int64_t left_ms = (until_ns - clock_monotonic () + NS_PER_MS - 1) / NS_PER_MS;
  int most = left_ms < 0 ? 0 : left_ms < LOOK_MS ? (int) left_ms : LOOK_MS;
  MHD_UNSIGNED_LONG_LONG ms;

  if (http->library->MHD_get_timeout (http->daemon, &ms) == MHD_YES && ms < (MHD_UNSIGNED_LONG_LONG) most)
    return (int) ms;
  return most;
}

static void
http_turn (struct http *http, int64_t until_ns)
{
  const union MHD_DaemonInfo *info = http->library->MHD_get_daemon_info (http->daemon, MHD_DAEMON_INFO_EPOLL_FD);
  struct pollfd ready[2 + 2 * HTTP_CONNECTIONS_MAX] = { { .fd = info->epoll_fd, .events = POLLIN },
                                                        { .fd = http->wake_fd, .events = POLLIN } };
  size_t waiting = http_connections_watch (http, ready + 2, &until_ns);
  uint64_t count;

  if (poll (ready, 2 + waiting, patience (http, until_ns)) < 0)
    return;
  if (ready[1].revents != 0 && read (http->wake_fd, &count, sizeof count) < 0)
    log_debug ("HTTP: %s", strerror (errno));
  http_connections_wake (http, ready + 2, clock_monotonic ());
  if (http->fresh)
    take_fresh (http);
  if (http->daemon != NULL)
    http->library->MHD_run (http->daemon);
  http_connections_look (http, clock_monotonic ());
}

/* At the end, answers that were endless have a moment to come to theirs. */
static void *
http_run (void *context)
{
  struct http *http = context;
  int64_t until_ns;

  while (!http->stop && http->daemon != NULL)
    http_turn (http, INT64_MAX);
  until_ns = clock_monotonic () + LAST_WORDS;
  while (http->daemon != NULL && http_connections_last (http) && clock_monotonic () < until_ns)
    http_turn (http, until_ns);
  daemon_stop (http);
  return NULL;
}

static int
http_start (struct http *http, struct error *error)
{
  int number = thread_start (&http->thread, 0, http_run, http);

  if (number != 0)
    return error_set (error, "a thread for HTTP: %s", strerror (number));
  pthread_setname_np (http->thread, "http");
  return 0;
}

static void
http_wake (const struct http *http)
{
  uint64_t one = 1;

  if (write (http->wake_fd, &one, sizeof one) < 0)
    log_debug ("HTTP: %s", strerror (errno));
}

/* ---- its life ---- */

static void
http_free (struct http *http)
{
  if (http->listen_fd >= 0)
    close (http->listen_fd);
  if (http->wake_fd >= 0)
    close (http->wake_fd);
  http_passwords_free (http->passwords);
  http_passwords_free (http->passwords_fresh);
  free (http->certificate);
  secret_free (http->key);
  free (http->certificate_fresh);
  secret_free (http->key_fresh);
  pthread_mutex_destroy (&http->lock);
  free ((void *) http->options.sites);
  for (size_t i = 0; i < HTTP_FOLDERS_MAX; i++)
    free (http->folders[i]);
  free (http);
}

static struct http_site *
sites_copy (const struct http_options *options)
{
  struct http_site *sites = memory_new (options->site_count, sizeof *sites);

  for (size_t i = 0; i < options->site_count; i++)
    sites[i] = options->sites[i];
  return sites;
}

struct http *
http_create (const struct http_options *options, bool *taken, struct error *error)
{
  const struct http_settings *settings = options->settings;
  struct http *http = memory_new (1, sizeof *http);

  *taken = false;
  http->options = *options;
  http->options.sites = sites_copy (options);
  for (size_t i = 0; i < HTTP_FOLDERS_MAX && options->folders[i] != NULL; i++)
    http->options.folders[i] = http->folders[i] = memory_string (options->folders[i]);
  http->files.folders = http->options.folders;
  http->listen_fd = -1;
  http->wake_fd = eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK);
  http->beat_ns = clock_monotonic ();
  http->connections_max = connections_most ();
  pthread_mutex_init (&http->lock, NULL);
  for (size_t i = 0; i < HTTP_CONNECTIONS_MAX; i++)
    http->connections[i].fd = -1;
  if ((http->library = http_library (error)) == NULL ||
      http_proxies_read (settings->trusted_proxies, http->proxies, &http->proxy_count, error) < 0 ||
      files_read (settings, &http->passwords, &http->certificate, &http->key, error) < 0 ||
      socket_open (settings->listen, http->certificate != NULL, http, taken, error) < 0 ||
      daemon_start (http, error) < 0) {
    http_free (http);
    return NULL;
  }
  if (http_start (http, error) < 0) {
    daemon_stop (http);
    http_free (http);
    return NULL;
  }
  log_info ("HTTP: %s", http->url);
  if (settings->auth == HTTP_AUTH_NONE)
    log_warning ("HTTP: everybody who reaches %s is answered: [http] auth = none", http->url);
  return http;
}

void
http_destroy (struct http *http)
{
  if (http == NULL)
    return;
  http->stop = true;
  http_wake (http);
  pthread_join (http->thread, NULL);
  http_free (http);
}

const char *
http_url (const struct http *http)
{
  return http->url;
}

void
http_beat (struct http *http, int64_t now_ns, bool ready)
{
  http->beat_ns = now_ns;
  http->ready = ready;
}

void
http_count (const struct http *http, struct http_counts *counts)
{
  *counts = (struct http_counts){ http->requests, http->refused, http->unauthorized, http->ended, http->connected };
}

int
http_reload (struct http *http, struct error *error)
{
  const struct http_settings *settings = http->options.settings;
  struct http_passwords *passwords;
  char *certificate, *key;

  if (files_read (settings, &passwords, &certificate, &key, error) < 0)
    return -1;
  pthread_mutex_lock (&http->lock);
  http_passwords_free (http->passwords_fresh);
  free (http->certificate_fresh);
  secret_free (http->key_fresh);
  http->passwords_fresh = passwords;
  http->certificate_fresh = certificate;
  http->key_fresh = key;
  http->fresh = true;
  pthread_mutex_unlock (&http->lock);
  http_wake (http);
  return 0;
}
