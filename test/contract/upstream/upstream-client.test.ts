// The contract of upstream clients: directly, and with requests that a proxy forwards. upstream-tunnel.test.ts has tunnels.
import { afterAll } from "bun:test";
import { createSocketUpstream } from "../../../src/wire/http/upstream-socket.ts";
import { forwardProxy } from "./forward-proxy.ts";
import { upstreamClientSuite } from "./upstream-client.suite.ts";

upstreamClientSuite("directly", createSocketUpstream);

const proxy = await forwardProxy();
upstreamClientSuite(
  "forwarded by a proxy",
  (options) => createSocketUpstream({ ...options, proxy: { url: proxy.url, exceptions: "" } }),
  { isProxied: true },
);
afterAll(() => proxy[Symbol.asyncDispose]());
