// Several replicas, one store and a bad network in virtual time. The replicas are the real ones, the store is the
// model. Messages are late, lost and doubled; replicas die, pause, sleep, starve for CPU and come back with their
// journal; clocks are set; the store restarts with, without and with old data.
import type { LimitRule } from "../../../src/core/configured/limit.ts";
import { isShortage, type Need, type Reservation } from "../../../src/admission/limit-store.ts";
import type { JournalledBucket, LeaseJournal } from "../../../src/admission/valkey/lease-journal.ts";
import { deadMessages } from "../../../src/admission/valkey/dead-replica.ts";
import { type Answer, type MessageWithKeys, SLOTS_FREED_MS, TIMINGS } from "../../../src/admission/valkey/protocol.ts";
import { Replica } from "../../../src/admission/valkey/replica.ts";
import type { Clocks } from "../../../src/admission/valkey/running-time.ts";
import { type Chance, chanceOf } from "../../harness/time/chance.ts";
import { openObserver, type Observed, type SimulatedAccount } from "./observer.ts";
import { openStoreModel, type StoreFault, type StoreModel } from "./store-model.ts";

/** None of them is in the product's code: the store's are in its model, the replica's in the times, answers and calls that it receives here. */
type ReplicaFault =
  | "surplus into the pocket"
  | "life from receipt"
  | "monotonic clock asleep"
  | "asked for by the dead";
export type PlantedFault = ReplicaFault | StoreFault;
const STORE_FAULTS: ReadonlySet<PlantedFault> = new Set<PlantedFault>([
  "guessing for the dead",
  "window by fixed bucket",
  "refusal keeps the other account",
  "old epoch trusted",
]);

const TAG = "t";
/** One that starves gets CPU this often at least. */
const MOST_STARVED_MS = 900;
/** The time that a replica has for an answer of the store after a pause. */
const NUMB_MS = 250;
const MIDNIGHT_MS = 20_000 * 86_400_000;

interface Node {
  readonly id: string;
  replica: Replica;
  readonly journal: Map<number, JournalledBucket>;
  alive: boolean;
  /** Its journal was read by the one that came after it. */
  told: boolean;
  /** Somebody reads it, or has. */
  followed: boolean;
  pausedUntil: number;
  /** After a pause: until it has had the time to learn that others have its slots, it cannot know. Its calls do not count until then. */
  numbUntil: number;
  /** It gets CPU for a moment now and then, and timers run before what has come meanwhile. */
  starvesUntil: number;
  /** When the store last received a message of it. */
  spokeAt: number;
  /** Of each account of slots: when the last answered message with it had first been sent, and when the store answered it. */
  readonly renewed: Map<string, { readonly sentAt: number; readonly answeredAt: number }>;
  /** The present answer came so late after the one before that the store had given its slots to others. */
  wereFreed: boolean;
  cutUntil: number;
  /** What its two clocks show, less the true time. */
  monoLag: number;
  wallLag: number;
  /** Answers that wait for the end of a pause. */
  readonly inbox: (() => void)[];
  readonly calls: Set<Observed>;
  /** When each message was sent for the first time, by its number. */
  readonly sentAt: Map<number, number>;
  pocket: Pocket | null;
}

/** What a call had left over, for the next one: a planted fault. Its reservation is settled when nothing is left, or a lease's life is over. */
interface Pocket {
  readonly reservation: Reservation;
  readonly reserved: number;
  left: number;
}

export interface Outcome {
  readonly fault: string | null;
  readonly admitted: number;
  readonly refused: number;
  readonly leased: number;
}

export function simulate(seed: number, planted: PlantedFault | null = null): Outcome {
  return new World(seed, planted).run();
}

