// Lookups of hosts that tenants name: silent name servers keep nobody else waiting, and the machine's list of name
// servers is followed.
import { afterAll, describe, expect, test } from "bun:test";
import { createSocket } from "node:dgram";
import { getServers, setServers } from "node:dns";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { checkAddress } from "../../src/wire/address-guard.ts";
import { lookUpName } from "../../src/wire/name-lookup.ts";
import { until } from "../harness/time/until.ts";

/** A name server on loopback that has one IPv4 address for all names, and no answer for those below `silent.example`. */
async function nameServer(ipAddress: string) {
  const asked = new Set<string>();
  const socket = createSocket("udp4", (query, { port, address }) => {
    let end = 12;
    const labels: string[] = [];
    for (; query[end] !== 0; end += 1 + query[end]!)
      labels.push(query.toString("latin1", end + 1, end + 1 + query[end]!));
    asked.add(labels.join("."));
    if (labels.at(-2) === "silent") return;
    const answers = query.readUInt16BE(end + 1) === 1 ? 1 : 0; // type A
    const head = Buffer.from([...query.subarray(0, 2), 0x81, 0x80, 0, 1, 0, answers, 0, 0, 0, 0]);
    // An address for the name at byte 12, which nobody may keep.
    const answer = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, ...ipAddress.split(".").map(Number)]);
    const sent = Buffer.concat([head, query.subarray(12, end + 5), answer.subarray(0, answers * answer.length)]);
    socket.send(sent, port, address);
  });
  await new Promise<void>((resolve) => socket.bind(0, "127.0.0.1", resolve));
  return { asked, address: `127.0.0.1:${socket.address().port}`, stop: () => void socket.close() };
}

const isLinux = process.platform === "linux";
if (!isLinux) console.log("skipped: only on Linux are name servers asked without the operating system's own lookup");

describe.skipIf(!isLinux)("hosts that tenants name", () => {
  const folder = mkdtempSync(join(tmpdir(), "dragoman-names-"));
  const serversFile = join(folder, "resolv.conf");
  const former = getServers();
  const open: { stop: () => void }[] = [];
  const byFile = {
    allowPrivate: false,
    param: "base_url",
    resolve: async (host: string) => lookUpName(host, serversFile),
    resolveTimeoutMs: 60_000,
  };

  async function named(ipAddress: string) {
    const server = await nameServer(ipAddress);
    open.push(server);
    writeFileSync(serversFile, `# comment\nsearch example\n  nameserver ${server.address}\noptions ndots:1\n`);
    return server;
  }

  afterAll(() => {
    setServers(former);
    for (const { stop } of open) stop();
    rmSync(folder, { recursive: true });
  });

  test("[d2.12] names whose name server does not answer keep nobody else's names and files waiting", async () => {
    const server = await named("8.8.8.8");
    const silent = Array.from({ length: 32 }, async (_, at) =>
      checkAddress(`http://n${at}.silent.example/`, byFile).catch(() => null),
    );
    await until(() => server.asked.size === silent.length, "all of them are asked for");
    expect(await checkAddress("http://other.example/", byFile)).toMatchObject({ pinnedAddress: "8.8.8.8" });
    expect(await readFile(import.meta.path, "utf8")).toContain("silent.example");
  });

  test("[d2.12] name servers that the machine gets while the process runs are asked", async () => {
    await named("8.8.4.4");
    expect(await lookUpName("moved.example", serversFile)).toEqual(["8.8.4.4"]);
    await named("1.1.1.1");
    expect(await lookUpName("moved.example", serversFile)).toEqual(["1.1.1.1"]);
  });

  test.each([
    ["is gone", () => rmSync(serversFile)],
    ["is empty", () => writeFileSync(serversFile, "")],
    ["names what is no address", () => writeFileSync(serversFile, "nameserver nowhere\n")],
  ])("[d2.12] a list of name servers that %s leaves those that are known", async (_, change) => {
    await named("9.9.9.9");
    expect(await lookUpName("kept.example", serversFile)).toEqual(["9.9.9.9"]);
    change();
    expect(await lookUpName("kept.example", serversFile)).toEqual(["9.9.9.9"]);
  });

  test("[d2.12] the hosts file of the machine is read", async () => {
    expect(await lookUpName("localhost", serversFile)).toContain("127.0.0.1");
  });
});
