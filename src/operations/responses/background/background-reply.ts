// Answers a call that runs in the background (promise 12.8): the client gets the response as queued, or its events, and the
// call goes on when it leaves. What becomes of it is kept under the id of the response, where GET finds it
// (../kept-response-requests.ts). https://platform.openai.com/docs/guides/background
import { invalidRequest, unsupportedParameter } from "../../../core/refusals.ts";
import { streamOf } from "../../../auth/judged-reading.ts";
import { answerHeaders } from "../../../engine/answer/answer-frame.ts";
import { GrowingBytes } from "../../../core/concurrency/shared-bytes.ts";
import { STREAM_HEADERS } from "../../../engine/call/reply-headers.ts";
import type { RunReports } from "../../../engine/keeping/background-runs.ts";
import type { ReadyCall } from "../../../engine/operation.ts";
import { reserveInAdvance } from "../../../engine/plan/complete.ts";
import { replyConversation } from "../../../engine/reply-conversation.ts";
import type { GatewayError } from "../../../core/errors.ts";
import { pause } from "../../../core/concurrency/timeout.ts";
import { isObject, type JsonObject } from "../../../core/json.ts";
import { parseJson } from "../../../wire/json/json.ts";
import { dataOf } from "../../written-events.ts";
import { liveEvents } from "./background-events.ts";
import { BEAT_MS, RunMarks } from "./background-marks.ts";
import type { HiddenCarrier } from "../keeping/hidden-carriers.ts";
import { keepResponse, type KeptResponse, keptWith } from "../keeping/kept-responses.ts";
import { memoOf } from "../request-memo.ts";
import { responseAnswers } from "../response-answers.ts";
import { type KeptPlace, placeOf } from "../keeping/response-keeping.ts";
import { responseError, type ResponseFrame, responseFrame, responseObject } from "../response-object.ts";

/** Returns where the response is kept. Throws if it cannot be kept, because the client could then never retrieve it. */
export function placeInBackground(ready: ReadyCall): KeptPlace {
  const place = placeOf(ready);
  if (place === null || ready.call.context.background === null)
    throw unsupportedParameter(
      "background",
      "background needs a response that is kept, and the one of this call is not, because a guard may mask its request. Wait for the answer instead.",
    );
  // the items of an input that no store takes are not there: it would be kept as if it had none
  if (place.input.isTooLarge === true) throw inputTooLarge();
  return place;
}

function inputTooLarge(): GatewayError {
  return invalidRequest(
    "background",
    "The input is too large to be kept, which a response in the background needs. Wait for the answer instead.",
  );
}

/**
 * `place` is what `placeInBackground` returns. Throws what refuses the call before anything is sent, and where the
 * response cannot be kept there now.
 */
export async function replyInBackground(ready: ReadyCall, place: KeptPlace, now: () => number): Promise<Response> {
  const { call, request } = ready;
  const background = call.context.background!;
  const memo = memoOf(request);
  const repeated = { ...memo.repeated, background: true, store: place.keeper.isStored };
  const frame = responseFrame({ ...memo, repeated }, now);
  call.objects.answerId = frame.id;
  const work = new BackgroundWork(ready, place, frame);
  // what is refused is not queued; where there are tool servers, the request is whole once they have listed their tools
  if (request.options.toolServers.length === 0) await reserveInAdvance(ready.prepare(request), call);
  const queued = await work.queue();
  const run = background.begin(frame.id, (reports) => work.run(reports), work.cancel);
  const isStreamed = request.params.stream === true;
  const headers = answerHeaders(call, null, null, isStreamed ? "text/event-stream; charset=utf-8" : "application/json");
  headers["x-gateway-response-kept-until"] = new Date(place.keeper.untilMs).toISOString();
  if (!isStreamed) return new Response(JSON.stringify(queued), { headers });
  return new Response(streamOf(liveEvents(run, -1)), { headers: { ...headers, ...STREAM_HEADERS } });
}

