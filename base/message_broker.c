/*
 * Supervisor and broker, see message_broker.h. The texts of a definition were
 * checked where the configuration was read; here only that each is one.
 */
#include "base/message_broker.h"

#include <errno.h>

#include "base/message_field.h"

/* A list of texts in rows of size bytes each; rows is the first one. */
static void
put_texts(struct wr *w, const char *rows, size_t size, unsigned int count)
{
	wr_u16(w, (uint16_t)count);
	for (unsigned int i = 0; i < count; i++)
		wr_str16(w, rows + i * size);
}

static unsigned int
take_texts(struct rd *r, char *rows, size_t size, unsigned int max)
{
	const unsigned int count = field_count(r, max);

	for (unsigned int i = 0; i < count; i++)
		if (rd_cstr16(r, rows + i * size, size) == 0)
			rd_fail(r);
	return count;
}

static void
put_grants(struct wr *w, const struct message_broker_credential *m)
{
	wr_u16(w, (uint16_t)m->grant_count);
	for (unsigned int i = 0; i < m->grant_count; i++) {
		wr_str16(w, m->grants[i].name);
		wr_u8(w, m->grants[i].owner);
		wr_str16(w, m->grants[i].principal);
	}
}

static void
take_grant(struct rd *r, struct message_broker_grant *ret)
{
	size_t len;

	if (rd_cstr16(r, ret->name, sizeof(ret->name)) == 0)
		rd_fail(r);
	ret->owner = field_enum(r, BROKER_OWNER_COUNT);
	len = rd_cstr16(r, ret->principal, sizeof(ret->principal));
	/* user: without a name must not become a grant to everybody. */
	if ((len == 0) != (ret->owner == BROKER_OWNER_ROOT))
		rd_fail(r);
}

static void
put_settings(struct wr *w, const struct message_broker_credential *m)
{
	wr_u16(w, (uint16_t)m->setting_count);
	for (unsigned int i = 0; i < m->setting_count; i++) {
		wr_str16(w, m->settings[i].name);
		wr_str16(w, m->settings[i].text);
		field_bool_write(w, m->settings[i].is_source);
		field_bool_write(w, m->settings[i].is_open);
	}
}

/* Adds to *sources if it is one. */
static void
take_setting(struct rd *r, struct message_broker_setting *ret,
    unsigned int *sources)
{
	if (rd_cstr16(r, ret->name, sizeof(ret->name)) == 0 ||
	    rd_cstr16(r, ret->text, sizeof(ret->text)) == 0)
		rd_fail(r);
	ret->is_source = field_bool(r);
	ret->is_open = field_bool(r);
	if (ret->is_source)
		++*sources;
	if (*sources > BROKER_SOURCES_MAX || (ret->is_open && !ret->is_source))
		rd_fail(r);
}

static void
take_settings(struct rd *r, struct message_broker_credential *ret)
{
	unsigned int sources = 0;

	ret->setting_count = field_count(r, BROKER_SETTINGS_MAX);
	for (unsigned int i = 0; i < ret->setting_count; i++)
		take_setting(r, &ret->settings[i], &sources);
}

void
message_broker_credential_encode(struct wr *w,
    const struct message_broker_credential *m)
{
	wr_str16(w, m->name);
	wr_u8(w, m->kind);
	wr_str16(w, m->source);
	wr_u8(w, m->apply);
	wr_str16(w, m->field);
	wr_str16(w, m->user);
	wr_str16(w, m->placeholder);
	put_texts(w, m->strip[0], sizeof(m->strip[0]), m->strip_count);
	put_texts(w, m->strip_response[0], sizeof(m->strip_response[0]),
	    m->strip_response_count);
	field_bool_write(w, m->keeps_set_cookie);
	put_texts(w, m->hosts[0], sizeof(m->hosts[0]), m->host_count);
	wr_u16(w, m->port);
	put_texts(w, m->methods[0], sizeof(m->methods[0]), m->method_count);
	put_texts(w, m->paths[0], sizeof(m->paths[0]), m->path_count);
	put_texts(w, m->deny_paths[0], sizeof(m->deny_paths[0]),
	    m->deny_path_count);
	field_bool_write(w, m->serves_websocket);
	put_grants(w, m);
	put_settings(w, m);
}

