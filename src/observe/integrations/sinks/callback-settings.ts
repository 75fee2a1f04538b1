// Settings of an integration of type `callback`: a module of the operator, which runs in a thread of its own.
import { z } from "zod";
import { sectionSettings, type SectionSettings } from "../../../config/section-settings.ts";
import { type IntegrationBase, integrationBase, integrationFields } from "../integration-fields.ts";

const MIB = 1024 * 1024;

const SHAPE = {
  type: z.literal("callback"),
  module: z.string().min(1).max(4096).meta({
    title: "Module",
    description: "File of the module. A relative path starts at the folder of the configuration file.",
  }),
  stream_chunks: z.number().min(0).max(1).default(0).meta({
    title: "Part",
    description: "The share of streamed calls for whose chunks `onStreamChunk` is called, from 0 to 1.",
  }),
  hang_s: z.number().min(1).max(3600).default(5).meta({
    title: "Seconds",
    description: "If a function blocks its thread for this long, the thread is restarted.",
  }),
  max_memory_bytes: z
    .int()
    .min(16 * MIB)
    .max(16 * 1024 * MIB)
    .default(256 * MIB)
    .meta({ title: "Bytes", description: "If the heap of the thread is larger than this, the thread is restarted." }),
};

/** Times are in milliseconds. */
export type CallbackSettings = IntegrationBase & SectionSettings<typeof SHAPE>;

export const callbackSettings = z
  .strictObject({ ...SHAPE, ...integrationFields })
  .transform((file): CallbackSettings => ({ ...integrationBase(file), ...sectionSettings(SHAPE, file) }));
