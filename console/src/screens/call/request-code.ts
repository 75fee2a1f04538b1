// A request as code: curl and the two most used client libraries, with the token in a variable.
import type { ExplainedTarget } from "../../api/explanation.ts";
import { shellQuoted } from "../../format/shell-quoted.ts";
import type { JsonObject } from "../play/play-request.ts";

export function gatewayCurl(body: JsonObject, address: string): string {
  return `curl ${address}/api/v1/chat/completions \\
  -H "Authorization: Bearer $DRAGOMAN_TOKEN" \\
  -H "Content-Type: application/json" \\
  -d ${shellQuoted(JSON.stringify(body))}`;
}

export function pythonCode(body: JsonObject, address: string): string {
  const { known, further } = divided(body);
  const members = [
    ...known.map(([name, value]) => `    ${name}=${pythonValue(value)},`),
    ...(Object.keys(further).length === 0 ? [] : [`    extra_body=${pythonValue(further)},`]),
  ];
  return `import os
from openai import OpenAI

client = OpenAI(base_url=${pythonValue(`${address}/api/v1`)}, api_key=os.environ["DRAGOMAN_TOKEN"])
answer = client.chat.completions.create(
${members.join("\n")}
)
${body["stream"] === true ? 'for chunk in answer:\n    if chunk.choices:\n        print(chunk.choices[0].delta.content or "", end="")' : "print(answer.choices[0].message.content)"}
`;
}

export function typescriptCode(body: JsonObject, address: string): string {
  return `import OpenAI from "openai";

const client = new OpenAI({ baseURL: ${JSON.stringify(`${address}/api/v1`)}, apiKey: process.env.DRAGOMAN_TOKEN });
const answer = await client.chat.completions.create(${JSON.stringify(body, null, 2)});
${body["stream"] === true ? 'for await (const chunk of answer) process.stdout.write(chunk.choices[0]?.delta.content ?? "");' : "console.log(answer.choices[0].message.content);"}
`;
}

/** What the Python library has no argument for goes into `extra_body`. */
function divided(body: JsonObject) {
  const entries = Object.entries(body);
  const isOurs = ([name]: readonly [string, unknown]): boolean => name === "route";
  return {
    known: entries.filter((entry) => !isOurs(entry)),
    further: Object.fromEntries(entries.filter(isOurs)),
  };
}

const WORDS = new Map<unknown, string>([
  [true, "True"],
  [false, "False"],
  [null, "None"],
]);

/** Strings of JSON are strings of Python. */
export function pythonValue(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(pythonValue).join(", ")}]`;
  if (typeof value === "object" && value !== null)
    return `{${Object.entries(value)
      .map(([name, member]) => `${JSON.stringify(name)}: ${pythonValue(member)}`)
      .join(", ")}}`;
  return WORDS.get(value) ?? JSON.stringify(value);
}

type UpstreamRequest = NonNullable<ExplainedTarget["request"]>;

const SECRET = /key|token|secret|auth|cookie|passw|credential|signature/i;

/** The request to the provider, with its key in a variable. */
export function upstreamCurl({ method, url, headers = {}, body_text: text, body }: UpstreamRequest): string {
  const lines = Object.entries(headers).map(([name, value]) =>
    SECRET.test(name)
      ? `  -H "${name}: ${/^bearer /i.test(value) ? "Bearer " : ""}$PROVIDER_KEY"`
      : `  -H ${shellQuoted(`${name}: ${value}`)}`,
  );
  const sent = text ?? (body == null ? null : JSON.stringify(body));
  return [
    `curl -X ${method} ${shellQuoted(url)}`,
    ...lines,
    ...(sent === null ? [] : [`  -d ${shellQuoted(sent)}`]),
  ].join(" \\\n");
}
