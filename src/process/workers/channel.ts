// The channel between the supervisor and one worker: a connection on a Unix socket over which both sides send messages and
// ask each other. Messages that are sent in one turn of the event loop leave in one write, as one frame (frames.ts).
// The messages that each side takes are in messages.ts.
import { LATE, within } from "../../core/concurrency/timeout.ts";
import { isPending, type MaybePromise } from "../../core/maybe-promise.ts";
import { messageOf } from "../../core/thrown.ts";
import { FrameReader, frameOf, type FramedMessage } from "./frames.ts";

/**
 * The messages that one side takes, as functions: each kind gets a body, and returns what a request of this kind is
 * answered with, both as JSON. Kinds that are only sent without a reply return `void`.
 */
export type Messages = Readonly<Record<string, (body: never) => unknown>>;
export type BodyOf<Kind extends Messages[string]> = Parameters<Kind>[0];

/** A body with bytes beside it, which are not written as JSON. */
export interface WithBytes<Body> {
  readonly body: Body;
  readonly bytes: Uint8Array;
}

/** A handler may return nothing where the reply says only that all is done. */
type Answer<Reply> = ([Reply] extends [null] ? Reply | void : Reply) | WithBytes<Reply>;

export type Handler<Body, Reply> = (body: Body, bytes: Uint8Array) => MaybePromise<Answer<Reply>>;

/** `code` is the `kind` or `code` of the error that the other side threw, or `closed` when the channel is closed. */
export class ChannelError extends Error {
  readonly code: string | null;

  constructor(message: string, code: string | null) {
    super(message);
    this.name = "ChannelError";
    this.code = code;
  }
}

export interface ChannelOptions {
  /** Writes what it can and returns the number of bytes; below 0 when the connection is closed. */
  readonly write: (bytes: Uint8Array) => number;
  readonly end: () => void;
  /**
   * When more than this waits to be written, the other side has not read for long, as a stopped process does: the channel
   * is closed, and `isUnread`.
   */
  readonly maxUnwrittenBytes: number;
  /** What a handler of a message without reply threw, or bytes that are no messages. */
  readonly onFault: (fault: unknown) => void;
}

/** What went one way over a channel. */
interface Traffic {
  frames: number;
  messages: number;
  bytes: number;
}

interface Waiting {
  readonly resolve: (reply: WithBytes<unknown>) => void;
  readonly reject: (error: ChannelError) => void;
}

const NONE = new Uint8Array(0);
const closedError = (): ChannelError => new ChannelError("The channel to the other process is closed.", "closed");

/** `Sent` are the messages that the other side takes, `Taken` those that this side takes. */
export class Channel<Sent extends Messages, Taken extends Messages> {
  readonly #options: ChannelOptions;
  readonly #handlers = new Map<string, Handler<never, unknown>>();
  readonly #waiting = new Map<number, Waiting>();
  readonly #reader = new FrameReader();
  readonly #whenClosed: (() => void)[] = [];
  #turn: FramedMessage[] = [];
  #isDue = false;
  #unwritten: Uint8Array[] = [];
  #unwrittenBytes = 0;
  #isUnread = false;
  #lastId = 0;
  #isClosed = false;
  readonly sent: Traffic = { frames: 0, messages: 0, bytes: 0 };
  readonly received: Omit<Traffic, "frames"> = { messages: 0, bytes: 0 };

