/*
 * What a careful person tries from inside a guest before trusting its sandbox:
 * one attempt for each call, and one word about what came of it. `tapward
 * verify` runs them by the agent, so that no image needs tools for it.
 *
 * As root of the guest: it sends frames that no honest program does.
 */
#ifndef TAPWARD_VMM_AGENT_PROBE_H
#define TAPWARD_VMM_AGENT_PROBE_H

/*
 * argv[0] is the probe's name:
 *
 *   tcp ADDRESS PORT            open, refused, unreachable, silent
 *   udp ADDRESS PORT [quic]     answered, refused, silent
 *   dns NAME TYPE               "NOERROR 198.18.0.1", "NXDOMAIN", silent
 *   http NAME PORT PATH [METHOD] "403 no-rule": status and Tapward-Reason
 *   icmp ADDRESS                answered, refused, silent
 *   frame KIND                  sent; mac, ip, arp, vlan, ipv6, ethertype,
 *                               fragment, options, loopback, tunnel: what
 *                               is wrong with it
 *
 * and those of probe_guest.h: devices, path, blocks, spin, fill, fork, sleep.
 *
 * The word is printed, one line. 0, or 2 for a probe that there is not.
 */
int probe_run(int argc, char **argv);

#endif
