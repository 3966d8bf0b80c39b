/*
 * Api and supervisor. tapward-api reads HTTP and JSON of local users; what it
 * passes on is one checked message for each request, with the uid and gid
 * that SO_PEERCRED gave it and with descriptors, never with a path. Who may do
 * what is decided by the supervisor.
 */
#ifndef TAPWARD_BASE_MESSAGE_API_H
#define TAPWARD_BASE_MESSAGE_API_H

#include "base/bytes.h"
#include "base/message_ask.h"
#include "base/message_dialler.h"
#include "base/message_lease.h"
#include "base/message_top.h"
#include "base/message_vm.h"
#include "base/names.h"
#include "base/reason.h"

/* What is asked; "owner" stands for the sandbox's owner and root. */
enum api_op {
	API_LIST,    /* everyone; pages, see api_page */
	API_SHOW,    /* owner; answers a sandbox */
	API_CREATE,  /* everyone; fds: policy text, [netns | hold]; a sandbox */
	API_REMOVE,  /* owner */
	API_RELOAD,  /* owner; fds: policy text; a sandbox */
	API_ATTACH,  /* owner; the answer brings the tap or the namespace */
	API_LOG,     /* owner, without a name root; fds: sink */
	API_METRICS, /* everyone; fds: sink */
	API_STATUS,  /* everyone; a status */
	API_VM_START,    /* owner; fds: kernel, modules, root; a sandbox */
	API_VM_STOP,     /* owner */
	API_SESSION,     /* owner; the answer brings a stream, vmm/frame.h */
	API_RELOAD_HOST, /* root; configuration, ceiling, credentials */
	API_ASKS,        /* everyone: their own, root all; pages */
	API_ANSWER,      /* owner; what the ceiling asks, root */
	API_TOP,         /* everyone; counts of their own, root all; pages */
	API_TOP_ONE,     /* owner; the same of one, with its hosts */
	API_OP_COUNT
};

enum api_device { API_DEVICE_TAP, API_DEVICE_VETH, API_DEVICE_COUNT };

/* Of a virtual machine when nothing else is asked for. */
#define API_VM_CPUS 1
#define API_VM_MEMORY_MIB 1024
/* owner_uid of a request that leaves it to the peer's. */
#define API_OWNER_PEER UINT32_MAX
/* The policy's name in findings, audit and denials; printable ASCII. */
#define API_DISPLAY_NAME_SIZE 128
/* Longest list of findings, one a line. */
#define API_FINDINGS_MAX_BYTES 32768
#define API_TEXT_SIZE 512
#define API_PATH_SIZE 256
/* Entries of one page of a list; more are asked for with `after`. */
#define API_PAGE_MAX 256
#define API_CREDENTIALS_MAX 16

/* Files of API_VM_START, in their order. */
enum api_vm_file { API_VM_KERNEL, API_VM_MODULES, API_VM_ROOT, API_VM_FILES };

/*
 * Descriptors: the policy text is a sealed memfd (fd_memfd_sealed) of at most
 * POLICY_TEXT_MAX_BYTES. A sink is the write end of a pipe, or a stream
 * socket: the recorder writes lines (JSON, or Prometheus text) to it, never
 * blocking, and closes it at the end; a sink that the reader closes ends a
 * `follow`. An answer to API_LOG or API_METRICS that is API_OK comes when the
 * sink has been handed over.
 */
struct message_api_request {
	uint8_t op;
	uint32_t peer_uid;
	uint32_t peer_gid;
	/*
	 * Which one. "": API_STATUS, API_METRICS, API_LOG of all; for
	 * API_LIST and API_TOP the page starts after this name. API_ASKS and
	 * API_ANSWER: the id of a question, eight hexadecimal digits.
	 */
	char name[SANDBOX_NAME_SIZE];
	/* API_CREATE, API_RELOAD */
	char display_name[API_DISPLAY_NAME_SIZE];
	/* API_CREATE */
	uint8_t device;     /* enum api_device */
	uint32_t owner_uid; /* of the tap; another than the peer: root only */
	char ca[SANDBOX_NAME_SIZE]; /* "": its own */
	uint32_t ttl_s;             /* 0: no end */
	/*
	 * It ends when the hold is closed, a pipe or socket that the caller
	 * keeps the other end of, and when its virtual machine does.
	 */
	bool is_tied;
	bool learns; /* where the host permits it */
	/* API_VM_START */
	uint8_t driver; /* enum vm_driver */
	bool needs_kvm;
	uint32_t cpus, memory_mib, disk_mib;
	uint32_t max_duration_s; /* 0: none */
	char
	    image[DIGEST_TEXT_SIZE]; /* what the caller says it starts; or "" */
	char commit[VM_COMMIT_SIZE]; /* of the caller's repository; or "" */
	/* API_ATTACH: the namespace instead of the tap */
	bool in_netns;
	/* API_LOG */
	bool denied_only;
	bool follow;
	/* API_ANSWER */
	bool is_allowed;
	uint32_t for_s; /* the same question is answered so; 0: once */
};