int
message_broker_credential_decode(struct rd *r,
    struct message_broker_credential *ret)
{
	if (rd_cstr16(r, ret->name, sizeof(ret->name)) == 0)
		rd_fail(r);
	ret->kind = field_enum(r, BROKER_KIND_COUNT);
	(void)rd_cstr16(r, ret->source, sizeof(ret->source));
	ret->apply = field_enum(r, LEASE_APPLY_COUNT);
	(void)rd_cstr16(r, ret->field, sizeof(ret->field));
	(void)rd_cstr16(r, ret->user, sizeof(ret->user));
	(void)rd_cstr16(r, ret->placeholder, sizeof(ret->placeholder));
	ret->strip_count = take_texts(r, ret->strip[0], sizeof(ret->strip[0]),
	    LEASE_STRIP_MAX);
	ret->strip_response_count = take_texts(r, ret->strip_response[0],
	    sizeof(ret->strip_response[0]), LEASE_STRIP_MAX);
	ret->keeps_set_cookie = field_bool(r);
	ret->host_count = take_texts(r, ret->hosts[0], sizeof(ret->hosts[0]),
	    BROKER_HOSTS_MAX);
	ret->port = rd_u16(r);
	ret->method_count = take_texts(r, ret->methods[0],
	    sizeof(ret->methods[0]), BROKER_METHODS_MAX);
	ret->path_count = take_texts(r, ret->paths[0], sizeof(ret->paths[0]),
	    BROKER_PATHS_MAX);
	ret->deny_path_count = take_texts(r, ret->deny_paths[0],
	    sizeof(ret->deny_paths[0]), BROKER_PATHS_MAX);
	ret->serves_websocket = field_bool(r);
	ret->grant_count = field_count(r, BROKER_GRANTS_MAX);
	for (unsigned int i = 0; i < ret->grant_count; i++)
		take_grant(r, &ret->grants[i]);
	take_settings(r, ret);
	return field_result(r);
}

void
message_broker_configured_encode(struct wr *w,
    const struct message_broker_configured *m)
{
	wr_u32(w, m->credential_count);
	wr_u32(w, m->lease_max_s);
}

int
message_broker_configured_decode(struct rd *r,
    struct message_broker_configured *ret)
{
	const struct message_broker_configured m = {
		.credential_count = rd_u32(r),
		.lease_max_s = rd_u32(r),
	};

	if (!rd_ok(r) || m.lease_max_s == 0 ||
	    m.credential_count > BROKER_CREDENTIALS_MAX)
		return -EBADMSG;
	*ret = m;
	return 0;
}

void
message_broker_attach_encode(struct wr *w,
    const struct message_broker_attach *m)
{
	wr_str16(w, m->sandbox);
	wr_u64(w, m->generation);
	field_bool_write(w, m->has_ceiling);
	wr_u32(w, m->owner_uid);
	wr_str16(w, m->owner_user);
	put_texts(w, m->groups[0], sizeof(m->groups[0]), m->group_count);
}

int
message_broker_attach_decode(struct rd *r, struct message_broker_attach *ret)
{
	struct message_broker_attach m = { 0 };

	field_sandbox(r, m.sandbox, false);
	m.generation = rd_u64(r);
	m.has_ceiling = field_bool(r);
	m.owner_uid = rd_u32(r);
	(void)rd_cstr16(r, m.owner_user, sizeof(m.owner_user));
	m.group_count =
	    take_texts(r, m.groups[0], sizeof(m.groups[0]), BROKER_GROUPS_MAX);
	if (rd_ok(r))
		*ret = m;
	return field_result(r);
}

void
message_broker_policy_encode(struct wr *w,
    const struct message_broker_policy *m)
{
	wr_str16(w, m->sandbox);
	wr_u64(w, m->generation);
	field_bool_write(w, m->has_ceiling);
}

int
message_broker_policy_decode(struct rd *r, struct message_broker_policy *ret)
{
	struct message_broker_policy m = { 0 };

	field_sandbox(r, m.sandbox, false);
	m.generation = rd_u64(r);
	m.has_ceiling = field_bool(r);
	if (rd_ok(r))
		*ret = m;
	return field_result(r);
}

void
message_broker_detach_encode(struct wr *w,
    const struct message_broker_detach *m)
{
	wr_str16(w, m->sandbox);
	wr_u64(w, m->generation);
}

int
message_broker_detach_decode(struct rd *r, struct message_broker_detach *ret)
{
	struct message_broker_detach m = { 0 };

	field_sandbox(r, m.sandbox, false);
	m.generation = rd_u64(r);
	if (rd_ok(r))
		*ret = m;
	return field_result(r);
}

void
message_lease_revoked_encode(struct wr *w,
    const struct message_lease_revoked *m)
{
	wr_str16(w, m->credential);
}

int
message_lease_revoked_decode(struct rd *r, struct message_lease_revoked *ret)
{
	struct message_lease_revoked m = { { 0 } };

	(void)rd_cstr16(r, m.credential, sizeof(m.credential));
	if (!rd_ok(r))
		return -EBADMSG;
	*ret = m;
	return 0;
}
