// What a provider cannot take of a request, each refused at its path.
import { GatewayError } from "../core/errors.ts";

export function unsupportedValue(path: string, message: string): GatewayError {
  return new GatewayError("unsupported_value", message, { param: path });
}

export function unsupportedBlock(path: string, message: string): GatewayError {
  return new GatewayError("unsupported_content_block", message, { param: path });
}

export function reservedParameter(path: string, message: string): GatewayError {
  return new GatewayError("reserved_parameter", message, { param: path });
}

/** `common` is the parameter of all providers that says the same. */
export function setByGateway(path: string, common: string): GatewayError {
  return reservedParameter(path, `${path} is set by the gateway; send ${common} instead.`);
}
