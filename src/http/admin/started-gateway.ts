// How a gateway was started, as far as the admin API tells it.
/** What was decided when the gateway was started. */
export interface StartedGateway {
  readonly configurationFile: string | null;
  readonly host: string;
  readonly port: number;
  readonly workers: number;
  readonly database: "sqlite" | "postgresql";
  readonly limitStore: "memory" | "valkey";
  readonly hasConsole: boolean;
  readonly calls: { readonly keepDays: number | null; readonly keepDetailsDays: number | null };
  readonly audit: { readonly keepDays: number | null; readonly keepRefusedDays: number | null };
}
