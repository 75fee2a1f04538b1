// The first token as the operator gives it (promise 2.8), where the output of the first start is kept by others, such as the
// log of a cluster. Messages never repeat it.
import { ConfigurationError, problemIn } from "../../config/problem.ts";
import type { Variables } from "../../config/expansion.ts";
import { readSecretFile } from "../../config/secret-file.ts";
import { type ParsedToken, parseTokenText } from "./access-token.ts";

const VARIABLE = "DRAGOMAN_FIRST_TOKEN";
const FILE_VARIABLE = "DRAGOMAN_FIRST_TOKEN_FILE";

/** `null` where none is given, so that the first start makes one and prints it. Throws ConfigurationError. */
export function givenFirstToken(environment: Variables): ParsedToken | null {
  const text = environment.get(VARIABLE);
  const file = environment.get(FILE_VARIABLE);
  if (text !== undefined && file !== undefined) throw wrong(VARIABLE, `set it or ${FILE_VARIABLE}, and not both`);
  if (file === undefined) return text === undefined ? null : parsed(text, VARIABLE);
  const found = readSecretFile(file);
  if ("problem" in found) throw wrong(FILE_VARIABLE, found.problem);
  return parsed(found.text, FILE_VARIABLE);
}

function parsed(text: string, variable: string): ParsedToken {
  const token = parseTokenText(text.trim());
  if (token?.kind === "project") return token;
  throw wrong(
    variable,
    `expected the text of a project token, dgm_pt_<id>_<secret> with its checksum${token === null ? "" : ", and got that of a personal one"}; make one with: dragoman token text`,
  );
}

const wrong = (path: string, message: string): ConfigurationError =>
  new ConfigurationError([problemIn("environment", message, path)]);
