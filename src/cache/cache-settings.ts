// The section `cache` of the configuration: where answers are kept. It is read at start-up only. Which calls use the
// cache is said by tenants, projects and routes (auth/settings/cache-use-settings.ts).
import { z } from "zod";
import { sectionSettings, type SectionSettings } from "../config/section-settings.ts";
import { clusterNodes, valkeyUrl } from "../config/valkey-address.ts";

const MIB = 1024 * 1024;
const DEFAULT_ANSWER_BYTES = 4 * MIB;

const SHAPE = {
  store: z.enum(["memory", "sqlite", "valkey"]).default("memory").meta({
    title: "Store",
    description:
      "Where answers are kept: `memory` in each process, `sqlite` in a file of the data folder, `valkey` in a Valkey or Redis that several gateways can share. In `sqlite` and `valkey` they are encrypted.",
  }),
  max_bytes: z
    .int()
    .min(MIB)
    .max(1024 * 1024 * MIB)
    .default(64 * MIB)
    .meta({
      title: "Bytes",
      description:
        "The most that `memory` or `sqlite` holds; beyond it, the answers that were used the longest ago are removed. For `valkey`, set `maxmemory` there.",
    }),
  max_answer_bytes: z
    .int()
    .min(1024)
    .max(64 * MIB)
    .optional()
    .meta({
      title: "Bytes of an answer",
      description:
        "Longer answers of providers are not kept. The default is 4194304 (4 MiB), or `max_bytes` if that is less.",
    }),
  url: valkeyUrl.optional().meta({
    title: "Address",
    description:
      "Address of Valkey or Redis 7 for `valkey`. It contains a secret, so refer to a variable: `${CACHE_URL}`.",
  }),
  cluster_nodes: clusterNodes.optional().meta({
    title: "Cluster",
    description: "Set it if the server is a cluster, as in `limit_store`.",
  }),
};

/** The address is set for Valkey. */
export interface CacheStoreSettings extends SectionSettings<typeof SHAPE> {
  readonly maxAnswerBytes: number;
}

export const cacheSection = z
  .strictObject(SHAPE)
  .refine(({ store, url }) => store !== "valkey" || url !== undefined, {
    path: ["url"],
    message: "expected the address of Valkey or Redis, because store is valkey",
  })
  .refine(
    ({ store, max_bytes: most, max_answer_bytes: one }) => store === "valkey" || one === undefined || one <= most,
    {
      path: ["max_answer_bytes"],
      message: "expected at most max_bytes",
    },
  )
  .transform((file): CacheStoreSettings => ({
    ...sectionSettings(SHAPE, file),
    maxAnswerBytes: file.max_answer_bytes ?? Math.min(DEFAULT_ANSWER_BYTES, file.max_bytes),
  }))
  .prefault({})
  .meta({
    title: "Response cache",
    description:
      "Where answers are kept; see [cache.md](cache.md). The cache is off until a tenant allows it and a route, a project or a request turns it on. A change needs a restart.",
  });
