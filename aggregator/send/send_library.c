/* See send_library.h. */
#include "aggregator/send/send_library.h"

#include <dlfcn.h>
#include <string.h>

int
send_library_load (const char *const *names, const char *package, const struct send_symbol_of *symbols, size_t count,
                   void *functions, struct error *error)
{
  const char *const *name = names;
  void *library = NULL;

  while (*name && !(library = dlopen (*name, RTLD_NOW | RTLD_LOCAL)))
    name++;
  if (!library)
    return error_set (error, "there is no %s here: it is in the package %s", names[0], package);
  for (size_t i = 0; i < count; i++) {
    void *symbol = dlsym (library, symbols[i].name);
    if (!symbol)
      return error_set (error, "%s has no %s: it is too old", *name, symbols[i].name);
    memcpy ((char *) functions + symbols[i].offset, &symbol, sizeof symbol);
  }
  return 0;
}
