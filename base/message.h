/*
 * Every message between our processes: its number, who may send it to whom,
 * its limit and its descriptors. The bodies are in message_*.h, one header for
 * each conversation, as a struct with an encode and a decode function. An
 * even number asks or tells, the odd one after it answers.
 *
 * A receiver's table of struct chan_rule (base/channel.h) is made from these
 * rows; what is not in its table ends the sender's channel.
 */
#ifndef TAPWARD_BASE_MESSAGE_H
#define TAPWARD_BASE_MESSAGE_H

/* Raised when any body changes; a child of another version is replaced. */
#define MESSAGE_PROTOCOL 12

/* Longest body of a message that has no larger need. */
#define MESSAGE_SMALL_BYTES 4096
/* Longest body that carries lists or texts. */
#define MESSAGE_LARGE_BYTES 65536

enum message_type {
	/* any child -> supervisor, first on every connection */
	MSG_HELLO = 2,

	/* supervisor -> gate (message_gate.h) */
	MSG_GATE_NET = 16,    /* fds: the five sockets of the namespace */
	MSG_GATE_START = 18,  /* fds: see struct message_gate_start */
	MSG_GATE_READY = 19,  /* gate -> supervisor: it serves */
	MSG_GATE_POLICY = 20, /* fds: policy, [ceiling] */
	MSG_GATE_POLICY_ACK = 21,
	MSG_GATE_PEER = 22,  /* fds: one channel; replaces a broken one */
	MSG_GATE_ROOTS = 24, /* fds: the index of roots */
	MSG_GATE_STATUS = 26,
	MSG_GATE_STATUS_ANSWER = 27,
	MSG_GATE_STOP = 29, /* no body: it records what is open, and ends */
	/* gate -> supervisor on adoption: its sockets come back */
	MSG_GATE_SOCKETS = 28,

	/* supervisor -> dialler (message_dialler.h) */
	MSG_DIALLER_CONFIG = 32,    /* fds: [proxy's password], [roots] */
	MSG_DIALLER_DONE = 33,      /* dialler -> supervisor (message_done.h) */
	MSG_DIALLER_ADDRESSES = 34, /* the host's own, replaced whole */
	MSG_DIALLER_ATTACH = 36,    /* fds: gate, recorder, policy, [ceiling] */
	MSG_DIALLER_POLICY = 38,    /* fds: policy, [ceiling] */
	MSG_DIALLER_DETACH = 40,
	MSG_DIALLER_STATUS = 42,        /* no body */
	MSG_DIALLER_STATUS_ANSWER = 43, /* dialler -> supervisor */
	/* dialler, broker -> supervisor: one of their resolvers changed */
	MSG_RESOLVERS = 44,

	/* gate -> dialler (message_dial.h) */
	MSG_DIAL = 48,
	MSG_DIALED = 49, /* dialler -> gate; fds: the connection, if one */
	MSG_DIAL_CANCEL = 50,

	/* supervisor -> broker (message_broker.h) */
	MSG_BROKER_CREDENTIAL = 64, /* fds: [sources of its secrets] */
	MSG_BROKER_DONE = 65,       /* broker -> supervisor (message_done.h) */
	MSG_BROKER_CONFIGURED = 66, /* the set is whole: take it over */
	MSG_BROKER_ATTACH = 68,     /* fds: gate, recorder, policy, [ceiling] */
	MSG_BROKER_POLICY = 70,     /* fds: policy, [ceiling] */
	MSG_BROKER_DETACH = 72,
	MSG_BROKER_UPSTREAM = 74, /* fds: [the password of the proxy] */
	MSG_BROKER_ROOTS = 75,    /* fds: the index of roots; no body */
	MSG_BROKER_RUN = 78,      /* broker -> supervisor; fds: stdin, stdout */
	MSG_BROKER_RAN = 79,      /* (message_helper.h) */
	MSG_BROKER_JOURNAL = 76,  /* fds: its two files, O_RDWR; no body */

