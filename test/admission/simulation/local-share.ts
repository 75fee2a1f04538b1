// Replicas under a limit with `local_share`, some of which are cut off from a store that goes on: what each admits
// alone has to stay within the bound that docs/operations.md states. In other worlds none is cut off, and they lack
// CPU: timers run late, and before the answers that have arrived meanwhile. There none may decide anything alone.
// Virtual time; the replicas are the real ones.
import { isShortage, type Reservation } from "../../../src/admission/limit-store.ts";
import { noJournal } from "../../../src/admission/valkey/lease-journal.ts";
import { type Answer, type MessageWithKeys, TIMINGS } from "../../../src/admission/valkey/protocol.ts";
import { Replica } from "../../../src/admission/valkey/replica.ts";
import type { LimitRule } from "../../../src/core/configured/limit.ts";
import { ruleOf } from "../../contract/limit-store.suite.ts";
import { type Chance, chanceOf } from "../../harness/time/chance.ts";
import { openStoreModel, type StoreModel } from "./store-model.ts";

export interface LocalShareOutcome {
  readonly fault: string | null;
  readonly alone: number;
  /** The most that a window held beyond the limit, as a part of it. */
  readonly excess: number;
}

interface Admission {
  readonly at: number;
  readonly units: number;
  readonly isAlone: boolean;
}

interface Node {
  readonly replica: Replica;
  cutFrom: number;
  cutUntil: number;
  /** As the store last reported: the number of replicas, and what is used of the account, less what it holds of that unspent. */
  replicas: number;
  used: number;
  heardAt: number;
  readonly admissions: Admission[];
  /** Until then it gets no CPU. */
  standsUntil: number;
  /** As its counts said when it last decided. */
  decidedAlone: number;
  readonly inbox: (() => void)[];
}

/** The longest that a replica goes without CPU. */
const MOST_STARVED_MS = 800;
const SLOTS = 20;
const TAG = "t";
const STEP_MS = 5;
const START_MS = 20_000 * 86_400_000 + 3_600_000;

/** `planted`: each replica takes itself for the only one. */
export function simulateLocalShare(seed: number, planted: "no division" | null = null): LocalShareOutcome {
  const chance = chanceOf(seed);
  const store = openStoreModel();
  const isStarved = chance.perMille(300);
  const isSlots = isStarved && chance.perMille(600);
  const isSliding = chance.perMille(600);
  const windowMs = isSliding ? chance.pick([2000, 5000, 6000]) : 0;
  const rule = isSlots
    ? ruleOf({ id: "l", unit: "concurrency", window: null, limit: SLOTS, onStoreFailure: "local_share" })
    : ruleOf({
        id: "l",
        unit: "tokens",
        limit: chance.pick([20, 150, 600]),
        onStoreFailure: "local_share",
        ...(isSliding ? {} : { kind: "budget", window: chance.pick(["day", "total"] as const) }),
      });
  const world = new World(chance, store, rule, windowMs, planted === "no division");
  return isStarved ? world.starve() : world.run();
}

class World {
  readonly #chance: Chance;
  readonly #store: StoreModel;
  readonly #rule: LimitRule;
  readonly #windowMs: number;
  readonly #nodes: Node[] = [];
  readonly #saysOne: boolean;
  #events: { readonly at: number; readonly run: () => void }[] = [];
  #now = START_MS;
  #starvedUntil = 0;
  /** The reading of the store's clock that allowed what is being answered. */
  #allowedAt: number | null = null;
  #running = 0;
  #fault: string | null = null;
  #excess = 0;

  constructor(chance: Chance, store: StoreModel, rule: LimitRule, windowMs: number, saysOne: boolean) {
    this.#chance = chance;
    this.#store = store;
    this.#rule = rule;
    this.#windowMs = windowMs;
    this.#saysOne = saysOne;
  }

