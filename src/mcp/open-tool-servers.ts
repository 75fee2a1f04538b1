// The tool servers that calls use: one link for each, shared by all calls, and closed when it has been idle or is no
// longer configured. Errors for callers contain only the label; hosts and messages of the server appear in the log.
import { mostOfTenant } from "../core/concurrency/open-count.ts";
import type { Clock } from "../core/clock.ts";
import { GatewayError } from "../core/errors.ts";
import { compileGlob } from "../core/text/glob.ts";
import type { ToolServer } from "../core/configured/tool.ts";
import type { ToolServerFigures } from "../observe/metrics/tool-server-gauges.ts";
import { openConcurrency, type Slots } from "../core/concurrency/slots.ts";
import type { UpstreamClient } from "../wire/upstream.ts";
import { ToolFault } from "./faults.ts";
import { openOauthTokens } from "./oauth-tokens.ts";
import { type LinkBounds, openLinks } from "./links.ts";
import { ServerLink } from "./server-link.ts";
import type { ToolServers } from "./tool-servers.ts";

export interface ToolServersOptions {
  readonly clock: Clock;
  readonly upstream: UpstreamClient;
  /** Whether callers other than the operator may use addresses in private ranges. */
  allowPrivateAddresses(): boolean;
  log(level: "info" | "warn", message: string, fields: Readonly<Record<string, string>>): void;
  /** The slots for concurrent calls; by default those of this process. */
  readonly slots?: Slots | undefined;
}

export interface OpenToolServers extends ToolServers {
  figures(): ToolServerFigures;
}

const MIB = 1024 * 1024;
const BOUNDS: LinkBounds = {
  idleMs: 5 * 60_000,
  maxLinks: 1000,
  maxRequestListBytes: 128 * MIB,
  maxListBytes: 512 * MIB,
};
/** Maximum number of log lines of a server in a minute. */
const MAX_LINES = 60;
const MINUTE_MS = 60_000;

export function openToolServers(options: ToolServersOptions, bounds: Partial<LinkBounds> = {}): OpenToolServers {
  const { clock, upstream } = options;
  const tokens = openOauthTokens(upstream, clock);
  const linkBounds = { ...BOUNDS, ...bounds };
  const links = openLinks(linkBounds);
  const { maxLinks } = linkBounds;
  const counts = { connected: 0, refused: 0, lost: 0 };
  const listeners = new Set<(server: ToolServer) => void>();
  const slots = options.slots ?? openConcurrency();

  const linkOf = (server: ToolServer): ServerLink => {
    const known = links.of(server.key);
    if (known !== undefined) return known;
    if (!links.makeRoom(server))
      throw new GatewayError(
        "tool_server_failed",
        `Too many tool servers are in use at the same time (at most ${maxLinks}, ${mostOfTenant(maxLinks)} of one tenant); ${server.label} was not called.`,
      );
    const log = linesOf(options, server.label);
    const link = new ServerLink(server, {
      slots,
      clock,
      upstream,
      tokens,
      allowPrivateAddresses: () => options.allowPrivateAddresses(),
      onLine: (line) => log("info", "message from a tool server", line),
      onFault: (message) => log("info", "error at a tool server", message),
      count: (what) => (counts[what] += 1),
      listChanged() {
        for (const listener of listeners) listener(server);
      },
      log: (message, detail) => log("warn", `tool server: ${message}`, detail),
    });
    links.add(link);
    return link;
  };
  const withLink = async <T>(server: ToolServer, ask: (link: ServerLink) => Promise<T>): Promise<T> => {
    try {
      return await ask(linkOf(server));
    } catch (thrown) {
      throw reportedError(thrown, server.label);
    }
  };

  return {
    figures: () => ({ connections: links.connected(), ...counts }),
    list: async (server, signal) => {
      const tools = await withLink(server, (link) => link.tools(server.timeoutMs, signal));
      links.forgetLists(server);
      const allowed = allowList(server);
      return allowed === null ? tools : tools.filter(({ name }) => allowed(name));
    },
    call: async (server, tool, args, signal, asker) => {
      if (allowList(server)?.(tool) === false)
        throw new GatewayError(
          "tool_server_failed",
          `The tool server ${server.label} is not allowed to run ${JSON.stringify(tool)} here.`,
        );
      return await withLink(server, (link) => answered(link.call(tool, args, asker, server.timeoutMs, signal)));
    },
    async test(server, signal) {
      return await withLink(server, async (link) => {
        const { about, connectMs } = await link.about(server.timeoutMs, signal);
        const beganMs = clock.monotonic();
        const tools = await link.tools(server.timeoutMs, signal, true);
        return { ...about, connectMs, listMs: clock.monotonic() - beganMs, tools: tools.length };
      });
    },
    onListChanged(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    configured: (keys) => links.configured(keys),
    close: () => links.close(),
  };
}

function allowList({ allowedTools }: ToolServer): ((tool: string) => boolean) | null {
  if (allowedTools === null) return null;
  const globs = allowedTools.map(compileGlob);
  return (tool) => globs.some((glob) => glob(tool));
}

/** An error of the protocol is returned to the model as a result, like a tool's own failure. */
async function answered(call: ReturnType<ServerLink["call"]>): ReturnType<ServerLink["call"]> {
  try {
    return await call;
  } catch (thrown) {
    if (!(thrown instanceof ToolFault) || thrown.kind !== "answered") throw thrown;
    return {
      parts: [{ kind: "text", text: thrown.message }],
      blocks: [{ type: "text", text: thrown.message }],
      structured: undefined,
      isError: true,
      bytes: Buffer.byteLength(thrown.message),
    };
  }
}

function reportedError(thrown: unknown, label: string): unknown {
  const failed = (detail: string): GatewayError =>
    new GatewayError("tool_server_failed", `The tool server ${label} failed.`, { detail, cause: thrown });
  // The host name could not be resolved.
  if (thrown instanceof GatewayError)
    return thrown.code === "upstream_connection" ? failed(thrown.detail ?? thrown.message) : thrown;
  if (!(thrown instanceof ToolFault)) return thrown;
  if (thrown.kind === "timeout")
    return new GatewayError("tool_timeout", `The tool server ${label} did not answer in time.`, {
      detail: thrown.message,
      cause: thrown,
    });
  return failed(thrown.message);
}

/** Bounds the lines of one server, so that it cannot fill the log. */
function linesOf(
  options: ToolServersOptions,
  server: string,
): (level: "info" | "warn", message: string, detail?: string) => void {
  const { clock } = options;
  let sinceMs = Number.NEGATIVE_INFINITY;
  let lines = 0;
  return (level, message, detail) => {
    if (clock.monotonic() - sinceMs > MINUTE_MS) [sinceMs, lines] = [clock.monotonic(), 0];
    if (lines++ < MAX_LINES)
      options.log(level, message, {
        source: "tool_server",
        server,
        ...(detail !== undefined && { error_detail: detail.slice(0, 1000) }),
      });
  };
}
