// The models and routes that can be called in a project, as `GET /v1/models` lists them there.
import { useQuery, type UseQueryResult } from "@tanstack/react-query";
import type { ApiError } from "../../api/api.ts";
import { useApi } from "../../api/use-api.tsx";

export interface ListedModel {
  readonly id: string;
  readonly name: string;
  readonly owned_by: string;
  readonly context_length?: number;
  readonly top_provider?: { readonly max_completion_tokens?: number };
  /** US dollars per token, as decimal texts. */
  readonly pricing?: Readonly<Record<string, string>>;
  readonly price_id?: string;
  readonly supported_parameters: readonly string[];
  readonly operations?: readonly string[];
  readonly architecture: {
    readonly input_modalities: readonly string[];
    readonly output_modalities: readonly string[];
  };
}

const ROUTE_OWNER = "dragoman";

export const isRouteEntry = ({ id, owned_by: owner }: ListedModel): boolean =>
  owner === ROUTE_OWNER && !id.includes(":");

/** Whether it can be asked in the form of chat completions. */
export const answersChats = ({ operations }: ListedModel): boolean => operations?.includes("chat.completions") === true;

export function useModels(projectId: string | null): UseQueryResult<readonly ListedModel[], ApiError> {
  const api = useApi();
  return useQuery<readonly ListedModel[], ApiError>({
    queryKey: ["read", "/v1/models", projectId],
    queryFn: async ({ signal }) =>
      (
        await api.send<{ readonly data: readonly ListedModel[] }>("GET", "/v1/models", {
          signal,
          ...(projectId !== null && { headers: { "x-gateway-project-id": projectId } }),
        })
      ).data,
    enabled: projectId !== null,
    staleTime: 60_000,
    // those of another project are others
    placeholderData: () => undefined,
  });
}
