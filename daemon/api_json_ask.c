/*
 * Questions of [ask] as JSON.
 */
#include <stdio.h>

#include "conf/verdict.h"
#include "daemon/api_json.h"

/* "https://host[:port]/path", as people write it. */
static json_t *
api_json_url(const struct message_ask_subject *s)
{
	char url[ASK_TARGET_SIZE + HOST_NAME_SIZE + 32], port[8] = "";
	const bool is_http = s->scheme == SCHEME_HTTP;

	if (s->port != (is_http ? 80 : 443))
		(void)snprintf(port, sizeof(port), ":%u", s->port);
	(void)snprintf(url, sizeof(url), "%s://%s%s%s",
	    scheme_name((enum scheme)s->scheme), s->host, port, s->target);
	return json_string(url);
}

json_t *
api_json_ask(const struct message_api_ask *a)
{
	const struct message_ask *m = &a->ask;
	char id[9], at[ASK_FILE_SIZE + 16];

	(void)snprintf(id, sizeof(id), "%08x", a->id);
	(void)snprintf(at, sizeof(at), "%s:%u", m->file, m->line);
	return json_pack("{s:s, s:s, s:s, s:I, s:o, s:o, s:s, s:s, s:o, s:s, "
			 "s:i, s:s, s:b, s:s, s:o, s:s, s:s, s:b}",
	    "id", id, "state", api_ask_state_name(a->state), "sandbox",
	    a->sandbox, "owner", (json_int_t)a->owner_uid, "since",
	    api_json_time(a->since_wall_ms), "until",
	    api_json_time(a->until_wall_ms), "by", a->by, "method",
	    m->subject.method, "url", api_json_url(&m->subject), "host",
	    m->subject.host, "port", (int)m->subject.port, "target",
	    m->subject.target, "websocket", (int)m->subject.is_websocket,
	    "credential", m->subject.credential, "body_bytes",
	    m->body_bytes == ASK_BODY_UNKNOWN
		? json_null()
		: json_integer((json_int_t)m->body_bytes),
	    "rule", m->rule, "at", at, "ceiling", (int)m->by_ceiling);
}
