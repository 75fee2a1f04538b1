// Settings of an integration of type `callback`: a module of the operator, which runs in a thread of its own.
import { z } from "zod";
import { type IntegrationBase, integrationBase, integrationFields } from "../integration-fields.ts";

export interface CallbackSettings extends IntegrationBase {
  readonly type: "callback";
  /** Relative to the folder of the configuration file, or absolute. */
  readonly module: string;
  /** The fraction of streamed calls whose chunks are passed to the module. */
  readonly streamChunks: number;
  /** When a function blocks its thread for this long, the thread is ended and a new one is started. */
  readonly hangMs: number;
  readonly maxMemoryBytes: number;
}

const MIB = 1024 * 1024;

export const callbackSettings = z
  .strictObject({
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
    ...integrationFields,
  })
  .transform((file): CallbackSettings => ({
    ...integrationBase(file),
    type: "callback",
    module: file.module,
    streamChunks: file.stream_chunks,
    hangMs: file.hang_s * 1000,
    maxMemoryBytes: file.max_memory_bytes,
  }));
