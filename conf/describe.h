/*
 * A rule as data for programs: what `--json` shows of a policy.
 */
#ifndef TAPWARD_CONF_DESCRIBE_H
#define TAPWARD_CONF_DESCRIBE_H

#include "base/bytes.h"
#include "base/json.h"
#include "conf/compile.h"

/* Room for what describe_policy() writes of a preset. */
#define DESCRIBE_TEXT_MAX_BYTES 65536

/*
 * Writes `"rules": [...]` of a policy that compiles, one object for each rule
 * in the order of the text. 0, -EINVAL when it does not parse, -ENOMEM.
 */
int describe_policy(const struct compile_input *in, struct json *j);

#endif
