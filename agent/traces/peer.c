/* See peer.h. */
#include "agent/traces/peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/job/job_environment.h"
#include "synop/buffer.h"
#include "synop/file.h"

#define ENVIRONMENT_MAX (2 * 1024 * 1024)

/* The numbers of the line that begins so, at most `most`; returns how many. */
static size_t
read_numbers (const char *text, const char *name, unsigned *numbers, size_t most)
{
  const char *at = strstr (text, name);
  size_t count = 0;

  if (!at)
    return 0;
  at += strlen (name);
  while (count < most) {
    char *end;

    at += strspn (at, " \t");
    numbers[count] = (unsigned) strtoul (at, &end, 10);
    if (end == at)
      break;
    at = end;
    count++;
  }
  return count;
}

bool
peer_parse_status (struct peer *peer, const char *text)
{
  unsigned uids[3], gid, ids[PEER_IDS];

  if (read_numbers (text, "\nUid:", uids, 3) != 3 || uids[0] != uids[1] || uids[0] != uids[2] ||
      read_numbers (text, "\nGid:", &gid, 1) != 1)
    return false;
  peer->uid = uids[0];
  peer->gid = gid;
  peer->group_count = read_numbers (text, "\nGroups:", peer->groups, PEER_GROUPS);
  peer->id_count = read_numbers (text, "\nNSpid:", ids, PEER_IDS);
  for (size_t i = 0; i < peer->id_count; i++)
    peer->ids[i] = (pid_t) ids[i];
  return true;
}

static bool
read_stat (struct process_files *files, pid_t pid, struct process_stat *stat)
{
  int length = process_files_read (files, pid, "stat");

  return length > 0 && process_stat_parse (stat, files->text, (size_t) length) && !process_stat_is_zombie (stat) &&
         !stat->thread;
}

bool
peer_read (struct process_files *files, pid_t pid, struct peer *peer)
{
  struct process_stat stat;

  *peer = (struct peer){ .pid = pid };
  if (!read_stat (files, pid, &stat))
    return false;
  peer->parent = stat.parent;
  peer->start = stat.start;
  snprintf (peer->command, sizeof peer->command, "%s", stat.comm);
  return process_files_read (files, pid, "status") > 0 && peer_parse_status (peer, files->text) &&
         peer_is_alive (files, pid, peer->start);
}

bool
peer_is_alive (struct process_files *files, pid_t pid, uint64_t start)
{
  struct process_stat stat;

  return read_stat (files, pid, &stat) && stat.start == start;
}

bool
peer_is_in (const struct peer *peer, gid_t group)
{
  bool in = peer->gid == group;

  for (size_t i = 0; i < peer->group_count; i++)
    in |= peer->groups[i] == group;
  return in;
}

bool
peer_calls_itself (const struct peer *peer, pid_t pid)
{
  bool known = peer->pid == pid;

  for (size_t i = 0; i < peer->id_count; i++)
    known |= peer->ids[i] == pid;
  return known;
}

int32_t
peer_rank (const char *bytes, size_t length)
{
  static const char *const names[] = { "RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK" };
  struct job_environment environment;

  job_environment_read (&environment, bytes, length);
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    struct text value = job_environment_find (&environment, names[i], strlen (names[i]));

    if (value.length && text_is_number (value) && text_number (value, UINT32_MAX) <= INT32_MAX)
      return (int32_t) text_number (value, 0);
  }
  return -1;
}

int32_t
peer_read_rank (pid_t pid)
{
  struct buffer text = { 0 };
  char path[64];
  ssize_t got;
  int32_t rank = -1;
  int fd;

  snprintf (path, sizeof path, "/proc/%d/environ", (int) pid);
  fd = file_open (path);
  if (fd < 0)
    return -1;
  while (text.length < ENVIRONMENT_MAX && (got = file_read (fd, buffer_reserve (&text, 16384), 16384)) > 0)
    text.length += (size_t) got;
  close (fd);
  if (text.length)
    rank = peer_rank (text.data, text.length);
  buffer_free (&text);
  return rank;
}
