// The upstream request of one attempt as its provider writes it, before a credential is added.
import type { ChatRequest } from "../../core/chat.ts";
import type { Cancellation } from "../../core/concurrency/cancellation.ts";
import { startTimeout, untilOver, withOwnSignal } from "../../core/concurrency/timeout.ts";
import { GatewayError } from "../../core/errors.ts";
import { isPending, type MaybePromise, whenReady } from "../../core/maybe-promise.ts";
import { type Target, connectionPartition } from "../../core/target.ts";
import { MEDIA_TYPES } from "../../core/text/media-types.ts";
import type { Provider } from "../../providers/interface/provider.ts";
import { checkAddress } from "../../wire/address-guard.ts";
import { joinedBytes } from "../../wire/body-bytes.ts";
import { messageAbout, UpstreamFault, type UpstreamResponse } from "../../wire/upstream.ts";
import type { EncodedForTarget } from "../long-bodies/long-body-worker.ts";
import type { Call } from "../call/call.ts";
import { warned } from "../carriers/opened-request.ts";
import { withClientHead } from "../fit/caller-headers.ts";
import type { FittedRequest } from "../fit/fit.ts";
import { encodedRequest, joinedTexts } from "../fit/fit-conversation.ts";
import type { TaskPart } from "../fit/task-parts.ts";
import { unfit, UnfitForTarget } from "../fit/unfit-for-target.ts";
import type { RouteCandidate } from "../plan/candidate.ts";
import type { Resolved } from "../plan/resolve-target.ts";
import { FETCHABLE, type Fetched, type ContentPlace, placesToFetch, withContent } from "./content-places.ts";
import type { AttemptLifetime } from "./attempt-lifetime.ts";
import { promptPieces } from "./prompt-pieces.ts";
import { searchedFiles } from "../guards/guard-file.ts";

/**
 * Fetches the content that the provider accepts only as bytes, and encodes the request; of a task, only the inputs of
 * `part` unless that is null. With `tellsPrompt`, the result has the pieces of the prompt. Throws UnfitForTarget.
 */
export function encodedFor(
  fitted: ChatRequest,
  attempt: EncodingAttempt,
  call: Call,
  part: TaskPart | null,
  tellsPrompt = false,
): MaybePromise<EncodedForTarget> {
  const {
    resolved: { provider, target },
    candidate,
  } = attempt;
  const called = withClientHead(target, provider, fitted, call.clientHead);
  // texts that are made of several are written once more for guards
  const tellsJoined =
    provider.joinedTexts !== undefined && call.policies?.requests.searchesJoined(candidate.policyTarget) === true;
  const encoding = whenReady(withFetchedParts(fitted, provider, target.model, attempt, call), (request) =>
    request.held === undefined
      ? encodedHere(request, called, { provider, part, tellsPrompt, tellsJoined })
      : encodedThere(request, called, call, part, tellsPrompt),
  );
  return tellsJoined ? whenReady(encoding, (encoded) => searched(encoded, candidate, call)) : encoding;
}

/** The attempt for which a request is encoded. */
interface EncodingAttempt {
  readonly resolved: Pick<Resolved, "provider" | "target">;
  readonly candidate: Pick<RouteCandidate, "policyTarget">;
  readonly lifetime: Pick<AttemptLifetime, "hold">;
}

/** Returns the request when guards have searched the texts that are made of several. Throws UnfitForTarget. */
function searched(
  encoded: EncodedForTarget,
  { policyTarget }: Pick<RouteCandidate, "policyTarget">,
  { policies }: Call,
): MaybePromise<EncodedForTarget> {
  const { joined = [] } = encoded;
  if (joined.length === 0 || policies === null) return encoded;
  try {
    const searching = policies.requests.requireNothingJoined(joined, policyTarget);
    return isPending(searching) ? searching.then(() => encoded, refused) : encoded;
  } catch (thrown) {
    return refused(thrown);
  }
}

function refused(thrown: unknown): never {
  throw thrown instanceof GatewayError && thrown.code === "policy_violation" ? new UnfitForTarget(thrown) : thrown;
}

interface EncodedWith {
  readonly provider: Provider;
  readonly part: TaskPart | null;
  readonly tellsPrompt: boolean;
  readonly tellsJoined: boolean;
}

function encodedHere(
  request: ChatRequest,
  target: Target,
  { provider, part, tellsPrompt, tellsJoined }: EncodedWith,
): EncodedForTarget {
  try {
    const encoded = encodedRequest(request, provider, target, part);
    const joined = tellsJoined ? joinedTexts(request, provider, target) : [];
    if (!tellsPrompt && joined.length === 0) return encoded;
    return { ...encoded, ...(tellsPrompt && { prompt: promptPieces(request) }), joined };
  } catch (thrown) {
    throw unfit(thrown);
  }
}

