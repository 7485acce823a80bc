/* Reports the program's state to the service manager: the datagrams of sd_notify(3) to the socket that $NOTIFY_SOCKET
 * names, and a keep-alive from the main loop at half of $WATCHDOG_USEC.
 *
 * All functions take NULL: no service manager waits for the program. */
#ifndef SYNOP_NOTIFY_H
#define SYNOP_NOTIFY_H

#include "synop/error.h"
#include "synop/loop.h"

struct notify;

/* NULL when no service manager listens. Removes its variables from the environment, so that no child reports for us;
 * call it before there are threads. Keep-alives begin at once where there is a loop: a manager counts them from
 * READY on. */
struct notify *notify_create (struct loop *loop);
void notify_destroy (struct notify *notify);

void notify_ready (struct notify *notify);     /* the program works now; further calls do nothing */
void notify_reloading (struct notify *notify); /* then notify_reloaded, also after a failure */
void notify_reloaded (struct notify *notify);
void notify_stopping (struct notify *notify);

/* A short sentence for "systemctl status"; nothing is sent while it stays the same. */
void notify_status (struct notify *notify, const char *format, ...) __attribute__ ((format (printf, 2, 3)));
/* Reports why the program ends before it was ready, as such a sentence. NULL: before notify_create, which is then
 * too late. */
void notify_failed (struct notify *notify, const struct error *why);

#endif
