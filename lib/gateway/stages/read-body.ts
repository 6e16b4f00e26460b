/** Reads and parses the body of a governed call. */
import type { Denial } from "@/lib/domain/denial";
import { denial, isDenial } from "@/lib/domain/denial";
import type { GatewayRequest } from "../http";
import type { OpenSpool } from "../wire/routes/form";
import { readForm } from "../wire/routes/form-reader";
import type { GovernedRoute } from "../wire/routes/governed-routes";
import type { RouteRequest } from "../wire/routes/route-request";

export interface ReadBodyDeps {
  /** Of JSON, which is kept in memory. */
  readonly maxBodyBytes: number;
  /** Of forms, whose files are not. */
  readonly maxFormBytes: number;
  readonly openSpool: OpenSpool;
}

/** Of one file, before it leaves the memory. */
const FILE_BYTES_IN_MEMORY = 64 * 1024;

async function readFormRequest(
  request: GatewayRequest,
  contentType: string,
  parse: NonNullable<GovernedRoute["parseForm"]>,
  deps: ReadBodyDeps,
): Promise<RouteRequest | Denial> {
  const limits = { maxBytes: deps.maxFormBytes, memoryBytes: FILE_BYTES_IN_MEMORY };
  const form = await readForm(request.chunks(), contentType, limits, deps.openSpool);
  if (isDenial(form)) return form;
  const parsed = parse(form);
  if (isDenial(parsed)) await form.discard();
  return parsed;
}

/** The parsed body, or in one sentence what is wrong with it. */
export async function readRequest(
  request: GatewayRequest,
  route: GovernedRoute,
  deps: ReadBodyDeps,
): Promise<RouteRequest | Denial> {
  if (route.parseForm) {
    const contentType = request.headers.get("content-type") ?? "";
    const isForm = contentType.toLowerCase().startsWith("multipart/");
    if (isForm || !route.parseJson) return readFormRequest(request, contentType, route.parseForm, deps);
  }
  const bytes = await request.bytes(deps.maxBodyBytes);
  if (bytes === "too_large") {
    return denial("request_too_large", { detail: `at most ${String(deps.maxBodyBytes)} bytes` });
  }
  return route.parseJson ? route.parseJson(bytes) : denial("not_found");
}