enum api_result {
	API_OK,
	API_INVALID,     /* 400: what is wrong is in text and findings */
	API_FORBIDDEN,   /* 403 */
	API_NOT_FOUND,   /* 404 */
	API_EXISTS,      /* 409 */
	API_LIMIT,       /* 429: no more sandboxes may be made */
	API_FAILED,      /* 500: text says which step; nothing is left */
	API_UNAVAILABLE, /* 503: a part is being restarted */
	API_RESULT_COUNT
};

/* What follows text and findings in an answer. */
enum api_payload {
	API_PAYLOAD_NONE,
	API_PAYLOAD_SANDBOX,
	API_PAYLOAD_LIST,
	API_PAYLOAD_STATUS,
	API_PAYLOAD_ASKS,
	API_PAYLOAD_TOP, /* and a status before it */
	API_PAYLOAD_COUNT
};

enum api_state {
	API_STATE_RUNNING,
	API_STATE_DETACHED,   /* its device has vanished */
	API_STATE_RESTARTING, /* its gate is being replaced */
	API_STATE_COUNT
};

/* "running", ...; "tap" or "veth". */
const char *api_state_name(uint8_t state);
const char *api_device_name(uint8_t device);

struct message_api_credential {
	char name[CREDENTIAL_NAME_SIZE];
	char placeholder[LEASE_USER_SIZE]; /* what a guest may hold */
	/* of a key of AWS: where it is for, first; else "" */
	char region[LEASE_WORD_SIZE];
};

struct message_api_vm {
	struct message_vm_state said;
	int32_t pid;            /* of tapward-vm; 0 when it has ended */
	uint8_t cgroup_version; /* that limits it; 0: none does */
};

struct message_api_sandbox {
	char name[SANDBOX_NAME_SIZE];
	uint8_t state;
	uint8_t device;
	uint32_t owner_uid;
	uint64_t generation;
	char netns[API_PATH_SIZE]; /* path, /run/netns/tapward-NAME */
	char device_name[16];      /* of the interface */
	uint32_t guest_ip;         /* host byte order */
	uint32_t gateway_ip;
	uint8_t prefix; /* 30 */
	uint8_t guest_mac[6];
	uint16_t proxy_port;    /* on gateway_ip */
	char ca[API_PATH_SIZE]; /* certificate, PEM */
	char ca_id[SANDBOX_NAME_SIZE];
	char policy_file[API_DISPLAY_NAME_SIZE];
	char policy_digest[DIGEST_TEXT_SIZE];
	uint64_t created_wall_ms;
	uint64_t ttl_end_wall_ms; /* 0: none */
	int32_t gate_pid;
	uint32_t gate_restarts;
	/* Packets, from REASON_PACKET_FIRST. */
	uint64_t dropped[REASON_PACKET_COUNT];
	uint32_t credential_count;
	struct message_api_credential credentials[API_CREDENTIALS_MAX];
	bool is_tied;
	bool learns;
	bool has_vm; /* there is one, or was */
	struct message_api_vm vm;
};

/* What others of the group may see. */
struct message_api_entry {
	char name[SANDBOX_NAME_SIZE];
	uint8_t state;
	uint8_t device;
	uint32_t owner_uid;
	uint64_t created_wall_ms;
	bool learns;
};

struct message_api_page {
	uint32_t count;
	bool has_more; /* ask again with the last name as `name` */
	struct message_api_entry *entries; /* API_PAGE_MAX of them */
};

#define API_CHILDREN_MAX 8
struct message_api_child {
	char role[16];
	int32_t pid; /* 0 while it is down */
	uint32_t restarts;
};

/* What status says of the host's credentials: as broker and err say it. */
#define API_FAULT_SIZE 512

/* Sandboxes under one policy. */
#define API_POLICIES_MAX 16
struct message_api_policy {
	char digest[DIGEST_TEXT_SIZE];
	uint32_t sandboxes;
};

/* What the supervisor had to say last, above the ordinary. */
#define API_ERRORS_MAX 8
#define API_ERROR_SIZE 200
struct message_api_error {
	uint64_t wall_ms;
	char text[API_ERROR_SIZE];
};

