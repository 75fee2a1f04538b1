// Addresses of models at Amazon Bedrock's runtime.
import type { Target } from "../../core/target.ts";
import { awsEncoded } from "../credentials/aws-signature.ts";

export function modelUrl({ baseUrl, model }: Target, method: string): string {
  return `${baseUrl}/model/${awsEncoded(model)}/${method}`;
}
