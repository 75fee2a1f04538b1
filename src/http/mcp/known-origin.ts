// Which pages in a browser may speak to `/mcp`: those of the gateway's own address, and those that `cors.origins` names.
// The protocol asks servers for this check, against names that are made to resolve to this machine.
// https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#security-warning
import { GatewayError } from "../../core/errors.ts";

/** Throws `origin_not_allowed`. Programs other than browsers send no origin. */
export function requireKnownOrigin({ headers }: Pick<Request, "headers">, origins: readonly string[]): void {
  const origin = headers.get("origin");
  if (origin === null || origins.includes("*") || origins.includes(origin)) return;
  const host = URL.canParse(origin) ? new URL(origin).host : null;
  if (host !== null && host === headers.get("host")?.toLowerCase() && isOfThisMachine(host)) return;
  throw new GatewayError(
    "origin_not_allowed",
    `Pages of ${JSON.stringify(origin.slice(0, 200))} may not use this MCP server; name the origin in cors.origins of the configuration.`,
  );
}

/** A page whose name was made to resolve to this machine sends that name as host and as origin. */
function isOfThisMachine(host: string): boolean {
  const name = new URL(`http://${host}`).hostname;
  return name === "localhost" || name === "127.0.0.1" || name === "[::1]";
}
