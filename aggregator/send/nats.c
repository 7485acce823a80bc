/* See nats.h. */
#include "aggregator/send/nats.h"

#include <stddef.h>

#include "aggregator/send/send_library.h"

#define SYMBOL(member, name)                                                                                           \
  {                                                                                                                    \
    name, offsetof (struct nats, member)                                                                               \
  }

int
nats_load (struct nats *nats, struct error *error)
{
  static const char *const names[] = { "libnats.so.3.4",  "libnats.so",     "libnats.so.3.12", "libnats.so.3.11",
                                       "libnats.so.3.10", "libnats.so.3.9", "libnats.so.3.8",  "libnats.so.3.7",
                                       "libnats.so.3.6",  "libnats.so.3.5", "libnats.so.3.3",  NULL };
  static const struct send_symbol_of symbols[] = {
    SYMBOL (options_create, "natsOptions_Create"),
    SYMBOL (options_destroy, "natsOptions_Destroy"),
    SYMBOL (set_url, "natsOptions_SetURL"),
    SYMBOL (set_name, "natsOptions_SetName"),
    SYMBOL (set_timeout, "natsOptions_SetTimeout"),
    SYMBOL (set_allow_reconnect, "natsOptions_SetAllowReconnect"),
    SYMBOL (set_user, "natsOptions_SetUserInfo"),
    SYMBOL (set_token, "natsOptions_SetToken"),
    SYMBOL (set_credentials, "natsOptions_SetUserCredentialsFromFiles"),
    SYMBOL (set_secure, "natsOptions_SetSecure"),
    SYMBOL (load_ca, "natsOptions_LoadCATrustedCertificates"),
    SYMBOL (load_certificate, "natsOptions_LoadCertificatesChain"),
    SYMBOL (connect, "natsConnection_Connect"),
    SYMBOL (destroy, "natsConnection_Destroy"),
    SYMBOL (is_closed, "natsConnection_IsClosed"),
    SYMBOL (most, "natsConnection_GetMaxPayload"),
    SYMBOL (publish, "natsConnection_Publish"),
    SYMBOL (request, "natsConnection_Request"),
    SYMBOL (flush, "natsConnection_FlushTimeout"),
    SYMBOL (last_error, "natsConnection_GetLastError"),
    SYMBOL (thread_error, "nats_GetLastError"),
    SYMBOL (message_data, "natsMsg_GetData"),
    SYMBOL (message_length, "natsMsg_GetDataLength"),
    SYMBOL (message_destroy, "natsMsg_Destroy"),
    SYMBOL (status_text, "natsStatus_GetText"),
  };

  return send_library_load (names, "libnats3.4 (nats.c)", symbols, sizeof symbols / sizeof symbols[0], nats, error);
}
