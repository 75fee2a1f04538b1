// The guards of one call that search requests, and what comes into a conversation later: files, results of tools. Where
// much is to be searched, this happens in advance, because nothing can be awaited at a target.

// Decides (the answer): When are guards asked, and what do findings do? By: `RequestGuards`. Also: `answer-guards.ts`
// (`AnswerGuards`). Rule: Before the first attempt for the request; for each read of an answer.
import type { ChatRequest, Message, WrittenRequest } from "../../core/chat.ts";
import type { GuardPlace } from "../../core/configured/outside-guard.ts";
import type { GuardPolicy, Policy, PolicyTarget } from "../../core/configured/policy.ts";
import type { MaybePromise } from "../../core/maybe-promise.ts";
import { BlockedText, blocksUnsearched, noteUnsearched } from "../../guards/guarded-text.ts";
import { withinWork } from "../../guards/work-meter.ts";
import type { JoinedText } from "../../providers/interface/encoded-request.ts";
import { nativeFormOf } from "../../providers/native-forms.ts";
import { guardedRequest, searchedMessages } from "../guards/guard-request.ts";
import { textsOf } from "../guards/guard-texts.ts";
import { guardedWritten } from "../guards/guard-written.ts";
import {
  matchesIn,
  type PriorMatches,
  requireNothingJoined,
  type Searched,
  type TextGuard,
  textGuard,
} from "../guards/text-guard.ts";
import type { HeldFindings } from "../long-bodies/long-requests.ts";
import type { PolicyScope } from "./policy-scope.ts";
import { underGuards } from "./policy-violation.ts";

export class RequestGuards {
  readonly #scope: PolicyScope;
  readonly #guarded = new Map<ChatRequest, Map<string, ChatRequest>>();
  /** What was found in advance; `null` when nothing was searched in advance. */
  #prior: PriorMatches | null = null;
  /** What was found in a body that another thread holds; `null` when none was searched. */
  #heldFindings: HeldFindings | null = null;
  /** The guards whose services are not asked; `null` until that is needed. */
  #spared: ReadonlySet<Policy> | null = null;

  constructor(scope: PolicyScope) {
    this.#scope = scope;
  }

  /** Whether a guard that applies to the caller may mask what the caller sends. */
  get mayMask(): boolean {
    return this.#anywhere().some(({ mode, guard }) => mode === "enforce" && guard.action === "mask");
  }

