/* See kafka.h. */
#include "aggregator/send/kafka.h"

#include "aggregator/send/send_library.h"

#define SYMBOL(member, name)                                                                                           \
  {                                                                                                                    \
    name, offsetof (struct kafka, member)                                                                              \
  }

int
kafka_load (struct kafka *kafka, struct error *error)
{
  static const char *const names[] = { "librdkafka.so.1", NULL };
  static const struct send_symbol_of symbols[] = {
    SYMBOL (conf_new, "rd_kafka_conf_new"),
    SYMBOL (conf_destroy, "rd_kafka_conf_destroy"),
    SYMBOL (conf_set, "rd_kafka_conf_set"),
    SYMBOL (conf_set_context, "rd_kafka_conf_set_opaque"),
    SYMBOL (conf_set_report, "rd_kafka_conf_set_dr_msg_cb"),
    SYMBOL (conf_set_error, "rd_kafka_conf_set_error_cb"),
    SYMBOL (conf_set_log, "rd_kafka_conf_set_log_cb"),
    SYMBOL (create, "rd_kafka_new"),
    SYMBOL (destroy, "rd_kafka_destroy"),
    SYMBOL (topic_new, "rd_kafka_topic_new"),
    SYMBOL (topic_destroy, "rd_kafka_topic_destroy"),
    SYMBOL (produce, "rd_kafka_produce"),
    SYMBOL (poll, "rd_kafka_poll"),
    SYMBOL (purge, "rd_kafka_purge"),
    SYMBOL (last_error, "rd_kafka_last_error"),
    SYMBOL (fatal_error, "rd_kafka_fatal_error"),
    SYMBOL (error_text, "rd_kafka_err2str"),
  };

  return send_library_load (names, "librdkafka1", symbols, sizeof symbols / sizeof symbols[0], kafka, error);
}