function accountsOf(chance: Chance, isEdge: boolean): readonly SimulatedAccount[] {
  const rule = (index: number, limit: number, extra: Partial<LimitRule>): LimitRule => ({
    id: `l${index}`,
    name: "limit",
    kind: "limit",
    tenantId: TAG,
    projectId: null,
    scope: {},
    unit: "tokens",
    window: "minute",
    limit,
    mode: "enforce",
    onStoreFailure: "closed",
    assumeOutputTokens: 1,
    unpriced: "deny",
    thresholds: [],
    ...extra,
  });
  if (isEdge)
    return [{ kind: "day", windowMs: 0, rule: rule(0, chance.pick([150, 300]), { kind: "budget", window: "day" }) }];
  const count = chance.pick([1, 1, 1, 2, 3]);
  return Array.from({ length: count }, (_, index): SimulatedAccount => {
    const kind = chance.pick(["slide", "slide", "day", "day", "total", "slots"] as const);
    const windowMs = kind === "slide" ? chance.pick([5000, 5000, 6000, 2000]) : 0;
    const limit = chance.pick([5, 100, 150, 400]) * (kind === "day" || kind === "total" ? 2 : 1);
    if (kind === "slots")
      return { kind, windowMs, rule: rule(index, chance.pick([3, 8, 60]), { unit: "concurrency", window: null }) };
    return {
      kind,
      windowMs,
      rule: kind === "slide" ? rule(index, limit, {}) : rule(index, limit, { kind: "budget", window: kind }),
    };
  });
}

class World {
  readonly #chance: Chance;
  readonly #store: StoreModel;
  readonly #planted: PlantedFault | null;
  readonly #accounts: readonly SimulatedAccount[];
  readonly #observer;
  readonly #nodes: Node[] = [];
  readonly #events: { at: number; order: number; run: () => void }[] = [];
  #order = 0;
  #now: number;
  #storeDownUntil = 0;
  /** The reading of the clock that allowed what is being answered. */
  #allowedAt: number | null = null;
  #refused = 0;
  #admitted = 0;
  #leased = 0;
  #nextId = 1;
  #fault: string | null = null;
  #backup: ReturnType<StoreModel["copy"]> | null = null;
  #faultsEnd = 0;
  /** Of a thousand messages so many are late. */
  readonly #lates: number;
  /** Milliseconds between calls, at most. */
  readonly #pace: number;
  /** Of a thousand calls so many bring others along. */
  readonly #bursts: number;
  readonly #isLateAtMidnight: boolean;
  readonly #sleepsAtMidnight: boolean;
  #hasLost = false;

