// The ids of one call that name things at vendors: those that its request holds, which are taken only where the project
// received them (promise 12.15), and those that its answer hands out, which are bound to the project.
import type { ChatRequest } from "../../core/chat.ts";
import type { GatewayError } from "../../core/errors.ts";
import type { Principal } from "../../core/identity.ts";
import { unknownReference } from "../../core/refusals.ts";
import type { VendorReference } from "../../core/request/vendor-reference.ts";
import { fingerprint } from "../../credentials/fingerprint.ts";
import type { VendorObject } from "../../store/calls/vendor-objects.ts";
import type { Resolved } from "../plan/resolve-target.ts";
import { collectHandedOut, type HandedOut } from "./handed-out.ts";
import type { BoundPlace, ToldId, VendorObjects } from "./vendor-objects.ts";
import { namesBucket } from "../../providers/conversation/stored-things.ts";
import { entryReferencesOf, referencesIn, referencesOf, STORED_FILE } from "./vendor-references.ts";

const NOTHING_BOUND: ReadonlyMap<string, readonly VendorObject[]> = new Map();

/** The types of items that are left out of a request where the vendor stores none of them for the project (promise 12.9). */
const LEFT_OUT: ReadonlySet<string> = new Set(["reasoning"]);

/** Reads what one attempt's answer hands out. */
export interface ObjectsWatch {
  /** Whether the answer has handed out a file, a container or a conversation so far. */
  readonly hasHandedOut: boolean;
  /** Called with the text of an answer, or of an event of one. */
  saw(text: string): void;
  /** The client gets the answer of the attempt: only then is what the vendor stores of it bound. */
  accept(): void;
}

interface Watched {
  readonly place: BoundPlace;
  readonly handedOut: HandedOut;
  readonly isStored: boolean;
  isAccepted: boolean;
  /** The ids that were bound already. */
  readonly bound: Set<string>;
}

export class CallObjects {
  readonly references: readonly VendorReference[];
  /** Those of the entries of the request, such as its fallbacks. */
  readonly #ofEntries: readonly VendorReference[];
  readonly #request: ChatRequest;
  readonly #principal: Principal;
  readonly #objects: VendorObjects | null;
  readonly #isProjectThere: () => boolean;
  readonly #watched: Watched[] = [];
  #bound = NOTHING_BOUND;
  /** The gateway's own id of the answer, where its form has one in place of the vendor's; `null` where it has none. */
  answerId: string | null = null;

  /** What is handed out to a project that is not there any more is not bound. */
  constructor(
    request: ChatRequest,
    principal: Principal,
    objects: VendorObjects | null,
    isProjectThere: () => boolean,
  ) {
    this.#isProjectThere = isProjectThere;
    this.#request = request;
    this.references = referencesOf(request);
    this.#ofEntries = entryReferencesOf(request);
    this.#principal = principal;
    this.#objects = objects;
  }

  get hasReferences(): boolean {
    return this.references.length > 0 || this.#ofEntries.length > 0;
  }

  /**
   * Whether the request may name something that the vendor reads with the rights of the account, so that the vendor may
   * refuse that and not the account.
   */
  get mayNameStored(): boolean {
    const { form, messages, written, held } = this.#request;
    if (form.task !== undefined) return false;
    // what another thread holds is not looked through again
    if (this.references.length > 0 || held !== undefined) return true;
    return namesBucket(JSON.stringify(written?.body ?? messages));
  }

