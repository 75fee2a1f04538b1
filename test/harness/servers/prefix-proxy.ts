// A proxy that has the gateway below a path of its own, and takes the path off: `/llm/console` of the proxy is `/console` of the gateway.
export interface PrefixProxy {
  /** Its address with the path, without a slash at its end. */
  readonly url: string;
  /** Paths that were asked for outside of the path, which the proxy answers with 404. */
  readonly strays: readonly string[];
  /** Where requests are passed on to. */
  target: string;
  stop(): Promise<void>;
}

export function startPrefixProxy(prefix: string): PrefixProxy {
  const strays: string[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      const { pathname, search } = new URL(request.url);
      if (!pathname.startsWith(`${prefix}/`)) {
        strays.push(pathname);
        return new Response("", { status: 404 });
      }
      const passed = await fetch(`${proxy.target}${pathname.slice(prefix.length)}${search}`, {
        method: request.method,
        headers: request.headers,
        body: request.body,
        redirect: "manual",
        decompress: false,
        signal: request.signal,
      });
      return new Response(passed.body, { status: passed.status, headers: passed.headers });
    },
  });
  const proxy: PrefixProxy = {
    url: `http://127.0.0.1:${server.port}${prefix}`,
    strays,
    target: "",
    stop: () => server.stop(true),
  };
  return proxy;
}