  run(): LocalShareOutcome {
    const count = 2 + this.#chance.below(3);
    for (let n = 0; n < count; n++) this.#start(n);
    // all are there, and the epoch is open, before any is cut off
    this.#play(4000, 0);
    this.#play(this.#chance.pick([100, 1500]), this.#chance.pick([20, 200]));
    const isOne = this.#chance.perMille(400);
    for (const [index, node] of this.#nodes.entries()) {
      if (isOne ? index > 0 : this.#chance.perMille(200)) continue;
      node.cutFrom = this.#now + this.#chance.below(500);
      node.cutUntil = node.cutFrom + this.#chance.pick([400, 3000, 9000]);
    }
    this.#play(11_000, this.#chance.pick([100, 400]));
    const alone = this.#nodes.reduce(
      (sum, { admissions }) => sum + admissions.filter(({ isAlone }) => isAlone).length,
      0,
    );
    return { fault: this.#fault, alone, excess: this.#excess };
  }

  /** Nobody is cut off, and all lack CPU. */
  starve(): LocalShareOutcome {
    const count = 2 + this.#chance.below(3);
    for (let n = 0; n < count; n++) this.#start(n);
    this.#play(4000, 0);
    this.#starvedUntil = this.#now + 8000;
    this.#play(8000, this.#chance.pick([100, 400]));
    for (const { replica } of this.#nodes)
      if (replica.counts().alone > 0)
        this.#fault ??= `${replica.counts().alone} decided alone, though the store was there`;
    return { fault: this.#fault, alone: 0, excess: 0 };
  }

  #start(n: number): void {
    const replica = new Replica({
      replica: `r${n}`,
      timings: TIMINGS,
      journal: noJournal,
      keys: { group: () => ["epoch", "live", `{${TAG}}`], account: ({ id }) => id, own: (key, id) => `${key}:${id}` },
      shapeOf: ({ kind, window }) =>
        window === null
          ? { kind: "slots", windowMs: 0 }
          : kind === "budget"
            ? { kind: window as "day" | "total", windowMs: 0 }
            : { kind: "slide", windowMs: this.#windowMs },
      now: () => ({ monoMs: this.#now, wallMs: this.#now }),
      send: (tag, message) => this.#send(node, tag, message),
    });
    const node: Node = {
      replica,
      cutFrom: Number.POSITIVE_INFINITY,
      cutUntil: Number.POSITIVE_INFINITY,
      replicas: 1,
      used: 0,
      heardAt: START_MS,
      admissions: [],
      standsUntil: 0,
      decidedAlone: 0,
      inbox: [],
    };
    this.#nodes.push(node);
  }

  #isCut(node: Node): boolean {
    return this.#now >= node.cutFrom && this.#now < node.cutUntil;
  }

  #send(node: Node, tag: string, message: MessageWithKeys): void {
    this.#later(1, () => {
      if (this.#isCut(node)) {
        this.#later(1, () => node.replica.sendFailed(tag, message.sequence));
        return;
      }
      const answer = this.#store.run(message, this.#now);
      this.#later(1, () => {
        if (!this.#isCut(node)) node.inbox.push(() => this.#hear(node, tag, message, answer));
      });
    });
  }

