/* What CloudWatch's answers mean, in words that help. Pure. */
#ifndef SYNOP_COMMON_CLOUDWATCH_ANSWER_H
#define SYNOP_COMMON_CLOUDWATCH_ANSWER_H

#include "synop/send_http.h"

enum cloudwatch_judgement {
  CLOUDWATCH_TAKEN,
  CLOUDWATCH_AGAIN,  /* too much at once, out of order, or what people mend: a clock, a permission */
  CLOUDWATCH_KEYS,   /* the same, and the keys may be others by now */
  CLOUDWATCH_REFUSED /* what is in it is wrong */
};

/* Writes answer.text anew. */
enum cloudwatch_judgement cloudwatch_judge_answer (struct send_answer *answer, int64_t now_s);

#endif
