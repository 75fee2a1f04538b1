// Looks up the hosts that tenants and requests name, without the few threads in which the process reads its files and
// looks up other names. The operating system's own lookup holds one of them for ten seconds and more if a name server
// does not answer: a caller who may name a host could use all of them, and delay the lookups and file reads of others.
import { getServers, setServers } from "node:dns";
import { readFileSync } from "node:fs";

/** Names the machine's name servers, as resolv.conf(5) describes. */
const SERVERS_FILE = "/etc/resolv.conf";

/**
 * Returns every address of a host, by the machine's hosts file, search domains and name servers. Rejects where there is
 * none. On Linux, Bun asks the name servers itself, and reads which ones there are only once; a list that has changed
 * since, as when a network comes up, is passed on to it before each lookup.
 */
export async function lookUpName(host: string, serversFile = SERVERS_FILE): Promise<readonly string[]> {
  if (process.platform === "linux") followServers(serversFile);
  return (await Bun.dns.lookup(host)).map((found) => found.address);
}

function followServers(file: string): void {
  try {
    const servers = [...readFileSync(file, "utf8").matchAll(/^\s*nameserver\s+(\S+)/gm)].map(([, server]) => server!);
    if (servers.length > 0 && servers.join() !== getServers().join()) setServers(servers);
  } catch {
    // A list that cannot be read, or that names what is no address, changes nothing.
  }
}
