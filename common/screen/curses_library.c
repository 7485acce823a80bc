/* See curses_library.h. Programs that draw no screen, an agent above all, do not load it. */
#include "common/screen/curses_library.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#define CURSES_NAME "libncursesw.so.6"

const struct curses_library *
curses_library (struct error *error)
{
#define CURSES_ROW(function) { #function, offsetof (struct curses_library, function) },
  static const struct {
    const char *name;
    size_t offset;
  } functions[] = { CURSES_LIBRARY (CURSES_ROW) };
  static struct curses_library library;
  void *handle;

  if (library.wrefresh != NULL)
    return &library;
  handle = dlopen (CURSES_NAME, RTLD_NOW | RTLD_LOCAL);
  if (handle == NULL) {
    error_set (error, "a screen needs %s: %s", CURSES_NAME, dlerror ());
    return NULL;
  }
  for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
    void *found = dlsym (handle, functions[i].name);
    if (found == NULL) {
      error_set (error, "%s has no %s", CURSES_NAME, functions[i].name);
      return NULL;
    }
    memcpy ((char *) &library + functions[i].offset, &found, sizeof found);
  }
  return &library;
}