/** One call in the background, from the response that is queued to the one that is kept at its end. */
class BackgroundWork {
  readonly #ready: ReadyCall;
  readonly #place: KeptPlace;
  readonly #frame: ResponseFrame;
  readonly #marks: RunMarks;
  readonly #isStreamed: boolean;
  readonly #end: () => void;
  #isCancelled = false;
  #isAnswered = false;
  #keepingAgain: Promise<unknown> = Promise.resolve();
  /** The memory of the events. */
  readonly #counted = new GrowingBytes((bytes) => {
    const { lifetime, snapshot } = this.#ready.call;
    lifetime.hold(bytes, snapshot.limits);
  });
  /** What the client is not shown of the reasoning. */
  #hidden: readonly HiddenCarrier[] = [];

  constructor(ready: ReadyCall, place: KeptPlace, frame: ResponseFrame) {
    const { call, request } = ready;
    this.#ready = ready;
    this.#place = place;
    this.#frame = frame;
    this.#isStreamed = request.params.stream === true;
    this.#end = call.lifetime.detach(request.options.timeoutMs, call.snapshot.limits.defaultTimeoutMs);
    const { owner, kept } = place;
    this.#marks = new RunMarks({ kept, clock: call.context.clock }, owner, frame.id);
  }

  readonly cancel = (): void => {
    this.#isCancelled = true;
    this.#end();
  };

  /** Throws `kept_store_unavailable`, and `invalid_request` for an input that is too large to be kept. */
  async queue(): Promise<JsonObject> {
    const queued = this.#without("queued");
    await this.#marks.runs();
    if (await this.#progress(queued)) return queued;
    throw inputTooLarge();
  }

  /** Never rejects. */
  async run(reports: RunReports): Promise<void> {
    const stop = this.#marks.follow(this.#keepAgain, this.cancel);
    let response: JsonObject;
    try {
      await this.#progress(this.#without("in_progress")).catch(() => false);
      response = await this.#answered(reports);
    } catch (thrown) {
      response = this.#failed(thrown, reports);
    }
    this.#isAnswered = true;
    await this.#keepingAgain;
    const { status } = response;
    const ended =
      this.#isCancelled && status !== "completed" && status !== "incomplete"
        ? { ...response, status: "cancelled", error: null }
        : response;
    await this.#keepAtLast(ended, reports);
    stop();
    this.#ready.call.lifetime.release(this.#counted.held);
  }

  readonly #keepAgain = async (): Promise<void> => {
    if (this.#isAnswered) return;
    this.#keepingAgain = this.#progress(this.#without("in_progress")).catch(() => false);
    await this.#keepingAgain;
  };

  async #answered({ brought }: RunReports): Promise<JsonObject> {
    const form = responseAnswers(this.#frame, (_, hidden = []) => void (this.#hidden = hidden));
    const answer = await replyConversation(this.#ready, form);
    if (!this.#isStreamed) return parseJson(await answer.text()) as JsonObject;
    let response = this.#without("failed");
    let code: unknown = null;
    for await (const text of eventsOf(answer)) {
      this.#hold(text);
      brought(text);
      this.#marks.brought(text);
      const event = parseJson(dataOf(text)!) as JsonObject;
      if (event["type"] === "error") code = event["code"];
      if (isObject(event["response"])) response = event["response"];
    }
    return code === "shutting_down" ? withCode(response, code) : response;
  }

  /**
   * Counts an event against the memory that bodies may hold, because no slow reader holds back a call in the background
   * (promise 5.8). A call whose events have no room ends; those that say so are its last.
   */
  #hold(event: string): void {
    try {
      this.#counted.grownBy(2 * event.length);
    } catch (thrown) {
      this.#ready.call.lifetime.abandon(thrown);
    }
  }

  /** A failure before the first event has no event yet. */
  #failed(thrown: unknown, { brought }: RunReports): JsonObject {
    this.#ready.fail(thrown);
    const error = this.#ready.call.located(thrown);
    const state = { status: "failed", output: [], usage: null, error: responseError(error) } as const;
    const response = responseObject(this.#frame, state);
    if (this.#isStreamed) {
      const form = responseAnswers(this.#frame, null).stream;
      const text = form.leaving!(form.opening(null) + form.failed(error, this.#ready.call.traceId));
      for (const event of blocksOf(text)) {
        brought(event);
        this.#marks.brought(event);
      }
    }
    return error.code === "shutting_down" ? withCode(response, error.code) : response;
  }

  #without(status: "queued" | "in_progress" | "failed"): JsonObject {
    return responseObject(this.#frame, { status, output: [], usage: null });
  }

  async #progress(response: JsonObject): Promise<boolean> {
    return keepResponse(this.#place.kept, this.#value(response));
  }

  #value(response: JsonObject): KeptResponse {
    const { owner, input } = this.#place;
    return {
      owner,
      response,
      hidden: this.#hidden,
      ...keptWith(input),
      isStreamed: this.#isStreamed,
      eventParts: this.#marks.parts,
    };
  }

  /**
   * Keeps what the call has made. A store that is away is tried again for as long as the response would be kept, and until
   * the process ends: others learn meanwhile that the call runs, and readers of its events wait no longer. Never rejects.
   */
  async #keepAtLast(response: JsonObject, { hasBroughtAll, closing }: RunReports): Promise<void> {
    const { untilMs } = this.#place.keeper;
    for (;;) {
      try {
        await this.#marks.flush();
        await this.#keep(response);
        return;
      } catch {
        hasBroughtAll();
      }
      if (this.#ready.call.context.clock.now() > untilMs) return;
      try {
        await pause(BEAT_MS, closing);
      } catch {
        return;
      }
    }
  }

  /**
   * Where it cannot be kept for long, it is kept for a while, and one that is too large as a failure that says so. Throws
   * `kept_store_unavailable`.
   */
  async #keep(response: JsonObject): Promise<void> {
    const { keeper, kept, owner } = this.#place;
    if (keeper.isStored && (await this.#isKeptForLong(response))) {
      // what is kept for a while is found first, so that it would hide the answer
      await kept.remove(owner.tenantId, this.#frame.id);
      return;
    }
    if (await this.#progress({ ...response, store: false })) return;
    const error = { code: "server_error", message: "The response is too large to be kept." };
    this.#hidden = [];
    await this.#progress({ ...this.#without("failed"), usage: response["usage"] ?? null, error, store: false });
  }

  /** Returns false where it is too large, and while the database is away. */
  async #isKeptForLong(response: JsonObject): Promise<boolean> {
    try {
      return await this.#place.keeper.keep(this.#value(response));
    } catch {
      return false;
    }
  }
}

function withCode(response: JsonObject, code: string): JsonObject {
  return { ...response, error: { ...(response["error"] as JsonObject), code } };
}

/** The events of a stream, without its last line. */
async function* eventsOf(answer: Response): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const piece of answer.body as unknown as AsyncIterable<string | Uint8Array>) {
    rest += typeof piece === "string" ? piece : decoder.decode(piece, { stream: true });
    const end = rest.lastIndexOf("\n\n") + 2;
    if (end < 2) continue;
    yield* blocksOf(rest.slice(0, end));
    rest = rest.slice(end);
  }
}

function blocksOf(text: string): readonly string[] {
  return text
    .split("\n\n")
    .filter((block) => block.startsWith("event: "))
    .map((block) => `${block}\n\n`);
}
