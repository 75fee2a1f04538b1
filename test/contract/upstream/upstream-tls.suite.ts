// The part of the contract of upstream clients that is about checked addresses: the call goes to the address, under the name of the URL.
import { describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer } from "node:tls";
import type { TLSSocket } from "node:tls";
import { answering, plain, rawServer, serve } from "./raw-server.ts";
import type { RawServer } from "./raw-server.ts";
import { faultKind, post, send } from "./upstream-calls.ts";
import type { MakeUpstreamClient } from "./upstream-calls.ts";

const NAME = "pinned.example";

export function upstreamTlsSuite(makeClient: MakeUpstreamClient): void {
  describe("checked addresses", () => {
    test("[d2.12] the call goes to the checked address, with the URL's host in Host", async () => {
      const client = makeClient();
      await using server = await answering(plain("{}"));
      expect(await post(client, `http://${NAME}:${server.port}/v1/chat?x=1`, { pinnedAddress: "127.0.0.1" })).toBe(
        "{}",
      );
      expect(server.requests[0]?.head).toMatch(/^POST \/v1\/chat\?x=1 HTTP\/1\.1\r\n/);
      expect(server.requests[0]?.head).toMatch(new RegExp(`\r\nhost: ${NAME}:${server.port}(\r\n|$)`, "i"));
      // Where the name would lead is not asked.
      expect(await post(client, `http://127.0.0.1:${server.port}/`, { pinnedAddress: "127.0.0.1" })).toBe("{}");
      expect(await faultKind(send(client, `http://localhost:${server.port}/`, { pinnedAddress: "127.0.0.77" }))).toBe(
        "connection",
      );
    });

    test("[d2.12] anything but an IP address is never called, nor the name in its stead", async () => {
      await using server = await answering(plain("{}"));
      for (const pinnedAddress of ["", "localhost", "no address", "127.0.0.1/x", "127.0.0.1:1", "fe80::1%lo"])
        expect(await faultKind(send(makeClient(), server.url, { pinnedAddress }))).toBe("connection");
      expect(server.connections()).toBe(0);
    });

    test("[d2.12] an IPv6 address is called too", async () => {
      const server = await rawServer((socket) => void socket.write(plain("six")), "::1").catch(() => null);
      if (server === null) return console.log("skipped: there is no IPv6 loopback here");
      await using _ = server;
      const client = makeClient();
      expect(await post(client, `http://${NAME}:${server.port}/`, { pinnedAddress: "::1" })).toBe("six");
      expect(server.requests[0]?.head).toMatch(new RegExp(`\r\nhost: ${NAME}:${server.port}(\r\n|$)`, "i"));
    });

    test("[d2.12] over TLS the certificate is checked against the name, and SNI says it", async () => {
      const identity = selfSigned();
      if (identity === null) return console.log("skipped: there is no openssl command to make a certificate with");
      const names: unknown[] = [];
      await using server = await tlsServer(identity, names);
      const client = makeClient({ ca: identity.cert });
      const at = (name: string): string => `https://${name}:${server.port}/`;
      for (let index = 0; index < 3; index++)
        expect(await post(client, at(NAME), { pinnedAddress: "127.0.0.1" })).toBe("secret");
      expect(new Set(names)).toEqual(new Set([NAME]));
      expect(server.requests[0]?.head).toMatch(new RegExp(`\r\nhost: ${NAME}:${server.port}(\r\n|$)`, "i"));

      const before = server.requests.length;
      // Another name at the same address gets neither the answer nor the connection that is kept.
      expect(await faultKind(send(client, at("other.example"), { pinnedAddress: "127.0.0.1" }))).toBe("connection");
      expect(await faultKind(send(client, at("127.0.0.1"), { pinnedAddress: "127.0.0.1" }))).toBe("connection");
      expect(await faultKind(send(client, at("127.0.0.1")))).toBe("connection");
      expect(await faultKind(send(makeClient(), at(NAME), { pinnedAddress: "127.0.0.1" }))).toBe("connection");
      expect(server.requests.length).toBe(before);
    });

    test("plain text where TLS is expected is a connection fault", async () => {
      await using server = await answering(plain("{}"));
      const outcome = faultKind(
        send(makeClient(), `https://127.0.0.1:${server.port}/`, { connectTimeoutMs: 300, firstByteTimeoutMs: 300 }),
      );
      expect(["connection", "timeout"]).toContain(await outcome);
    });
  });
}

export interface Identity {
  readonly key: string;
  readonly cert: string;
}

/** A certificate for NAME, or another subject, that is its own authority; null without the openssl command. */
export function selfSigned(subject = `DNS:${NAME}`): Identity | null {
  const folder = mkdtempSync(join(tmpdir(), "upstream-tls-"));
  try {
    const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
    const made = spawnSync("openssl", [
      "req",
      "-x509",
      "-newkey",
      "ec",
      "-pkeyopt",
      "ec_paramgen_curve:prime256v1",
      "-nodes",
      "-days",
      "2",
      "-subj",
      `/CN=${NAME}`,
      "-addext",
      `subjectAltName=${subject}`,
      "-keyout",
      key,
      "-out",
      cert,
    ]);
    return made.status === 0 ? { key: readFileSync(key, "utf8"), cert: readFileSync(cert, "utf8") } : null;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function tlsServer(identity: Identity, names: unknown[]): Promise<RawServer> {
  const server = createServer(identity);
  server.on("secureConnection", (socket: TLSSocket) =>
    names.push((socket as TLSSocket & { readonly servername?: unknown }).servername),
  );
  server.on("tlsClientError", () => undefined);
  return serve(server, "secureConnection", "https", (socket) => void socket.write(plain("secret")));
}