  constructor(seed: number, planted: PlantedFault | null) {
    this.#chance = chanceOf(seed);
    this.#planted = planted;
    this.#store = openStoreModel(planted !== null && STORE_FAULTS.has(planted) ? (planted as StoreFault) : null);
    // a fifth of the worlds lives at the edge of one window
    const isEdge = this.#chance.perMille(200);
    this.#accounts = accountsOf(this.#chance, isEdge);
    this.#lates = this.#chance.pick([5, 40, 250]);
    this.#pace = isEdge ? 30 : this.#chance.pick([15, 40, 100, 500]);
    this.#isLateAtMidnight = this.#chance.perMille(isEdge ? 500 : 300);
    this.#sleepsAtMidnight = !this.#isLateAtMidnight && this.#chance.perMille(isEdge ? 1000 : 300);
    this.#bursts = this.#pace === 500 ? 700 : 20;
    // midnight lies within the run, often soon after its start
    this.#now =
      MIDNIGHT_MS - (isEdge ? 300 + this.#chance.below(700) : this.#chance.below(this.#chance.pick([1500, 9000])));
    this.#observer = openObserver(this.#accounts);
  }

  run(): Outcome {
    const start = this.#now;
    const end = start + 8_500;
    this.#faultsEnd = end - 500;
    // most often the store has been there for long
    if (this.#chance.perMille(850))
      this.#store.run(
        {
          keys: ["epoch", "live", `{${TAG}}`],
          replica: "before",
          sequence: 1,
          epoch: "",
          join: 2,
          leaseLifeMs: TIMINGS.leaseLifeMs,
          joinMs: TIMINGS.joinMs,
          accounts: [],
          statements: [],
          operations: [],
        },
        start - 20_000,
      );
    for (let n = this.#chance.below(3) + 1; n >= 0; n--) this.#start(null);
    this.#schedule(start + this.#chance.below(100), () => this.#callAgain(end));
    if (this.#chance.perMille(800)) this.#schedule(start + this.#chance.below(1500), () => this.#troubleAgain());
    if (this.#sleepsAtMidnight) this.#schedule(MIDNIGHT_MS - this.#chance.below(150), () => this.#sleepAll());
    if (this.#chance.perMille(350)) {
      const at = start + 500 + this.#chance.below(this.#chance.pick([1000, 6000]));
      this.#schedule(Math.max(start, at - this.#chance.below(900)), () => (this.#backup = this.#store.copy()));
      this.#schedule(at, () => this.#restartStore());
    }
    this.#play(end);
    // the remaining replicas come back, and calls in flight end
    for (const node of this.#nodes) if (node.alive) node.cutUntil = node.pausedUntil = 0;
    const dead = this.#nodes.filter((node) => !node.alive && !node.followed);
    for (const node of dead) if (this.#chance.perMille(700)) this.#start(node);
    for (const node of this.#nodes) for (const call of node.calls) this.#endCall(node, call);
    // a message that was lost without a word is sent again once the store was silent for too long
    this.#play(end + 4500 + 2 * TIMINGS.silentMs);
    // what is kept for the next call is short by itself; that it is over is to be found
    if (this.#fault === null && this.#planted !== "surplus into the pocket") this.#fault = this.#neverShort();
    return { fault: this.#fault, admitted: this.#admitted, refused: this.#refused, leased: this.#leased };
  }

  #play(until: number): void {
    for (;;) {
      const next = this.#events[0];
      if (next === undefined || next.at > until || this.#fault !== null) break;
      this.#take();
      this.#now = Math.max(this.#now, next.at);
      next.run();
    }
    this.#now = Math.max(this.#now, until);
  }

  #schedule(at: number, run: () => void): void {
    const heap = this.#events;
    let index = heap.push({ at, order: this.#order++, run }) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!before(heap[index]!, heap[parent]!)) break;
      [heap[index], heap[parent]] = [heap[parent]!, heap[index]!];
      index = parent;
    }
  }

  #take(): void {
    const heap = this.#events;
    const last = heap.pop()!;
    if (heap.length === 0) return;
    heap[0] = last;
    for (let index = 0; ;) {
      const left = 2 * index + 1;
      let least = index;
      if (left < heap.length && before(heap[left]!, heap[least]!)) least = left;
      if (left + 1 < heap.length && before(heap[left + 1]!, heap[least]!)) least = left + 1;
      if (least === index) return;
      [heap[index], heap[least]] = [heap[least]!, heap[index]!];
      index = least;
    }
  }

  // ---- replicas

  #start(after: Node | null): void {
    const id = `r${this.#nextId++}`;
    const journal = new Map<number, JournalledBucket>();
    let places = 0;
    const written: LeaseJournal = {
      open: (account, bucket, units) => {
        journal.set(++places, {
          key: account.key,
          kind: account.kind,
          windowMs: account.windowMs,
          limit: account.limit,
          bucket,
          units,
          isLast: false,
        });
        return places;
      },
      write: (place, units) => void journal.set(place, { ...journal.get(place)!, units }),
      change: (place, units) =>
        void journal.set(place, { ...journal.get(place)!, units: journal.get(place)!.units + units }),
      endsWith: (place, isLast) => void journal.set(place, { ...journal.get(place)!, isLast }),
      close: (place) => void journal.delete(place),
      expect: () => {},
      arrived: () => {},
    };
    const node: Node = {
      id,
      journal,
      alive: true,
      told: false,
      followed: false,
      pausedUntil: 0,
      numbUntil: 0,
      starvesUntil: 0,
      spokeAt: this.#now,
      renewed: new Map(),
      wereFreed: false,
      cutUntil: 0,
      monoLag: -this.#now + 1000 * this.#nextId,
      wallLag: this.#chance.below(2000) - 1000,
      inbox: [],
      calls: new Set(),
      sentAt: new Map(),
      pocket: null,
      replica: null!,
    };
    node.replica = new Replica({
      replica: id,
      timings: TIMINGS,
      journal: written,
      now: (): Clocks => ({
        monoMs: this.#now + node.monoLag,
        wallMs: this.#now + (this.#planted === "monotonic clock asleep" ? node.monoLag : node.wallLag),
      }),
      keys: {
        group: () => ["epoch", "live", `{${TAG}}`],
        account: (rule) => rule.id,
        own: (key, replica) => `${key}:${replica}`,
      },
      send: (_, message) => this.#send(node, message),
      onLost: (reservation) => {
        const isOverdue = reservation.needs.some(
          ({ account }) => this.#now - (node.renewed.get(account.rule.id)?.sentAt ?? 0) > 2 * TIMINGS.heartbeatMs,
        );
        if (!node.wereFreed && !isOverdue)
          this.#fault ??= `${node.id} ended a call at ${this.#now}, though the store had heard of its slots`;
        for (const call of node.calls) if (call.reservation === reservation) this.#endCall(node, call);
      },
      shapeOf: (rule) => {
        const { kind, windowMs } = this.#accounts.find((account) => account.rule.id === rule.id)!;
        return { kind, windowMs };
      },
    });
    this.#nodes.push(node);
    this.#tickAgain(node);
    if (after !== null) after.followed = true;
    if (after !== null) this.#schedule(this.#now + 1000, () => this.#tellFor(after));
  }

  /** The one that comes after a dead replica reads its journal, and tells the store until it answers. */
  #tellFor(dead: Node): void {
    if (dead.told || dead.alive) return;
    if (this.#now < this.#storeDownUntil) {
      this.#schedule(this.#now + 200, () => this.#tellFor(dead));
      return;
    }
    const keys = {
      group: () => ["epoch", "live", `{${TAG}}`],
      own: (key: string, replica: string) => `${key}:${replica}`,
    };
    const buckets = [...dead.journal.values()].filter(
      ({ isLast }) => !isLast || this.#planted !== "asked for by the dead",
    );
    for (const message of deadMessages(dead.id, buckets, keys))
      this.#observer.opened(this.#store.run(message, this.#now)[1], this.#now, this.#store);
    dead.told = true;
  }

  #tickAgain(node: Node): void {
    if (!node.alive) return;
    if (this.#now >= node.pausedUntil) {
      node.replica.tick();
      for (const hear of node.inbox.splice(0)) hear();
      if (this.#now < node.starvesUntil && !this.#isCalm()) {
        for (let n = this.#chance.below(4); n > 0 && node.alive; n--) this.#callAt(node);
        node.pausedUntil = this.#now + this.#chance.below(MOST_STARVED_MS);
      }
    }
    this.#schedule(Math.max(this.#now, node.pausedUntil) + 10 + this.#chance.below(20), () => this.#tickAgain(node));
  }

  #kill(node: Node): void {
    node.alive = false;
    this.#observer.died(node.id);
    node.calls.clear();
    const back = this.#chance.pick([1200, 2500, 0]);
    if (back > 0) this.#schedule(this.#now + back, () => this.#start(node));
  }

  // ---- the network

  #isCalm(): boolean {
    return this.#now > this.#faultsEnd;
  }

  #delay(): number {
    if (this.#isCalm() || !this.#chance.perMille(this.#lateness)) return 0.3 + this.#chance.below(30) / 10;
    return this.#chance.below(600);
  }

  /** Late above all where it hurts: over the edge of a calendar's window. */
  get #lateness(): number {
    return this.#isLateAtMidnight && Math.abs(this.#now - MIDNIGHT_MS + 150) < 150 ? 600 : this.#lates;
  }

  #send(node: Node, message: MessageWithKeys): void {
    if (!node.sentAt.has(message.sequence)) node.sentAt.set(message.sequence, this.#now);
    const copies = !this.#isCalm() && this.#chance.perMille(30) ? 2 : 1;
    for (let copy = 0; copy < copies; copy++) {
      if (!this.#isCalm() && this.#chance.perMille(15)) continue;
      this.#schedule(this.#now + this.#delay(), () => this.#arrive(node, message));
    }
  }

  #arrive(node: Node, message: MessageWithKeys): void {
    if (this.#now < this.#storeDownUntil || this.#now < node.cutUntil) {
      this.#schedule(this.#now + 1, () => this.#toNode(node, () => node.replica.sendFailed(TAG, message.sequence)));
      return;
    }
    const answer = this.#store.run(message, this.#now);
    node.spokeAt = this.#now;
    this.#observer.opened(answer[1], this.#now, this.#store);
    if (!this.#isCalm() && this.#chance.perMille(15)) return;
    const delay = this.#delay();
    // whatever a late answer brings is wanted
    if (delay > TIMINGS.leaseLifeMs && this.#chance.perMille(500))
      this.#schedule(this.#now + delay + this.#chance.below(60), () => this.#burst(node));
    this.#schedule(this.#now + delay, () => {
      if (this.#now >= node.cutUntil) this.#toNode(node, () => this.#hear(node, message, answer));
    });
  }

  #toNode(node: Node, run: () => void): void {
    if (!node.alive) return;
    if (this.#now < node.pausedUntil) node.inbox.push(run);
    else run();
  }

  #hear(node: Node, message: MessageWithKeys, answer: Answer): void {
    this.#allowedAt = answer[2];
    for (const [index, [, kind]] of message.accounts.entries()) {
      if (kind !== "slots" || answer[0] !== 0) continue;
      const account = message.keys[3 + 2 * index]!;
      const last = node.renewed.get(account);
      node.wereFreed ||= last !== undefined && answer[2] - last.answeredAt > SLOTS_FREED_MS;
      node.renewed.set(account, { sentAt: node.sentAt.get(message.sequence)!, answeredAt: answer[2] });
    }
    node.replica.receiveAnswer(
      TAG,
      message.sequence,
      this.#planted === "life from receipt"
        ? withLifeFrom(answer, this.#now - node.sentAt.get(message.sequence)!)
        : answer,
    );
    this.#allowedAt = null;
    node.wereFreed = false;
  }

  // ---- calls

  #callAgain(end: number): void {
    if (this.#now >= end) return;
    const burst = this.#chance.perMille(this.#bursts) ? this.#chance.below(40) : 1;
    for (let n = 0; n < burst; n++) this.#call();
    this.#schedule(this.#now + this.#chance.below(this.#pace) + 1, () => this.#callAgain(end));
  }

  #call(): void {
    const ready = this.#nodes.filter((node) => node.alive && this.#now >= node.pausedUntil);
    if (ready.length > 0) this.#callAt(this.#chance.pick(ready));
  }

  #callAt(node: Node): void {
    if (this.#isCalm()) return;
    const chosen =
      this.#accounts.length === 1 ? this.#accounts : this.#accounts.filter(() => this.#chance.perMille(750));
    const needs = chosen.map(({ rule, kind }): Need => ({
      account: { rule, value: "" },
      units: kind === "slots" ? 1 : this.#chance.pick([1, 1, 1, 2, 5]),
      force: false,
    }));
    if (needs.length === 0) return;
    if (node.pocket !== null && needs.length === 1 && needs[0]!.units <= node.pocket.left) {
      this.#spendPocket(node, node.pocket, needs);
      return;
    }
    const done = (reservation: Reservation | null): void => {
      if (reservation === null) this.#refused += 1;
      else this.#admit(node, needs, reservation);
    };
    const result = node.replica.reserve(needs, (later) => done(isShortage(later) ? null : later));
    if (result === null) return;
    if (!isShortage(result)) this.#leased += 1;
    done(isShortage(result) ? null : result);
  }

  #admit(node: Node, needs: readonly Need[], reservation: Reservation): void {
    if (!node.alive) return;
    // between the answer of the store and the row in the ledger: such a call has never been
    if (!this.#isCalm() && this.#chance.perMille(2)) {
      this.#kill(node);
      return;
    }
    reservation.recorded?.();
    this.#admitted += 1;
    const call: Observed = {
      reservation,
      node: node.id,
      at: this.#allowedAt ?? this.#now,
      units: needs.map(({ units }) => units),
      accounts: needs.map(({ account }) => account.rule.id),
      runs: true,
      excused: false,
    };
    node.calls.add(call);
    const paused = new Set(this.#nodes.filter((each) => this.#isNumb(each)).map(({ id }) => id));
    this.#fault ??= this.#observer.admitted(call, this.#now, paused);
    const lasts = this.#chance.pick([5, 100, 700, 3000]);
    this.#schedule(this.#now + lasts, () => this.#toNode(node, () => this.#endCall(node, call)));
  }

  /** It had no CPU to state what it holds for so long that the store has given it to others, nor to read that since. */
  #isNumb({ numbUntil, starvesUntil, spokeAt }: Node): boolean {
    return (
      this.#now < numbUntil ||
      (this.#now < starvesUntil + MOST_STARVED_MS + NUMB_MS && this.#now - spokeAt > SLOTS_FREED_MS)
    );
  }

  #endCall(node: Node, call: Observed): void {
    if (!node.alive || !node.calls.delete(call)) return;
    call.runs = false;
    if (this.#chance.perMille(200)) {
      call.reservation.release();
      this.#observer.settled(
        call,
        call.units.map(() => 0),
      );
      return;
    }
    const used = call.units.map((units) => (this.#chance.perMille(500) ? units : this.#chance.below(units + 2)));
    if (
      this.#planted === "surplus into the pocket" &&
      used.length === 1 &&
      used[0]! < call.units[0]! &&
      node.pocket === null
    )
      this.#fillPocket(node, call, used[0]!);
    else call.reservation.settle(used);
    this.#observer.settled(call, used);
  }

  #fillPocket(node: Node, { reservation, units }: Observed, used: number): void {
    const pocket: Pocket = { reservation, reserved: units[0]!, left: units[0]! - used };
    node.pocket = pocket;
    const empty = (): void => {
      reservation.settle([pocket.reserved - pocket.left]);
      node.pocket = null;
    };
    this.#schedule(this.#now + TIMINGS.leaseLifeMs, () => this.#toNode(node, empty));
  }

  /** Admitted now, from units of an older date. */
  #spendPocket(node: Node, pocket: Pocket, needs: readonly Need[]): void {
    pocket.left -= needs[0]!.units;
    this.#admit(node, needs, { needs, before: [], after: [], overdrawn: [], settle: () => null, release: () => {} });
  }

  // ---- trouble

  #troubleAgain(): void {
    if (this.#isCalm()) return;
    const alive = this.#nodes.filter((node) => node.alive && this.#now >= node.pausedUntil);
    if (alive.length > 0) this.#trouble(this.#chance.pick(alive));
    this.#schedule(this.#now + this.#chance.below(3000), () => this.#troubleAgain());
  }

  #trouble(node: Node): void {
    const kind = this.#chance.pick(["kill", "pause", "sleep", "sleep", "cut", "set clock", "starve"] as const);
    const lastsMs = this.#chance.pick([100, 300, 1500, 4000]);
    if (kind === "kill") this.#kill(node);
    else if (kind === "cut") node.cutUntil = this.#now + lastsMs;
    else if (kind === "set clock") node.wallLag += this.#chance.pick([this.#chance.below(4000) - 2000, 5000, -5000]);
    else if (kind === "starve") node.starvesUntil = this.#now + lastsMs;
    else this.#pause(node, lastsMs, kind === "sleep");
  }