/** Makes the thread that holds the conversation encode the request. */
async function encodedThere(
  request: ChatRequest,
  target: Target,
  call: Call,
  part: TaskPart | null,
  tellsPrompt: boolean,
): Promise<EncodedForTarget> {
  try {
    return await call.context.longRequests!.encode(request, target, call.context.clock.now(), part, tellsPrompt);
  } catch (thrown) {
    throw unfit(thrown);
  }
}

/** Adds what was left out when the request was written. */
export function withLeftOut(fitted: FittedRequest, { leavesReasoning, left = [] }: EncodedForTarget): FittedRequest {
  const { request, dispositions, dropped } = fitted;
  const untold = left.filter((name) => dispositions[name] !== "dropped");
  const told = leavesReasoning === true ? { ...fitted, request: warned(request) } : fitted;
  if (untold.length === 0) return told;
  return {
    ...told,
    dispositions: { ...dispositions, ...Object.fromEntries(untold.map((name) => [name, "dropped" as const])) },
    dropped: [...new Set([...dropped, ...untold.map((name) => request.form.pathOf(name, request))])],
  };
}

const MIB = 1024 * 1024;
const MAX_PART_BYTES = 20 * MIB;
const MAX_ALL_BYTES = 50 * MIB;
const TIME_MS = 10_000;

/**
 * Fetches content that a request refers to by address, for models that accept only bytes, and replaces each address by
 * a data URI, within the bounds of promise 6.9. Every address is checked and called as promise 2.12 requires: it is
 * resolved once, it must be public, and redirects are not followed. Returns the same request when there is nothing to
 * fetch. Throws UnfitForTarget, GatewayError `address_not_allowed`,
 * `content_unavailable` with the path, or the signal's reason.
 */
function withFetchedParts(
  request: ChatRequest,
  provider: Provider,
  model: string,
  attempt: EncodingAttempt,
  call: Call,
): MaybePromise<ChatRequest> {
  const { held } = request;
  if (held !== undefined)
    return held.addressed.size === 0 || provider.inlines(model).isDisjointFrom(held.addressed)
      ? request
      : fetchedWhereHeld(request, provider, model, attempt, call);
  if (request.blocks.size === 0) return request;
  const places = placesHere(request, provider, model);
  return places.length === 0 ? request : fetchedInPlace(request, places, attempt, call);
}

function placesHere(request: ChatRequest, provider: Provider, model: string): readonly ContentPlace[] {
  try {
    return placesToFetch(request, provider, model);
  } catch (thrown) {
    // a target that accepts addresses does not need the content
    throw unfit(thrown);
  }
}

async function fetchedInPlace(
  request: ChatRequest,
  places: readonly ContentPlace[],
  attempt: EncodingAttempt,
  call: Call,
): Promise<ChatRequest> {
  return withContent(request, places, await fetchedFor(places, attempt, call));
}

/** Returns what is behind the addresses as guards let the target have it. Throws UnfitForTarget, and what `fetchAll` throws. */
async function fetchedFor(
  places: readonly ContentPlace[],
  attempt: EncodingAttempt,
  call: Call,
): Promise<readonly Fetched[]> {
  const fetched = await call.clock.waiting(fetchAll(places, attempt, call));
  try {
    if (call.policies === null) return fetched;
    const files = searchedFiles(fetched);
    return files === null
      ? fetched
      : await call.policies.requests.apply(files, attempt.candidate.policyTarget, "input");
  } catch (thrown) {
    return refused(thrown);
  }
}

/** Hands the bytes to the thread that holds the conversation. */
async function fetchedWhereHeld(
  request: ChatRequest,
  provider: Provider,
  model: string,
  attempt: EncodingAttempt,
  call: Call,
): Promise<ChatRequest> {
  const longRequests = call.context.longRequests!;
  const places = await longRequests.places(request, provider, model).catch((thrown: unknown) => {
    throw unfit(thrown);
  });
  return places.length === 0 ? request : longRequests.fill(request, places, await fetchedFor(places, attempt, call));
}

/** When one download fails, the others would be of no use. */
function fetchAll(places: readonly ContentPlace[], attempt: EncodingAttempt, call: Call): Promise<readonly Fetched[]> {
  const all = fetchedBytes(attempt);
  return withOwnSignal(call.signal, (signal) => Promise.all(places.map((place) => fetchOne(place, all, signal, call))));
}

/** Of one attempt. */
interface FetchedBytes {
  /** Returns false for more than a call may fetch. Throws `gateway_overloaded`. */
  add(bytes: number): boolean;
}

function fetchedBytes({ lifetime }: EncodingAttempt): FetchedBytes {
  let all = 0;
  return {
    add(bytes) {
      all += bytes;
      if (all > MAX_ALL_BYTES) return false;
      lifetime.hold(bytes);
      return true;
    },
  };
}

