// OpenAI's own schemas of an answer and of a chunk, where they exist.
import Ajv2020 from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { vectorsFolder } from "./cases.ts";

export const schemasMissing = !existsSync(join(vectorsFolder, "schemas"));

/** Gives what is wrong with a value; empty when it is valid. */
export type SchemaCheck = (value: unknown) => string;

export function schemaCheck(
  name: "CreateChatCompletionResponse" | "CreateChatCompletionStreamResponse" | "ErrorResponse",
): SchemaCheck {
  const ajv = new Ajv2020({ strict: false });
  addFormats(ajv);
  ajv.addFormat("unixtime", true);
  const check = ajv.compile(
    JSON.parse(readFileSync(join(vectorsFolder, "schemas", `${name}.schema.json`), "utf8")) as object,
  );
  return (value) => (check(value) ? "" : ajv.errorsText(check.errors));
}
