// Settings of an integration of type `json_lines`.
import { z } from "zod";
import { sectionSettings, type SectionSettings } from "../../../config/section-settings.ts";
import { type IntegrationBase, integrationBase, integrationFields } from "../integration-fields.ts";

const MIB = 1024 * 1024;
const HOUR_MS = 3_600_000;

const SHAPE = {
  type: z.literal("json_lines"),
  path: z.string().min(1).max(4096).meta({
    title: "Path",
    description:
      "The file to write to; only the user of the process can read it. A relative path starts at the working directory. Each process needs its own file.",
  }),
  max_bytes: z
    .int()
    .min(4096)
    .max(64 * 1024 * MIB)
    .default(100 * MIB)
    .meta({ title: "Bytes", description: "Size at which a file is rotated." }),
  rotate_h: z.number().gt(0).max(8760).optional().meta({
    title: "Hours",
    description: "Age at which a file is rotated too. By default only the size counts.",
  }),
  keep_files: z
    .int()
    .min(0)
    .max(10_000)
    .default(10)
    .meta({ title: "Files", description: "Number of rotated files to keep; older ones are deleted." }),
  compress: z
    .boolean()
    .default(true)
    .meta({ title: "Compress", description: "Whether rotated files are compressed (gzip)." }),
};

export interface JsonLinesSettings extends IntegrationBase, Omit<SectionSettings<typeof SHAPE>, "rotateH"> {
  /** `null` when only the size decides. */
  readonly rotateMs: number | null;
}

export const jsonLinesSettings = z
  .strictObject({ ...SHAPE, ...integrationFields })
  .transform((file): JsonLinesSettings => {
    const { rotateH: hours, ...settings } = sectionSettings(SHAPE, file);
    return { ...integrationBase(file), ...settings, rotateMs: hours === null ? null : hours * HOUR_MS };
  });
