// The tables of docs/api.md that list the fields of a request. What a field takes is told by its own check, in the words of its refusal.
import { GatewayError } from "../../src/core/errors.ts";
import type { Json } from "../../src/core/json.ts";
import { ADVISORY, COMMON, type Field, GATEWAY, NEVER_UNSUPPORTED } from "../../src/core/params.ts";
import { code, table } from "./markdown.ts";

export function gatewayFieldsTable(): string {
  return table(
    ["field", "takes", "meaning"],
    Object.entries<Field>(GATEWAY).map(([name, field]) => [code(name), takes(name, field), field.meaning]),
  );
}

export function commonFieldsTable(): string {
  return table(
    ["field", "takes", "meaning", "where a provider has no place for it"],
    Object.entries<Field>(COMMON).map(([name, field]) => [
      code(name),
      takes(name, field),
      field.meaning,
      elsewhere(name, field),
    ]),
  );
}

const PROBES: readonly Json[] = [0.5, "?", [], {}, true];
/** Candidates for a field's neutral value. */
const NEUTRAL: readonly Json[] = [0, 1, true, false, "", [], {}, { type: "text" }];

function takes(name: string, field: Field): string {
  for (const probe of PROBES) {
    const words = refusalOf(name, field, probe);
    if (words !== null) return words;
  }
  throw new Error(`the check of ${name} refuses none of the probes, so that the page cannot say what it takes`);
}

/** What the check says was expected; null when it takes the probe. */
function refusalOf(name: string, field: Field, probe: Json): string | null {
  try {
    field.check(probe, name);
    return null;
  } catch (thrown) {
    if (!(thrown instanceof GatewayError)) throw thrown;
    // at odds with a member: so it wants an object
    if (thrown.param !== name) return `an object with ${code(thrown.param!.slice(name.length + 1))}`;
    return /must be (.*); got /s.exec(thrown.message)?.[1] ?? null;
  }
}

function elsewhere(name: string, { neutral }: Field): string {
  if ((NEVER_UNSUPPORTED as ReadonlySet<string>).has(name)) return "served by the gateway";
  if ((ADVISORY as ReadonlySet<string>).has(name)) return "left out and named";
  if (neutral === undefined) return "refused or dropped";
  const values = NEUTRAL.filter((value) => neutral(value)).map((value) => code(JSON.stringify(value)));
  return `refused or dropped; ${values.join(" and ")} ${values.length === 1 ? "is" : "are"} the same as not sent`;
}