  /**
   * Looks the references up. Called before the request is planned. Throws `unknown_reference` where an entry names
   * what the project has not received from any provider.
   */
  async load(): Promise<void> {
    if (this.#objects !== null)
      this.#bound = await this.#objects.find([
        ...new Set([...this.references, ...this.#ofEntries].map(({ id }) => id)),
      ]);
    if (this.#principal.permissions.has("vendor_objects")) return;
    const foreign = this.#ofEntries.find(({ id, name }) => this.#ours(id).length === 0 && !LEFT_OUT.has(name));
    if (foreign !== undefined) throw unknown(foreign.path, "a vendor");
  }

  /**
   * Returns the target with the credentials that reach what the request names, which may be made of one of its entries.
   * `names` lists the members that the target is sent, and null means all of them; addresses of files are always sent.
   * `isSent` says whether the member at a path is sent. Throws `unknown_reference` with the path if no credential reaches
   * what stands there.
   */
  placedAt(
    resolved: Resolved,
    request: Pick<ChatRequest, "entryParams" | "form">,
    names: ReadonlySet<string> | null,
    isSent: (path: string) => boolean = () => true,
  ): Resolved {
    const references = this.#referencesOf(request);
    if (references.length === 0 || this.#principal.permissions.has("vendor_objects") || isOwn(resolved))
      return resolved;
    let { credentials } = resolved;
    for (const { path, name, id } of references) {
      if ((name !== STORED_FILE && names?.has(name) === false) || !isSent(path)) continue;
      const there = this.#there(id, resolved);
      if (there.length === 0 && LEFT_OUT.has(name)) continue;
      if (this.#ours(id).length === 0) throw unknown(path, resolved.provider.label);
      const isThere = (credential: string): boolean => there.some((one) => one.credential === credential);
      credentials = credentials.filter((stored) => isThere(fingerprint(stored)));
      if (resolved.credentials.length === 0 ? !isThere("") : credentials.length === 0) throw elsewhere(path, resolved);
    }
    return credentials.length === resolved.credentials.length ? resolved : { ...resolved, credentials };
  }

  /** A count is sent with the members that the client wrote, whatever an entry says of them. */
  #referencesOf({ entryParams, form }: Pick<ChatRequest, "entryParams" | "form">): readonly VendorReference[] {
    if (entryParams === undefined) return this.references;
    const isReplaced = (path: string): boolean => form.counts !== true && Object.hasOwn(entryParams, path);
    const set = referencesIn(entryParams);
    const ofEntry = this.#ofEntries.filter((one) => set.some(({ name, id }) => name === one.name && id === one.id));
    return [...this.references.filter(({ path }) => !isReplaced(path)), ...ofEntry];
  }

  /** Returns the ids of reasoning without content in the request that a target's vendor may be asked for. */
  storedReasoning(resolved: Resolved, vendorStores: boolean): readonly string[] {
    const isFree = vendorStores && (this.#principal.permissions.has("vendor_objects") || isOwn(resolved));
    const ids = this.references.filter(({ name }) => LEFT_OUT.has(name)).map(({ id }) => id);
    return isFree ? ids : ids.filter((id) => this.#there(id, resolved).length > 0);
  }

  /** The vendor's own id for one for which the client has another name; `null` for any other id. */
  readonly vendorIdOf = (id: string, resolved: Resolved): string | null =>
    this.#there(id, resolved)[0]?.vendorId ?? null;

  /** `credential` is the fingerprint of the one that is used. */
  watch(providerId: string, credential: string, isStored: boolean): ObjectsWatch {
    const { tenantId, projectId } = this.#principal;
    const handedOut: HandedOut = { ids: new Set(), responseId: null, itemIds: new Set() };
    const watched: Watched = {
      place: { tenantId, projectId, providerId, credential },
      handedOut,
      isStored,
      isAccepted: false,
      bound: new Set(),
    };
    this.#watched.push(watched);
    return {
      get hasHandedOut() {
        return handedOut.ids.size > 0;
      },
      saw: (text) => collectHandedOut(text, handedOut, isStored),
      accept: () => void (watched.isAccepted = true),
    };
  }

  /** Binds what was handed out since; `null` where there is nothing. */
  save(): Promise<unknown> | null {
    if (this.#objects === null || this.#watched.length === 0 || !this.#isProjectThere()) return null;
    const writes = this.#watched.flatMap(({ place, handedOut, isStored, isAccepted, bound }) => {
      const ids = this.#told(handedOut, isStored && isAccepted).filter(({ id }) => !bound.has(id));
      for (const { id } of ids) bound.add(id);
      return ids.length === 0 ? [] : [this.#objects!.bind(place, ids)];
    });
    return writes.length === 0 ? null : Promise.all(writes);
  }

  #told({ ids, responseId, itemIds }: HandedOut, isStored: boolean): readonly ToldId[] {
    const told: ToldId[] = [...ids].map((id) => ({ id, vendorId: null }));
    if (!isStored) return told;
    if (responseId !== null)
      told.push(
        this.answerId === null ? { id: responseId, vendorId: null } : { id: this.answerId, vendorId: responseId },
      );
    return [...told, ...[...itemIds].map((id) => ({ id, vendorId: null }))];
  }

  #there(id: string, { target }: Resolved): readonly VendorObject[] {
    return this.#ours(id).filter(({ providerId }) => providerId === target.providerId);
  }

  #ours(id: string): readonly VendorObject[] {
    const { tenantId, projectId } = this.#principal;
    return (this.#bound.get(id) ?? []).filter((one) => one.tenantId === tenantId && one.projectId === projectId);
  }
}

/** What the caller's own credential or address pays for and reaches is the caller's own concern. */
export function isOwn({ credentials, target }: Resolved): boolean {
  return target.isCallersAddress || credentials.some(({ fromCaller }) => fromCaller);
}

const CURE =
  "Send the content itself, send a credential of your own, or use a token with the permission vendor_objects.";

function unknown(path: string, label: string): GatewayError {
  return unknownReference(
    path,
    `${path} names something that lives at ${label}, where the gateway's account has the things of all its projects, and this project has not received it through this gateway. ${CURE}`,
  );
}

function elsewhere(path: string, { target }: Resolved): GatewayError {
  return unknownReference(
    path,
    `${path} names something that this project received from another provider or with another credential than those of ${target.providerId}. Call the model that it came from. ${CURE}`,
  );
}