  constructor(options: ChannelOptions) {
    this.#options = options;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** The channel was closed because the other side did not read what was sent. */
  get isUnread(): boolean {
    return this.#isUnread;
  }

  /** Sets what to do with a kind of message, in place of an earlier handler. An error that it throws is the reply. */
  handle<Kind extends keyof Taken & string>(
    kind: Kind,
    handler: Handler<BodyOf<Taken[Kind]>, ReturnType<Taken[Kind]>>,
  ): void {
    this.#handlers.set(kind, handler);
  }

  /** Calls `listener` when the channel is closed, whichever side did it; at once when it is closed already. */
  whenClosed(listener: () => void): void {
    if (this.#isClosed) listener();
    else this.#whenClosed.push(listener);
  }

  /** Sends a message that needs no reply. Without effect on a closed channel. */
  notify<Kind extends keyof Sent & string>(kind: Kind, body: BodyOf<Sent[Kind]>, bytes?: Uint8Array): void {
    this.#send({ kind, id: 0, body, bytes });
  }

  /** Rejects with ChannelError when the other side's handler throws, has none for this kind, or the channel is closed. */
  async request<Kind extends keyof Sent & string>(
    kind: Kind,
    body: BodyOf<Sent[Kind]>,
    bytes?: Uint8Array,
  ): Promise<ReturnType<Sent[Kind]>> {
    return (await this.requestBytes(kind, body, bytes)).body;
  }

  /** As `request`, for replies with bytes. */
  requestBytes<Kind extends keyof Sent & string>(
    kind: Kind,
    body: BodyOf<Sent[Kind]>,
    bytes?: Uint8Array,
  ): Promise<WithBytes<ReturnType<Sent[Kind]>>> {
    return new Promise((resolve, reject) => {
      if (this.#isClosed) return reject(closedError());
      const id = ++this.#lastId;
      this.#waiting.set(id, { resolve: resolve as Waiting["resolve"], reject });
      this.#send({ kind, id, body, bytes });
    });
  }

  /** As `requestBytes`. Returns `null` when the other side does not answer within that time, or not with a reply. */
  async requestWithin<Kind extends keyof Sent & string>(
    timeoutMs: number,
    kind: Kind,
    body: BodyOf<Sent[Kind]>,
  ): Promise<WithBytes<ReturnType<Sent[Kind]>> | null> {
    const answer = await within(
      this.requestBytes(kind, body).catch(() => null),
      timeoutMs,
    );
    return answer === LATE ? null : answer;
  }

  /** Writes what was sent and ends the connection. */
  close(): void {
    if (this.#isClosed) return;
    this.flush();
    this.#options.end();
    this.closed();
  }

  /** Writes what was sent in this turn now. */
  flush(): void {
    const messages = this.#turn;
    if (messages.length === 0 || this.#isClosed) return;
    this.#turn = [];
    const frame = frameOf(messages);
    this.sent.frames += 1;
    this.sent.messages += messages.length;
    this.sent.bytes += frame.length;
    this.#unwritten.push(frame);
    this.#unwrittenBytes += frame.length;
    if (this.#unwritten.length === 1) this.drain();
    if (this.#unwrittenBytes <= this.#options.maxUnwrittenBytes) return;
    this.#isUnread = true;
    this.#options.end();
    this.closed();
  }

  /** For the connection: more can be written. */
  drain(): void {
    while (this.#unwritten.length > 0) {
      const next = this.#unwritten[0]!;
      const written = this.#options.write(next);
      if (written < 0) return this.closed();
      this.#unwrittenBytes -= written;
      if (written < next.length) {
        this.#unwritten[0] = next.subarray(written);
        return;
      }
      this.#unwritten.shift();
    }
  }

  /** For the connection: these bytes have arrived. */
  read(bytes: Uint8Array): void {
    let messages: readonly FramedMessage[];
    try {
      messages = this.#reader.read(bytes);
    } catch (fault) {
      this.#options.onFault(fault);
      this.#options.end();
      return this.closed();
    }
    this.received.bytes += bytes.length;
    this.received.messages += messages.length;
    for (const message of messages)
      if (message.kind === null) this.#answered(message);
      else this.#take(message, message.kind);
  }

  /** For the connection: it is closed. */
  closed(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#unwritten = [];
    this.#unwrittenBytes = 0;
    this.#turn = [];
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { reject } of waiting) reject(closedError());
    for (const listener of this.#whenClosed.splice(0)) listener();
  }

  #send(message: FramedMessage): void {
    if (this.#isClosed) return;
    this.#turn.push(message);
    if (this.#isDue) return;
    this.#isDue = true;
    setImmediate(() => {
      this.#isDue = false;
      this.flush();
    });
  }

  #answered({ id, body, bytes = NONE, isError }: FramedMessage): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (isError !== true) return waiting?.resolve({ body, bytes });
    const { message, code } = body as { readonly message: string; readonly code: string | null };
    waiting?.reject(new ChannelError(message, code));
  }

  #take({ id, body, bytes = NONE }: FramedMessage, kind: string): void {
    const handler = this.#handlers.get(kind);
    let result: MaybePromise<unknown>;
    try {
      if (handler === undefined) throw new ChannelError(`This process takes no message ${kind}.`, "unknown_message");
      result = handler(body as never, bytes);
    } catch (fault) {
      return this.#failed(id, fault);
    }
    if (isPending(result))
      result.then(
        (reply: unknown) => this.#reply(id, reply),
        (fault: unknown) => this.#failed(id, fault),
      );
    else this.#reply(id, result);
  }

  #reply(id: number, reply: unknown): void {
    if (id === 0) return;
    if (isWithBytes(reply)) this.#send({ kind: null, id, body: reply.body, bytes: reply.bytes });
    else this.#send({ kind: null, id, body: reply ?? null });
  }

  #failed(id: number, fault: unknown): void {
    if (id === 0) return this.#options.onFault(fault);
    this.#send({ kind: null, id, body: errorBody(fault), isError: true });
  }
}

function isWithBytes(reply: unknown): reply is WithBytes<unknown> {
  return typeof reply === "object" && reply !== null && "bytes" in reply && reply.bytes instanceof Uint8Array;
}

function errorBody(fault: unknown): { readonly message: string; readonly code: string | null } {
  const { kind, code } = (fault ?? {}) as { readonly kind?: unknown; readonly code?: unknown };
  const named = kind ?? code;
  return {
    message: messageOf(fault),
    code: typeof named === "string" ? named : null,
  };
}
