// Collects what a request says that a chat completion cannot say. A target that speaks the operation itself takes it.
import { invalidPart, orNoted } from "../../../engine/request/vendor-judged.ts";
import type { ClientDeviationName } from "../../../core/configured/client-deviations.ts";
import type { Untranslated } from "../../../core/chat.ts";
import type { JsonObject } from "../../../core/json.ts";
import { wordsOfTool } from "../../../core/request/held-body.ts";
import type { GatewayError } from "../../../core/errors.ts";

export class UntranslatedParts {
  readonly #found = new Map<string, Untranslated>();

  get list(): readonly Untranslated[] {
    return [...this.#found.values()];
  }

  /** Whether a target that is sent the translation cannot take the request. */
  get isRefused(): boolean {
    return this.list.some(({ dropped }) => dropped === "never");
  }

  /** Notes a part that is left out, because the answer means the same without it. */
  always(path: string): void {
    this.#note(path, "always", `${path} has no counterpart at this provider.`);
  }

  /** Notes a part that a named client sends by itself, and that is left out unless that is switched off. */
  deviating(path: string, deviation: ClientDeviationName, why: string): void {
    const message = `${path} ${why}. Leave it out, or set x_gateway.drop_params to true to drop it.`;
    this.#add({ path, message, dropped: "always", deviation });
  }

  /** Notes a part that is left out where the caller allows it. */
  asked(path: string, why = "has no counterpart at this provider"): void {
    this.#note(path, "asked", `${path} ${why}. Leave it out, or set x_gateway.drop_params to true to drop it.`);
  }

  /** Notes a part without which the answer would mean something else. `cure` is a sentence. */
  never(path: string, why: string, cure: string): void {
    this.#note(path, "never", `${path} ${why}. ${cure}`);
  }

  /** Notes a value that only the vendor's own rules may allow. */
  invalid(error: GatewayError): void {
    this.#add(invalidPart(error));
  }

  /** Says that what was noted at the path is this tool, or a part of it. */
  isTool(path: string, tool: JsonObject): void {
    this.#found.set(path, { ...this.#found.get(path)!, tool: wordsOfTool(tool) });
  }

  /** Returns `otherwise` for what `translate` refuses as invalid, which is noted. */
  orNoted<T>(otherwise: T, translate: () => T): T {
    return orNoted((part) => this.#add(part), otherwise, translate);
  }

  #note(path: string, dropped: Untranslated["dropped"], message: string): void {
    this.#add({ path, message, dropped });
  }

  #add(part: Untranslated): void {
    if (!this.#found.has(part.path)) this.#found.set(part.path, part);
  }
}
