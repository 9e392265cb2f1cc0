/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * Every record that crosses the ring buffer. All begin with struct rl_event_header; `kind` says
 * which struct follows; `size` is the whole record. Variable data lies at the end, its length in
 * a member. Decoded by userspace/decode/event_decoder.h and by nothing else.
 *
 * Private data never gets into a record: of HTTP the request target up to '?', the Host value and
 * the status code; of TLS the handshake's first flight; of DNS the message. See
 * docs/threat-model.md.
 */
#ifndef ROUTELENS_BPF_ABI_EVENTS_H
#define ROUTELENS_BPF_ABI_EVENTS_H

#include "bpf/abi/abi.h"

#ifdef __cplusplus
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic" /* flexible array members, which C++ lacks */
#endif

enum rl_event_kind {
  RL_EV_CONNECT = 1,       /* struct rl_ev_connect: a process asks for a connection */
  RL_EV_CONNECT_ERROR = 2, /* struct rl_ev_connect_error: connect() failed at once, or will */
  RL_EV_ESTABLISHED = 3,   /* struct rl_ev_established */
  RL_EV_PEER_FIN = 4,      /* struct rl_ev_peer_fin: the peer closed its half first */
  RL_EV_FLOW_END = 5,      /* struct rl_ev_flow_end: released by its owner, or failed */
  RL_EV_STREAM = 6,        /* struct rl_ev_stream: in-order bytes, TLS first flight or DNS */
  RL_EV_TLS_RECORD = 7,    /* struct rl_ev_tls_record: head of one TLS record */
  RL_EV_HTTP_REQUEST = 8,  /* struct rl_ev_http_request */
  RL_EV_HTTP_RESPONSE = 9, /* struct rl_ev_http_response */
  RL_EV_DNS = 10,          /* struct rl_ev_dns: one UDP DNS message */
  RL_EV_LIBRARY = 11,      /* struct rl_ev_library: a TLS library call */
  RL_EV_RESOLVER = 12,     /* struct rl_ev_resolver: getaddrinfo returned */
  RL_EV_PROCESS = 13,      /* struct rl_ev_process: fork, exec, exit inside a boundary */
};

enum rl_role { RL_ROLE_WORKLOAD = 1, RL_ROLE_PROXY = 2 };

enum rl_direction { RL_EGRESS = 0, RL_INGRESS = 1 };

struct rl_event_header {
  __u64 boot_ns;
  __u64 seq;      /* per boundary, from 1, no gaps unless lost; 0 where the kernel has no
                     atomic fetch (before 5.12): then `dropped` alone tells of losses */
  __u64 dropped;  /* the boundary's drop counter when this record was made */
  __u32 boundary; /* index */
  __u16 kind;     /* enum rl_event_kind */
  __u16 size;     /* bytes of the whole record, this header included */
  __u16 abi_version;
  __u16 cpu;
  __u8 role; /* enum rl_role of the process or socket */
  __u8 pad[3];
};
RL_ABI_ASSERT(sizeof(struct rl_event_header) == 40, "header is 40 bytes");

/* A process at one moment. pid + start time is its identity; a pid alone never is. */
struct rl_owner {
  __u64 start_boot_ns; /* task->start_boottime of the thread group leader; 0 if unknown */
  __u64 cgroup_id;
  __u32 tgid; /* in the initial pid namespace */
  __u32 tid;
  char comm[RL_COMM_BYTES];
};
RL_ABI_ASSERT(sizeof(struct rl_owner) == 40, "owner is 40 bytes");

struct rl_address {
  __u8 addr[16];
  __u16 port;
  __u16 pad;
  __u32 scope_id; /* IPv6 link-local scope, else 0 */
};
RL_ABI_ASSERT(sizeof(struct rl_address) == 24, "address is 24 bytes");

enum rl_connect_flags {
  RL_CONNECT_PREEXISTING = 1, /* the flow is older than the sensor: no connect verdict */
  RL_CONNECT_DENIED = 2,      /* an earlier cgroup program had already denied it */
  RL_CONNECT_OWNER_GUESS = 4, /* pre-existing: owner from /proc or first user, not from connect */
};

