/* This node's newest values over HTTP, for Prometheus: in place of node-exporter, without an aggregator or beside one. */
#ifndef SYNOP_AGENT_NODE_PAGE_H
#define SYNOP_AGENT_NODE_PAGE_H

#include "agent/sampling/sampling.h"
#include "synop/error.h"
#include "synop/http.h"
#include "synop/loop.h"

#define NODE_PAGE_NAMES "node-exporter, dcgm-exporter, synop"

/* What of jobs it shows to those who are no admins: nothing, or all. */
enum node_page_sees { NODE_PAGE_SEES_OWN, NODE_PAGE_SEES_ALL };

struct node_page_options {
  const struct http_settings *http;
  char *const *names;        /* sets of names; a reload changes it, */
  const int *everybody_sees; /* and this */
  const char *node;
  const struct sampler *const *samplers; /* all that there are */
  size_t sampler_count;
  struct loop *loop;
};

struct node_page;
/* NULL and error: it cannot be. Where the address is taken by somebody else, it is tried again and again. */
struct node_page *node_page_create (const struct node_page_options *options, struct error *error);
void node_page_destroy (struct node_page *page); /* NULL is fine */

void node_page_take (void *page, const struct sample *sample); /* what was sampled; its tables are copied */
/* -1 and error: a names file or a password file is broken. What it would have changed stays as it was. */
int node_page_reload (struct node_page *page, struct error *error);

#endif
