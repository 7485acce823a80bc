/* A library whose own code does when it is loaded what SYNOP_ODD says: "abort", "loop", "exit". Nothing of it is looked
 * at then but its beginning: `bulk` makes it long. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__ ((visibility ("default"))) char odd_bulk[256 * 1024] = { 1 };

static __attribute__ ((constructor)) void
be_odd (void)
{
  const char *how = getenv ("SYNOP_ODD");

  if (how && strcmp (how, "abort") == 0)
    abort ();
  if (how && strcmp (how, "exit") == 0)
    _exit (0);
  while (how && strcmp (how, "loop") == 0)
    usleep (1000);
}
