// What a document of a noun has to be: its form, and beyond it that what it names is there and what it brings is the caller's to bring. Nothing is stored that
// could not be compiled.
import type { z } from "zod";
import type { JsonObject } from "../../core/json.ts";
import type { Snapshot } from "../../core/snapshot.ts";
import type { ProviderFamily } from "../../providers/settings.ts";
import type { Provider } from "../../providers/provider.ts";
import type { Configuration } from "../../snapshot/configuration.ts";
import type { Reader } from "../../store/reader.ts";
import type { Problem } from "./input.ts";
import type { AdminCall } from "./operation.ts";

export interface Judged {
  readonly call: AdminCall<unknown, unknown>;
  readonly name: string | null;
  /** In the form of `schema`, as it was sent. */
  readonly document: JsonObject;
  readonly reader: Reader;
}

export interface DocumentRule {
  readonly schema: z.ZodType;
  /** `name`: people choose it, and others refer to it. `id`: it has an id that is made here, and a name for people. `singleton`: there is one. */
  readonly named: "name" | "id" | "singleton";
  readonly name?: z.ZodType<string>;
  problems(judged: Judged): Promise<readonly Problem[]>;
  /** Fields that hold addresses, with dots inside of objects, which may take a look-up. */
  readonly addresses?: readonly string[];
  /** What a masked secret is checked as, where the schema does not take any text. */
  readonly kept?: string;
  /** They are looked at whoever writes them: operators' are no exception when they are called. */
  readonly guardsOperator?: true;
  /** What an answer says of a document beside it: the field `guard_cost`. */
  readonly told?: (document: JsonObject) => JsonObject;
  /** The document with what is made here where it is left out; `shown` is shown in this answer alone. */
  completed?(
    document: JsonObject,
    before: JsonObject | null,
  ): { readonly document: JsonObject; readonly shown: JsonObject };
}

/** What documents are judged against. */
export interface DocumentWorld {
  readonly families: readonly ProviderFamily[];
  readonly providers: ReadonlyMap<string, Provider>;
  snapshot(): Snapshot;
  /** Of the file. */
  configuration(): Configuration;
}
