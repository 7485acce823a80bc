/* Keeps the agent small; see footprint.h.
 *
 * Most of a small program's resident memory is the code of its libraries: the kernel maps 64 KiB around every page that
 * is touched, and the dynamic linker touches much of what libzmq brings along. Those pages are clean copies of files, so
 * they can be let go: what is needed again comes back from the page cache, page by page. */
#include "agent/sampling/footprint.h"

#include <link.h>
#include <malloc.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

void
footprint_prepare (void)
{
  mallopt (M_ARENA_MAX, 1);
  prctl (PR_SET_THP_DISABLE, 1, 0, 0, 0);
}

/* Only segments that were never writable: others hold relocations, even where they are read-only by now. */
static int
release_object (struct dl_phdr_info *object, size_t size, void *context)
{
  uintptr_t page = (uintptr_t) sysconf (_SC_PAGESIZE);
  uintptr_t vdso = getauxval (AT_SYSINFO_EHDR);

  (void) size;
  (void) context;
  for (size_t i = 0; i < object->dlpi_phnum; i++) {
    const ElfW (Phdr) *segment = &object->dlpi_phdr[i];
    uintptr_t start = (object->dlpi_addr + segment->p_vaddr) & ~(page - 1);
    uintptr_t end = (object->dlpi_addr + segment->p_vaddr + segment->p_filesz + page - 1) & ~(page - 1);

    if (segment->p_type == PT_LOAD && !(segment->p_flags & PF_W) && start != vdso)
      madvise ((void *) start, end - start, MADV_DONTNEED);
  }
  return 0;
}

void
footprint_settle (void)
{
  malloc_trim (0);
  dl_iterate_phdr (release_object, NULL);
}