  /** Includes the guards for single targets, because nothing can be awaited at a target. */
  #anywhere(): readonly GuardPolicy[] {
    const { policies } = this.#scope;
    return this.#unspared(policies.inputGuards.filter((policy) => this.#scope.concerns(policy, null)));
  }

  /** Returns the guards without those that have a service and are for targets which the call cannot reach. */
  #unspared(guards: readonly GuardPolicy[]): readonly GuardPolicy[] {
    if (!guards.some(asksForTargets)) return guards;
    const spared = (this.#spared ??= this.#sparedBy(this.#scope.reached));
    return guards.filter((policy) => !spared.has(policy));
  }

  #sparedBy(targets: readonly PolicyTarget[] | null): ReadonlySet<Policy> {
    if (targets === null) return new Set();
    return new Set(
      this.#scope.policies.all.filter(
        (policy) => policy.kind === "guard" && asksForTargets(policy) && !targets.some(policy.concernsTarget!),
      ),
    );
  }

  #at(target: PolicyTarget | null): readonly GuardPolicy[] {
    return this.#scope.guardsFor(this.#scope.policies.inputGuards, target);
  }

  /**
   * Searches what the client sent before anything is called. Returns a promise when there is much text to search. Throws
   * `policy_violation`.
   */
  admit(): MaybePromise<void> {
    const guards = this.#anywhere();
    if (guards.length === 0) return;
    return this.#scope.call.sent.held === undefined ? this.#admitConversation(guards) : this.#admitHeld(guards);
  }

  /** A held conversation is searched before the rest of the request, just as a conversation is before its parameters. */
  async #admitHeld(guards: readonly GuardPolicy[]): Promise<void> {
    const { sent, scheduler, longRequests } = this.#scope.call;
    this.#heldFindings = await longRequests!.search(sent, guards, (texts) =>
      scheduler!.searchTexts(texts, guards, "input"),
    );
    await this.#admitConversation(guards);
  }

  #admitConversation(guards: readonly GuardPolicy[]): MaybePromise<void> {
    const { sent } = this.#scope.call;
    const written = this.#writtenFor(sent);
    // a target may be sent either the translation or what the client wrote, whose texts are mostly the same
    const visit = (guard: TextGuard): void => {
      guardedRequest(sent, guard);
      if (written !== undefined && written.held === undefined) guardedWritten(written, guard);
    };
    const characters = Math.max(sent.source.text.length, written?.text.length ?? 0);
    const found = (inAdvance: PriorMatches | null): void => {
      const prior = inAdvance ?? (written === undefined ? null : matchesIn(textsOf(visit), guards));
      this.#prior = prior;
      // guards that apply only to some targets take as much work there
      if (prior === null && guards.some(({ perTarget }) => perTarget)) guardedRequest(sent, withoutEffect(guards));
      this.translated(sent, null);
    };
    return this.#scope.search(guards, characters, visit, found, "input");
  }

  /** Returns what the client wrote where a target may be sent it; undefined where all are sent the translation. */
  #writtenFor({ written }: ChatRequest): WrittenRequest | undefined {
    const { operation } = this.#scope.call;
    return operation === "unserved" || nativeFormOf(operation) === null ? undefined : written;
  }

  /** Searches what a round adds to the conversation in advance, where that takes long. */
  async searchInAdvance(messages: readonly Message[]): Promise<void> {
    const guards = this.#anywhere();
    if (guards.length === 0) return;
    const { characters, walk } = searchedMessages(messages);
    const search = (prior: PriorMatches | null): PriorMatches | null => {
      if (prior === null) walk(withoutEffect(guards));
      return prior;
    };
    const found = await this.#scope.search(guards, characters(), walk, search, "tool_result");
    if (found !== null) this.#foundInAdvance(found);
  }

  /**
   * Asks the services of guards about a request to which the gateway has added something, such as the tools of tool
   * servers. What they were asked before is not asked again.
   */
  async askAbout(request: ChatRequest): Promise<void> {
    const guards = this.#anywhere();
    const { scheduler } = this.#scope.call;
    if (!guards.some(({ guard }) => guard.service !== null) || scheduler === null) return;
    this.#foundInAdvance(await scheduler.searchInThread(guards, (guard) => guardedRequest(request, guard)));
  }

  #foundInAdvance(found: PriorMatches): void {
    const before = this.#prior;
    this.#prior =
      before === null
        ? found
        : {
            plain: new Map([...before.plain, ...found.plain]),
            json: new Map([...before.json, ...found.json]),
            unsearched: new Map([...before.unsearched, ...found.unsearched]),
          };
  }

  /** Records that no guard on requests could search the inputs, and why. Returns whether one of them blocks that. */
  blocksUnread(why: string): boolean {
    const guards = this.#scope.reachable(this.#anywhere());
    for (const policy of guards) this.#scope.recordFinding(policy, why);
    return guards.some(blocksUnsearched);
  }

  /** Returns the request as a target may receive it or, without one, as every target may. Throws `policy_violation`. */
  translated(request: ChatRequest, target: PolicyTarget | null): ChatRequest {
    const guards = this.#at(target);
    if (guards.length === 0) return request;
    const known = this.#guarded.getOrInsertComputed(request, () => new Map<string, ChatRequest>());
    return known.getOrInsertComputed(keyOf(guards), () =>
      underGuards(() => {
        const masks = request.held === undefined ? NONE : this.#masksOfHeld(guards, "conversation");
        const guarded = this.#bounded(guards, request, guardedRequest);
        return masks.length === 0 ? guarded : { ...guarded, held: { ...guarded.held!, masks } };
      }),
    );
  }

  /**
   * Returns the request as a target may receive it that is sent what the client wrote or, without one, as every such
   * target may. Throws `policy_violation`.
   */
  written(request: ChatRequest, target: PolicyTarget | null): ChatRequest {
    const guards = this.#at(target);
    const written = this.#writtenFor(request);
    if (guards.length === 0 || written === undefined) return request;
    return underGuards(() => {
      const maskedBy = written.held === undefined ? NONE : this.#masksOfHeld(guards, "written");
      const guarded = this.#bounded(guards, written, guardedWritten);
      return { ...request, written: { ...guarded, maskedBy } };
    });
  }

  /**
   * Records what these guards found in what another thread holds, and returns the ids of those that mask it. Throws
   * BlockedText.
   */
  #masksOfHeld(guards: readonly GuardPolicy[], of: keyof HeldFindings): readonly string[] {
    const masks: string[] = [];
    for (const { policy, failure, blocks } of this.#heldFindings?.[of] ?? NONE) {
      if (!guards.includes(policy)) continue;
      this.#scope.recordFinding(policy, failure ?? undefined);
      if (blocks) throw new BlockedText(policy, failure);
      if (policy.mode === "enforce" && failure === null) masks.push(policy.id);
    }
    return masks;
  }

  /** A search that takes too long where nothing can be awaited counts as a search that failed. Throws BlockedText. */
  #bounded<T>(guards: readonly GuardPolicy[], request: T, look: (request: T, guard: TextGuard) => T): T {
    const { recordFinding, call } = this.#scope;
    for (const policy of guards) if (this.#spared?.has(policy) === true) noteUnsearched(policy, recordFinding);
    const search = (): T => look(request, textGuard(guards, recordFinding, this.#prior));
    if (call.scheduler === null) return search();
    return withinWork(STEPS_AT_TARGET, search, () => {
      for (const policy of guards) noteUnsearched(policy, recordFinding);
      return request;
    });
  }

  /**
   * Returns what a target, or without one every target, may receive of what comes into the conversation after `admit`.
   * Returns a promise when there is much text to search. Throws `policy_violation`.
   */
  apply<T>(searched: Searched<T>, target: PolicyTarget | null, place: GuardPlace): MaybePromise<T> {
    return this.#scope.apply(searched, this.#at(target), place);
  }

  /** Whether guards search texts that this target reads as one, although they are made of several. */
  searchesJoined(target: PolicyTarget): boolean {
    return this.#ofJoined(target).length > 0;
  }

  /**
   * Searches texts that a target reads as one each, although they are made of several, for what extends over several.
   * Returns a promise when there is much text to search. Throws `policy_violation`.
   */
  requireNothingJoined(texts: readonly JoinedText[], target: PolicyTarget): MaybePromise<void> {
    const guards = this.#ofJoined(target);
    if (guards.length === 0) return;
    const all = texts.flatMap(({ text, pieces }) => [text, ...pieces]);
    const characters = all.reduce((sum, { length }) => sum + length, 0);
    const visit = (guard: TextGuard): void => all.forEach((text) => void guard(text, "plain"));
    const search = (prior: PriorMatches | null): void =>
      underGuards(() => requireNothingJoined(texts, guards, this.#scope.recordFinding, prior));
    return this.#scope.search(guards, characters, visit, search, "input");
  }

  /** Services have judged each text by itself. */
  #ofJoined(target: PolicyTarget): readonly GuardPolicy[] {
    return this.#at(target).filter(({ guard }) => guard.service === null);
  }
}

/** The most steps that guards may take at a target for text that was not searched before: some 20 ms. */
const STEPS_AT_TARGET = 2_000_000;

/** Whether the guard has a service that is asked only about calls to certain targets. */
function asksForTargets({ concernsTarget, guard }: GuardPolicy): boolean {
  return concernsTarget !== null && guard.service !== null;
}

/** Returns a guard that searches, but neither masks, blocks nor records: it measures the work. */
function withoutEffect(guards: readonly GuardPolicy[]): TextGuard {
  const inAudit = guards.map((policy) => ({ ...policy, mode: "audit" as const }));
  return textGuard(inAudit, () => {});
}

function keyOf(guards: readonly GuardPolicy[]): string {
  return guards.map(({ id }) => id).join("\n");
}

const NONE: readonly never[] = [];
