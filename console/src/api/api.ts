// Requests of the console: same-origin, with the session's cookie. Errors keep what was asked, so that a report of them can be copied.
import { CONSOLE_PATH } from "../console-path.ts";

const BASE = `${CONSOLE_PATH}/api`;

/** Marks requests that change something; a page of another origin cannot send it. */
const OWN_HEADER = "x-gateway-console";
/** Contains the id of the session that the page shows. The gateway refuses the request where another tab has begun another session since. */
const SESSION_HEADER = "x-gateway-session";

export interface FieldProblem {
  readonly param: string;
  readonly message: string;
}

export class ApiError extends Error {
  override readonly name = "ApiError";
  constructor(
    message: string,
    /** The request, such as `GET /v1/admin/logs`. */
    readonly asked: string,
    /** Null when there was no response. */
    readonly status: number | null,
    readonly code: string | null,
    /** The path of the wrong field. */
    readonly param: string | null,
    readonly traceId: string | null,
    /** All wrong fields of a body, where the gateway names them. */
    readonly problems: readonly FieldProblem[] = [],
  ) {
    super(message);
  }
}

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

export interface Api {
  /** Asks in place for a sign-in when the session has ended, and then repeats the request. */
  send<T>(method: Method, path: string, options?: SendOptions): Promise<T>;
  /** The same with the response as it is, whatever its status but 401: for streams, and where a refusal is what the reader wants to see. */
  open(method: Method, path: string, options?: SendOptions): Promise<Response>;
}

export interface SendOptions {
  readonly body?: unknown;
  readonly signal?: AbortSignal;
  readonly headers?: Readonly<Record<string, string>>;
  /** The id of the session that the request is for; if left out, it is for whichever session the browser has. */
  readonly session?: string | undefined;
}

/** One request, without asking for a sign-in. */
export async function send<T>(method: Method, path: string, options: SendOptions = {}): Promise<T> {
  const asked = `${method} ${path}`;
  const response = await open(method, path, options);
  const text = await response.text();
  if (response.ok) return parsed(text, asked, response) as T;
  throw refusal(text, asked, response);
}

/** The same with the response as it is, whatever its status. */
export async function open(
  method: Method,
  path: string,
  { body, signal, headers, session }: SendOptions,
): Promise<Response> {
  try {
    return await fetch(BASE + path, {
      method,
      credentials: "same-origin",
      redirect: "error",
      headers: {
        accept: "application/json",
        ...(method !== "GET" && { "content-type": "application/json", [OWN_HEADER]: "1" }),
        ...(session !== undefined && { [SESSION_HEADER]: session }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(signal && { signal }),
    });
  } catch (error) {
    if (signal?.aborted === true) throw error;
    throw new ApiError(
      "The gateway does not answer. Is it running, and is this computer online?",
      `${method} ${path}`,
      null,
      null,
      null,
      null,
    );
  }
}

function parsed(text: string, asked: string, response: Response): unknown {
  if (response.status === 204) return null;
  try {
    return JSON.parse(text);
  } catch {
    throw new ApiError("The answer is not complete JSON.", asked, response.status, null, null, traceOf(response));
  }
}

function refusal(text: string, asked: string, response: Response): ApiError {
  let error: {
    readonly message?: unknown;
    readonly code?: unknown;
    readonly param?: unknown;
    readonly metadata?: unknown;
  } = {};
  let trace: unknown;
  try {
    const body = JSON.parse(text) as { readonly error?: typeof error; readonly x_gateway_trace_id?: unknown };
    error = body.error ?? {};
    trace = body.x_gateway_trace_id;
  } catch {
    // A proxy in between may answer with a page of its own.
  }
  const word = (value: unknown): string | null => (typeof value === "string" ? value : null);
  return new ApiError(
    word(error.message) ?? `The request was answered with status ${response.status}.`,
    asked,
    response.status,
    word(error.code),
    word(error.param),
    word(trace) ?? traceOf(response),
    (error.metadata as { readonly problems?: readonly FieldProblem[] } | undefined)?.problems ?? [],
  );
}

function traceOf(response: Response): string | null {
  return response.headers.get("x-gateway-trace-id");
}

/** Why a sign-in is asked for: the session has ended, or what is asked needs a sign-in of the last minutes. */
export type SignInCause = "ended" | "recent";

/**
 * `signIn` resolves when the user has logged in again, and rejects when the user closes the dialog instead. `session` is the id of the session
 * that the page shows now.
 */
export function createApi(signIn: (cause: SignInCause) => Promise<void>, session: () => string | undefined): Api {
  const ofSession = (options: SendOptions): SendOptions => ({ ...options, session: session() });
  return {
    async send(method, path, options = {}) {
      try {
        return await send(method, path, ofSession(options));
      } catch (error) {
        const cause = signInCause(error);
        if (cause === null) throw error;
        await signIn(cause);
        return send(method, path, ofSession(options));
      }
    },
    async open(method, path, options = {}) {
      const response = await open(method, path, ofSession(options));
      if (response.status !== 401) return response;
      await response.body?.cancel();
      await signIn("ended");
      return open(method, path, ofSession(options));
    },
  };
}

function signInCause(error: unknown): SignInCause | null {
  if (!(error instanceof ApiError)) return null;
  if (error.status === 401) return "ended";
  return error.code === "recent_login_required" ? "recent" : null;
}
