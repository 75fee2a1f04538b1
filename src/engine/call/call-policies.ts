// The policies of one call. They are evaluated once before anything is called, and again for each target before each
// attempt (promises 3.1 to 3.4). Their outcomes go into the record; the caller receives the policy's message and its
// name, never the rule.

// Decides (the answer): When are guards asked, and what do findings do? By: `CallPolicies`. Rule: Before the first
// attempt for the request; for each read of an answer.
import { lazy } from "../../core/memoization.ts";
import { BlockedText, blocksUnsearched, noteUnsearched } from "../../guards/guarded-text.ts";
import { RequestFacts } from "../../policies/policy-facts.ts";
import type { ChatRequest, Message, WrittenRequest } from "../../core/chat.ts";
import type { GatewayError } from "../../core/errors.ts";
import type {
  Policy,
  PolicyCaller,
  PolicyTarget,
  ProjectPolicies,
  GuardPolicy,
  RulePolicy,
} from "../../core/configured/policy.ts";
import type { GuardPlace } from "../../core/configured/outside-guard.ts";
import type { PolicyOutcome } from "../../core/record/record.ts";
import type { MaybePromise } from "../../core/maybe-promise.ts";
import { withinWork } from "../../guards/work-meter.ts";
import type { Fetched } from "../attempt/content-places.ts";
import { mappedList } from "../../core/request/mapped-list.ts";
import { isTextType } from "../../core/text/text-media.ts";
import type { JoinedText } from "../../providers/interface/encoded-request.ts";
import { nativeFormOf } from "../../providers/native-forms.ts";
import { charactersOf, guardedAnswer, guardedWords, type TaskWords } from "../guards/guard-answer.ts";
import { CallFacts, type FactSource } from "./call-facts.ts";
import { underGuards, violation } from "./policy-violation.ts";
import { guardedBytes, mayBeText } from "../guards/guard-file.ts";
import { charactersOfMessages, guardedMessages, guardedRequest } from "../guards/guard-request.ts";
import { guardedWritten } from "../guards/guard-written.ts";
import { textsOf } from "../guards/guard-texts.ts";
import {
  matchesIn,
  type PriorMatches,
  requireNothingJoined,
  type TextGuard,
  textGuard,
  UNREPLACEABLE,
} from "../guards/text-guard.ts";
import type { HeldFindings, LongRequests } from "../long-bodies/long-requests.ts";
import type { GuardScheduler } from "../guards/guard-scheduler.ts";
import type { StreamUnderGuards } from "../guards/stream-under-guards.ts";
import type { NonStreamingAnswer } from "../answer/non-streaming-answer.ts";

export interface PolicyCall extends FactSource {
  /** Collects the outcomes of the policies. */
  readonly outcomes: PolicyOutcome[];
  /** `null` when guards search in this thread, however long it takes. */
  readonly scheduler: GuardScheduler | null;
  /** Absent when no other thread holds the conversation. */
  readonly longRequests?: LongRequests | null;
}

/** Returns the targets that a call can reach; `null` where they are not known, so that every guard may be needed. */
export type Reach = () => readonly PolicyTarget[] | null;

interface Judgement {
  readonly refusal: GatewayError | null;
  readonly outcomes: readonly PolicyOutcome[];
}

export class CallPolicies {
  readonly #policies: ProjectPolicies;
  readonly #call: PolicyCall;
  readonly #caller: PolicyCaller;
  readonly #facts: CallFacts;
  readonly #requests = new Map<ChatRequest, RequestFacts>();
  /** The outcomes that are recorded: a tenant may have thousands of policies. */
  readonly #noted = new Set<string>();
  readonly #guarded = new Map<ChatRequest, Map<string, ChatRequest>>();
  /** What was found in advance; `null` when nothing was searched in advance. */
  #prior: PriorMatches | null = null;
  /** What was found in a body that another thread holds; `null` when none was searched. */
  #heldFindings: HeldFindings | null = null;
  /** What `reach` of `admit` says, which is asked at the first use. */
  #reached: () => { readonly targets: ReturnType<Reach> } = () => ({ targets: null });
  /** The guards whose services are not asked; `null` until that is needed. */
  #spared: ReadonlySet<Policy> | null = null;

