// The contract of upstream clients in tunnels through proxies.
import { afterAll } from "bun:test";
import { createSocketUpstream } from "../../../src/wire/http/upstream-socket.ts";
import { forwardProxy } from "./forward-proxy.ts";
import { tlsServers } from "./raw-server.ts";
import { upstreamClientSuite } from "./upstream-client.suite.ts";
import { type Identity, selfSigned } from "./upstream-tls.suite.ts";

const identity = selfSigned("IP:127.0.0.1");
if (identity === null) console.log("skipped: there is no openssl command to make certificates with");
else {
  await tunnelSuite("in a tunnel through a proxy", identity, undefined);
  await tunnelSuite("in a tunnel through an https proxy", identity, identity);
}

async function tunnelSuite(name: string, providers: Identity, ofProxy: Identity | undefined): Promise<void> {
  const proxy = await forwardProxy({ identity: ofProxy });
  upstreamClientSuite(
    name,
    ({ ca = "" } = {}) => createSocketUpstream({ ca: ca + providers.cert, proxy: { url: proxy.url, exceptions: "" } }),
    { servers: tlsServers(providers), isProxied: true },
  );
  afterAll(() => proxy[Symbol.asyncDispose]());
}
