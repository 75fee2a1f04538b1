// What can go wrong with a tool server, told apart by what may be done about it. The words are for the log: they may name hosts.
import { ExchangeFault } from "../credentials/token-exchange.ts";
import { GatewayError } from "../core/errors.ts";
import { UpstreamFault } from "../wire/upstream.ts";

/**
 * `lost`: the server refused the session, so nothing ran, and the same may be asked once more over a new one. `timeout`: no answer in time. `answered`: the
 * server itself says that it cannot do it. `failed`: everything else.
 */
export type ToolFaultKind = "lost" | "timeout" | "answered" | "failed";

export class ToolFault extends Error {
  readonly kind: ToolFaultKind;
  /** Status of the answer; null: there was none, or another way to say it. */
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

  /** What servers of the form before Streamable HTTP answer to it. */
  get isUnknownTransport(): boolean {
    return this.status === 400 || this.status === 404 || this.status === 405;
  }
}

/** What the gateway itself puts in the place of an answer that will not come: no code of JSON-RPC or MCP. */
export const STREAM_ENDED = -31_999;

/** Of the client's older transport, which tells a status in no other way. */
const STATUS_IN_WORDS = /^Error POSTing to endpoint \(HTTP (\d{3})\): /;
const MAX_WORDS = 500;

/** The client's errors are told apart by what they carry: it is not loaded here. */
export function faultOf(thrown: unknown): ToolFault | GatewayError {
  if (thrown instanceof ToolFault || thrown instanceof GatewayError) return thrown;
  const inner = causeOf(thrown);
  if (inner !== null) return inner;
  if (!(thrown instanceof Error)) return new ToolFault("failed", String(thrown).slice(0, MAX_WORDS));
  const { code, status } = thrown as { readonly code?: unknown; readonly status?: unknown };
  const words = thrown.message.slice(0, MAX_WORDS);
  // before any look at words: these are the server's own, and may hold whatever it likes
  if (typeof code === "number" && thrown.name === "ProtocolError")
    return new ToolFault(code === STREAM_ENDED ? "failed" : "answered", words, { cause: thrown });
  const told = typeof status === "number" ? status : Number(STATUS_IN_WORDS.exec(thrown.message)?.[1] ?? Number.NaN);
  if (!Number.isNaN(told))
    return new ToolFault(told === 404 || told === 400 ? "lost" : "failed", `the server answered ${told}: ${words}`, {
      status: told,
      cause: thrown,
    });
  if (code === "REQUEST_TIMEOUT") return new ToolFault("timeout", words, { cause: thrown });
  return new ToolFault("failed", words, { cause: thrown });
}

/** What our own parts threw, which the client may have put into errors of its own. */
function causeOf(thrown: unknown): ToolFault | GatewayError | null {
  for (let [at, depth] = [thrown, 0]; at instanceof Error && depth < 5; [at, depth] = [at.cause, depth + 1]) {
    if (at instanceof ToolFault || at instanceof GatewayError) return at;
    if (at instanceof UpstreamFault)
      return new ToolFault(
        at.kind === "timeout" ? "timeout" : "failed",
        at.message.replace("the provider", "the server"),
        { cause: at },
      );
    if (at instanceof ExchangeFault) return new ToolFault("failed", at.message, { cause: at });
  }
  return null;
}
