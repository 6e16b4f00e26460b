/** What every call about files and batches works with. */
import type { Denial } from "@/lib/domain/denial";
import type { ObjectOwner } from "@/lib/domain/stored-object";
import type { Authenticated, Classified, Received } from "../exchange";
import type { GatewayAnswer, GatewayRequest } from "../http";
import type { PipelineDeps } from "../pipeline";
import type { ObjectRegister } from "../ports";
import type { Replayed } from "../stages/claim";
import type { ErrorContext } from "../wire/error-response";
import type { StoredPath } from "./stored-path";

export interface StoredServing extends PipelineDeps {
  readonly register: ObjectRegister;
}

/** A call about files or batches, as it came. */
export interface StoredAsked {
  readonly request: GatewayRequest;
  readonly received: Received;
  readonly path: StoredPath;
  readonly clientAddress: string | undefined;
  readonly errorContext: (caller: Authenticated | undefined) => ErrorContext;
}

/** What came of it: an answer, or why it was refused, with what is known of the caller by then. */
export type StoredResult = GatewayAnswer | StoredRefusal | Replayed;

export interface StoredRefusal {
  readonly refusal: Denial;
  readonly caller: Authenticated | undefined;
  readonly request: undefined;
}

export function refused(refusal: Denial, caller: Authenticated | undefined): StoredRefusal {
  return { refusal, caller, request: undefined };
}

/** Keys of one app share what they make, each environment apart. */
export function ownerOf({ key }: Authenticated): ObjectOwner {
  return { appId: key.appId, environment: key.environment };
}

export function organisationOf({ view }: Classified | Authenticated): string {
  return view.organisation.id;
}