	/* gate -> broker (message_lease.h) */
	MSG_LEASE_REQUEST = 80,
	MSG_LEASE = 81, /* broker -> gate */
	/* broker -> gate: forget what you hold of this credential */
	MSG_LEASE_REVOKED = 82,
	/* gate -> broker: an origin does not take it (message_lease.h) */
	MSG_LEASE_REJECTED = 88,
	MSG_SIGN = 90,   /* message_sign.h */
	MSG_SIGNED = 91, /* broker -> gate */
	/* broker -> gate: what the sandbox is granted, without a value */
	MSG_GRANT = 84,
	MSG_GRANTS_WHOLE = 86,

	/* supervisor -> recorder (message_recorder.h) */
	MSG_RECORDER_LOG = 96,     /* fds: the audit log, O_RDWR | O_APPEND */
	MSG_RECORDER_ATTACH = 98,  /* fds: a sender's channel */
	MSG_RECORDER_NFLOG = 100,  /* fds: a NFLOG socket */
	MSG_RECORDER_POLICY = 102, /* a sandbox's policy digest changed */
	MSG_RECORDER_DETACH = 104,
	MSG_RECORDER_READ = 106, /* fds: where the lines go */
	MSG_RECORDER_STATUS = 108,
	MSG_RECORDER_STATUS_ANSWER = 109,
	MSG_RECORDER_METRICS = 110, /* fds: where the text goes */
	/* recorder -> supervisor: a reader wants more of what was moved aside
	 */
	MSG_RECORDER_OLDER = 208,
	MSG_RECORDER_OLDER_HERE = 209, /* fds: [the files] */

	/* gate, dialler, broker, supervisor -> recorder (message_audit.h) */
	MSG_AUDIT = 112,
	/* recorder -> those: whether the sink can write */
	MSG_AUDIT_STATE = 114,
	/* supervisor -> recorder: a life-cycle record (message_recorder.h) */
	MSG_RECORDER_EVENT = 116,
	/* supervisor -> recorder: hand the NFLOG socket of a sandbox back */
	MSG_RECORDER_NFLOG_BACK = 118,
	MSG_RECORDER_NFLOG_HERE = 119, /* fds: [the socket] */
	/* supervisor -> recorder: what a ruleset has counted */
	MSG_RECORDER_COUNTERS = 120,
	/* supervisor -> recorder: what it remembers (message_recent.h) */
	MSG_RECORDER_RECENT = 122,
	MSG_RECORDER_RECENT_ANSWER = 123,
	/* supervisor -> recorder; fds: [where heads go], O_APPEND; no body */
	MSG_RECORDER_ANCHOR = 124,
	/* the same; fds: a way to systemd's journal (log_event.h); no body */
	MSG_RECORDER_JOURNAL = 126,

	/* supervisor -> compile (message_compile.h) */
	MSG_COMPILE = 128,  /* fds: the text, sealed */
	MSG_COMPILED = 129, /* compile -> supervisor; fds: [the image] */

	/* api -> supervisor (message_api.h) */
	MSG_API_REQUEST = 144, /* fds: see enum api_op */
	MSG_API_ANSWER = 145,  /* fds: [tap or namespace for attach] */
	/* supervisor -> api; fds: control.sock, [metrics listener] */
	MSG_API_LISTENER = 146,
	MSG_API_EVENT = 148, /* supervisor -> api */

	/* supervisor -> ca (message_ca.h): keys that nobody else may make */
	MSG_CA_MAKE = 160,
	MSG_CA_MADE = 161,    /* fds: key and certificate; certificate */
	MSG_ROOTS_MAKE = 162, /* fds: the host's CA bundle, PEM */
	MSG_ROOTS_MADE = 163, /* fds: [the index, sealed] */
	MSG_ROOTS_SET = 164,  /* fds: the file of one [ca NAME], PEM */

	/* supervisor -> tapward-vm (message_vm.h) */
	MSG_VM_SESSION = 176, /* fds: a stream socket */
	MSG_VM_STOP = 178,
	/* tapward-vm -> supervisor */
	MSG_VM_STATE = 180,
	MSG_VM_RECORD = 182,

	/* gate -> supervisor (message_ask.h): may what it holds go? */
	MSG_ASK = 192,
	MSG_ASKED = 193, /* supervisor -> gate */
	/* gate -> supervisor: the question of this id is over; no body */
	MSG_ASK_CANCEL = 194,
	/* supervisor -> dialler, broker: somebody said yes to this */
	MSG_ASK_ALLOWED = 196,
};

#endif
