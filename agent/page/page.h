/* This node's newest values over HTTP, for Prometheus: in place of node-exporter, without an aggregator or beside one. */
#ifndef SYNOP_AGENT_PAGE_H
#define SYNOP_AGENT_PAGE_H

#include "agent/sampling/sampling.h"
#include "synop/error.h"
#include "synop/http.h"
#include "synop/loop.h"
#include "synop/notify.h"

#define PAGE_NAMES "node-exporter, dcgm-exporter, synop"

struct page_options {
  const struct http_settings *http;
  char *const *names; /* sets of names; a reload changes it */
  const char *node;
  const struct sampler *const *samplers; /* all that there are */
  size_t sampler_count;
  struct loop *loop;
};

struct page;
/* NULL and error: it cannot be. Where the address is taken by somebody else, it is tried again and again. */
struct page *page_create (const struct page_options *options, struct error *error);
void page_destroy (struct page *page); /* NULL is fine */

void page_take (void *page, const struct sample *sample); /* what was sampled; its tables are copied */
/* -1 and error: a names file or a password file is broken. What it would have changed stays as it was. */
int page_reload (struct page *page, struct error *error);

/* Samples for it alone, where nobody else does: until the loop is stopped. `notify` may be NULL. */
void page_run (struct page *page, struct sampling *sampling, struct notify *notify);
/* The sampling was opened again. */
void page_begin (struct page *page);

#endif
