// The member `tests` of a route: what must hold of it. They are tried before a change of the route is published
// (http/admin/configured/route-rule.ts), and by `dragoman check` (simulation/route-tests.ts).
import { z } from "zod";
import { headerName } from "../config/sent-headers.ts";

const MAX_TESTS = 20;
const MAX_LIST = 40;
const target = z.string().min(1).max(400);
const targets = z.union([target, z.array(target).min(1).max(MAX_LIST)]);

/** Headers of a call that is made up. */
export const simulatedHeaders = z.record(
  headerName,
  z
    .string()
    .max(1000)
    .regex(/^[\x20-\x7e]*$/, "expected printable ASCII characters"),
);

export const routeTestsSchema = z
  .array(
    z.strictObject({
      name: z.string().min(1).max(100).meta({ title: "Name", description: "What the test is about, such as `tools`." }),
      when: z
        .strictObject({
          parameters: z
            .array(z.string().min(1).max(100))
            .max(MAX_LIST)
            .optional()
            .meta({ title: "Parameters", description: "Common parameters that the call has, such as `tools`." }),
          content: z
            .array(z.enum(["image_url", "input_audio", "file"]))
            .max(MAX_LIST)
            .optional()
            .meta({ title: "Content", description: "Types of content beside text that its message has." }),
          stream: z.boolean().optional().meta({ title: "Stream", description: "Whether the call is a stream." }),
          prompt_tokens: z
            .int()
            .min(1)
            .max(10_000_000)
            .optional()
            .meta({ title: "Prompt", description: "The length of its prompt in tokens. The default is 100." }),
          model: target
            .optional()
            .meta({ title: "Model", description: "The target of the route that the call names, if it names one." }),
          project: z
            .string()
            .min(1)
            .max(64)
            .optional()
            .meta({ title: "Project", description: "The project of the call, whose models and policies apply." }),
          headers: simulatedHeaders.optional().meta({
            title: "Headers",
            description: "Headers of the call, which conditions read where the operator lists them.",
          }),
          metadata: z
            .record(z.string().min(1).max(100), z.unknown())
            .optional()
            .meta({ title: "Metadata", description: "The `metadata` of the call." }),
          time: z.iso.datetime({ offset: true }).optional().meta({
            title: "Time",
            description: "When the call is made, such as `2026-03-01T09:00:00Z`. The default is now.",
          }),
          down: z.array(target).max(MAX_LIST).optional().meta({
            title: "Down",
            description: "Targets that cannot be reached: `<provider>:<model_name>`, or `<provider>:*`.",
          }),
        })
        .prefault({})
        .meta({ title: "When", description: "The call. Without any of these it is a short one with text only." }),
      expect: z
        .strictObject({
          target: targets
            .optional()
            .meta({ title: "Target", description: "The target that answers, or a list of those that may." }),
          never: targets.optional().meta({
            title: "Never",
            description: "Targets that such a call must not reach, whatever becomes of the other targets.",
          }),
          mirrored: z.boolean().optional().meta({
            title: "Mirrored",
            description: "Whether the mirror of the route gets a copy of such calls, or of a share of them.",
          }),
          code: z
            .string()
            .min(1)
            .max(100)
            .optional()
            .meta({ title: "Code", description: "The error code with which the call fails." }),
        })
        .refine(
          ({ target: answers, code }) => answers === undefined || code === undefined,
          "a call is either answered by a target or fails with a code",
        )
        .refine((expected) => Object.keys(expected).length > 0, "expected target, never, mirrored or code")
        .meta({ title: "Expect", description: "What must hold: `target`, `never`, `mirrored`, `code`." }),
    }),
  )
  .max(MAX_TESTS)
  .optional()
  .meta({
    title: "Tests",
    description:
      "What must hold of the route. A change that breaks one of them is refused, unless an owner overrides it. See [routes.md](routes.md#tests).",
  });

export type RouteTest = NonNullable<z.output<typeof routeTestsSchema>>[number];