/* TCP always; UDP only for DNS (asked port 53). One record for each connect() call. */
struct rl_ev_connect {
  struct rl_event_header header;
  struct rl_owner owner;
  __u64 cookie;             /* socket cookie: identity of the flow, never reused while booted */
  __u64 netns_cookie;       /* 0 where the kernel does not tell */
  struct rl_address remote; /* as the process asked, before any redirection */
  __u32 flags;              /* enum rl_connect_flags */
  __u8 protocol;            /* IPPROTO_TCP or IPPROTO_UDP */
  __u8 family;              /* AF_INET or AF_INET6, of the socket */
  __u8 pad[2];
};
RL_ABI_ASSERT(sizeof(struct rl_ev_connect) == 128, "connect is 128 bytes");

enum rl_error_witness {
  RL_VIA_FEXIT = 1,
  RL_VIA_LIBC = 2,
  RL_VIA_SYSCALL_EXIT = 3,
  RL_VIA_KPROBE = 4
};

/* `soft`: connect() goes on, but an ICMP error has come already (sk_err_soft), which the process
 * will be told when it asks. A reject by the packet filter of the host itself comes like this. */
struct rl_ev_connect_error {
  struct rl_event_header header;
  __u64 cookie;
  __s32 error; /* positive errno; EINPROGRESS and EINTR are never reported */
  __u8 via;    /* enum rl_error_witness */
  __u8 soft;
  __u8 pad[2];
};
RL_ABI_ASSERT(sizeof(struct rl_ev_connect_error) == 56, "connect_error is 56 bytes");

struct rl_ev_established {
  struct rl_event_header header;
  __u64 cookie;
  struct rl_address local;
  struct rl_address remote; /* after any redirection by a policy hook */
};
RL_ABI_ASSERT(sizeof(struct rl_ev_established) == 96, "established is 96 bytes");

struct rl_ev_peer_fin {
  struct rl_event_header header;
  __u64 cookie;
};
RL_ABI_ASSERT(sizeof(struct rl_ev_peer_fin) == 48, "peer_fin is 48 bytes");

enum rl_end_cause {
  RL_END_RELEASED = 1, /* the owner closed it (or died); `state` tells in which state */
  RL_END_FAILED = 2,   /* the kernel closed it: `error` tells why (111, 110, 104, 113, ...) */
};

enum rl_end_flags {
  RL_END_SYN_SEEN = 1,      /* a SYN passed the egress hook */
  RL_END_EGRESS_PROVEN = 2, /* the egress hook has fired in this boundary since attach */
  RL_END_PEER_FIN = 4,      /* the peer had closed its half before */
  RL_END_RESET_RECEIVED = 8,
  RL_END_RESET_SENT = 16,
  RL_END_HOLE = 32,            /* bytes of a first flight or head were not seen in order */
  RL_END_NO_STATE_CHANGE = 64, /* released without ever leaving CLOSE: failed at once */
  RL_END_ESTABLISHED = 128,    /* had been established */
  RL_END_SERVED = 256,         /* an HTTP answer had been seen whole (head) on it */
  RL_END_REQUEST_OPEN = 512,   /* clear HTTP: a request was outstanding */
  RL_END_HEAD_OPEN = 1024,     /* clear HTTP: an answer's head had begun and was not whole */
  RL_END_OWNER_FIN = 2048,     /* the owner had closed its half before the peer did */
};

/* Exactly one for each connect() that got a socket cookie. */
struct rl_ev_flow_end {
  struct rl_event_header header;
  __u64 cookie;
  __u64 bytes_received; /* tcp_sock.bytes_received */
  __u64 bytes_acked;    /* tcp_sock.bytes_acked: payload the peer has acknowledged, + 1 for SYN */
  __u64 last_receive_boot_ns; /* last payload from the peer; 0 if none seen */
  __u32 retransmits;          /* SYN or data retransmissions seen */
  __u32 flags;                /* enum rl_end_flags */
  __s32 error;                /* sk_err, positive errno, 0 if none */
  __u8 cause;                 /* enum rl_end_cause */
  __u8 state;                 /* TCP state before the end, include/net/tcp_states.h */
  __u8 pad[2];
};
RL_ABI_ASSERT(sizeof(struct rl_ev_flow_end) == 88, "flow_end is 88 bytes");

