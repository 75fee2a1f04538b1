// Eight client libraries read streams in which something is spoiled, through the running gateway: whatever a provider does wrong, the client sees the
// whole answer or a failure, and never less than there was. The same streams are read at the provider itself, which shows what the defects do alone.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type GatewayProcess, startGateway } from "../../../harness/processes/gateway-process.ts";
import type { FakeUpstream } from "../../../harness/servers/upstream.ts";
import type { BodyDefect } from "./body-defects.ts";
import { CLIENT_READERS, type ClientReader, type Reading, type Server } from "./client-readers.ts";
import { CALLS, type Defect, OUTPUT_TOKENS, REASONING, TEXT } from "./planted-answer.ts";
import {
  IN_PIECES,
  PLANTED_FORMS,
  plantedConfig,
  type PlantedForm,
  SOUND,
  startPlantedUpstream,
} from "./planted-upstream.ts";

let upstream: FakeUpstream;
let gateway: GatewayProcess;
beforeAll(async () => {
  Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false });
  upstream = startPlantedUpstream();
  gateway = await startGateway({ config: plantedConfig(upstream.url) });
});
afterAll(async () => {
  await gateway.stop();
  await upstream.stop();
});

type Outcome = "whole" | "told" | "lost";

const atGateway = (model: string): Server => ({
  openaiUrl: `${gateway.url}/v1`,
  anthropicUrl: gateway.url,
  key: gateway.firstToken!,
  model,
});
const atProvider = (): Server => ({
  openaiUrl: `${upstream.url}/r/v1`,
  anthropicUrl: `${upstream.url}/m`,
  key: "key-of-nobody",
  model: "planted",
});

function outcomeOf(
  got: Reading,
  sound: Reading,
  { unknown = [], isReordered }: Pick<Defect, "unknown" | "isReordered">,
): Outcome {
  if (got.error !== null) return "told";
  const known = Object.fromEntries(unknown.map((name) => [name, sound[name]]));
  const calls = isReordered === true ? got.calls.toSorted((one, other) => placeOf(one) - placeOf(other)) : got.calls;
  return Bun.deepEquals({ ...got, ...known, calls }, sound) ? "whole" : "lost";
}

const ASKED = CALLS.map(({ name, arguments: pieces }): Reading["calls"][number] => [name, JSON.parse(pieces.join(""))]);
const placeOf = (call: Reading["calls"][number]): number => ASKED.findIndex((one) => Bun.deepEquals(one, call));

/** Rows of outcomes, which are printed when all is read, with what the libraries saw at the provider itself. */
const rows: {
  readonly form: string;
  readonly defect: string;
  readonly client: string;
  readonly outcome: Outcome;
  readonly alone: Outcome | null;
}[] = [];
afterAll(() => {
  const count = (outcomes: readonly (Outcome | null)[]): string =>
    (["whole", "told", "lost"] as const)
      .map((one) => `${one} ${outcomes.filter((outcome) => outcome === one).length}`)
      .join(", ");
  const alone = rows.filter((row) => row.alone !== null);
  console.log(`planted defects at the gateway: ${count(rows.map(({ outcome }) => outcome))}`);
  console.log(
    `of these in the client's own form: ${count(alone.map(({ outcome }) => outcome))}; without the gateway: ${count(alone.map((row) => row.alone))}`,
  );
  for (const { form, defect, client, outcome } of rows.filter((row) => row.alone === "lost"))
    console.log(`${form} ${defect}, ${client}: lost without the gateway, ${outcome} with it`);
});

describe.each(PLANTED_FORMS)("a provider that is asked in the form of $name", (form: PlantedForm) => {
  describe.each(CLIENT_READERS)("$name", ({ name, form: own, read, readBody }: ClientReader) => {
    let sound: Reading;
    let soundAlone: Reading | null = null;
    beforeAll(async () => {
      sound = await read(atGateway(form.model), `#${SOUND}`);
      if (form.name === own) soundAlone = await read(atProvider(), `#${SOUND}`);
    });

    test("[d12.5] reads a sound stream whole", () => {
      for (const got of [sound, soundAlone ?? sound]) {
        expect(got).toMatchObject({ text: TEXT.join(""), reasoning: REASONING.join(""), calls: ASKED, error: null });
        expect(got.outputTokens).toBeGreaterThanOrEqual(OUTPUT_TOKENS);
        expect(got.finish).not.toBe("");
      }
    });

    test.each([...form.defects])("[d12.5] $name: $expected", async (defect: Defect) => {
      const isOwn = soundAlone !== null;
      const alone = isOwn ? outcomeOf(await read(atProvider(), `#${defect.name}`), soundAlone!, defect) : null;
      for (const delivery of isOwn ? ["at once", IN_PIECES] : ["at once"]) {
        const got = await read(atGateway(form.model), `#${defect.name} ${delivery}`);
        const outcome = outcomeOf(got, sound, defect);
        rows.push({ form: form.name, defect: `${defect.name} ${delivery}`, client: name, outcome, alone });
        if (outcome === "lost") expect(got).toEqual(sound);
        if (defect.expected !== "either") expect({ ...got, outcome }).toMatchObject({ outcome: defect.expected });
      }
    });

    test.each([...form.bodies])("[d12.4, d12.6] as one body, $name: $expected", async (defect: BodyDefect) => {
      const whole = await readBody(atGateway(form.model), `#${SOUND}`);
      expect(whole).toMatchObject({ text: TEXT.join(""), reasoning: REASONING.join(""), calls: ASKED, error: null });
      const got = await readBody(atGateway(form.model), `#${defect.name}`);
      const outcome = outcomeOf(got, whole, defect);
      const alone =
        form.name === own ? outcomeOf(await readBody(atProvider(), `#${defect.name}`), whole, defect) : null;
      rows.push({ form: form.name, defect: `body ${defect.name}`, client: name, outcome, alone });
      if (outcome === "lost") expect(got).toEqual(whole);
      if (defect.expected !== "either") expect({ ...got, outcome }).toMatchObject({ outcome: defect.expected });
    });
  });
});
