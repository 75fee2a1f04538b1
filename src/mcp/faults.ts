// The faults of a tool server, by what can be done about them. Their messages are for the log: they may name hosts.
import { ExchangeFault } from "../credentials/token-exchange.ts";
import { GatewayError } from "../core/errors.ts";
import { messageAbout, UpstreamFault } from "../wire/upstream.ts";

/**
 * `lost`: the server rejected the session, so nothing ran, and the same request may be repeated once over a new
 * session. `timeout`: no answer in time. `answered`: the server itself says that it cannot do it. `failed`: every other
 * fault.
 */
export type ToolFaultKind = "lost" | "timeout" | "answered" | "failed";

export class ToolFault extends Error {
  readonly kind: ToolFaultKind;
  /** The HTTP status of the response; `null` when there was none, or the fault was reported in another way. */
  readonly status: number | null;

  constructor(
    kind: ToolFaultKind,
    message: string,
    { status = null, cause }: { readonly status?: number | null; readonly cause?: unknown } = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "ToolFault";
    this.kind = kind;
    this.status = status;
  }

  /** Whether a server of the form before Streamable HTTP may have sent this status. */
  get isUnknownTransport(): boolean {
    return this.status === 400 || this.status === 404 || this.status === 405;
  }
}

/**
 * The error code that the gateway itself uses in place of an answer that will not come; JSON-RPC and MCP do not use it.
 */
export const NO_ANSWER = -31_999;

/** The client's older transport reports a status only in its message. */
const STATUS_IN_WORDS = /^Error POSTing to endpoint \(HTTP (\d{3})\): /;
const MAX_TEXT_CHARACTERS = 500;

/** Errors of the client are recognized by their properties, because its classes are not loaded here. */
export function faultOf(thrown: unknown): ToolFault | GatewayError {
  if (thrown instanceof ToolFault || thrown instanceof GatewayError) return thrown;
  const inner = causeOf(thrown);
  if (inner !== null) return inner;
  if (!(thrown instanceof Error)) return new ToolFault("failed", String(thrown).slice(0, MAX_TEXT_CHARACTERS));
  const { code, status } = thrown as { readonly code?: unknown; readonly status?: unknown };
  const message = thrown.message.slice(0, MAX_TEXT_CHARACTERS);
  // This comes before any check of the message, because the server wrote it and may put anything in it.
  if (typeof code === "number" && thrown.name === "ProtocolError")
    return new ToolFault(code === NO_ANSWER ? "failed" : "answered", message, { cause: thrown });
  const httpStatus =
    typeof status === "number" ? status : Number(STATUS_IN_WORDS.exec(thrown.message)?.[1] ?? Number.NaN);
  if (!Number.isNaN(httpStatus))
    return new ToolFault(
      httpStatus === 404 || httpStatus === 400 ? "lost" : "failed",
      `the server answered ${httpStatus}: ${message}`,
      {
        status: httpStatus,
        cause: thrown,
      },
    );
  if (code === "REQUEST_TIMEOUT") return new ToolFault("timeout", message, { cause: thrown });
  return new ToolFault("failed", message, { cause: thrown });
}

/** The error of one of the gateway's own parts, which the client may have wrapped in its own errors. */
function causeOf(thrown: unknown): ToolFault | GatewayError | null {
  for (let [at, depth] = [thrown, 0]; at instanceof Error && depth < 5; [at, depth] = [at.cause, depth + 1]) {
    if (at instanceof ToolFault || at instanceof GatewayError) return at;
    if (at instanceof UpstreamFault)
      return new ToolFault(at.kind === "timeout" ? "timeout" : "failed", messageAbout("the server", at), { cause: at });
    if (at instanceof ExchangeFault) return new ToolFault("failed", at.message, { cause: at });
  }
  return null;
}