  #hear(node: Node, tag: string, message: MessageWithKeys, answer: Answer): void {
    const [status, epoch, nowMs, replicas, , accounts, operations] = answer;
    if (status === 0) node.replicas = replicas;
    this.#allowedAt = nowMs;
    node.replica.receiveAnswer(
      tag,
      message.sequence,
      this.#saysOne ? [status, epoch, nowMs, 1, 0, accounts, operations] : answer,
    );
    this.#allowedAt = null;
    if (status !== 0 || accounts.length === 0) return;
    const idle = node.replica.counts().leasedUnits["tokens"] ?? 0;
    node.used = Math.max(0, accounts[0]![0] - idle);
    node.heardAt = this.#now;
  }

  #later(ms: number, run: () => void): void {
    this.#events.push({ at: this.#now + ms, run });
  }

  #play(forMs: number, callsPerSecond: number): void {
    for (const endsMs = this.#now + forMs; this.#now < endsMs && this.#fault === null; this.#now += 1) {
      const due = this.#events.filter(({ at }) => at <= this.#now);
      this.#events = this.#events.filter(({ at }) => at > this.#now);
      for (const { run } of due) run();
      for (const node of this.#nodes) this.#run(node);
      if (this.#now % 1000 === 0) for (const { replica } of this.#nodes) replica.announce(TAG);
      if (this.#now % STEP_MS === 0 && this.#chance.perMille(callsPerSecond * STEP_MS))
        this.#call(this.#chance.pick(this.#nodes));
    }
  }

  #run(node: Node): void {
    if (this.#now < node.standsUntil) return;
    const stoodStill = node.standsUntil === this.#now;
    if (stoodStill || this.#now % 25 === 0) node.replica.tick();
    for (const hear of node.inbox.splice(0)) hear();
    if (this.#now >= this.#starvedUntil) return;
    // a moment of CPU, and then none
    if (!stoodStill) node.standsUntil = this.#now + 1 + this.#chance.below(MOST_STARVED_MS);
    else for (let n = this.#chance.below(8); n > 0; n--) this.#call(node);
  }

  #call(node: Node): void {
    if (this.#now < node.standsUntil) return;
    const units = this.#rule.unit === "concurrency" ? 1 : this.#chance.pick([1, 2, 5]);
    // each decision is reported at once
    const decidesAlone = (): boolean => node.decidedAlone < (node.decidedAlone = node.replica.counts().alone);
    const admitted = (reservation: Reservation, isAlone: boolean): void => {
      node.admissions.push({ at: this.#allowedAt ?? this.#now, units, isAlone });
      this.#running += units;
      this.#later(this.#chance.pick([5, 300]), () =>
        node.inbox.push(() => {
          this.#running -= units;
          reservation.settle([units]);
        }),
      );
      this.#judge(node);
    };
    const result = node.replica.reserve(
      [{ account: { rule: this.#rule, value: "" }, units, force: false }],
      (later) => {
        const wasAlone = decidesAlone();
        if (!isShortage(later)) admitted(later, wasAlone);
      },
    );
    if (result === null) return;
    const wasAlone = decidesAlone();
    if (!isShortage(result)) admitted(result, wasAlone);
  }

  #judge(node: Node): void {
    const { limit, unit } = this.#rule;
    if (unit === "concurrency") {
      if (this.#running > limit) this.#fault ??= `${this.#running} of ${limit} at once`;
      return;
    }
    const spanMs = this.#windowMs === 0 ? Number.POSITIVE_INFINITY : this.#windowMs;
    const near = (each: Admission): boolean => each.at > this.#now - spanMs;
    const sumOf = (list: readonly Admission[]): number => list.reduce((sum, { units }) => sum + units, 0);
    const alone = node.admissions.filter((each) => each.isAlone && near(each));
    const share = (units: number): number => Math.ceil(units / node.replicas);
    if (sumOf(alone) > share(limit))
      this.#fault ??= `${sumOf(alone)} of ${limit} admitted alone by one of ${node.replicas}`;
    const sinceHeard = alone.filter(({ at }) => at >= node.heardAt);
    if (this.#now < node.heardAt + spanMs && sumOf(sinceHeard) > share(Math.max(0, limit - node.used)))
      this.#fault ??= `${sumOf(sinceHeard)} admitted alone by one of ${node.replicas} that had heard of ${node.used} of ${limit}`;
    const all = this.#nodes.map(({ admissions }) => admissions.filter(near));
    const atStore = all.reduce((sum, list) => sum + sumOf(list.filter(({ isAlone }) => !isAlone)), 0);
    if (atStore > limit) this.#fault ??= `${atStore} of ${limit} admitted with the store`;
    this.#excess = Math.max(this.#excess, all.reduce((sum, list) => sum + sumOf(list), 0) / limit - 1);
  }
}
