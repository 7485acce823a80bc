/* A library whose own code does when it is loaded what SYNOP_ODD says: "abort", "loop", "exit", "count" (ends
 * with the number of open files from 3 on). Nothing of it is looked at then but its beginning: `bulk` makes it long. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__ ((visibility ("default"))) char odd_bulk[256 * 1024] = { 1 };

static __attribute__ ((constructor)) void
be_odd (void)
{
  const char *how = getenv ("SYNOP_ODD");
  int count = 0;

  if (how && strcmp (how, "abort") == 0)
    abort ();
  if (how && strcmp (how, "exit") == 0)
    _exit (0);
  for (int fd = 3; fd < 100; fd++)
    count += fcntl (fd, F_GETFD) >= 0;
  if (how && strcmp (how, "count") == 0)
    _exit (count);
  while (how && strcmp (how, "loop") == 0)
    usleep (1000);
}