enum rl_stream_protocol { RL_STREAM_TLS = 1, RL_STREAM_DNS = 2 };

enum rl_stream_flags {
  RL_STREAM_HOLE = 1,      /* bytes before this record were missed: nothing more will come */
  RL_STREAM_TRUNCATED = 2, /* the limit of this direction is reached */
  RL_STREAM_IN_TUNNEL = 4, /* behind a CONNECT that was answered 2xx */
};

/* Raw bytes of a TLS first flight (whole records, their heads included) or of DNS over TCP.
 * `offset` counts the bytes taken of this direction since the protocol began. */
struct rl_ev_stream {
  struct rl_event_header header;
  __u64 cookie;
  __u32 offset;
  __u16 length;
  __u8 direction; /* enum rl_direction */
  __u8 protocol;  /* enum rl_stream_protocol */
  __u8 flags;     /* enum rl_stream_flags */
  __u8 pad[7];
  __u8 bytes[];
};
RL_ABI_ASSERT(sizeof(struct rl_ev_stream) == 64, "stream head is 64 bytes");

/* Head of one TLS record (RFC 8446 section 5.1), for the first RL_TLS_RECORDS_MAX of each
 * direction, and for every alert in the clear. A first record that is not TLS is reported with
 * content_type as found and version 0: "not TLS where TLS was spoken to". */
struct rl_ev_tls_record {
  struct rl_event_header header;
  __u64 cookie;
  __u16 index;    /* 0-based, per direction */
  __u16 length;   /* of the fragment, as the head says */
  __u16 version;  /* legacy_record_version */
  __u8 direction; /* enum rl_direction */
  __u8 content_type;
  __u8 alert_level; /* 0 unless content_type is 21 and length is 2 */
  __u8 alert_description;
  __u8 flags; /* enum rl_stream_flags */
  __u8 pad[5];
};
RL_ABI_ASSERT(sizeof(struct rl_ev_tls_record) == 64, "tls_record is 64 bytes");

enum rl_http_witness { RL_HTTP_WIRE = 1, RL_HTTP_LIBRARY = 2 };

enum rl_http_method {
  RL_METHOD_OTHER = 0,
  RL_METHOD_GET = 1,
  RL_METHOD_POST = 2,
  RL_METHOD_DELETE = 3,
  RL_METHOD_HEAD = 4,
  RL_METHOD_CONNECT = 5,
  RL_METHOD_OPTIONS = 6,
  RL_METHOD_PUT = 7,
};

enum rl_http_form {
  RL_FORM_ORIGIN = 1,    /* "/path" */
  RL_FORM_ABSOLUTE = 2,  /* "http://authority/path": `host` holds that authority */
  RL_FORM_AUTHORITY = 3, /* CONNECT: `host` holds the authority, path is empty */
  RL_FORM_ASTERISK = 4,
  RL_FORM_H2 = 5, /* an HTTP/2 stream: neither path nor host is known */
};

enum rl_http_flags {
  RL_HTTP_PATH_TRUNCATED = 1,
  RL_HTTP_HOST_TRUNCATED = 2,
  RL_HTTP_IN_TUNNEL = 4,
  RL_HTTP_MALFORMED = 8,       /* response: not an HTTP status line, or a status we refuse */
  RL_HTTP_UPGRADED = 16,       /* after this the connection is no longer HTTP */
  RL_HTTP_UNKNOWN = 32,        /* HTTP/2 status only as an entry of the dynamic table: unknown */
  RL_HTTP_WITH_SESSION = 64,   /* request: the head had an Mcp-Session-Id field (its value is
                                  never taken) */
  RL_HTTP_HOST_REPEATED = 128, /* two Host fields: RFC 9112 section 3.2 wants 400; host unknown */
};

