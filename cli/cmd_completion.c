/*
 * completion: scripts for shells, made of the tables behind --help, so that
 * what is completed is what there is. A usage names its options as "--word";
 * groups that it refers to are put in.
 */
#include <stdio.h>
#include <string.h>

#include "base/ascii.h"
#include "cli/cli.h"

/* Called for each option: "--word". */
typedef void option_fn(const char *word, int len, void *arg);

/* Options in a usage; "--" alone, before a command, is none. */
static void
each_in(const char *usage, option_fn *fn, void *arg)
{
	for (const char *p = usage; (p = strstr(p, "--")) != NULL;) {
		int len = 2;

		while (ascii_is_alnum((uint8_t)p[len]) || p[len] == '-')
			len++;
		if (len > 2)
			fn(p, len, arg);
		p += len;
	}
}

static void
each_option(const struct cli_command *c, option_fn *fn, void *arg)
{
	size_t count;
	const struct cli_option_group *groups = cli_option_groups(&count);

	each_in(c->usage, fn, arg);
	for (size_t i = 0; i < count; i++)
		if (strstr(c->usage, groups[i].name) != NULL)
			each_in(groups[i].options, fn, arg);
}

static void
print_word(const char *word, int len, void *arg)
{
	(void)arg;
	(void)printf(" %.*s", len, word);
}

/* A sandbox's name comes next, or one of a few words. */
static bool
takes_name(const struct cli_command *c)
{
	return strncmp(c->usage, "NAME", 4) == 0 ||
	    strncmp(c->usage, "[NAME]", 6) == 0;
}

static void
print_bash(const struct cli_command *commands, size_t count)
{
	(void)puts(
	    "# bash completion of tapward, made by `tapward completion"
	    " bash`.\n"
	    "_tapward() {\n"
	    "  local cur=${COMP_WORDS[COMP_CWORD]} cmd= words= names= i\n"
	    "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
	    "    case ${COMP_WORDS[i]} in\n"
	    "    --socket) ((i++)) ;;\n"
	    "    -*) ;;\n"
	    "    *) cmd=${COMP_WORDS[i]}; break ;;\n"
	    "    esac\n"
	    "  done\n"
	    "  case $cmd in");
	(void)printf("  '') words='--socket --help --version");
	for (size_t i = 0; i < count; i++)
		(void)printf(" %s", commands[i].name);
	(void)puts("' ;;");
	for (size_t i = 0; i < count; i++) {
		(void)printf("  %s) words='", commands[i].name);
		each_option(&commands[i], print_word, NULL);
		(void)printf("'%s ;;\n",
		    takes_name(&commands[i]) ? " names=1" : "");
	}
	(void)puts("  esac\n"
		   "  if [[ -n $names && $cur != -* ]]; then\n"
		   "    words+=\" $(tapward list 2>/dev/null |"
		   " awk 'NR > 1 { print $1 }')\"\n"
		   "  fi\n"
		   "  mapfile -t COMPREPLY < <(compgen -W \"$words\" --"
		   " \"$cur\")\n"
		   "}\n"
		   "complete -o default -F _tapward tapward");
}

static void
print_zsh(const struct cli_command *commands, size_t count)
{
	(void)puts("#compdef tapward\n"
		   "# Made by `tapward completion zsh`.\n"
		   "local -a commands names\n"
		   "commands=(");
	for (size_t i = 0; i < count; i++) {
		(void)printf("  '%s:", commands[i].name);
		for (const char *p = commands[i].does; *p != '\0'; p++)
			(void)printf(*p == '\'' ? "'\\%c'" : "%c", *p);
		(void)puts("'");
	}
	(void)puts(")\n"
		   "if (( CURRENT == 2 )); then\n"
		   "  _describe command commands\n"
		   "  compadd -- --socket --help --version\n"
		   "  return\n"
		   "fi\n"
		   "names=(${(f)\"$(tapward list 2>/dev/null |"
		   " awk 'NR > 1 { print $1 }')\"})\n"
		   "case $words[2] in");
	for (size_t i = 0; i < count; i++) {
		(void)printf("%s) compadd --%s", commands[i].name,
		    takes_name(&commands[i]) ? " $names" : "");
		each_option(&commands[i], print_word, NULL);
		(void)puts("; _files ;;");
	}
	(void)puts("esac");
}

static void
print_fish_option(const char *word, int len, void *arg)
{
	const struct cli_command *c = arg;

	(void)printf("complete -c tapward -n '__fish_seen_subcommand_from %s'"
		     " -l %.*s\n",
	    c->name, len - 2, word + 2);
}

static void
print_fish(const struct cli_command *commands, size_t count)
{
	(void)puts("# Made by `tapward completion fish`.\n"
		   "complete -c tapward -n __fish_use_subcommand -l socket -r\n"
		   "complete -c tapward -n __fish_use_subcommand -l help\n"
		   "complete -c tapward -n __fish_use_subcommand -l version");
	for (size_t i = 0; i < count; i++) {
		struct cli_command c = commands[i];

		(void)printf("complete -c tapward -n __fish_use_subcommand"
			     " -a %s -d \"%s\"\n",
		    c.name, c.does);
		each_option(&c, print_fish_option, &c);
		if (takes_name(&c))
			(void)printf("complete -c tapward -n"
				     " '__fish_seen_subcommand_from %s' -a"
				     " '(tapward list 2>/dev/null | awk"
				     " \"NR > 1 { print \\\\$1 }\")'\n",
			    c.name);
	}
}

static const struct {
	const char *shell;
	void (*print)(const struct cli_command *commands, size_t count);
} shells[] = {
	{ "bash", print_bash },
	{ "zsh", print_zsh },
	{ "fish", print_fish },
};

int
cmd_completion(const struct cli *cli, int argc, char **argv)
{
	size_t count;
	const struct cli_command *commands = cli_commands(&count);

	(void)cli;
	for (size_t i = 0; argc == 2 && i < sizeof(shells) / sizeof(*shells);
	     i++) {
		if (strcmp(argv[1], shells[i].shell) != 0)
			continue;
		shells[i].print(commands, count);
		return fflush(stdout) == 0 ? 0 : CLI_FAILED;
	}
	return cli_usage("completion", "name one shell: bash, zsh or fish");
}
