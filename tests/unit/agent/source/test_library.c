/* Files that are no library, or a bad one: each is told, and the program that asks goes on. */
#include <errno.h>
#include <libgen.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/gpu/nvml.h"
#include "agent/source/library.h"
#include "synop/clock.h"
#include "synop/error.h"
#include "tests/unit/test_folder.h"

struct scene {
  char folder[TEST_FOLDER_SIZE], library[600], odd[600], path[100];
  char *bytes;
  size_t size;
};

static struct scene scene;

int64_t __real_clock_monotonic (void);
int64_t __wrap_clock_monotonic (void);

static bool old_kernel;
long __real_syscall (long number, ...);
long __wrap_syscall (long number, unsigned first, unsigned last, int flags);

/* close_range, which is the one that is called so. */
long
__wrap_syscall (long number, unsigned first, unsigned last, int flags)
{
  if (number != SYS_close_range || !old_kernel)
    return __real_syscall (number, first, last, flags);
  errno = ENOSYS;
  return -1;
}

/* The limit of 5 s is reached in half a second. */
int64_t
__wrap_clock_monotonic (void)
{
  return __real_clock_monotonic () * 10;
}

static void
take_odd (void)
{
  FILE *file = fopen (scene.odd, "r");

  assert_non_null (file);
  fseek (file, 0, SEEK_END);
  scene.size = (size_t) ftell (file);
  rewind (file);
  scene.bytes = malloc (scene.size);
  assert_int_equal (fread (scene.bytes, 1, scene.size, file), scene.size);
  fclose (file);
}

static int
scene_begin (void **state)
{
  char self[400] = "", *folder;

  (void) state;
  assert_true (readlink ("/proc/self/exe", self, sizeof self - 1) > 0);
  folder = dirname (self);
  snprintf (scene.library, sizeof scene.library, "%s/../lib/libnvidia-ml.so.1", folder);
  snprintf (scene.odd, sizeof scene.odd, "%s/../lib/libodd.so", folder);
  test_folder_make (scene.folder);
  snprintf (scene.path, sizeof scene.path, "%s/lib.so", scene.folder);
  take_odd ();
  return 0;
}

/* No child is left. */
static int
scene_end (void **state)
{
  (void) state;
  unsetenv ("SYNOP_ODD");
  unlink (scene.path);
  rmdir (scene.folder);
  free (scene.bytes);
  assert_int_equal (waitpid (-1, NULL, WNOHANG), -1);
  assert_int_equal (errno, ECHILD);
  return 0;
}

static void
write_bytes (const char *bytes, size_t size)
{
  FILE *file = fopen (scene.path, "w");

  assert_non_null (file);
  assert_int_equal (fwrite (bytes, 1, size, file), size);
  assert_int_equal (fclose (file), 0);
}

static void
assert_refused (const char *path, const char *format)
{
  char expected[900];
  struct nvml nvml;
  struct error error;

  assert_int_equal (nvml_load (&nvml, path, &error), -1);
  assert_null (nvml.library);
  snprintf (expected, sizeof expected, format, path);
  assert_string_equal (error.text, expected);
}

static void
test_good (void **state)
{
  struct nvml nvml;
  struct error error;

  (void) state;
  assert_int_equal (nvml_load (&nvml, scene.library, &error), 0);
  nvml_unload (&nvml);
  assert_int_equal (library_try (scene.odd, &error), 0);
}

/* The loader's own words. */
static void
test_no_library (void **state)
{
  (void) state;
  assert_refused (scene.path, "%s: cannot open shared object file: No such file or directory");
  write_bytes ("no library at all\n", 18);
  assert_refused (scene.path, "%s: file too short");
  memset (scene.bytes, 'x', scene.size);
  write_bytes (scene.bytes, scene.size);
  assert_refused (scene.path, "%s: invalid ELF header");
  assert_refused (scene.folder, "%s: cannot read file data: Is a directory");
  assert_refused ("libm.so.6", "%s is no NVIDIA management library");
}

static void
test_cut_in_half (void **state)
{
  (void) state;
  write_bytes (scene.bytes, scene.size / 2);
  assert_refused (scene.path, "loading %s crashes (Bus error): is it whole?");
}

/* All that dlopen reads is there, but not all that the file has to have. */
static void
test_cut_near_its_end (void **state)
{
  ElfW (Ehdr) head;
  ElfW (Phdr) part;
  size_t end = 0;

  (void) state;
  memcpy (&head, scene.bytes, sizeof head);
  for (size_t i = 0; i < head.e_phnum; i++) {
    memcpy (&part, scene.bytes + head.e_phoff + i * sizeof part, sizeof part);
    if (part.p_type == PT_LOAD && part.p_offset + part.p_filesz > end)
      end = part.p_offset + part.p_filesz;
  }
  assert_in_range (end, 256 * 1024, scene.size);
  write_bytes (scene.bytes, end - 128 * 1024);
  assert_refused (scene.path, "loading %s crashes (Bus error): is it whole?");
}

static void
test_fifo (void **state)
{
  (void) state;
  assert_int_equal (mkfifo (scene.path, 0600), 0);
  assert_refused (scene.path, "loading %s takes more than 5 s");
}

static void
test_its_code (void **state)
{
  (void) state;
  setenv ("SYNOP_ODD", "abort", 1);
  assert_refused (scene.odd, "loading %s crashes (Aborted): is it whole?");
  setenv ("SYNOP_ODD", "exit", 1);
  assert_refused (scene.odd, "loading %s ends the program (exit code 0)");
  setenv ("SYNOP_ODD", "loop", 1);
  assert_refused (scene.odd, "loading %s takes more than 5 s");
}

/* The child has /dev/null alone. */
static void
test_our_files (void **state)
{
  int ends[2];

  (void) state;
  setenv ("SYNOP_ODD", "count", 1);
  assert_int_equal (pipe (ends), 0);
  assert_refused (scene.odd, "loading %s ends the program (exit code 1)");
  old_kernel = true;
  assert_refused (scene.odd, "loading %s ends the program (exit code 1)");
  old_kernel = false;
  close (ends[0]);
  close (ends[1]);
}

#define SCENE(test) cmocka_unit_test_setup_teardown (test, scene_begin, scene_end)

int
main (void)
{
  const struct CMUnitTest tests[] = {
    SCENE (test_no_library), SCENE (test_cut_in_half), SCENE (test_cut_near_its_end),
    SCENE (test_fifo),       SCENE (test_its_code),    SCENE (test_our_files),
    SCENE (test_good),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