  constructor(policies: ProjectPolicies, call: PolicyCall) {
    this.#policies = policies;
    this.#call = call;
    this.#caller = {
      tokenId: call.principal.tokenId,
      user: call.sent.params.user ?? call.sent.params.safety_identifier ?? null,
    };
    this.#facts = new CallFacts(call);
  }

  /** The policies that apply to the caller, for an explanation. */
  get all(): readonly Policy[] {
    return this.#policies.all.filter((policy) => this.#concerns(policy, null));
  }

  /** Whether a guard that applies to the caller may mask what the caller sends. */
  get mayMask(): boolean {
    return this.#guardsAnywhere().some(({ mode, guard }) => mode === "enforce" && guard.action === "mask");
  }

  /** Whether a rule that applies to the caller looks at the time. */
  get looksAtTime(): boolean {
    return this.#policies.all.some(
      (policy) => policy.kind === "rule" && policy.usesTime === true && this.#concerns(policy, null),
    );
  }

  /**
   * Evaluates the policies before anything is called. Returns a promise when there is much text to search. Throws
   * `policy_violation`. `reach` is asked only where a guard that is for certain targets has a service, or would search
   * results of tools.
   */
  admit(reach: Reach): MaybePromise<void> {
    const { sent } = this.#call;
    this.#reached = lazy(() => ({ targets: reach() }));
    this.rules();
    const guards = this.#guardsAnywhere();
    if (guards.length === 0) return;
    return sent.held === undefined ? this.#admitConversation(guards) : this.#admitHeld(sent, guards);
  }

  /**
   * A held conversation is searched before the rest of the request, just as a conversation is before its parameters.
   */
  async #admitHeld(sent: ChatRequest, guards: readonly GuardPolicy[]): Promise<void> {
    const { scheduler, longRequests } = this.#call;
    this.#heldFindings = await longRequests!.search(sent, guards, (texts) =>
      scheduler!.searchTexts(texts, guards, "input"),
    );
    await this.#admitConversation(guards);
  }

  #admitConversation(guards: readonly GuardPolicy[]): MaybePromise<void> {
    const { sent } = this.#call;
    const written = this.#writtenFor(sent);
    // a target may be sent either the translation or what the client wrote, whose texts are mostly the same
    const visit = (guard: TextGuard): void => {
      guardedRequest(sent, guard);
      if (written !== undefined && written.held === undefined) guardedWritten(written, guard);
    };
    const characters = Math.max(sent.source.text.length, written?.text.length ?? 0);
    return this.#search("input", guards, characters, visit, (found) => {
      const prior = found ?? (written === undefined ? null : matchesIn(textsOf(visit), guards));
      this.#prior = prior;
      // guards that apply only to some targets take as much work there
      if (prior === null && guards.some(({ perTarget }) => perTarget))
        guardedRequest(
          sent,
          textGuard(guards.map(inAudit), () => {}),
        );
      this.input(sent, null);
    });
  }

  /** Returns what the client wrote where a target may be sent it; undefined where all are sent the translation. */
  #writtenFor({ written }: ChatRequest): WrittenRequest | undefined {
    const { operation } = this.#call;
    return operation === "unserved" || nativeFormOf(operation) === null ? undefined : written;
  }

  /** Evaluates the rules that are evaluated once. Throws `policy_violation`. */
  rules(): void {
    const { refusal, outcomes } = this.#judge(this.#policies.rules, this.#call.sent, null);
    this.note(outcomes);
    if (refusal !== null) throw refusal;
  }

  #search<T>(
    place: GuardPlace,
    guards: readonly GuardPolicy[],
    characters: number,
    visit: (guard: TextGuard) => unknown,
    work: (prior: PriorMatches | null) => T,
  ): MaybePromise<T> {
    const { scheduler } = this.#call;
    return scheduler === null ? work(null) : scheduler.search(guards, characters, visit, work, place);
  }

  /**
   * Searches all texts for which `walk` calls its guard, and returns the result of the walk. Throws `policy_violation`.
   */
  #applied<T>(
    place: GuardPlace,
    guards: readonly GuardPolicy[],
    characters: number,
    walk: (guard: TextGuard) => T,
  ): MaybePromise<T> {
    return this.#search(place, guards, characters, walk, (prior) =>
      underGuards(() => walk(textGuard(guards, this.recordFinding, prior))),
    );
  }

  /** Searches what a round adds to the conversation in advance, where that takes long. */
  async searchInAdvance(messages: readonly Message[]): Promise<void> {
    const guards = this.#guardsAnywhere();
    const { scheduler } = this.#call;
    if (guards.length === 0 || scheduler === null) return;
    const searching = scheduler.search(
      guards,
      charactersOfMessages(messages),
      (guard) => guardedMessages(messages, guard),
      (prior) => {
        if (prior === null)
          guardedMessages(
            messages,
            textGuard(guards.map(inAudit), () => {}),
          );
        return prior;
      },
      "tool_result",
    );
    const found = await searching;
    if (found !== null) this.#foundInAdvance(found);
  }

  /**
   * Asks the services of guards about a request to which the gateway has added something, such as the tools of tool
   * servers. What they were asked before is not asked again.
   */
  async askAbout(request: ChatRequest): Promise<void> {
    const guards = this.#guardsAnywhere();
    const { scheduler } = this.#call;
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

  /** Includes the guards for single targets, because nothing can be awaited at a target. */
  #guardsAnywhere(): readonly GuardPolicy[] {
    return this.#unspared(this.#policies.inputGuards.filter((policy) => this.#concerns(policy, null)));
  }

  /** Records that no guard on requests could search the inputs, and why. Returns whether one of them blocks that. */
  blocksUnread(why: string): boolean {
    const guards = this.#reachable(this.#guardsAnywhere());
    for (const policy of guards) this.recordFinding(policy, why);
    return guards.some(blocksUnsearched);
  }

  /** Returns the guards without those that have a service and are for targets which the call cannot reach. */
  #unspared(guards: readonly GuardPolicy[]): readonly GuardPolicy[] {
    if (!guards.some(asksForTargets)) return guards;
    this.#spared ??= this.#sparedBy(this.#reached().targets);
    const spared = this.#spared;
    return guards.filter((policy) => !spared.has(policy));
  }

  /** Returns the guards without those that are for targets which the call cannot reach. */
  #reachable(guards: readonly GuardPolicy[]): readonly GuardPolicy[] {
    if (guards.every(({ concernsTarget }) => concernsTarget === null)) return guards;
    const { targets } = this.#reached();
    if (targets === null) return guards;
    return guards.filter(({ concernsTarget }) => concernsTarget === null || targets.some(concernsTarget));
  }

  #sparedBy(targets: readonly PolicyTarget[] | null): ReadonlySet<Policy> {
    if (targets === null) return new Set();
    return new Set(
      this.#policies.all.filter(
        (policy) => policy.kind === "guard" && asksForTargets(policy) && !targets.some(policy.concernsTarget!),
      ),
    );
  }

  /**
   * Evaluates the rules for a target. An entry of `fallbacks` or `model_list` is a request of its own, for which all
   * rules are evaluated.
   */
  at(target: PolicyTarget, request: ChatRequest): Judgement {
    const requested = request.offered?.requested ?? request;
    const rules = requested.variant === "client" ? this.#policies.targetRules : this.#policies.all;
    return this.#judge(rules, requested, target);
  }

  /** Returns the request as a target may receive it or, without one, as every target may. Throws `policy_violation`. */
  input(request: ChatRequest, target: PolicyTarget | null): ChatRequest {
    const guards = this.#guards(this.#policies.inputGuards, target);
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
    const guards = this.#guards(this.#policies.inputGuards, target);
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
      this.recordFinding(policy, failure ?? undefined);
      if (blocks) throw new BlockedText(policy, failure);
      if (policy.mode === "enforce" && failure === null) masks.push(policy.id);
    }
    return masks;
  }

  /** A search that takes too long where nothing can be awaited counts as a search that failed. Throws BlockedText. */
  #bounded<T>(guards: readonly GuardPolicy[], request: T, look: (request: T, guard: TextGuard) => T): T {
    for (const policy of guards) if (this.#spared?.has(policy) === true) noteUnsearched(policy, this.recordFinding);
    const search = (): T => look(request, textGuard(guards, this.recordFinding, this.#prior));
    if (this.#call.scheduler === null) return search();
    return withinWork(STEPS_AT_TARGET, search, () => {
      for (const policy of guards) noteUnsearched(policy, this.recordFinding);
      return request;
    });
  }

  /** Whether guards search texts that this target reads as one, although they are made of several. */
  searchesJoined(target: PolicyTarget): boolean {
    return this.#guardsOfJoined(target).length > 0;
  }

  /**
   * Searches texts that a target reads as one each, although they are made of several, for what extends over several.
   * Returns a promise when there is much text to search. Throws `policy_violation`.
   */
  joined(texts: readonly JoinedText[], target: PolicyTarget): MaybePromise<void> {
    const guards = this.#guardsOfJoined(target);
    if (guards.length === 0) return;
    const all = texts.flatMap(({ text, pieces }) => [text, ...pieces]);
    const characters = all.reduce((sum, { length }) => sum + length, 0);
    const visit = (guard: TextGuard): void => all.forEach((text) => void guard(text, "plain"));
    return this.#search("input", guards, characters, visit, (prior) =>
      underGuards(() => requireNothingJoined(texts, guards, this.recordFinding, prior)),
    );
  }

  /** Services have judged each text by itself. */
  #guardsOfJoined(target: PolicyTarget): readonly GuardPolicy[] {
    return this.#guards(this.#policies.inputGuards, target).filter(({ guard }) => guard.service === null);
  }

  /**
   * Returns the files that the gateway has fetched for a target, as the target may receive them. When guards searched the
   * request, it had only the addresses of these files. Throws `policy_violation`.
   */
  fetched(files: readonly Fetched[], target: PolicyTarget): MaybePromise<readonly Fetched[]> {
    const guards = this.#guards(this.#policies.inputGuards, target);
    if (guards.length === 0) return files;
    const texts = files.filter((file) => mayBeText(bufferOf(file), isTextType(file.mediaType)));
    if (texts.length === 0) return files;
    const walk = (guard: TextGuard): readonly Fetched[] =>
      mappedList(files, (file) => (texts.includes(file) ? guardedFetched(file, guard) : file));
    const characters = texts.reduce((sum, { bytes }) => sum + bytes.length, 0);
    return this.#applied("input", guards, characters, walk);
  }

  /**
   * Returns what goes to a tool, or comes from it, as any target may receive it. Throws `policy_violation`.
   */
  async untrusted(messages: readonly Message[], place: GuardPlace = "tool_result"): Promise<readonly Message[]> {
    const guards = this.#guards(this.#policies.inputGuards, null);
    if (guards.length === 0) return messages;
    const walk = (guard: TextGuard): readonly Message[] => guardedMessages(messages, guard);
    return this.#applied(place, guards, charactersOfMessages(messages), walk);
  }

  /**
   * Returns the result of a tool as the client may receive it. All guards on answers search it that apply to a target
   * which the call can reach. What they block is withheld, and the call continues.
   */
  async shown(message: Message): Promise<Message> {
    const guards = this.#reachable(this.#policies.outputGuards.filter((policy) => this.#concerns(policy, null)));
    if (guards.length === 0) return message;
    const onFinding = ({ name, mode }: GuardPolicy, failure?: string): void =>
      this.note([
        failure !== undefined
          ? { name, effect: "failed", why: failure }
          : { name, effect: mode === "audit" ? "would_deny" : "masked" },
      ]);
    const search = (prior: PriorMatches | null): Message => {
      try {
        return guardedMessages([message], textGuard(guards, onFinding, prior))[0]!;
      } catch (thrown) {
        if (thrown instanceof BlockedText) return { ...message, content: WITHHELD };
        throw thrown;
      }
    };
    const visit = (guard: TextGuard): unknown => guardedMessages([message], guard);
    return this.#search("tool_result", guards, charactersOfMessages([message]), visit, search);
  }

  /** Returns the guards that search the answer of a target. */
  output(target: PolicyTarget): readonly GuardPolicy[] {
    return this.#guards(this.#policies.outputGuards, target);
  }

  /** Records each policy and effect once. */
  readonly note = (outcomes: readonly PolicyOutcome[]): void => {
    for (const outcome of outcomes) {
      const key = `${outcome.effect} ${outcome.name}`;
      if (this.#noted.has(key)) continue;
      this.#noted.add(key);
      this.#call.outcomes.push(outcome);
    }
  };

  readonly recordFinding = ({ name, mode, guard }: GuardPolicy, failure?: string): void => {
    if (failure !== undefined)
      this.note([
        { name, effect: "failed", why: failure },
        ...(mode === "enforce" && (guard.onError === "block" || failure === UNREPLACEABLE)
          ? ([{ name, effect: "denied" }] as const)
          : []),
      ]);
    else this.note([{ name, effect: mode === "audit" ? "would_deny" : guard.action === "mask" ? "masked" : "denied" }]);
  };

  /**
   * Searches a non-streaming answer; returns a promise when that takes long, which it always does when `isLong` is set.
   * Throws `policy_violation`.
   */
  answered(
    answer: NonStreamingAnswer,
    guards: readonly GuardPolicy[],
    isLong: boolean,
  ): MaybePromise<NonStreamingAnswer> {
    const walk = (guard: TextGuard): NonStreamingAnswer => guardedAnswer(answer, guards, guard);
    return this.#applied("output", guards, isLong ? Number.POSITIVE_INFINITY : charactersOf(walk), walk);
  }

  /** Searches what a vendor says in the answer to a task. Throws `policy_violation`. */
  told(words: TaskWords, guards: readonly GuardPolicy[]): MaybePromise<TaskWords> {
    const walk = (guard: TextGuard): TaskWords => guardedWords(words, guard);
    return this.#applied("output", guards, charactersOf(walk), walk);
  }

  /** Searches the chunks of a stream. `hasBlocks`: a text ends where another one begins. */
  stream(guards: readonly GuardPolicy[], hasBlocks: boolean): StreamUnderGuards {
    return this.#call.scheduler!.stream(guards, this.recordFinding, hasBlocks);
  }

  #guards(guards: readonly GuardPolicy[], target: PolicyTarget | null): readonly GuardPolicy[] {
    if (guards.length === 0) return guards;
    return guards.filter((policy) => (target !== null || !policy.perTarget) && this.#concerns(policy, target));
  }

  #concerns({ concerns, concernsTarget }: Policy, target: PolicyTarget | null): boolean {
    return (
      (concerns === null || concerns(this.#caller)) &&
      (target === null || concernsTarget === null || concernsTarget(target))
    );
  }

  #judge(policies: readonly Policy[], request: ChatRequest, target: PolicyTarget | null): Judgement {
    let outcomes: PolicyOutcome[] | null = null;
    for (const policy of policies) {
      if (policy.kind !== "rule" || !this.#concerns(policy, target)) continue;
      const failure = this.#denies(policy, request, target);
      if (failure === false) continue;
      outcomes ??= [];
      if (failure !== null) outcomes.push({ name: policy.name, effect: "failed", why: failure });
      else if (policy.mode === "audit") outcomes.push({ name: policy.name, effect: "would_deny" });
      if (policy.mode === "audit") continue;
      outcomes.push({ name: policy.name, effect: "denied" });
      return {
        refusal: violation(
          policy,
          failure === null ? {} : { detail: `the policy ${policy.name} could not be evaluated: ${failure}` },
        ),
        outcomes,
      };
    }
    return outcomes === null ? PASSED : { refusal: null, outcomes };
  }

  /** Returns false when the rule does not deny, `null` when it denies, and a text when it could not be evaluated. */
  #denies({ rule }: RulePolicy, request: ChatRequest, target: PolicyTarget | null): false | null | string {
    const facts = this.#facts;
    try {
      facts.request = this.#requestFacts(request);
      facts.currentTarget = target;
      return rule.denies(facts) ? null : false;
    } catch (thrown) {
      return (thrown as Error).message.split("\n")[0]!;
    }
  }

  #requestFacts(request: ChatRequest): RequestFacts {
    return this.#requests.getOrInsertComputed(request, () => new RequestFacts(request, this.#call.operation));
  }
}

/** The most steps that guards may take at a target for text that was not searched before: some 20 ms. */
const STEPS_AT_TARGET = 2_000_000;

/** Whether the guard has a service that is asked only about calls to certain targets. */
function asksForTargets({ concernsTarget, guard }: GuardPolicy): boolean {
  return concernsTarget !== null && guard.service !== null;
}

function bufferOf({ bytes }: Fetched): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}

/** Returns the same file if nothing was replaced. */
function guardedFetched(file: Fetched, guard: TextGuard): Fetched {
  const bytes = bufferOf(file);
  const shown = guardedBytes(bytes, isTextType(file.mediaType), {
    text: (text) => guard(text, "plain"),
    fixed: (text) => guard.fixed?.(text),
  });
  return shown === bytes ? file : { ...file, bytes: shown };
}

/** A copy of the policy that searches but neither masks nor blocks. */
function inAudit(policy: GuardPolicy): GuardPolicy {
  return { ...policy, mode: "audit" };
}

function keyOf(guards: readonly GuardPolicy[]): string {
  return guards.map(({ id }) => id).join("\n");
}

const WITHHELD = "(withheld by a policy)";
const NONE: readonly never[] = [];
const PASSED: Judgement = { refusal: null, outcomes: [] };
