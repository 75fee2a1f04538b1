// The section `limit_store` of the configuration: where limits are counted. It is read at start-up only.
import { z } from "zod";
import { sectionOf, type SectionSettings } from "../config/section-settings.ts";
import { clusterNodes, valkeyUrl } from "../config/valkey-address.ts";

const SHAPE = {
  driver: z.enum(["memory", "valkey"]).optional().meta({
    title: "Driver",
    description:
      "Where counts are kept: `memory` in this process, `valkey` in a Valkey or Redis that all replicas share. The default is `valkey` if `url` or the variable is set, otherwise `memory`.",
  }),
  url: valkeyUrl.optional().meta({
    title: "Address",
    description:
      "Address of Valkey or Redis 7, with user, password and database number where needed, or of one node of a cluster. It contains a secret, so refer to a variable: `${LIMIT_STORE_URL}`.",
    variable: "DRAGOMAN_LIMIT_STORE_URL",
  }),
  cluster_nodes: clusterNodes.optional().meta({
    title: "Cluster",
    description:
      "Set it if the server is a cluster: further nodes from which the others can be discovered. The list may be empty.",
  }),
};

/** Without a driver, it is `valkey` where an address is configured, else `memory`. */
export type LimitStoreSettings = SectionSettings<typeof SHAPE>;

export const limitStoreSection = sectionOf(SHAPE, {
  title: "Limit store",
  description:
    "Where limits and budgets are counted; see [limits.md](limits.md#over-several-replicas). A change needs a restart.",
});
