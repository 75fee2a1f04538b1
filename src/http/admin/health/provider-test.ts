// Tests a provider with one small call of an operation that the model has, which is paid and recorded like any other. What the provider answers is the
// result, and not an error of the operation. A drained provider is called too, so that one sees whether it answers again.
import { z } from "zod";
import { nothingThere } from "../../../auth/grants.ts";
import { isObject, type JsonObject } from "../../../core/json.ts";
import { invalidRequest } from "../../../core/refusals.ts";
import { snapshotSeenBy } from "../../../core/snapshot.ts";
import { MODEL_ID } from "../../../providers/settings.ts";
import { type AdminCall, type AdminContext, type AdminOperation, writing } from "../operation.ts";
import type { DocumentDependencies } from "../configured/document-rule.ts";
import { isOf, type Targets } from "./provider-health.ts";
import { operationsAt } from "../../model-operations.ts";
import { shownAs, type ThingOf } from "../shown.ts";

/** The operations with which a provider is tested, the likeliest first. The others are asked of the same models. */
const TESTED = ["chat.completions", "completions", "embeddings", "rerank", "moderations"] as const;
type Tested = (typeof TESTED)[number];

const body = z
  .strictObject({
    model: z.string().regex(MODEL_ID, "expected the name of a model, without the provider").optional().meta({
      description:
        "The model to call. Without it: the first that is configured for the provider, or one that was called lately.",
    }),
    operation: z.enum(TESTED).optional().meta({
      description:
        "The operation to call it with. Without it: one that the model has, as far as the gateway knows the model.",
    }),
  })
  .meta({ id: "ProviderTestRequest" });
type TestCall = AdminCall<z.output<typeof body>>;

const answer = z
  .strictObject({
    ok: z.boolean(),
    model: z.string(),
    operation: z.enum(TESTED).meta({ description: "The operation with which it was tested." }),
    status: z.int().nullable().meta({ description: "The status with which the call ended; null in a dry run." }),
    duration_ms: z.number(),
    text: z
      .string()
      .nullable()
      .meta({ description: "The beginning of what the model answered; null where that is no text." }),
    code: z.string().nullable().meta({ description: "The error code of a call that failed." }),
    message: z.string().nullable().meta({ description: "What failed, in the provider's words as far as it has any." }),
    trace_id: z.string().nullable().meta({ description: "Of the call, which is in the list of calls." }),
  })
  .meta({ id: "ProviderTest" });
type Result = ThingOf<typeof answer.shape>;

export interface TestWorld extends Pick<AdminContext, "call">, Pick<DocumentDependencies, "providers"> {
  readonly targets: Targets;
  monotonic(): number;
}

/** Not every operation has it in its answers. */
const TRACE_ID = "x-gateway-trace-id";
const MOST_TEXT = 500;
/** Some providers take no smaller bound. */
const ANSWER_TOKENS = 16;

export function providerTestOperations(world: TestWorld): readonly AdminOperation[] {
  return [
    writing({
      id: "testProjectProvider",
      method: "post",
      path: "/projects/{project}/providers/{provider}/test",
      tag: "providers",
      summary: "Test a provider with one small call, which the project pays",
      body,
      bodyOptional: true,
      answer,
      prepare: async (call) => ({ found: await tested(call, world) }),
      run: (call, writer, result) => {
        const { model, operation, ok, status, code, traceId } = result;
        writer.note({
          action: "test",
          outcome: "done",
          kind: "provider",
          ...call.place!,
          targetId: call.params["provider"]!,
          targetName: call.params["provider"]!,
          after: { model, operation, ok, status, code, trace_id: traceId },
        });
        return { body: shownAs(answer, result) };
      },
    }),
  ];
}

/** One short input for each operation. */
const INPUTS: Readonly<Record<Tested, JsonObject>> = {
  "chat.completions": {
    messages: [{ role: "user", content: "Say ok." }],
    max_completion_tokens: ANSWER_TOKENS,
  },
  completions: { prompt: "Say ok.", max_tokens: ANSWER_TOKENS },
  embeddings: { input: "ok" },
  rerank: { query: "ok", documents: ["ok"] },
  moderations: { input: "ok" },
};

const ONE_ATTEMPT: JsonObject = { num_retries: 0, drop_params: true };

async function tested(call: TestCall, world: TestWorld): Promise<Result> {
  const provider = call.params["provider"]!;
  const model = await modelFor(call, provider, world.targets);
  const operation = call.body.operation ?? operationFor(call, provider, model, world);
  const nothing = { text: null, code: null, message: null, traceId: null };
  if (call.dryRun) return { ok: true, model, operation, status: null, durationMs: 0, ...nothing };
  const beganMs = world.monotonic();
  const response = await world.call(
    operation,
    {
      ...INPUTS[operation],
      model: `${provider}:${model}`,
      metadata: { test: "provider" },
      // chat completions have the fields of the gateway beside their own
      ...(operation === "chat.completions" ? ONE_ATTEMPT : { x_gateway: ONE_ATTEMPT }),
    },
    { token: call.caller.token, projectId: call.place!.projectId! },
  );
  const answered: unknown = JSON.parse(await response.text());
  return {
    ok: response.ok,
    model,
    operation,
    status: response.status,
    durationMs: Math.round((world.monotonic() - beganMs) * 10) / 10,
    ...nothing,
    ...(response.ok ? { text: answeredText(answered) } : errorOf(answered)),
    traceId: response.headers.get(TRACE_ID),
  };
}

/** The first that the gateway serves with the model; a conversation where it knows of none. */
function operationFor({ place, snapshot }: TestCall, id: string, model: string, { providers }: TestWorld): Tested {
  const settings = snapshotSeenBy(snapshot, place!).providers.get(id)!;
  const provider = providers.get(settings.family);
  const names = provider === undefined ? [] : operationsAt(settings, provider, model).map(({ name }) => name);
  return TESTED.find((one) => names.includes(one)) ?? "chat.completions";
}

/** Throws `not_found`, and `invalid_request` where no model is known. */
async function modelFor({ body: { model }, place, snapshot }: TestCall, id: string, targets: Targets): Promise<string> {
  const settings = snapshotSeenBy(snapshot, place!).providers.get(id);
  if (settings === undefined) throw nothingThere(`provider ${id}`);
  const known = model ?? settings.models[0]?.id ?? (await targets()).find(isOf(settings))?.target.slice(id.length + 1);
  if (known !== undefined) return known;
  throw invalidRequest("model", `No model of ${id} is configured, and none was called lately. Say which one to call.`);
}

function answeredText(answered: unknown): string | null {
  const choices = isObject(answered) ? answered["choices"] : undefined;
  const [first] = Array.isArray(choices) ? (choices as readonly unknown[]) : [];
  if (!isObject(first)) return null;
  const { message, text } = first;
  const content = isObject(message) ? message["content"] : text;
  return typeof content === "string" ? content.slice(0, MOST_TEXT) : null;
}

function errorOf(answered: unknown): { readonly code: string | null; readonly message: string | null } {
  // errors of rankings have their words at the top
  const error = isObject(answered) ? (answered["error"] ?? answered) : undefined;
  const word = (name: string): string | null => {
    const value = isObject(error) ? error[name] : undefined;
    return typeof value === "string" ? value.slice(0, MOST_TEXT) : null;
  };
  return { code: word("code"), message: word("message") };
}