#define API_RESOLVERS_MAX 8
/* An address, its port, and the name it is to prove. */
#define API_RESOLVER_SIZE (ADDRESS_TEXT_SIZE + HOST_NAME_SIZE)

struct message_api_status {
	char version[32];
	int32_t pid;
	uint64_t started_wall_ms;
	uint32_t sandboxes;
	uint32_t pool_ready;
	uint32_t pool_size;
	bool has_ceiling; /* false: `policy = none` */
	char ceiling_file[API_PATH_SIZE];
	char ceiling_digest[DIGEST_TEXT_SIZE];
	bool audit_can_write;
	uint32_t roots;                        /* CA certificates for origins */
	char credential_fault[API_FAULT_SIZE]; /* "": all is well */
	uint32_t child_count;
	struct message_api_child children[API_CHILDREN_MAX];
	uint32_t states[API_STATE_COUNT]; /* sandboxes in each */
	uint32_t machines;                /* virtual ones, that run */
	uint32_t learning;                /* sandboxes that do */
	uint32_t credentials;             /* that the host defines */
	uint32_t resolver_count;
	char resolvers[API_RESOLVERS_MAX][API_RESOLVER_SIZE];
	/* as the dialler and the broker said, if they did */
	struct message_resolver_state resolver_states[API_RESOLVERS_MAX];
	struct message_resolver_state broker_states[API_RESOLVERS_MAX];
	bool has_recorder; /* it said what follows */
	uint64_t audit_seq;
	uint64_t audit_lost;
	char audit_head[DIGEST_TEXT_SIZE];
	uint32_t policy_count;
	struct message_api_policy policies[API_POLICIES_MAX];
	uint32_t other_policies; /* sandboxes under those not in the list */
	/* The oldest first; root alone is told. */
	uint32_t error_count;
	struct message_api_error errors[API_ERRORS_MAX];
};

enum api_ask_state {
	API_ASK_WAITING,
	API_ASK_ALLOWED, /* an answer that stands */
	API_ASK_DENIED,
	API_ASK_STATES
};

/* A question that waits, or an answer that stands. */
struct message_api_ask {
	uint32_t id;
	uint8_t state; /* enum api_ask_state */
	char sandbox[SANDBOX_NAME_SIZE];
	uint32_t owner_uid;
	uint64_t since_wall_ms, until_wall_ms;
	char by[ASK_BY_SIZE]; /* who answered; "" while it waits */
	struct message_ask ask;
};

/* Of one page: what fits into a message. */
#define API_ASKS_MAX 16
struct message_api_asks {
	uint32_t count;
	bool has_more; /* ask again with the last id as `name` */
	struct message_api_ask asks[API_ASKS_MAX];
};

/* "waiting", "allowed", "denied". */
const char *api_ask_state_name(uint8_t state);

/*
 * An answer. text is one line for a person, "" when all is well; findings of
 * a policy are lines "file:line: what" and borrow from the message. Of the
 * payloads the one that `payload` names is read and written; the pointers are
 * the caller's room and none may be NULL if that payload can come.
 */
struct message_api_answer {
	uint8_t result;  /* enum api_result */
	uint8_t payload; /* enum api_payload */
	const char *text;
	struct span findings;
	struct message_api_sandbox *sandbox;
	struct message_api_page *page;
	struct message_api_status *status;
	struct message_api_asks *asks;
	struct message_top *top;
};

/* MSG_API_EVENT: something happened to a sandbox (GET /v1/events). */
struct message_api_event {
	uint64_t wall_ms;
	char name[SANDBOX_NAME_SIZE];
	uint64_t generation;
	uint32_t owner_uid; /* only this one and root may see it */
	char what[32];      /* "created", "gate-restart", ... */
};

void message_api_request_encode(struct wr *w,
    const struct message_api_request *m);
/* 0, or -EBADMSG for fields that no honest sender writes. */
int message_api_request_decode(struct rd *r, struct message_api_request *ret);
void message_api_answer_encode(struct wr *w,
    const struct message_api_answer *m);
/* text is copied into text_buf, which ret->text then borrows. */
int message_api_answer_decode(struct rd *r, char text_buf[API_TEXT_SIZE],
    struct message_api_answer *ret);
void message_api_event_encode(struct wr *w, const struct message_api_event *m);
int message_api_event_decode(struct rd *r, struct message_api_event *ret);

/* MSG_API_LISTENER has no body: control.sock, then [the metrics listener]. */

#endif
