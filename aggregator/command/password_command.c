/* See password_command.h. */
#include "aggregator/command/password_command.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "synop/http.h"

#define PASSWORD_MAX 512

static int
password_read (char password[PASSWORD_MAX], struct error *error)
{
  struct termios before, unseen;
  bool typed = tcgetattr (STDIN_FILENO, &before) == 0;
  const char *got;

  if (typed) {
    unseen = before;
    unseen.c_lflag &= ~(tcflag_t) ECHO;
    tcsetattr (STDIN_FILENO, TCSAFLUSH, &unseen);
    fputs ("Password: ", stderr);
  }
  got = fgets (password, PASSWORD_MAX, stdin);
  if (typed) {
    tcsetattr (STDIN_FILENO, TCSAFLUSH, &before);
    fputs ("\n", stderr);
  }
  if (got == NULL)
    return error_set (error, "expected the password as a line of standard input");
  password[strcspn (password, "\n")] = '\0';
  return 0;
}

int
password_command (const char *user, struct buffer *line, struct error *error)
{
  char password[PASSWORD_MAX];
  int result = password_read (password, error);

  if (result == 0)
    result = http_password_line (user, password, line, error);
  explicit_bzero (password, sizeof password);
  return result;
}
