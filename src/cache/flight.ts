// One request to a provider that several equal calls wait for (promise 13.5). It belongs to none of them: the call
// that came first sends it, each reads the response at its own pace from what has arrived, and it ends when its last reader
// leaves. The provider is read as fast as the fastest reader reads.

// Decides (the response cache): When do equal calls share one request? By: `Flight`. Also: `cache/response-cache.ts`
// (`lookUp`). Rule: Where the response cache is on, within one process and tenant, while the request is unfinished and
// young enough, and where its answer can hand out nothing that lives at the vendor. Where the first call leaves, the request goes on for the others.
// Decides (the response cache): Who pays for a request that calls share? By: `decidePayment`. Also:
// `engine/metering/attempt-meter.ts` (`Payment`). Rule: The call that sent it, or one that is left when that call
// leaves.
import { Cancellation, type CancelSignal } from "../core/concurrency/cancellation.ts";
import { GatewayError } from "../core/errors.ts";
import { untilOver } from "../core/concurrency/timeout.ts";
import { decodeUtf8, readBytes, readOn } from "../wire/body-bytes.ts";
import { LEAST_HELD_BYTES, type SharedBytes } from "../core/concurrency/shared-bytes.ts";
import type { Attempt } from "../core/record/record.ts";
import type { UpstreamBody, UpstreamResponse } from "../wire/upstream.ts";
import { ArrivedPieces } from "./arrived-pieces.ts";
import type { CacheAddress } from "./answer-cache.ts";

export interface FlightOptions extends CacheAddress {
  readonly route: string;
  readonly askedAtMs: number;
  /** A longer response is not kept, and joined by no further call. */
  readonly maxBytes: number;
  /** Counts what has arrived while the response may be kept, so that all of them together have a bound (promise 5.8). */
  readonly memory: SharedBytes;
  /** That bound. A response without room is passed on as any other, and not kept. */
  readonly maxBytesTogether: number;
  /** Called when no further call may join. */
  readonly onClosed: (flight: Flight) => void;
}

type Exchange = (signal: CancelSignal) => Promise<UpstreamResponse>;

/** How a provider has refused a request. */
export type Refusal = Pick<Attempt, "status" | "nativeCode" | "retryAfterMs">;

/** What is known of the request of a flight. */
export interface FlightRequest {
  /** Whether the provider has it and did not refuse it. */
  readonly isAccepted: boolean;
  /** `null` where the provider has not refused it. */
  readonly refusal: Refusal | null;
}

export class Flight {
  readonly tenantId: string;
  readonly key: string;
  readonly route: string;
  readonly askedAtMs: number;
  readonly #maxBytes: number;
  readonly #memory: SharedBytes;
  readonly #maxBytesTogether: number;
  readonly #onClosed: (flight: Flight) => void;
  readonly #cancellation = new Cancellation();
  readonly #readers = new Set<FlightReader>();
  readonly #onEnd: (() => void)[] = [];
  readonly #arrived = new ArrivedPieces();
  /** The reader that sends the request or has sent it. */
  #leader: FlightReader | null = null;
  /** The reader whose call pays for the request. */
  #payer: FlightReader | null = null;
  #request: FlightRequest | null = null;
  #response: Promise<UpstreamResponse> | null = null;
  #body: UpstreamBody | null = null;
  /** The bytes that count in the memory. */
  #held = 0;
  #isAccepted = false;
  #isReading = false;
  #isDraining = false;
  #hasEnded = false;
  #failure: { readonly reason: unknown } | null = null;
  #isClosed = false;
  /** The answer is being kept; further calls may join until it is. */
  #isKept = false;
  /** The response is not kept: it was purged, replaced, too long, or not a good answer. */
  #isSpoiled = false;