/* Emitted when the request's head is whole. `text` is path, then host. */
struct rl_ev_http_request {
  struct rl_event_header header;
  struct rl_owner owner; /* library: the caller; wire: zero */
  __u64 key;             /* wire: socket cookie. library: the SSL pointer */
  __u32 request_index;   /* per key, from 1; HTTP/2: the stream id */
  __u16 path_length;
  __u16 host_length;
  __u16 flags;  /* enum rl_http_flags */
  __u8 witness; /* enum rl_http_witness */
  __u8 method;  /* enum rl_http_method */
  __u8 form;    /* enum rl_http_form */
  __u8 pad[3];
  __u8 text[];
};
RL_ABI_ASSERT(__builtin_offsetof(struct rl_ev_http_request, text) == 104, "request head");

/* Emitted when an answer's head is whole, or when it is known to be malformed. */
struct rl_ev_http_response {
  struct rl_event_header header;
  struct rl_owner owner; /* library: the caller; wire: zero */
  __u64 key;
  __u32 request_index; /* which request it answers; HTTP/2: the stream id */
  __u16 status;        /* 100..999; 0 when malformed or unknown */
  __u16 flags;         /* enum rl_http_flags */
  __u8 witness;
  __u8 pad[7];
};
RL_ABI_ASSERT(sizeof(struct rl_ev_http_response) == 104, "response is 104 bytes");

/* One UDP DNS message of a socket whose process asked for port 53. */
struct rl_ev_dns {
  struct rl_event_header header;
  struct rl_owner owner; /* who asked: of the socket's last sendmsg or connect */
  __u64 cookie;
  __u64 netns_cookie;
  struct rl_address remote; /* the server, as the process asked */
  __u16 local_port;
  __u16 length;      /* bytes in `bytes` */
  __u16 wire_length; /* of the message on the wire; more than `length` when truncated */
  __u8 direction;
  __u8 pad;
  __u8 bytes[];
};
RL_ABI_ASSERT(__builtin_offsetof(struct rl_ev_dns, bytes) == 128, "dns head is 128 bytes");

enum rl_library_op {
  RL_LIB_HELLO_RANDOM = 1, /* data = the 32 bytes that will be the ClientHello's random */
  RL_LIB_VERIFY = 2,       /* value = X509_V_* of the certificate step; 0 is good */
  RL_LIB_ERROR = 3,        /* value = reason of an ERR_LIB_SSL error claimed by this SSL */
  RL_LIB_RESULT = 4,       /* value = class returned by SSL_get_error, detail = failed result */
  RL_LIB_VERIFY_ASKED = 5, /* value = result of SSL_get_verify_result */
  RL_LIB_FREE = 6,
  RL_LIB_START = 7, /* SSL_clear: a new handshake may begin on this pointer */
};

/* A call in a TLS library. `ssl` is a user-space pointer: with tgid, start time and the last
 * RL_LIB_START it names one TLS session; never joined to a socket but by the random. */
struct rl_ev_library {
  struct rl_event_header header;
  struct rl_owner owner;
  __u64 ssl;
  __s64 value;
  __s32 detail;
  __u8 op; /* enum rl_library_op */
  __u8 pad[3];
  __u8 data[32];
};
RL_ABI_ASSERT(sizeof(struct rl_ev_library) == 136, "library is 136 bytes");

/* getaddrinfo returned. result is EAI_* of netdb.h (negative in glibc) or 0. */
struct rl_ev_resolver {
  struct rl_event_header header;
  struct rl_owner owner;
  __u64 started_boot_ns;
  __s32 result;
  __u16 name_length;
  __u8 address_count;
  __u8 truncated; /* more addresses or a longer name than fit */
  __u8 addresses[RL_RESOLVED_MAX][16];
  __u8 name[RL_NAME_MAX];
};
RL_ABI_ASSERT(sizeof(struct rl_ev_resolver) == 96 + 128 + 256, "resolver is 480 bytes");

enum rl_process_op { RL_PROCESS_FORK = 1, RL_PROCESS_EXEC = 2, RL_PROCESS_EXIT = 3 };

struct rl_ev_process {
  struct rl_event_header header;
  struct rl_owner owner; /* fork: the child */
  __u32 parent_tgid;
  __u8 op; /* enum rl_process_op */
  __u8 pad[3];
};
RL_ABI_ASSERT(sizeof(struct rl_ev_process) == 88, "process is 88 bytes");

#ifdef __cplusplus
#pragma GCC diagnostic pop
#endif

#endif
