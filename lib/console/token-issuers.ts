/** Trusted token issuers: what the console shows of them, and its writes. */
import "server-only";
import type { WriteResult } from "@/lib/contracts/common";
import type { SaveTokenIssuerInput, TokenIssuerList } from "@/lib/contracts/token-issuers";
import { putTokenIssuer, removeTokenIssuer } from "@/lib/control/token-issuers";
import { listTokenIssuers } from "@/lib/db/token-issuers";
import { TRAFFIC_CLASSES } from "@/lib/domain/policy";
import { controlFor } from "./control";
import type { ConsolePrincipal } from "./principal";
import type { WriteCall } from "./route";
import { services } from "./services";
import { readTree, toOrganisationView } from "./snapshot";
import { chainOf } from "./tree";
import type { WithId } from "./writes";

export async function readTokenIssuers(who: ConsolePrincipal): Promise<TokenIssuerList> {
  const { db, clock } = services();
  const [rows, tree] = await Promise.all([
    listTokenIssuers(db.prisma, who.organisation.id),
    readTree(services(), who.organisation.id),
  ]);
  return {
    organisation: toOrganisationView(who.organisation),
    readAtMs: clock.nowMs(),
    issuers: rows.map(({ id, name, definition, ...row }) => ({
      ...{ id, name },
      kind: definition.kind,
      issuer: definition.issuer,
      audiences: definition.audiences,
      endpoint: definition.jwksUrl ?? definition.introspectionUrl ?? "",
      algorithms: definition.algorithms ?? [],
      clientId: definition.clientId ?? null,
      tokenPrefix: definition.tokenPrefix ?? "",
      clockToleranceSeconds: definition.clockToleranceSeconds,
      claims: definition.claims,
      consumers: definition.consumers,
      environment: definition.environment,
      trafficClass: definition.trafficClass,
      entitledClasses: definition.entitledClasses,
      secretChangedAtMs: row.secretChangedAt?.getTime() ?? null,
      disabled: row.disabledAt !== null,
    })),
    consumers: [...tree.byId.values()]
      .filter((row) => !row.archived)
      .map((row) => ({
        id: row.id,
        path: chainOf(tree, row.id).map((one) => one.name),
      })),
    classes: [...TRAFFIC_CLASSES],
  };
}

export async function writeTokenIssuer(
  call: WriteCall<Record<string, never>, SaveTokenIssuerInput>,
): Promise<WriteResult> {
  const { principal, organisation } = call.who;
  const input = { ...call.input, organisationId: organisation.id };
  const { issuer, auditId } = await putTokenIssuer(controlFor("token_issuer.put", call), principal, input);
  return { id: issuer.id, auditId, undoable: false };
}

export async function writeIssuerRemoval(call: WriteCall<WithId, unknown>): Promise<WriteResult> {
  const { principal, organisation } = call.who;
  const ref = { organisationId: organisation.id, issuerId: call.params.id };
  const { issuer, auditId } = await removeTokenIssuer(controlFor("token_issuer.remove", call), principal, ref);
  return { id: issuer.id, auditId, undoable: false };
}
