/* Which jobs a scheduler is to be asked about, and when: once they began, and once they ended, again while the answer is not
 * the last one. Pure: the time is monotonic, and given. */
#ifndef SYNOP_AGGREGATOR_INQUIRIES_H
#define SYNOP_AGGREGATOR_INQUIRIES_H

#include "aggregator/scheduler/scheduler.h"
#include "aggregator/views/job_line.h"
#include "synop/hash_table.h"

#define INQUIRIES_MAX 16384

struct inquiry {
  int64_t key; /* of the job's row in the history */
  char *label, *user;
  char id[SCHEDULER_ID_SIZE];
  const struct scheduler *scheduler;
  int64_t started_ns; /* of the job, in cluster time */
  int64_t due_ns;     /* INT64_MAX: at its end */
  unsigned tries;
  bool ended, asked;      /* asked: an answer is on its way */
  struct job_facts facts; /* as they were last reported */
  char *shown;            /* those as JSON; NULL: none */
  UT_hash_handle hh;
};

typedef void inquiries_report_fn (void *context, const struct inquiry *inquiry);

struct inquiries;
struct inquiries *inquiries_create (inquiries_report_fn *report, void *context);
void inquiries_destroy (struct inquiries *inquiries); /* NULL is fine */

/* A job began, ended or was resumed. `facts` NULL: none are known. False: there is no room for it. */
bool inquiries_note (struct inquiries *inquiries, int64_t key, const char *label, const char *scheduler,
                     const char *user, int64_t started_ns, bool ended, const struct job_facts *facts, int64_t now_ns);
/* Those of a scheduler that are due, at most `most`: they are asked now, until each is answered. Returns how many. */
size_t inquiries_take (struct inquiries *inquiries, const struct scheduler *scheduler, struct inquiry **due,
                       size_t most, int64_t now_ns);
/* Takes the facts over, and reports what is new in them. `final`: there is no use in asking again. The inquiry may be gone
 * then. */
void inquiries_answer (struct inquiries *inquiries, struct inquiry *inquiry, struct job_facts *facts, bool final,
                       int64_t now_ns);

#endif
