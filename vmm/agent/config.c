/*
 * See config.h. A key is a row of config_keys[].
 */
#include "vmm/agent/config.h"

#include <string.h>

#include "base/ascii.h"
#include "vmm/agent/lines.h"

/* False: not a value of this key. */
typedef bool config_set(struct agent_config *c, struct span value);

/* A.B.C.D; *value is what follows it. */
static bool
take_address(struct span *value, uint32_t *ret)
{
	uint32_t all = 0, part;
	struct span field, digits = *value;
	size_t len = 0;

	while (len < value->len && value->ptr[len] != '/')
		len++;
	digits.len = len;
	for (unsigned int i = 0; i < 4; i++) {
		if (!lines_take(&digits, '.', &field) ||
		    !lines_number(field, 255, &part))
			return false;
		all = all << 8 | part;
	}
	value->ptr += len;
	value->len -= len;
	*ret = all;
	return digits.len == 0;
}

static bool
set_ip(struct span value, uint32_t *ret)
{
	return take_address(&value, ret) && value.len == 0 && *ret != 0;
}

static bool
set_address(struct agent_config *c, struct span value)
{
	uint32_t len;

	if (!take_address(&value, &c->address) || c->address == 0 ||
	    value.len < 2)
		return false;
	value.ptr++;
	value.len--;
	if (!lines_number(value, 32, &len))
		return false;
	c->prefix_len = (uint8_t)len;
	return true;
}

static bool
set_gateway(struct agent_config *c, struct span value)
{
	return set_ip(value, &c->gateway);
}

static bool
set_dns(struct agent_config *c, struct span value)
{
	return set_ip(value, &c->dns);
}

static bool
set_mac(struct agent_config *c, struct span value)
{
	struct span byte;

	for (size_t i = 0; i < sizeof(c->mac); i++) {
		if (!lines_take(&value, ':', &byte) || byte.len != 2 ||
		    ascii_hex(byte.ptr[0]) < 0 || ascii_hex(byte.ptr[1]) < 0)
			return false;
		c->mac[i] = (uint8_t)(ascii_hex(byte.ptr[0]) << 4 |
		    ascii_hex(byte.ptr[1]));
	}
	c->has_mac = true;
	return value.len == 0;
}

static bool
set_name(struct span value, char name[AGENT_NAME_SIZE])
{
	return value.len > 0 && lines_copy(value, name, AGENT_NAME_SIZE);
}

static bool
set_hostname(struct agent_config *c, struct span value)
{
	return set_name(value, c->hostname);
}

static bool
set_root(struct agent_config *c, struct span value)
{
	return set_name(value, c->root);
}

static bool
set_disk(struct agent_config *c, struct span value)
{
	return set_name(value, c->disk);
}

static bool
set_port(struct agent_config *c, struct span value)
{
	return set_name(value, c->port);
}

static bool
set_vsock(struct agent_config *c, struct span value)
{
	return lines_number(value, UINT32_MAX - 1, &c->vsock_port) &&
	    c->vsock_port != 0;
}

static bool
set_time(struct agent_config *c, struct span value)
{
	uint64_t s = 0;

	if (value.len == 0 || value.len > 12)
		return false;
	for (size_t i = 0; i < value.len; i++) {
		if (!ascii_is_digit(value.ptr[i]))
			return false;
		s = s * 10 + (uint64_t)(value.ptr[i] - '0');
	}
	c->time_s = s;
	return true;
}

static bool
set_workdir(struct agent_config *c, struct span value)
{
	return value.len > 0 && value.ptr[0] == '/' &&
	    lines_copy(value, c->workdir, sizeof(c->workdir));
}

static bool
set_user(struct agent_config *c, struct span value)
{
	return set_name(value, c->user);
}

static bool
set_off(struct agent_config *c, struct span value)
{
	c->reboots = span_is(value, "reboot");
	return c->reboots || span_is(value, "poweroff");
}

static const struct {
	const char *key;
	config_set *set;
} config_keys[] = {
	{ "address", set_address },
	{ "gateway", set_gateway },
	{ "mac", set_mac },
	{ "dns", set_dns },
	{ "hostname", set_hostname },
	{ "root", set_root },
	{ "disk", set_disk },
	{ "port", set_port },
	{ "vsock", set_vsock },
	{ "time", set_time },
	{ "workdir", set_workdir },
	{ "user", set_user },
	{ "off", set_off },
};

#define KEYS (sizeof(config_keys) / sizeof(config_keys[0]))

static int
take_line(struct span line, struct agent_config *c, uint32_t *seen,
    unsigned int number, struct err *err)
{
	struct span key;

	if (line.len == 0)
		return 0;
	(void)lines_take(&line, '=', &key);
	for (size_t i = 0; i < KEYS; i++) {
		if (!span_is(key, config_keys[i].key))
			continue;
		if ((*seen & 1u << i) != 0)
			return err_at(err, AGENT_CONFIG_FILE, number,
			    "%s a second time", config_keys[i].key);
		*seen |= 1u << i;
		if (config_keys[i].set(c, line))
			return 0;
		return err_at(err, AGENT_CONFIG_FILE, number,
		    "not a value of %s", config_keys[i].key);
	}
	return err_at(err, AGENT_CONFIG_FILE, number, "no such key");
}

static int
check_whole(const struct agent_config *c, struct err *err)
{
	if (c->root[0] == '\0')
		return err_at(err, AGENT_CONFIG_FILE, 0, "no root");
	if ((c->port[0] != '\0') == (c->vsock_port != 0))
		return err_at(err, AGENT_CONFIG_FILE, 0,
		    "one of port and vsock is wanted");
	if (c->gateway != 0 && c->address == 0)
		return err_at(err, AGENT_CONFIG_FILE, 0,
		    "a gateway without an address");
	return 0;
}

int
agent_config_parse(struct span text, struct agent_config *ret, struct err *err)
{
	struct agent_config c = { .address = 0 };
	struct span line;
	uint32_t seen = 0;
	int rc;

	for (unsigned int number = 1; lines_take(&text, '\n', &line);
	     number++) {
		rc = take_line(line, &c, &seen, number, err);
		if (rc != 0)
			return rc;
	}
	rc = check_whole(&c, err);
	if (rc == 0)
		*ret = c;
	return rc;
}
