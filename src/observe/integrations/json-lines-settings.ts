// Settings of an integration of type `json_lines`.
import { z } from "zod";
import { type IntegrationBase, integrationBase, integrationFields } from "./integration-fields.ts";

export interface JsonLinesSettings extends IntegrationBase {
  readonly type: "json_lines";
  readonly path: string;
  readonly maxBytes: number;
  /** `null` when only the size decides. */
  readonly rotateMs: number | null;
  readonly keepFiles: number;
  readonly compress: boolean;
}

const MIB = 1024 * 1024;
const HOUR_MS = 3_600_000;

export const jsonLinesSettings = z
  .strictObject({
    type: z.literal("json_lines"),
    path: z.string().min(1).max(4096).meta({
      title: "Path",
      description:
        "The file that lines are written to; only the user of the process can read it. A relative path starts at the working directory. Each process needs a file of its own.",
    }),
    max_bytes: z
      .int()
      .min(4096)
      .max(64 * 1024 * MIB)
      .default(100 * MIB)
      .meta({ title: "Bytes", description: "A file of this size is put aside, and a new one is begun." }),
    rotate_h: z.number().gt(0).max(8760).optional().meta({
      title: "Hours",
      description: "A file that is as old as this is put aside as well. Not set: size alone decides.",
    }),
    keep_files: z
      .int()
      .min(0)
      .max(10_000)
      .default(10)
      .meta({ title: "Files", description: "Files that were put aside and are kept; the oldest go." }),
    compress: z
      .boolean()
      .default(true)
      .meta({ title: "Compress", description: "Compress files that were put aside (gzip)." }),
    ...integrationFields,
  })
  .transform((file): JsonLinesSettings => ({
    ...integrationBase(file),
    type: "json_lines",
    path: file.path,
    maxBytes: file.max_bytes,
    rotateMs: file.rotate_h === undefined ? null : file.rotate_h * HOUR_MS,
    keepFiles: file.keep_files,
    compress: file.compress,
  }));