  constructor({ tenantId, key, route, askedAtMs, maxBytes, memory, maxBytesTogether, onClosed }: FlightOptions) {
    this.tenantId = tenantId;
    this.key = key;
    this.route = route;
    this.askedAtMs = askedAtMs;
    this.#maxBytes = maxBytes;
    this.#memory = memory;
    this.#maxBytesTogether = maxBytesTogether;
    this.#onClosed = onClosed;
  }

  /** Adds a reader. The first one leads: it has to send the request or to leave. */
  join(signal: CancelSignal): FlightReader {
    const reader = new FlightReader(this, signal);
    this.#readers.add(reader);
    if (this.#leader === null && this.#response === null) this.#lead(reader);
    return reader;
  }

  isLedBy(reader: FlightReader): boolean {
    return this.#leader === reader;
  }

  /** Whether the request has been sent. */
  get isSent(): boolean {
    return this.#response !== null;
  }

  /** Sends the request; called once, by the reader that leads. */
  send(exchange: Exchange, request: FlightRequest): void {
    this.#request = request;
    this.#response = exchange(this.#cancellation);
    void this.#begin(this.#response);
    for (const reader of this.#readers) reader.notify();
  }

  /** The response, whose body each reader replaces by itself. */
  get response(): Promise<UpstreamResponse> {
    return this.#response!;
  }

  /** Calls `release` when the exchange with the provider is over. */
  whenOver(release: () => void): void {
    if (this.#response === null || this.#isOver) release();
    else this.#onEnd.push(release);
  }

  /** Returns the piece at this place, `null` at the end, and undefined when it has not arrived. Throws the failure. */
  pieceAt(place: number): Uint8Array | null | undefined {
    const piece = this.#arrived.at(place);
    if (piece !== undefined) return piece;
    if (this.#hasEnded) return null;
    // what the exchange throws is passed on as it is
    if (this.#failure !== null) throw this.#failure.reason;
    void this.#read();
    return undefined;
  }

  /**
   * Called when the reader has a complete answer. Returns the bytes that it has read, to be kept; `null` when they are
   * not. Calls that read on may read no more than what has arrived.
   */
  complete(pieces: number): Uint8Array | null {
    if (!this.#hasEnded) {
      this.#end();
      // a read that is in progress continues with the rest
      if (!this.#isReading) void this.#drain();
      this.#notify();
    }
    if (this.#isSpoiled || this.#isKept) return null;
    const body = this.#arrived.joined(pieces);
    this.#isKept = body !== null;
    return body;
  }

  /** A reader has found the answer valid. */
  accept(): void {
    this.#isAccepted = true;
    this.#body?.accept();
  }

  /** No further call may join, and the answer is not kept. */
  spoil(): void {
    this.#isSpoiled = true;
    this.#release();
    this.close();
  }

  /** No further call may join. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#onClosed(this);
  }

  /**
   * Decides whether the call of this reader, which is over, pays for the request. While others read on, one of them pays in
   * its place.
   */
  decidePayment(reader: FlightReader): boolean {
    if (this.#payer !== reader) return false;
    if (this.#hasArrived || this.#readers.size < 2) return true;
    this.#passOnPayment(reader);
    return false;
  }

  get request(): FlightRequest | null {
    return this.#request;
  }

  /** Whether the provider has the request and the call of this reader would pay for it. */
  isOwedBy(reader: FlightReader): boolean {
    return this.#payer === reader && this.#request?.isAccepted === true;
  }

  leave(reader: FlightReader): void {
    if (!this.#readers.delete(reader)) return;
    // one that has read all that ever arrives has not left early
    const hasReadAll = this.#hasArrived && reader.place >= this.#arrived.count;
    if (this.#payer === reader && !reader.hasPaid && !hasReadAll) this.#passOnPayment(reader);
    const [next] = this.#readers;
    if (next === undefined) return this.#stop();
    if (this.#leader === reader && this.#response === null) this.#lead(next);
    else this.#forget();
  }

  /** Whether all has arrived that ever will. */
  get #hasArrived(): boolean {
    return this.#hasEnded || this.#failure !== null;
  }

  get #isOver(): boolean {
    return this.#hasArrived || this.#cancellation.aborted;
  }

  #lead(reader: FlightReader): void {
    this.#leader = this.#payer = reader;
    reader.notify();
  }

  /** Makes another reader pay for the request. If there is no other reader, this one continues to pay. */
  #passOnPayment(reader: FlightReader): void {
    for (const other of this.#readers)
      if (other !== reader) {
        this.#payer = other;
        return;
      }
  }

  async #begin(response: Promise<UpstreamResponse>): Promise<void> {
    try {
      this.#body = (await response).body;
    } catch (reason) {
      return this.#fail(reason);
    }
    // all may have left meanwhile
    if (this.#readers.size === 0) this.#body.cancel();
  }

  async #read(): Promise<void> {
    if (this.#isReading || this.#body === null || this.#isOver) return;
    this.#isReading = true;
    try {
      const piece = await this.#body.read();
      // a complete answer needs no further pieces
      if (this.#hasEnded) return void this.#drain();
      if (piece === null) this.#end();
      else this.#add(piece);
    } catch (reason) {
      this.#fail(reason);
    } finally {
      this.#isReading = false;
    }
    this.#notify();
  }

  #add(piece: Uint8Array): void {
    this.#arrived.add(piece);
    if (this.#arrived.bytes > this.#maxBytes || !this.#isCounted()) this.spoil();
    this.#forget();
  }

  /** Returns false where there is no room for what has arrived. */
  #isCounted(): boolean {
    const more = this.#arrived.bytes - this.#held;
    if (this.#isSpoiled || more < LEAST_HELD_BYTES) return true;
    if (!this.#memory.hold(this.tenantId, more, this.#maxBytesTogether)) return false;
    this.#held += more;
    return true;
  }

  #release(): void {
    if (this.#held > 0) this.#memory.release(this.tenantId, this.#held);
    this.#held = 0;
  }

  /** Forgets what all readers have read, or what the slowest has not, once the response is not kept any more. */
  #forget(): void {
    if (!this.#isSpoiled) return;
    let slowest = Number.POSITIVE_INFINITY;
    for (const reader of this.#readers) slowest = Math.min(slowest, reader.place);
    this.#arrived.dropBefore(slowest, 2 * this.#maxBytes);
  }

  #end(): void {
    this.#hasEnded = true;
    this.#over();
  }

  #fail(reason: unknown): void {
    if (this.#hasEnded) return;
    this.#failure = { reason };
    this.spoil();
    this.#over();
    this.#notify();
  }

  /** Ends the exchange with the provider, because its last reader has left. */
  #stop(): void {
    if (!this.#isOver) {
      this.#cancellation.abort(
        new GatewayError("superseded", "No call waits for the answer to this request any more."),
      );
      this.spoil();
    }
    this.#release();
    // what follows an answer that a reader has accepted is read on
    if (!this.#isAccepted) this.#body?.cancel();
    this.#over();
    if (!this.#isKept) this.close();
  }

  #over(): void {
    for (const release of this.#onEnd.splice(0)) release();
  }

  /** Reads what follows a complete answer, such as the end of the chunked framing. */
  async #drain(): Promise<void> {
    const body = this.#body;
    if (body === null || this.#isDraining) return;
    this.#isDraining = true;
    await readOn(body);
  }

  #notify(): void {
    for (const reader of this.#readers) reader.notify();
  }
}

/** One call that reads the response of a flight. Its signal ends its own reading and nothing else. */
export class FlightReader implements UpstreamBody {
  readonly #flight: Flight;
  readonly #signal: CancelSignal;
  /** The number of pieces that were read. */
  #place = 0;
  #hasLeft = false;
  #hasPaid = false;
  /** Settles the read, or the wait for the request to be sent, that is in progress. */
  #waiting: (() => void) | null = null;

  constructor(flight: Flight, signal: CancelSignal) {
    this.#flight = flight;
    this.#signal = signal;
    signal.addEventListener("abort", this);
  }

  get place(): number {
    return this.#place;
  }
  get hasPaid(): boolean {
    return this.#hasPaid;
  }
  get askedAtMs(): number {
    return this.#flight.askedAtMs;
  }
  /** Whether this call has to send the request, or has sent it. */
  get isLeader(): boolean {
    return this.#flight.isLedBy(this);
  }

  /** Whether the call would pay for the request that was sent, although it has read nothing of the answer. */
  get owes(): boolean {
    return this.#flight.isOwedBy(this);
  }

  get refusal(): Refusal | null {
    return this.#flight.request?.refusal ?? null;
  }

  /** Whether the request was sent, or this call has to send it. */
  get hasBegun(): boolean {
    return this.#flight.isSent || this.isLeader;
  }

  /** Waits until the request was sent, or this call has to send it. Throws the reason of its signal. */
  async begun(): Promise<void> {
    while (!this.hasBegun) {
      this.#signal.throwIfAborted();
      await this.#wait();
    }
    this.#signal.throwIfAborted();
  }

  /** Sends the request, if this call leads, and returns the response. Throws what the exchange or the signal throws. */
  async respond(exchange: Exchange, request: FlightRequest): Promise<UpstreamResponse> {
    if (this.isLeader) this.#flight.send(exchange, request);
    const response = await untilOver(this.#flight.response, this.#signal);
    return { status: response.status, header: (name) => response.header(name), body: this };
  }

  whenOver(release: () => void): void {
    this.#flight.whenOver(release);
  }

  async read(): Promise<Uint8Array | null> {
    for (;;) {
      this.#signal.throwIfAborted();
      if (this.#hasLeft) return null;
      const piece = this.#flight.pieceAt(this.#place);
      if (piece !== undefined) {
        if (piece !== null) this.#place += 1;
        return piece;
      }
      await this.#wait();
    }
  }

  bytes(maxBytes: number, shouldContinue?: (bytes: number) => boolean): Promise<Uint8Array> {
    return readBytes(this, maxBytes, () => this.cancel(), shouldContinue);
  }

  async text(maxBytes: number, shouldContinue?: (bytes: number) => boolean): Promise<string> {
    return decodeUtf8(await this.bytes(maxBytes, shouldContinue));
  }

  accept(): void {
    this.#flight.accept();
  }

  cancel(): void {
    this.leave();
  }

  /** The bytes of the complete answer, to be kept; `null` when they are not. */
  complete(): Uint8Array | null {
    return this.#hasLeft ? null : this.#flight.complete(this.#place);
  }

  /**
   * Called when the call could not use the answer, or has waited for it as long as it would and may ask again: no further
   * call gets the answer then. A call that was ended itself (`isCallOver`) says nothing about it.
   */
  failed(isCallOver: boolean): void {
    if (!isCallOver || !this.#signal.aborted) this.#flight.spoil();
  }

  close(): void {
    this.#flight.close();
  }

  /** Decides whether this call pays for the request; called once, when the call is charged. */
  decidePayment(): boolean {
    this.#hasPaid = this.#flight.decidePayment(this);
    return this.#hasPaid;
  }

  leave(): void {
    if (this.#hasLeft) return;
    this.#hasLeft = true;
    this.#signal.removeEventListener("abort", this);
    this.#flight.leave(this);
    this.notify();
  }

  /** Called when something has arrived or changed. */
  notify(): void {
    const waiting = this.#waiting;
    this.#waiting = null;
    waiting?.();
  }

  /** Called when the call has ended, as the listener of its signal. */
  handleEvent(): void {
    this.leave();
  }

  #wait(): Promise<void> {
    return new Promise((resolve) => void (this.#waiting = resolve));
  }
}