async function fetchOne(
  place: ContentPlace,
  all: FetchedBytes,
  cancellation: Cancellation,
  call: Call,
): Promise<Fetched> {
  const late = `did not arrive within ${TIME_MS / 1000} s`;
  const stopTimer = startTimeout(TIME_MS, () => cancellation.abort(unavailable(place, late)));
  try {
    const checking = checkAddress(place.address, { allowPrivate: "never", param: place.path });
    const { url, pinnedAddress } = await untilOver(checking, cancellation);
    const limits = { connectTimeoutMs: TIME_MS, firstByteTimeoutMs: TIME_MS, betweenBytesTimeoutMs: TIME_MS };
    const response = await call.context.upstream.send(
      { method: "GET", url, headers: {}, body: "" },
      { ...limits, signal: cancellation, pinnedAddress, partition: connectionPartition(call.record.tenantId, null) },
    );
    const bytes = await readBytes(response, place, all);
    const mediaType = mediaTypeOf(bytes, response.header("content-type"), url);
    const { kind } = FETCHABLE[place.type]!;
    if (mediaType === null || (kind !== null && !kind.test(mediaType)))
      throw unavailable(place, `is ${mediaType === null ? "of an unknown type" : mediaType}`);
    return { mediaType, bytes };
  } catch (thrown) {
    // no upstream was called: the caller has named the host
    if (thrown instanceof GatewayError && thrown.code === "upstream_connection")
      throw unavailable(place, "could not be fetched: its host could not be looked up", thrown.detail);
    if (!(thrown instanceof UpstreamFault)) throw thrown;
    throw unavailable(
      place,
      thrown.kind === "timeout" ? late : "could not be fetched",
      messageAbout("the host", thrown),
    );
  } finally {
    stopTimer();
  }
}

async function readBytes(response: UpstreamResponse, place: ContentPlace, all: FetchedBytes): Promise<Uint8Array> {
  const { status, body } = response;
  try {
    if (status >= 300 && status < 400)
      throw unavailable(place, `answered with a redirect (${status}), which is not followed`);
    if (status < 200 || status > 299) throw unavailable(place, `answered with status ${status}`);
    if (Number(response.header("content-length") ?? 0) > MAX_PART_BYTES) throw tooLarge(place);
    const pieces: Uint8Array[] = [];
    let length = 0;
    for (let piece = await body.read(); piece !== null; piece = await body.read()) {
      length += piece.length;
      if (length > MAX_PART_BYTES || !all.add(piece.length)) throw tooLarge(place);
      // the reader may reuse its buffer
      pieces.push(piece.slice());
    }
    if (length === 0) throw unavailable(place, "is empty");
    return pieces.length === 1 ? pieces[0]! : await joinedBytes(pieces, length);
  } catch (thrown) {
    body.cancel();
    throw thrown;
  }
}

function tooLarge(place: ContentPlace): GatewayError {
  return unavailable(
    place,
    `is too large: the gateway fetches at most ${MAX_PART_BYTES / MIB} MiB for one part and ${MAX_ALL_BYTES / MIB} MiB for a call`,
  );
}

function unavailable({ path }: ContentPlace, problem: string, detail: string | null = null): GatewayError {
  return new GatewayError("content_unavailable", `The content at ${path} ${problem}.`, {
    param: path,
    ...(detail !== null && { detail }),
  });
}

const SIGNATURES: readonly (readonly [type: string, offset: number, bytes: string])[] = [
  ["image/png", 0, "\x89PNG\r\n\x1a\n"],
  ["image/jpeg", 0, "\xff\xd8\xff"],
  ["image/gif", 0, "GIF8"],
  ["image/webp", 8, "WEBP"],
  ["image/bmp", 0, "BM"],
  ["application/pdf", 0, "%PDF-"],
  ["video/webm", 0, "\x1aE\xdf\xa3"],
  ["video/mp4", 4, "ftyp"],
];
const EXTENSIONS: Readonly<Record<string, string>> = { ...MEDIA_TYPES, xml: "application/xml" };
/** Media types that carry no information. */
const VAGUE: ReadonlySet<string> = new Set([
  "",
  "application/octet-stream",
  "binary/octet-stream",
  "application/download",
  "application/x-download",
]);

/**
 * Determines the media type of fetched bytes; `null` when it is unknown. The first bytes take precedence over the
 * server's content type, which is often guessed from the file name.
 */
function mediaTypeOf(bytes: Uint8Array, contentType: string | null, address: string): string | null {
  const start = Buffer.from(bytes.subarray(0, 16)).toString("latin1");
  const signed = SIGNATURES.find(([, offset, signature]) => start.startsWith(signature, offset));
  if (signed !== undefined) return signed[0];
  const declared = (contentType ?? "").split(";")[0]!.trim().toLowerCase();
  if (!VAGUE.has(declared)) return declared;
  const extension = /\.([a-z0-9]{1,5})$/i.exec(new URL(address).pathname)?.[1];
  return extension === undefined ? null : (EXTENSIONS[extension.toLowerCase()] ?? null);
}
