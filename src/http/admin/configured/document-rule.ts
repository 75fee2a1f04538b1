// What a document of a noun has to satisfy: its form, that the things it names exist, and that the caller may bring
// what it contains. A document that could not be compiled is not stored.
import type { z } from "zod";
import type { JsonObject } from "../../../core/json.ts";
import type { MaybePromise } from "../../../core/maybe-promise.ts";
import type { Snapshot } from "../../../core/snapshot.ts";
import type { ProviderFamily } from "../../../providers/settings.ts";
import type { Provider } from "../../../providers/interface/provider.ts";
import type { TestQuestion } from "../../../simulation/proposed-route.ts";
import type { Configuration } from "../../../snapshot/configuration.ts";
import type { Reader } from "../../../store/reader.ts";
import type { Finding } from "../../../config/problem.ts";
import type { AdminCall } from "../operation.ts";

export interface DocumentChange {
  readonly call: AdminCall;
  readonly name: string | null;
  /** Has the form of `schema`, and is otherwise as it was sent. */
  readonly document: JsonObject;
  readonly reader: Reader;
}

export interface DocumentRule {
  readonly schema: z.ZodType;
  /**
   * `name`: users choose the name, and other resources refer to it. `id`: the gateway makes the id, and the name is
   * only for display. `singleton`: the place has exactly one.
   */
  readonly named: "name" | "id" | "singleton";
  readonly name?: z.ZodType<string>;
  /** References to others of the tenant. A rollback checks those of all restored resources together. */
  references?(judged: DocumentChange): Promise<readonly Finding[]>;
  /** Everything else, judged only where the references hold. */
  problems(judged: DocumentChange): MaybePromise<readonly Finding[]>;
  /** The object's own tests, whose failure an owner may override with a reason; `null` where it has none. */
  tests?(judged: DocumentChange): Promise<TestQuestion | null>;
  /** Paths of fields that hold addresses; checking them may take a DNS lookup. */
  readonly addresses?: readonly string[];
  /** The value that replaces a masked secret during the check, for schemas that do not accept every text. */
  readonly kept?: string;
  /**
   * When set, addresses are checked even when an operator writes them, because they are not exempt when they are called
   * either.
   */
  readonly guardsOperator?: true;
  /** Fields that a response shows beside the document: `guard_cost`. */
  readonly derive?: (document: JsonObject) => JsonObject;
  /** Fills in values that the gateway makes when they are absent; `shown` appears in this response only. */
  completed?(
    document: JsonObject,
    before: JsonObject | null,
  ): { readonly document: JsonObject; readonly shown: JsonObject };
}

/** What documents are checked against. */
export interface DocumentDependencies {
  readonly families: readonly ProviderFamily[];
  readonly providers: ReadonlyMap<string, Provider>;
  snapshot(): Snapshot;
  /** The configuration of the file. */
  configuration(): Configuration;
}