  /** Over the edge of a window. */
  #sleepAll(): void {
    for (const node of this.#nodes)
      if (node.alive && this.#now >= node.pausedUntil && this.#chance.perMille(600))
        this.#pause(node, this.#chance.pick([300, 1500]), true);
  }

  #pause(node: Node, lastsMs: number, isAsleep: boolean): void {
    node.pausedUntil = this.#now + lastsMs;
    // asleep it has no running clock: it has to receive an answer of the store, or to miss it for two heartbeats
    node.numbUntil = node.pausedUntil + (isAsleep ? 2 * TIMINGS.heartbeatMs + NUMB_MS : NUMB_MS);
    if (isAsleep) node.monoLag -= lastsMs;
    // the first call finds what was there before any timer has run
    if (this.#chance.perMille(700)) this.#schedule(this.#now + lastsMs, () => this.#burst(node));
  }

  #burst(node: Node): void {
    for (let n = this.#chance.below(40); n > 0 && node.alive && this.#now >= node.pausedUntil; n--) this.#callAt(node);
  }

  #restartStore(): void {
    const how = this.#chance.pick(["kept", "kept", "old", "empty"] as const);
    this.#storeDownUntil = this.#now + this.#chance.pick([0, 50, 800]);
    if (how === "kept") this.#store.restart(this.#store.copy());
    else {
      this.#observer.lost(this.#now);
      this.#hasLost = true;
      this.#store.restart(how === "empty" ? this.#store.empty() : this.#backup!);
    }
  }

  #neverShort(): string | null {
    for (const account of this.#accounts) {
      for (const node of this.#nodes) {
        // a store that lost the statements for dead replicas cannot get them again
        if (!node.alive && (!node.told || this.#hasLost)) continue;
        const fault = this.#observer.short(account, node.id, this.#store, this.#now);
        if (fault !== null) return fault;
      }
    }
    return null;
  }
}

/** As if the life of a lease began when it arrived. */
function withLifeFrom(answer: Answer, tookMs: number): Answer {
  const [status, epoch, nowMs, replicas, rank, accounts, operations] = answer;
  return [
    status,
    epoch,
    nowMs,
    replicas,
    rank,
    accounts.map(
      ([used, mode, granted, bucket, validMs, resetsAtMs]) =>
        [used, mode, granted, bucket, validMs + tookMs, resetsAtMs] as const,
    ),
    operations,
  ];
}

function before(
  one: { readonly at: number; readonly order: number },
  other: { readonly at: number; readonly order: number },
): boolean {
  return one.at < other.at || (one.at === other.at && one.order < other.order);
}
