/** The issuer form's state and the input it becomes. Pure. */
import { issuesByPath } from "@/components/format/checked";
import type { Checked, FieldErrors } from "@/components/format/checked";
import { saveTokenIssuerInput } from "@/lib/contracts/token-issuers";
import type { SaveTokenIssuerInput, TokenIssuerView } from "@/lib/contracts/token-issuers";
import type { Environment } from "@/lib/domain/snapshot";

/** Texts as typed; lists one a line. */
export interface IssuerDraft {
  readonly name: string;
  readonly kind: "jwks" | "introspection";
  readonly issuer: string;
  readonly audiences: string;
  readonly endpoint: string;
  readonly algorithms: readonly string[];
  readonly clientId: string;
  readonly clientSecret: string;
  readonly tokenPrefix: string;
  readonly tolerance: string;
  readonly consumerClaim: string;
  readonly userClaim: string;
  readonly scopesClaim: string;
  /** false: the claim is the consumer's id itself. */
  readonly isMapped: boolean;
  readonly mapping: readonly { readonly value: string; readonly consumerId: string }[];
  readonly environment: Environment;
  readonly trafficClass: string;
  readonly entitledClasses: readonly string[];
  readonly disabled: boolean;
}

/** Claims of some providers hold dots and slashes, so the steps of a path stand apart by " > ". */
const STEP = " > ";

function pathText(path: readonly string[] | null): string {
  return path === null ? "" : path.join(STEP);
}

function pathOf(text: string): string[] | null {
  const steps = text
    .split(">")
    .map((step) => step.trim())
    .filter((step) => step !== "");
  return steps.length === 0 ? null : steps;
}

function linesOf(text: string): string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

export const EMPTY_DRAFT: IssuerDraft = {
  name: "",
  kind: "jwks",
  issuer: "",
  audiences: "",
  endpoint: "",
  algorithms: ["RS256", "ES256"],
  clientId: "",
  clientSecret: "",
  tokenPrefix: "",
  tolerance: "30",
  consumerClaim: "",
  userClaim: "",
  scopesClaim: "",
  isMapped: true,
  mapping: [],
  environment: "production",
  trafficClass: "general",
  entitledClasses: [],
  disabled: false,
};

export function draftOf(view: TokenIssuerView): IssuerDraft {
  const { name, kind, issuer, endpoint, tokenPrefix, environment, trafficClass, disabled, claims } = view;
  return {
    ...{ name, kind, issuer, endpoint, tokenPrefix, environment, trafficClass, disabled },
    audiences: view.audiences.join("\n"),
    algorithms: view.algorithms.length === 0 ? EMPTY_DRAFT.algorithms : view.algorithms,
    clientId: view.clientId ?? "",
    clientSecret: "",
    tolerance: String(view.clockToleranceSeconds),
    consumerClaim: pathText(claims.consumer),
    userClaim: pathText(claims.user),
    scopesClaim: pathText(claims.scopes),
    isMapped: view.consumers !== null,
    mapping: Object.entries(view.consumers ?? {}).map(([value, consumerId]) => ({ value, consumerId })),
    entitledClasses: view.entitledClasses,
  };
}

function ownOf(draft: IssuerDraft): object {
  if (draft.kind === "jwks") return { kind: draft.kind, jwksUrl: draft.endpoint.trim(), algorithms: draft.algorithms };
  return {
    kind: draft.kind,
    introspectionUrl: draft.endpoint.trim(),
    clientId: draft.clientId.trim(),
    tokenPrefix: draft.tokenPrefix.trim(),
    ...(draft.clientSecret === "" ? {} : { clientSecret: draft.clientSecret }),
  };
}

/** Where the server's and the contract's fields are in the form. */
const FIELDS: Readonly<Record<string, string>> = {
  jwksUrl: "endpoint",
  introspectionUrl: "endpoint",
  clockToleranceSeconds: "tolerance",
  "claims.consumer": "consumerClaim",
  "claims.user": "userClaim",
  "claims.scopes": "scopesClaim",
};

/** Fields of the input as fields of the form; "audiences.0" belongs to `audiences`. */
export function formErrors(fields: FieldErrors): FieldErrors {
  return Object.fromEntries(
    Object.entries(fields).map(([field, code]) => {
      const whole = /^claims\.\w+/u.exec(field)?.[0] ?? field.split(".")[0] ?? field;
      return [FIELDS[whole] ?? whole, code];
    }),
  );
}

export function toInput(draft: IssuerDraft): Checked<SaveTokenIssuerInput> {
  const tolerance = /^\d{1,3}$/u.test(draft.tolerance.trim()) ? Number(draft.tolerance) : -1;
  const parsed = saveTokenIssuerInput.safeParse({
    ...ownOf(draft),
    name: draft.name,
    issuer: draft.issuer.trim(),
    audiences: linesOf(draft.audiences),
    clockToleranceSeconds: tolerance,
    claims: {
      consumer: pathOf(draft.consumerClaim) ?? [],
      user: pathOf(draft.userClaim),
      scopes: pathOf(draft.scopesClaim),
    },
    consumers: draft.isMapped
      ? Object.fromEntries(draft.mapping.map(({ value, consumerId }) => [value.trim(), consumerId]))
      : null,
    environment: draft.environment,
    trafficClass: draft.trafficClass,
    entitledClasses: [...draft.entitledClasses],
    disabled: draft.disabled,
  });
  const errors: Record<string, string> = parsed.success ? {} : { ...formErrors(issuesByPath(parsed.error.issues)) };
  if ("tolerance" in errors) errors["tolerance"] = "number_out_of_range";
  if ("consumerClaim" in errors) errors["consumerClaim"] = "required";
  if (draft.endpoint.trim() === "") errors["endpoint"] = "required";
  const values = draft.mapping.map(({ value }) => value.trim());
  if (draft.isMapped && values.some((value) => value === "")) errors["consumers"] = "required";
  if (draft.isMapped && new Set(values).size < values.length) errors["consumers"] = "value_twice";
  return parsed.success && Object.keys(errors).length === 0 ? { ok: true, input: parsed.data } : { ok: false, errors };
}
